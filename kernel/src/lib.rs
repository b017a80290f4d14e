//! Checksums, hashes, filter bits, and the blocks of LZ4 and Snappy: pure computation over bytes.
//!
//! Checksums, hashes and filter bits are RocksDB's. The encoders may choose other matches than the reference libraries.
//! This crate has no framing of files, no I/O and no dependencies. It allocates memory only for the filters that it builds,
//! and for the tables of the encoders. Each fast path of a checksum, hash or filter (SSE4.2, PCLMULQDQ, AVX2, AVX-512, ARMv8) computes the same function as the scalar code in
//! the same module, which is the specification. The path is chosen once, at run time, from the features of
//! the CPU. Under Miri only the scalar paths run.

#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod checksum;
pub mod filter;
pub mod hash;
pub mod lz4;
pub mod prefetch;
pub mod snappy;
pub mod ticks;

mod copies;
#[cfg(test)]
mod decoders;
#[cfg(test)]
mod encoders;
mod matches;
#[cfg(test)]
mod test_vectors;
