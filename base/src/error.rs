//! The one public error: RocksDB's code, subcode and severity, what the engine was doing, and the file.
//!
//! The numbers are the numbers of RocksDB's `include/rocksdb/status.h`. The C library and the statistics rely on
//! the numbers. An `Error` is one pointer wide, so a `Result<T>` stays small on hot paths.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of every operation that can fail with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of failure. The numbers are the numbers of RocksDB's `Status::Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A named thing, such as a column family or a file, does not exist. A lookup of a missing key returns `None` instead.
    NotFound = 1,
    /// Bytes on disk differ from the bytes that were written. The error names file and offset. Restore a backup, or call `repair`.
    Corruption = 2,
    /// This build or this release does not have the feature. The message names the feature.
    NotSupported = 3,
    /// The arguments or the options contradict the database, or contradict each other. Correct the call.
    InvalidArgument = 4,
    /// The file system reported an error. See the source error. A full disk has `Subcode::NoSpace`.
    IoError = 5,
    /// The key has merge operands, and the caller asked not to apply merge operands.
    MergeInProgress = 6,
    /// The answer needs more I/O or more time than the caller allowed.
    Incomplete = 7,
    /// The database is closing. The call changed nothing.
    ShutdownInProgress = 8,
    /// A wait for a lock ended, or a deadline passed. Try again.
    TimedOut = 9,
    /// The caller or the engine cancelled the operation.
    Aborted = 10,
    /// Another process, a lock, or a running job holds a resource that the call needs.
    Busy = 11,
    /// The transaction lived longer than its expiration time. Start a new transaction.
    Expired = 12,
    /// The same call can succeed if the caller repeats the call. Example: a snapshot is too old for validation.
    TryAgain = 13,
    /// A compaction is larger than its limit permits.
    CompactionTooLarge = 14,
    /// The column family was dropped.
    ColumnFamilyDropped = 15,
}

impl Kind {
    /// Returns the text with which RocksDB's `Status::ToString` begins. The text ends with `": "`.
    pub fn text(self) -> &'static str {
        match self {
            Kind::NotFound => "NotFound: ",
            Kind::Corruption => "Corruption: ",
            Kind::NotSupported => "Not implemented: ",
            Kind::InvalidArgument => "Invalid argument: ",
            Kind::IoError => "IO error: ",
            Kind::MergeInProgress => "Merge in progress: ",
            Kind::Incomplete => "Result incomplete: ",
            Kind::ShutdownInProgress => "Shutdown in progress: ",
            Kind::TimedOut => "Operation timed out: ",
            Kind::Aborted => "Operation aborted: ",
            Kind::Busy => "Resource busy: ",
            Kind::Expired => "Operation expired: ",
            Kind::TryAgain => "Operation failed. Try again.: ",
            Kind::CompactionTooLarge => "Compaction too large: ",
            Kind::ColumnFamilyDropped => "Column family dropped: ",
        }
    }
}

/// The reason within a kind. The numbers are the numbers of RocksDB's `Status::SubCode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Subcode {
    /// No subcode.
    #[default]
    None = 0,
    /// A wait for a mutex ended.
    MutexTimeout = 1,
    /// A wait for the lock of a key ended.
    LockTimeout = 2,
    /// The number of locks reached its limit.
    LockLimit = 3,
    /// The device has no free space.
    NoSpace = 4,
    /// The lock would close a circle of waiting transactions.
    Deadlock = 5,
    /// The file was replaced on its file system.
    StaleFile = 6,
    /// The operation needs more memory than its limit permits.
    MemoryLimit = 7,
    /// The operation needs more disk space than the SST file manager permits.
    SpaceLimit = 8,
    /// The path does not exist.
    PathNotFound = 9,
    /// The caller passed room for fewer merge operands than the key has.
    MergeOperandsInsufficientCapacity = 10,
    /// Manual compactions are paused, or the caller cancelled the manual compaction.
    ManualCompactionPaused = 11,
    /// A later write replaced the data.
    Overwritten = 12,
    /// The transaction must be prepared before the commit.
    TxnNotPrepared = 13,
    /// The file system no longer accepts writes of this process.
    IoFenced = 14,
    /// The merge operator returned a failure.
    MergeOperatorFailed = 15,
    /// The key has more merge operands than the read permits. The value is valid.
    MergeOperandThresholdExceeded = 16,
    /// A prefetch reached its limit.
    PrefetchLimitReached = 17,
    /// The operation reached code that the operation must not reach.
    NotExpectedCodePath = 18,
    /// Compactions are aborted.
    CompactionAborted = 19,
}

impl Subcode {
    /// Returns the text that RocksDB's `Status::ToString` adds for the subcode. Empty for `None`.
    pub fn text(self) -> &'static str {
        match self {
            Subcode::None => "",
            Subcode::MutexTimeout => "Timeout Acquiring Mutex",
            Subcode::LockTimeout => "Timeout waiting to lock key",
            Subcode::LockLimit => "Failed to acquire lock due to max_num_locks limit",
            Subcode::NoSpace => "No space left on device",
            Subcode::Deadlock => "Deadlock",
            Subcode::StaleFile => "Stale file handle",
            Subcode::MemoryLimit => "Memory limit reached",
            Subcode::SpaceLimit => "Space limit reached",
            Subcode::PathNotFound => "No such file or directory",
            Subcode::MergeOperandsInsufficientCapacity => "Insufficient capacity for merge operands",
            Subcode::ManualCompactionPaused => "Manual compaction paused",
            Subcode::Overwritten => " (overwritten)",
            Subcode::TxnNotPrepared => "Txn not prepared",
            Subcode::IoFenced => "IO fenced off",
            Subcode::MergeOperatorFailed => "Merge operator failed",
            Subcode::MergeOperandThresholdExceeded => "Number of operands merged exceeded threshold",
            Subcode::PrefetchLimitReached => "MultiScan reached file prefetch limit",
            Subcode::NotExpectedCodePath => "Not expected code path",
            Subcode::CompactionAborted => "Compaction aborted",
        }
    }
}

/// The reach of a background error. The numbers are the numbers of RocksDB's `Status::Severity`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Severity {
    /// No background error.
    #[default]
    None = 0,
    /// Writes continue. The engine repeats the job.
    Soft = 1,
    /// Writes stop until `resume` succeeds.
    Hard = 2,
    /// Writes stop. If `resume` fails, open the database again.
    Fatal = 3,
    /// Writes stop, and data may be lost. Restore a backup, or call `repair`.
    Unrecoverable = 4,
}

#[derive(Clone)]
struct Inner {
    kind: Kind,
    subcode: Subcode,
    severity: Severity,
    retryable: bool,
    data_loss: bool,
    message: String,
    doing: Option<String>,
    file: Option<PathBuf>,
    offset: Option<u64>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The failure of an operation. A clone copies the texts, but not the source error.
#[derive(Clone)]
pub struct Error(Box<Inner>);

macro_rules! constructors {
    ($($name:ident $kind:ident),* $(,)?) => {$(
        #[doc = concat!("Makes an error of the kind [`Kind::", stringify!($kind), "`].")]
        /// The error has no subcode, no file and no offset. The caller adds them if they are known.
        #[cold]
        pub fn $name(message: impl Into<String>) -> Self { Error::new(Kind::$kind, message) }
    )*};
}

impl Error {
    /// Makes an error of `kind`. The caller adds file and offset if they are known.
    #[cold]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            subcode: Subcode::None,
            severity: Severity::None,
            retryable: false,
            data_loss: false,
            message: message.into(),
            doing: None,
            file: None,
            offset: None,
            source: None,
        }))
    }

    constructors! {
        not_found NotFound, corruption Corruption, not_supported NotSupported,
        invalid_argument InvalidArgument, io_error IoError, incomplete Incomplete,
        shutdown_in_progress ShutdownInProgress, timed_out TimedOut, aborted Aborted, busy Busy,
        try_again TryAgain, column_family_dropped ColumnFamilyDropped,
    }

    /// Makes an error of the file system from the operation, the file and the source error. A full disk gets
    /// `Subcode::NoSpace`, a missing file `Subcode::PathNotFound`, a stale handle `StaleFile`.
    #[cold]
    pub fn io(doing: impl Into<String>, file: &Path, source: std::io::Error) -> Self {
        let subcode = match source.kind() {
            std::io::ErrorKind::NotFound => Subcode::PathNotFound,
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Subcode::NoSpace,
            std::io::ErrorKind::StaleNetworkFileHandle => Subcode::StaleFile,
            _ => Subcode::None,
        };
        let retryable = subcode == Subcode::NoSpace;
        let mut error = Error::new(Kind::IoError, source.to_string()).with_subcode(subcode);
        error.0.retryable = retryable;
        error.0.source = Some(Arc::new(source));
        error.doing(doing).file(file)
    }

    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Returns the subcode, or `Subcode::None`.
    pub fn subcode(&self) -> Subcode {
        self.0.subcode
    }

    /// Returns the severity. An error of a call has `Severity::None`; only a background error has a severity.
    pub fn severity(&self) -> Severity {
        self.0.severity
    }

    /// Returns true if the same operation may succeed later without an action of the user.
    pub fn retryable(&self) -> bool {
        self.0.retryable
    }

    /// Returns true if acknowledged data may be lost.
    pub fn data_loss(&self) -> bool {
        self.0.data_loss
    }

    /// Returns the message without the kind, the file and the offset.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns what was being done, if the error says so: "opening a file".
    pub fn activity(&self) -> Option<&str> {
        self.0.doing.as_deref()
    }

    /// Returns the file that the error names, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// Returns the offset in the file in bytes, if the offset is known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns true if a named thing or a path does not exist.
    pub fn is_not_found(&self) -> bool {
        self.0.kind == Kind::NotFound || self.0.subcode == Subcode::PathNotFound
    }

    /// Returns true if bytes on disk differ from the bytes that were written.
    pub fn is_corruption(&self) -> bool {
        self.0.kind == Kind::Corruption
    }

    /// Returns true if the error says that a file is missing or damaged. An error of the file system that may pass says nothing about
    /// the file.
    pub fn is_missing_or_damaged(&self) -> bool {
        self.is_not_found() || self.is_corruption()
    }

    /// Replaces the kind.
    #[must_use]
    pub fn with_kind(mut self, kind: Kind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Replaces the subcode.
    #[must_use]
    pub fn with_subcode(mut self, subcode: Subcode) -> Self {
        self.0.subcode = subcode;
        self
    }

    /// Replaces the severity.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.0.severity = severity;
        self
    }

    /// Sets whether the same operation may succeed later without an action of the user.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Sets whether acknowledged data may be lost.
    #[must_use]
    pub fn with_data_loss(mut self, data_loss: bool) -> Self {
        self.0.data_loss = data_loss;
        self
    }

    /// Sets the operation, for example "reading the index block". The first call wins: later calls, from outer code,
    /// are ignored.
    #[must_use]
    pub fn doing(mut self, doing: impl Into<String>) -> Self {
        self.0.doing.get_or_insert_with(|| doing.into());
        self
    }

    /// Sets the file. The first call wins: later calls are ignored.
    #[must_use]
    pub fn file(mut self, file: impl AsRef<Path>) -> Self {
        self.0.file.get_or_insert_with(|| file.as_ref().to_path_buf());
        self
    }

    /// Sets the offset. The first call wins: later calls are ignored.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds `base` to an offset that is relative to a block or a record.
    #[must_use]
    pub fn shifted(mut self, base: u64) -> Self {
        self.0.offset = Some(self.0.offset.unwrap_or(0).saturating_add(base));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &*self.0;
        f.write_str(e.kind.text())?;
        if e.subcode != Subcode::None {
            write!(f, "{}: ", e.subcode.text().trim())?;
        }
        if let Some(doing) = &e.doing {
            write!(f, "while {doing}: ")?;
        }
        f.write_str(&e.message)?;
        match (&e.file, e.offset) {
            (Some(file), Some(at)) => write!(f, " in file {} at offset {at}", file.display()),
            (Some(file), None) => write!(f, " in file {}", file.display()),
            (None, Some(at)) => write!(f, " at offset {at}"),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}
