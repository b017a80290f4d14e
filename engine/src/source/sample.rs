//! Selects the reads that are counted for their file (`read_triggered_compaction_threshold`). The selection is
//! random, so that the other reads cost nothing. The rates are RocksDB's (`monitoring/file_read_sample.h`).

use std::cell::Cell;

/// One of this many lookups is counted, as this many lookups.
pub const RATE: u64 = 1024;

thread_local! {
    // Not from `env`: no result of a read depends on the selection.
    static STATE: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
}

/// Returns true if this lookup or seek is counted.
#[inline]
pub fn look_up() -> bool {
    one_in(RATE)
}

/// Returns true if this step of an iterator is counted. Steps are cheaper than seeks, so fewer steps are counted.
#[inline]
pub fn step() -> bool {
    one_in(RATE * 64)
}

#[inline]
fn one_in(n: u64) -> bool {
    STATE.with(|state| {
        let next =
            state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.set(next);
        (next >> 33).is_multiple_of(n)
    })
}
