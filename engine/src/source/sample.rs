//! Which reads are counted for their file (`read_triggered_compaction_threshold`): by chance, so that the others cost
//! nothing. Rates are RocksDB's (`monitoring/file_read_sample.h`).

use std::cell::Cell;

/// One look-up of so many is counted, and counts for as many.
pub const RATE: u64 = 1024;

thread_local! {
    // Which reads are chosen is no matter of the world's: no answer depends on it.
    static STATE: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
}

/// Whether this look-up, or this seek, is counted.
#[inline]
pub fn look_up() -> bool {
    one_in(RATE)
}

/// Whether this step of an iterator is: steps are cheaper than seeks.
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
