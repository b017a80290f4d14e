//! Checksums, hashes and filter bits: pure computation over bytes, bit for bit RocksDB's.
//!
//! Nothing here frames, allocates behind the caller's back, or does I/O; there is no dependency at all.
//! Each fast path (SSE4.2, PCLMULQDQ, AVX2, AVX-512, ARMv8) computes the same function as the scalar
//! module beside it, which is the specification; the choice is made once, at run time, from what the
//! CPU offers. Under Miri only the scalar paths run.

#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod checksum;
pub mod filter;
pub mod hash;
pub mod lz4;
pub mod prefetch;
pub mod ticks;

#[cfg(test)]
mod test_vectors;
