//! Checks of facts that only a mistake in the code can break.
//!
//! [`invariant!`](crate::invariant) panics if its condition is false. The checks are compiled into debug builds and into
//! builds with the feature `invariants` (the test rigs). A release build has none of them, so a check may be expensive.
//!
//! Use an [`Error`](crate::Error), not an invariant, for a wrong byte on disk, for a failed call, and for a wrong argument
//! of the application.

/// True if the checks of [`invariant!`](crate::invariant) are compiled in.
pub const INVARIANTS: bool = cfg!(any(debug_assertions, feature = "invariants"));

/// A place in the code that has a fast path and a slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastPath {
    /// `engine::write`: plain batches are not checked record by record.
    PlainBatch,
    /// `engine::read`: a list of one key is read as one key.
    OneKey,
    /// `engine::read`: the first bytes decide the order of a list of keys.
    KeyOrder,
    /// `format::block`: a point lookup compares encoded keys.
    BlockPoint,
    /// `format::block`: anchors find the start of a seek.
    BlockAnchors,
    /// `mem::rep`: an insertion starts at the leaf of the last insertion.
    TreeHint,
    /// `mem::memtable`: a list of keys is read in one pass.
    KeyList,
    /// `lsm::range_del`: the range tombstones of the last entry hold for the next entry.
    TombstoneRange,
    /// `lsm::version`: the first bytes of a key decide whether a file may hold the key.
    LevelHead,
    /// `lsm::cut`: the first bytes of a key decide that an output file continues.
    QuietCut,
    /// `lsm::merging`: a source stays the winner without a comparison with all others.
    MergeRun,
    /// `lsm::compaction_iter`: bytes decide whether two keys are equal.
    SameKey,
}

/// Returns true if code with a fast path must take its slow path, so that tests and campaigns compare both paths. Builds without
/// [`INVARIANTS`] always take the fast path.
///
/// The choice is a function of `place` and `key`, about one key in eight, so that a run with the same input takes the same paths.
/// Each place chooses other keys. So a key can take the fast path of one module and the slow path of another module.
///
/// ```
/// use ironstone_base::invariant::{FastPath, INVARIANTS, takes_slow_path};
///
/// let slow = (0..4096u32).filter(|key| takes_slow_path(FastPath::TreeHint, &key.to_be_bytes())).count();
/// assert_eq!(slow > 0, INVARIANTS);
/// ```
#[inline(always)]
pub fn takes_slow_path(place: FastPath, key: &[u8]) -> bool {
    /// An odd number whose bits are spread evenly: the golden ratio as a fraction of 2^32.
    const SPREAD: u32 = 0x9e37_79b9;
    let start = (place as u32).wrapping_mul(SPREAD);
    INVARIANTS && key.iter().fold(start, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(SPREAD)) >> 29 == 0
}

/// Panics with the message if the condition is false. Compiled in if [`INVARIANTS`] is true.
///
/// ```
/// let keys = ["a", "b"];
/// ironstone_base::invariant!(keys.is_sorted(), "keys are out of order: {keys:?}");
/// ```
#[macro_export]
macro_rules! invariant {
    ($condition:expr, $($message:tt)+) => {
        if $crate::invariant::INVARIANTS {
            assert!($condition, $($message)+);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::{FastPath, takes_slow_path};

    #[test]
    #[should_panic(expected = "2 is not below 1")]
    fn a_false_condition_panics_with_its_message() {
        let (a, b) = (2, 1);
        invariant!(a < b, "{a} is not below {b}");
    }

    #[test]
    fn a_true_condition_does_nothing() {
        invariant!(true, "never shown");
    }

    /// Each place chooses about 512 of 4096 keys. Two places choose about 64 of them together.
    #[test]
    fn each_place_chooses_other_keys() {
        let slow = |place, key: u32| takes_slow_path(place, &key.to_be_bytes());
        for place in [FastPath::OneKey, FastPath::TreeHint, FastPath::SameKey] {
            let count = |other| (0..4096).filter(|key| slow(place, *key) && slow(other, *key)).count();
            assert!((400..=624).contains(&count(place)), "{place:?}: {}", count(place));
            for other in [FastPath::PlainBatch, FastPath::BlockAnchors, FastPath::KeyList] {
                assert!((16..=200).contains(&count(other)), "{place:?} and {other:?}: {}", count(other));
            }
        }
    }
}
