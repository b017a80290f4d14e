//! Numbers of the command line.

use crate::ldb::Failure;

/// Reads a number that is not negative.
pub(super) fn number(name: &str, value: &[u8]) -> Result<u64, Failure> {
    let text = String::from_utf8_lossy(value);
    text.parse().map_err(|_| Failure::new(format!("{name}{text}: a number is needed")))
}

/// Reads a number that can be negative.
pub(super) fn signed(name: &str, value: &[u8]) -> Result<i32, Failure> {
    let text = String::from_utf8_lossy(value);
    text.parse().map_err(|_| Failure::new(format!("{name}{text}: a number is needed")))
}
