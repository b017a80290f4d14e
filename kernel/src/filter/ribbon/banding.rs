//! Gaussian elimination that adds one equation at a time. Each equation determines one slot.
//!
//! ```text
//! band: coeff[slot] = 0, fingerprint[slot] = 0
//! for each key:  i = start; c = coefficients; f = fingerprint
//!     loop:  if coeff[i] = 0:  store (c, f) at i; done
//!            c ^= coeff[i];  f ^= fingerprint[i]
//!            if c = 0:  f = 0? redundant, done : the system has no solution
//!            z = trailing zeros of c;  i += z;  c >>= z
//! ```
//! Difference from RocksDB: the keys are not processed in their own order, but roughly in the order of their
//! start slots. The bytes of the filter are the same: the set of determined slots and the solution (free
//! slots are zero) depend only on the space that the equations span, not on their order. The advantage: a
//! window of the band stays in the first-level cache while all its keys are processed. In the keys' own
//! order, each key costs a cache miss. Chains are also shorter, because the slots after the window are still
//! empty.

use super::layout::{Layout, Row, mixed};

/// The triangular system, and scratch memory for sorting the keys.
#[derive(Default)]
pub(super) struct Banding {
    coeff: Vec<u128>,
    fingerprint: Vec<u32>,
    ordered: Vec<u64>,
    ends: Vec<u32>,
}

impl Banding {
    /// Adds the equations of all keys with a seed. Returns false if the equations contradict each other.
    pub(super) fn solve_for(&mut self, hashes: &[u64], raw_seed: u32, layout: Layout) -> bool {
        let slots = layout.num_slots() as usize;
        self.coeff.clear();
        self.coeff.resize(slots, 0);
        self.fingerprint.clear();
        self.fingerprint.resize(slots, 0);
        self.order(hashes, raw_seed, layout);
        self.ordered.iter().all(|&mixed| {
            insert(&mut self.coeff, &mut self.fingerprint, Row::of_mixed(mixed, layout.num_starts()))
        })
    }

    /// Stores the mixed hashes in `ordered`, sorted by start slot into buckets (a counting sort by the top
    /// bits).
    fn order(&mut self, hashes: &[u64], raw_seed: u32, layout: Layout) {
        let buckets_log2 = (layout.blocks / 2).max(2).ilog2().min(11);
        let shift = 64 - buckets_log2;
        self.ends.clear();
        self.ends.resize(1 << buckets_log2, 0);
        for &hash in hashes {
            self.ends[(mixed(hash, raw_seed) >> shift) as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += std::mem::replace(end, sum);
        }
        self.ordered.resize(hashes.len(), 0);
        for &hash in hashes {
            let mixed = mixed(hash, raw_seed);
            let place = &mut self.ends[(mixed >> shift) as usize];
            self.ordered[*place as usize] = mixed;
            *place += 1;
        }
    }

    pub(super) fn coeff(&self) -> &[u128] {
        &self.coeff
    }

    pub(super) fn fingerprint(&self) -> &[u32] {
        &self.fingerprint
    }

    pub(super) fn memory_usage_bytes(&self) -> usize {
        self.coeff.capacity() * size_of::<u128>()
            + self.fingerprint.capacity() * size_of::<u32>()
            + self.ordered.capacity() * size_of::<u64>()
            + self.ends.capacity() * size_of::<u32>()
    }
}

#[inline(always)]
fn insert(coeffs: &mut [u128], fingerprints: &mut [u32], row: Row) -> bool {
    let Row { start, mut coeff, mut fingerprint } = row;
    let mut i = start as usize;
    loop {
        let there = coeffs[i];
        if there == 0 {
            coeffs[i] = coeff;
            fingerprints[i] = fingerprint;
            return true;
        }
        coeff ^= there;
        fingerprint ^= fingerprints[i];
        if coeff == 0 {
            return fingerprint == 0;
        }
        let zeros = coeff.trailing_zeros();
        i += zeros as usize;
        coeff >>= zeros;
    }
}
