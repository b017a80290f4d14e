//! Measures the megabytes per second of each compression. The blocks are like those of `db_bench`: of each
//! 100 bytes half is random, and the other half is a copy of the first. The best of many short runs counts.
//!
//! `cargo bench -p ironstone-compress --bench blocks [snappy|lz4|..] [block bytes]`. The corresponding
//! command for RocksDB is `db_bench --benchmarks=compress,uncompress --compression_type=snappy`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::time::Instant;

use ironstone_compress::{Compression, CompressionOptions, Compressor, decompress_into, supported};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let size = arguments.iter().find_map(|arg| arg.parse().ok()).unwrap_or(4096);
    let names: Vec<&String> = arguments.iter().filter(|arg| arg.parse::<usize>().is_err()).collect();
    let block = half_random(size);
    println!("{:8} {:>7} {:>12} {:>14}", "", "ratio", "compress", "uncompress MB/s");
    for kind in supported().into_iter().filter(|kind| *kind != Compression::None) {
        if !names.is_empty() && !names.iter().any(|name| **name == kind.flag_name()) {
            continue;
        }
        let mut compressor = Compressor::new(kind, &CompressionOptions::default(), None).expect("supported");
        let mut payload = Vec::new();
        let kept = compressor.compress(&block, &mut payload).expect("no cause to fail");
        assert!(kept, "{kind}: not compressible");
        let stored = payload.clone();
        let there = rate(size, || compressor.compress(black_box(&block), &mut payload).is_ok());
        let mut out = vec![0; size];
        let back = rate(size, || decompress_into(kind, black_box(&stored), None, &mut out).is_ok());
        assert_eq!(out, block);
        println!("{:8} {:7.2} {there:12.0} {back:14.0}", kind.flag_name(), size as f64 / stored.len() as f64);
    }
}

fn half_random(len: usize) -> Vec<u8> {
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    let mut block = Vec::with_capacity(len + 100);
    while block.len() < len {
        let half: Vec<u8> = (0..50)
            .map(|_| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                b' ' + (x >> 40) as u8 % 95
            })
            .collect();
        block.extend_from_slice(&half);
        block.extend_from_slice(&half);
    }
    block.truncate(len);
    block
}

fn rate(size: usize, mut run: impl FnMut() -> bool) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..30 {
        let start = Instant::now();
        let mut calls = 0;
        while calls < 50 {
            assert!(run());
            calls += 1;
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
    }
    size as f64 / best / 1e6
}
