//! A hint to the memory system; a batch of look-ups issues its misses together instead of
//! one after the other.

/// Prefetches the cache line that holds `slice[index]`. A hint only: any index is allowed.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < slice.len() {
        // SAFETY: the address lies inside `slice`; a prefetch reads nothing.
        // Test: rust/core/src/prefetch.rs::any_index_is_harmless
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch(slice.as_ptr().add(index).cast::<i8>(), _MM_HINT_T0);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_index_is_harmless() {
        super::prefetch(&[1u64, 2], 1);
        super::prefetch::<u64>(&[], 7);
    }
}
