//! The text of conflicts between transactions.

use base::{Error, Kind, Subcode};

/// Returns RocksDB's text of an error if two transactions conflict. Programs compare the whole text and try again, so the text
/// has no details of this library. Returns `None` for other errors. Ask only about errors of transactions.
pub fn conflict_text(error: &Error) -> Option<String> {
    let conflict =
        matches!(error.kind(), Kind::Busy | Kind::TimedOut) || error.subcode() == Subcode::LockLimit;
    conflict.then(|| format!("{}{}", error.kind().text(), error.subcode().text()))
}
