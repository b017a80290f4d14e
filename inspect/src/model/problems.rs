//! Faults of the files of a database.

use base::Error;
use serde::{Deserialize, Serialize};

use super::Database;

/// The largest number of listed problems.
pub(super) const PROBLEMS_MAX: usize = 200;

/// The first words of the problem of a MANIFEST that lost edits after they were durable.
pub(crate) const LOST_EDITS: &str = "edits are lost";

/// The weight of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Weight {
    /// A fact that a reader may want to know.
    Note,
    /// A fault without loss of data.
    Warning,
    /// Data is lost or unreadable.
    Damage,
}

/// A fault of the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub weight: Weight,
    /// The file name without its directory.
    pub file: String,
    /// Bytes from the start of the file. `None` stands for the whole file.
    pub offset: Option<u64>,
    pub text: String,
}

pub(super) fn problem(db: &mut Database, weight: Weight, file: &str, offset: Option<u64>, text: String) {
    if db.problems.len() < PROBLEMS_MAX {
        db.problems.push(Problem { weight, file: file.to_string(), offset, text });
    }
}

/// Returns the text of an error without directories.
pub(super) fn plain(error: &Error) -> String {
    error.message().to_string()
}
