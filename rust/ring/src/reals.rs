//! Words seen as doubles: payloads of reals lie in the same slabs as all others.

/// The words as doubles.
#[inline(always)]
pub(crate) fn reals(words: &[u64]) -> &[f64] {
    // SAFETY: u64 and f64 have the same size and alignment, and every bit pattern is valid in both.
    // Test: rust/ring/src/reals.rs::words_keep_their_bits
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// The words as doubles, to be changed.
#[inline(always)]
pub(crate) fn reals_mut(words: &mut [u64]) -> &mut [f64] {
    // SAFETY: as above, and the borrow is unique.
    // Test: rust/ring/src/reals.rs::words_keep_their_bits
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_keep_their_bits() {
        let mut words = [1.5f64.to_bits(), f64::NAN.to_bits()];
        assert_eq!(super::reals(&words)[0], 1.5);
        super::reals_mut(&mut words)[1] = -2.0;
        assert_eq!(words[1], (-2.0f64).to_bits());
    }
}
