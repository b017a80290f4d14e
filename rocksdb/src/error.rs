//! The error type of this crate: the text of a RocksDB status, and its [`ErrorKind`].
//!
//! The crate `rocksdb` derives the kind from the text, and this crate does the same. RocksDB: `Status::ToString`.

use std::fmt;

/// The code of a RocksDB status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// A named thing does not exist.
    NotFound,
    /// Bytes on disk are damaged.
    Corruption,
    /// Ironstone does not have the feature.
    NotSupported,
    /// An argument or an option is wrong.
    InvalidArgument,
    /// The file system reported an error.
    IOError,
    /// Operands without a base value were found.
    MergeInProgress,
    /// The call needs I/O or time that the options forbid.
    Incomplete,
    /// The database is closing.
    ShutdownInProgress,
    /// A wait for a lock, or a call with a deadline, took too long.
    TimedOut,
    /// The operation was canceled.
    Aborted,
    /// The resource is in use, for example a lock of another transaction.
    Busy,
    /// A transaction lived too long.
    Expired,
    /// The same call may succeed later.
    TryAgain,
    /// A compaction has too many bytes.
    CompactionTooLarge,
    /// The column family was dropped.
    ColumnFamilyDropped,
    /// The text begins with no known code.
    Unknown,
}

/// The text before the first colon of a status, and its code.
const PREFIXES: [(&str, ErrorKind); 15] = [
    ("NotFound", ErrorKind::NotFound),
    ("Corruption", ErrorKind::Corruption),
    ("Not implemented", ErrorKind::NotSupported),
    ("Invalid argument", ErrorKind::InvalidArgument),
    ("IO error", ErrorKind::IOError),
    ("Merge in progress", ErrorKind::MergeInProgress),
    ("Result incomplete", ErrorKind::Incomplete),
    ("Shutdown in progress", ErrorKind::ShutdownInProgress),
    ("Operation timed out", ErrorKind::TimedOut),
    ("Operation aborted", ErrorKind::Aborted),
    ("Resource busy", ErrorKind::Busy),
    ("Operation expired", ErrorKind::Expired),
    ("Operation failed. Try again.", ErrorKind::TryAgain),
    ("Compaction too large", ErrorKind::CompactionTooLarge),
    ("Column family dropped", ErrorKind::ColumnFamilyDropped),
];

/// The failure of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Error {
        Error { message: message.into() }
    }

    /// Returns the text of the error.
    pub fn into_string(self) -> String {
        self.message
    }

    /// Returns the code at the begin of the text.
    pub fn kind(&self) -> ErrorKind {
        let code = self.message.split(':').next().unwrap_or_default();
        let known = PREFIXES.iter().find(|(prefix, _)| *prefix == code);
        known.map_or(ErrorKind::Unknown, |(_, kind)| kind.clone())
    }
}

impl AsRef<str> for Error {
    fn as_ref(&self) -> &str {
        &self.message
    }
}

impl From<Error> for String {
    fn from(error: Error) -> String {
        error.message
    }
}

impl From<ironstone::Error> for Error {
    /// Takes RocksDB's text, because programs compare texts. The info log has the text of the engine.
    #[cold]
    fn from(error: ironstone::Error) -> Error {
        Error::new(ironstone::binding::status_text(&error))
    }
}

/// Converts the error of a call that takes locks or commits. The text of a conflict is RocksDB's text.
#[cold]
pub(crate) fn conflict(error: ironstone::Error) -> Error {
    match ironstone::binding::conflict_text(&error) {
        Some(text) => Error::new(text),
        None => error.into(),
    }
}

impl std::error::Error for Error {
    fn description(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}
