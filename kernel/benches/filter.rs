//! Measures the nanoseconds per key of building and querying each filter, in the CPU cache. The best of
//! several runs counts.
//!
//! `cargo bench -p ironstone-kernel --bench filter [bloom|ribbon|legacy] [keys]`. `filter_bench` measures
//! filters outside of the CPU cache and mixes of filters.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::time::Instant;

use ironstone_kernel::filter::{BitsPerKey, Filter, bloom_legacy, bloom_local, ribbon};
use ironstone_kernel::hash;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let keys = arguments.iter().find_map(|arg| arg.parse().ok()).unwrap_or(100_000);
    let bits = BitsPerKey::new(10.0).expect("above a half");
    let wide: Vec<u64> = (0..keys).map(|i: u64| hash::hash64(&i.to_le_bytes())).collect();
    let narrow: Vec<u64> = (0..keys).map(|i| u64::from(hash::bloom_hash(&i.to_le_bytes()))).collect();
    let absent: Vec<u64> = (keys..2 * keys).map(|i| hash::hash64(&i.to_le_bytes())).collect();
    let mut builder = ribbon::Builder::new();
    let mut payload = Vec::new();
    println!(
        "{:8} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "", "bits/key", "build ns", "hit ns", "miss ns", "batch hit", "batch miss"
    );
    for name in ["legacy", "bloom", "ribbon"] {
        if arguments.iter().any(|arg| arg.parse::<u64>().is_err()) && !arguments.iter().any(|arg| arg == name)
        {
            continue;
        }
        let build = best(keys, || match name {
            "legacy" => payload = bloom_legacy::build(&narrow, bits),
            "bloom" => bloom_local::build_into(&wide, bits, &mut payload),
            _ => builder.build_into(&wide, bits, &mut payload),
        });
        let filter = Filter::parse(&payload);
        let single = |hashes: &[u64]| {
            best(keys, || {
                for &hash in hashes {
                    black_box(filter.may_match(&payload, hash));
                }
            })
        };
        let batch = |hashes: &[u64]| {
            let mut answers = vec![false; hashes.len()];
            best(keys, || filter.may_match_batch(black_box(&payload), hashes, black_box(&mut answers)))
        };
        let inside = if name == "legacy" { &narrow } else { &wide };
        println!(
            "{name:8} {:8.2} {build:10.2} {:10.2} {:10.2} {:10.2} {:10.2}",
            payload.len() as f64 * 8.0 / keys as f64,
            single(inside),
            single(&absent),
            batch(inside),
            batch(&absent),
        );
    }
}

fn best(keys: u64, mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..15 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_nanos() as f64 / keys as f64);
    }
    best
}
