//! Checks of facts that only a mistake in the code can break.
//!
//! [`invariant!`](crate::invariant) panics if its condition is false. The checks are compiled into debug builds and into
//! builds with the feature `invariants` (the test rigs). A release build has none of them, so a check may be expensive.
//!
//! Use an [`Error`](crate::Error), not an invariant, for a wrong byte on disk, for a failed call, and for a wrong argument
//! of the application.

/// True if the checks of [`invariant!`](crate::invariant) are compiled in.
pub const INVARIANTS: bool = cfg!(any(debug_assertions, feature = "invariants"));

/// Returns true if code with a fast path must take its slow path, so that tests and campaigns compare both paths. Builds without
/// [`INVARIANTS`] always take the fast path.
///
/// The choice is a function of `key`, about one key in eight, so that a run with the same input takes the same paths.
///
/// ```
/// use ironstone_base::invariant::{INVARIANTS, takes_slow_path};
///
/// let slow = (0..4096u32).filter(|key| takes_slow_path(&key.to_be_bytes())).count();
/// assert_eq!(slow > 0, INVARIANTS);
/// ```
#[inline(always)]
pub fn takes_slow_path(key: &[u8]) -> bool {
    /// An odd number whose bits are spread evenly: the golden ratio as a fraction of 2^32.
    const SPREAD: u32 = 0x9e37_79b9;
    INVARIANTS && key.iter().fold(0u32, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(SPREAD)) >> 29 == 0
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
}
