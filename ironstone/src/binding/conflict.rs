//! The text of conflicts between transactions, and of a commit without a prepare.

use base::{Error, Kind, Subcode};

/// Returns RocksDB's text of an error if two transactions conflict, or if a transaction must be prepared before its commit.
/// Programs compare the whole text, so the text has no details of this library. Returns `None` for other errors. Ask only about
/// errors of transactions.
pub fn conflict_text(error: &Error) -> Option<String> {
    let conflict = matches!(error.kind(), Kind::Busy | Kind::TimedOut)
        || matches!(error.subcode(), Subcode::LockLimit | Subcode::TxnNotPrepared);
    conflict.then(|| format!("{}{}", error.kind().text(), error.subcode().text()))
}
