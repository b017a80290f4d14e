//! Checks of facts that only a mistake in the code can break.
//!
//! [`invariant!`](crate::invariant) panics if its condition is false. The checks are compiled into debug builds and into
//! builds with the feature `invariants` (the test rigs). A release build has none of them, so a check may be expensive.
//!
//! Use an [`Error`](crate::Error), not an invariant, for a wrong byte on disk, for a failed call, and for a wrong argument
//! of the application.

/// True if the checks of [`invariant!`](crate::invariant) are compiled in.
pub const INVARIANTS: bool = cfg!(any(debug_assertions, feature = "invariants"));

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
