//! One function, compiled for the widest vectors that the machine has: a wheel must run anywhere,
//! and loops over doubles go two to four times faster in wider registers.

/// Defines a function whose body is compiled three times: for AVX-512, for AVX2, and for any
/// machine. The arithmetic is the same in each: no fused multiply-adds, no reordering.
#[macro_export]
macro_rules! dispatch {
    (
        $(#[$doc:meta])*
        $visibility:vis fn $name:ident($($argument:ident: $ty:ty),* $(,)?) -> $out:ty $body:block
    ) => {
        $(#[$doc])*
        #[must_use]
        $visibility fn $name($($argument: $ty),*) -> $out {
            #[inline(always)]
            fn plain($($argument: $ty),*) -> $out $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
                fn wide512($($argument: $ty),*) -> $out {
                    plain($($argument),*)
                }

                #[target_feature(enable = "avx2")]
                fn wide256($($argument: $ty),*) -> $out {
                    plain($($argument),*)
                }

                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                {
                    // SAFETY: the machine has what the function is compiled for.
                    return unsafe { wide512($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: as above.
                    return unsafe { wide256($($argument),*) };
                }
            }
            plain($($argument),*)
        }
    };
}
