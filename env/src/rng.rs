//! Random numbers as a parameter: SplitMix64, with a seed from the system or from the caller.
//!
//! Do not use this generator for secrets. A shared generator is one atomic word, so several threads may
//! draw concurrently. The order of the draws decides the numbers of each thread, so a replay needs the
//! inline executor.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of random numbers. Any thread may use it.
pub trait Rng: Send + Sync + fmt::Debug {
    /// Returns 64 random bits.
    fn next_u64(&self) -> u64;

    /// Returns a number in `0..bound`, with equal chances. 0 if `bound` is 0.
    fn below(&self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns true once in `n` calls on average. Always true for 0 and 1.
    fn one_in(&self, n: u64) -> bool {
        n <= 1 || self.below(n) == 0
    }

    /// Fills `out` with random bytes.
    fn fill(&self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// The generator SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function.
#[derive(Debug)]
pub struct SeededRng {
    state: AtomicU64,
}

impl SeededRng {
    /// Makes a generator. Equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        SeededRng { state: AtomicU64::new(seed) }
    }

    /// Makes a generator with a seed from the operating system.
    pub fn real() -> Self {
        SeededRng::new(crate::posix::entropy())
    }
}

impl Rng for SeededRng {
    fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        mix(self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }
}

pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
