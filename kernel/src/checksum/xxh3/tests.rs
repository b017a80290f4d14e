use super::*;

fn noise(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b1_85eb_ca87) >> 40) as u8).collect()
}

#[test]
fn vector_lanes_equal_plain_ones() {
    let data = noise(5000);
    let secret = secret::seeded(42);
    for len in (65..400)
        .step_by(if cfg!(miri) { 67 } else { 1 })
        .chain([1023, 1024, 1025, 1088, 2047, 2048, 2049, 4096, 5000])
    {
        let part = &data[..len];
        assert_eq!(long::lanes(part, &secret), long::lanes_plain(part, &secret), "length {len}");
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has AVX2.
            let lanes = unsafe { long::x86_64::lanes_avx2(part, &secret) };
            assert_eq!(lanes, long::lanes_plain(part, &secret), "length {len}");
        }
    }
}

/// Compares with results of the reference implementation (xxhash 0.8), summed over all lengths up to 600.
#[test]
fn sums_over_lengths_are_the_reference_ones() {
    let data = noise(600);
    let (mut sum64, mut high128, mut low128) = (0u64, 0u64, 0u64);
    for len in (0..=600).step_by(if cfg!(miri) { 30 } else { 1 }) {
        for seed in [0, 0x0123_4567_89ab_cdef] {
            sum64 = sum64.rotate_left(7) ^ hash64_with_seed(&data[..len], seed);
            let (high, low) = hash128_with_seed(&data[..len], seed);
            high128 = high128.rotate_left(7) ^ high;
            low128 = low128.rotate_left(7) ^ low;
        }
    }
    // Miri checks only memory accesses here, because it tests fewer lengths.
    assert!(
        cfg!(miri) || (sum64, high128, low128) == (SUM64, HIGH128, LOW128),
        "{sum64:x} {high128:x} {low128:x}"
    );
}

const SUM64: u64 = 0x7c4b216ae73d4685;
const HIGH128: u64 = 0xabbf72814bc82e05;
const LOW128: u64 = 0xbe793f0b9d65b0b4;
