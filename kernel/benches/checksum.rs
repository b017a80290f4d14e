//! Bytes a second of each checksum by buffer size, best of many short runs.
//!
//! `cargo bench -p ironstone-kernel --bench checksum [crc32c|xxh3|paths|...]`; `paths` shows every form of CRC32C
//! that this CPU can run, whether chosen or not. The best run is shown because
//! other work on the machine can only make a run slower. The CRC instruction alone is bounded by eight
//! bytes a cycle; the last column is that bound at the clock measured by a chain of dependent additions.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::time::Instant;

use ironstone_kernel::checksum::{crc32c, xxh3, xxh32, xxh64};
use ironstone_kernel::hash;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let bound = 8.0 * clock_ghz();
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

/// Cycles a nanosecond, from a chain whose links take four cycles: a multiplication (3) and an addition
/// without carry (1), on every x86-64 and most ARM cores of the last decade.
fn clock_ghz() -> f64 {
    const LINKS: u32 = 100_000;
    let mut best = f64::MAX;
    for _ in 0..30 {
        let start = Instant::now();
        let mut x = black_box(0x9e37_79b9_7f4a_7c15u64);
        for _ in 0..LINKS {
            x = x.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ (x >> 7);
        }
        black_box(x);
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    f64::from(4 * LINKS) / best
}
