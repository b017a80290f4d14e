//! The number of slots for a number of entries, and the number of bytes for a false-positive rate.
//!
//! The numbers are measurements of the Ribbon filter's authors: how many entries fit into 2^i slots so that
//! one system in twenty is unsolvable. Values between them are interpolated, values above them are
//! extrapolated.

use super::{BLOCK_SLOTS, MAX_ENTRIES, SEGMENT, bloom_local};
use crate::filter::{BitsPerKey, METADATA_LEN};

/// The number of entries that fit into 2^i slots, for i = 8 and above. Fewer than 256 slots are not used.
const FIT: [f64; 10] =
    [248.851, 499.532, 1001.26, 2003.97, 4005.59, 8000.39, 15966.6, 31828.1, 63447.3, 126_506.0];
const FIRST_FIT: u32 = 8;
const KNOWN: u32 = FIRST_FIT + FIT.len() as u32;
const GROWTH: f64 = 0.0038;
/// 1 / ln 2, rounded as in RocksDB. With more digits, some sizes could differ.
#[allow(clippy::approx_constant)]
const LOG2_E: f64 = 1.442_695_040_9;

fn fit(log2_slots: u32) -> f64 {
    match log2_slots {
        ..FIRST_FIT => 0.0,
        FIRST_FIT..KNOWN => FIT[(log2_slots - FIRST_FIT) as usize],
        KNOWN.. => (1u64 << log2_slots) as f64 / factor(f64::from(log2_slots)),
    }
}

/// Returns the slots per entry for large systems.
fn factor(log2_slots: f64) -> f64 {
    let base = 131_072.0 / FIT[FIT.len() - 1] - f64::from(KNOWN - 1) * GROWTH;
    base + log2_slots * GROWTH
}

/// Returns the slots for `entries`, before rounding to whole blocks.
pub(super) fn num_slots(entries: u32) -> u32 {
    if entries == 0 {
        return 0;
    }
    let mut log2 = (f64::from(entries).ln() * LOG2_E + 0.5) as u32;
    let mut low = fit(log2);
    if log2 == 0 || low == 0.0 {
        return 2 * BLOCK_SLOTS;
    }
    let entries = f64::from(entries);
    let high;
    if entries < low {
        high = low;
        log2 -= 1;
        low = fit(log2);
    } else {
        high = fit(log2 + 1);
    }
    let slots = (1u64 << log2) as f64;
    ((entries - low) / (high - low) * slots + slots + 0.999_999_999) as u32
}

/// Returns the slots for `entries` in whole blocks, at least two blocks.
pub(super) fn rounded_slots(entries: u32) -> u32 {
    num_slots(entries).next_multiple_of(BLOCK_SLOTS).max(2 * BLOCK_SLOTS)
}

/// Returns the number of entries that fit into `slots`.
fn num_entries(slots: u32) -> u32 {
    if slots == 0 {
        return 0;
    }
    let log2 = f64::from(slots).ln() * LOG2_E;
    let floor = log2 as u32;
    if floor + 1 < KNOWN {
        let portion = f64::from(slots) / (1u64 << floor) as f64 - 1.0;
        (portion * fit(floor + 1) + (1.0 - portion) * fit(floor)) as u32
    } else {
        (f64::from(slots) / factor(log2)) as u32
    }
}

/// Returns the inverse of the wanted false-positive rate. It is the rate of a local Bloom filter with the
/// same setting.
fn one_in(bits: BitsPerKey) -> f64 {
    let probes = bloom_local::num_probes(bits.millibits());
    1.0 / bloom_local::cache_local_fp_rate(f64::from(bits.millibits()) / 1000.0, probes)
}

/// Returns the bytes of a solution for `slots` with one false positive in `one_in`. The average number of
/// columns is rounded at random; `rounding` is the random number.
fn solution_len(slots: u32, one_in: f64, rounding: u32) -> usize {
    if one_in.is_nan() || one_in <= 1.0 {
        return SEGMENT;
    }
    if one_in > f64::from(u32::MAX) {
        return slots as usize * 4;
    }
    let lower_columns = (one_in as u32).ilog2();
    let upper_rate = 2f64.powi(-(lower_columns as i32 + 1));
    let lower_rate = 2f64.powi(-(lower_columns as i32));
    let portion = (1.0 / one_in - upper_rate) / (lower_rate - upper_rate);
    let bias = (f64::from(rounding) + 0.5) / 4_294_967_296.0;
    let starts = f64::from(slots - (BLOCK_SLOTS - 1));
    let blocks = slots / BLOCK_SLOTS;
    let upper_start_block = ((portion * starts + bias) / f64::from(BLOCK_SLOTS)) as u32;
    let upper_blocks = blocks.saturating_sub(upper_start_block);
    (blocks as usize * lower_columns as usize + upper_blocks as usize) * SEGMENT
}

pub(super) fn payload_len_for_slots(slots: u32, bits: BitsPerKey, rounding: u32) -> usize {
    solution_len(slots, one_in(bits), rounding) + METADATA_LEN
}

/// Returns the length of the payload that [`build`](super::build) makes for `entries` entries, including the
/// metadata. The length takes the Bloom filters into account that are built instead. `rounding` is the upper
/// half of the first hash, or 0 if the hash is not known yet. The difference is at most one segment.
pub fn payload_len(entries: usize, bits: BitsPerKey, rounding: u32) -> usize {
    if entries == 0 {
        return METADATA_LEN;
    }
    if entries > MAX_ENTRIES {
        return bloom_local::payload_len(entries, bits);
    }
    let slots = rounded_slots(entries as u32);
    let len = payload_len_for_slots(slots, bits, rounding);
    let bloom = bloom_local::payload_len(entries, bits);
    if slots < 1024 && bloom < len { bloom } else { len }
}

/// Returns the number of entries for which a payload of this length is built.
pub fn approximate_num_entries(payload_len: usize, bits: BitsPerKey) -> usize {
    let one_in = one_in(bits);
    if one_in.is_nan() || one_in <= 1.0 {
        return MAX_ENTRIES;
    }
    let usable = payload_len.saturating_sub(METADATA_LEN) / SEGMENT * SEGMENT;
    let bits_per_slot = if one_in >= 1.0 + f64::from(u32::MAX) {
        32.0
    } else {
        let upper_columns = 1 + (one_in as u32).ilog2();
        let upper_rate = 2f64.powi(-(upper_columns as i32));
        f64::from(upper_columns) - (1.0 / one_in - upper_rate) / upper_rate
    };
    let most = usable as f64 * 8.0 / bits_per_slot;
    if most.is_nan() || most >= f64::from(num_slots(MAX_ENTRIES as u32)) {
        return MAX_ENTRIES;
    }
    let mut slots = (most as u32).next_multiple_of(BLOCK_SLOTS);
    // This is too large by a few blocks at most.
    while slots > 0 && (slots < 2 * BLOCK_SLOTS || solution_len(slots, one_in, 0) > usable) {
        slots = (slots - 1) / BLOCK_SLOTS * BLOCK_SLOTS;
    }
    let entries = num_entries(slots) as usize;
    if slots < 1024 {
        entries.max(bloom_local::approximate_num_entries(payload_len, bits))
    } else {
        entries.min(MAX_ENTRIES)
    }
}
