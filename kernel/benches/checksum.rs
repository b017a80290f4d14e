//! Measures the bytes per second of each checksum by buffer size. The best of many short runs counts.
//!
//! `cargo bench -p ironstone-kernel --bench checksum [crc32c|xxh3|paths|...]`; `paths` shows every variant
//! of CRC32C that this CPU can run. The table shows the best run, because other work on the machine can
//! only make a run slower. The last column is the limit of the CRC instruction alone: eight bytes for each
//! instruction, in eight independent chains (one instruction a cycle on most CPUs, two on Zen 5).

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::time::Instant;

use ironstone_kernel::checksum::{crc32c, xxh3, xxh32, xxh64};
use ironstone_kernel::hash;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let bound = instruction_limit();
    let data = vec![0x5a; 1 << 20];
    type Sum = fn(&[u8]) -> u64;
    let sums: [(&str, Sum); 5] = [
        ("crc32c", |data| u64::from(crc32c::value(data))),
        ("xxh3", xxh3::hash64),
        ("xxh64", |data| xxh64::hash(data, 0)),
        ("xxh32", |data| u64::from(xxh32::hash(data, 0))),
        ("hash64", hash::hash64),
    ];
    println!("crc32c implementation: {}", crc32c::implementation());
    for (name, sum) in sums {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        table(name, bound, &data, sum);
    }
    if wanted.iter().any(|w| w == "paths") {
        for (name, path) in crc32c::paths() {
            table(name, bound, &data, |data| u64::from(path(0, data)));
        }
    }
}

fn table(name: &str, bound: f64, data: &[u8], sum: impl Fn(&[u8]) -> u64) {
    println!("{name:8} {:>9} {:>10} {:>8} {:>12}", "bytes", "ns", "GB/s", "crc limit");
    for shift in 4..=20 {
        let size = 1usize << shift;
        let calls = ((1 << 21) / size).max(8);
        let mut best = f64::MAX;
        for _ in 0..40 {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(sum(black_box(&data[..size])));
            }
            best = best.min(start.elapsed().as_nanos() as f64 / calls as f64);
        }
        println!("{name:8} {size:9} {best:10.1} {:8.2} {bound:12.1}", size as f64 / best);
    }
}

/// Returns the limit of the CRC instruction in GB/s, measured with chains that wait only for themselves. 0 if
/// the CPU has no such instruction.
#[cfg(target_arch = "x86_64")]
fn instruction_limit() -> f64 {
    use std::arch::x86_64::_mm_crc32_u64;

    const CHAINS: usize = 8;
    const LINKS: usize = 1000;
    #[target_feature(enable = "sse4.2")]
    fn chains(word: u64) -> u64 {
        let mut states = [1u64; CHAINS];
        for _ in 0..LINKS {
            for state in &mut states {
                *state = _mm_crc32_u64(*state, word);
            }
        }
        states.iter().sum()
    }
    if !is_x86_feature_detected!("sse4.2") {
        return 0.0;
    }
    let mut best = f64::MAX;
    for _ in 0..1000 {
        let start = Instant::now();
        // SAFETY: the CPU has SSE 4.2.
        black_box(unsafe { chains(black_box(0x2545_f491_4f6c_dd1d)) });
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    (8 * CHAINS * LINKS) as f64 / best
}

/// There is no measurement on other processors.
#[cfg(not(target_arch = "x86_64"))]
fn instruction_limit() -> f64 {
    0.0
}
