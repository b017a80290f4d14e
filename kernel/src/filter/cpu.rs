//! The vector instructions that the filters use. The CPU is asked once.

/// The available vector instructions. Larger values include the smaller ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Vectors {
    /// None: only the plain code.
    #[cfg_attr(target_arch = "aarch64", allow(dead_code, reason = "64-bit ARM always has vectors"))]
    None = 1,
    /// NEON.
    #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
    Neon = 2,
    /// AVX2, BMI2, POPCNT.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2 = 2,
    /// AVX-512 F, BW, VL, DQ.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512 = 3,
    /// Also VPOPCNTDQ and VBMI2.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512Popcnt = 4,
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn vectors() -> Vectors {
    use std::sync::atomic::{AtomicU8, Ordering};
    static FOUND: AtomicU8 = AtomicU8::new(0);
    #[cold]
    fn detect() -> Vectors {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq");
        let popcnt =
            avx512 && is_x86_feature_detected!("avx512vpopcntdq") && is_x86_feature_detected!("avx512vbmi2");
        let found = match (avx2, avx512, popcnt) {
            (_, _, true) => Vectors::Avx512Popcnt,
            (_, true, _) => Vectors::Avx512,
            (true, ..) => Vectors::Avx2,
            _ => Vectors::None,
        };
        FOUND.store(found as u8, Ordering::Relaxed);
        found
    }
    match FOUND.load(Ordering::Relaxed) {
        1 => Vectors::None,
        2 => Vectors::Avx2,
        3 => Vectors::Avx512,
        4 => Vectors::Avx512Popcnt,
        _ => detect(),
    }
}

/// Every 64-bit ARM for which the standard library is built has NEON, so no detection is necessary.
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
#[inline(always)]
pub(super) fn vectors() -> Vectors {
    Vectors::Neon
}

#[cfg(any(miri, not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))))]
#[inline(always)]
pub(super) fn vectors() -> Vectors {
    Vectors::None
}

/// The result of [`vectors`], stored in each reader where a query finds it first. It is a number and not the
/// enum. Otherwise the compiler would store the discriminant of `Filter` in the unused values of the enum,
/// and each query would have to separate the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level(u8);

impl Level {
    pub(super) fn found() -> Level {
        Level(vectors() as u8)
    }

    /// Returns true if the CPU has these vectors.
    #[cfg_attr(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))), allow(dead_code))]
    #[inline(always)]
    pub(super) fn has(self, least: Vectors) -> bool {
        self.0 >= least as u8
    }
}
