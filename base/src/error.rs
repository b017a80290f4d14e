//! The one public error: RocksDB's code, subcode and severity, and what was being done to which file.
//!
//! Numbers are those of RocksDB's `include/rocksdb/status.h`; the C interface and statistics rely on
//! them. An `Error` is one pointer wide, so that `Result<T>` stays small on hot paths.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, as RocksDB's `Status::Code` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The thing asked for is not there. Look-ups answer `None` instead; this is for named things.
    NotFound = 1,
    /// Bytes on disk are not what was written. Restore or `repair`; the file and offset are named.
    Corruption = 2,
    /// A feature that this build or this release does not have; the message names it.
    NotSupported = 3,
    /// The caller's arguments or options contradict the database or each other. Fix the call.
    InvalidArgument = 4,
    /// The file system refused. See the source error; a full disk has `Subcode::NoSpace`.
    IoError = 5,
    /// Merge operands without a base were found where the caller asked not to resolve them.
    MergeInProgress = 6,
    /// The answer needs I/O, or more time, than the caller allowed.
    Incomplete = 7,
    /// The database is closing; the call did nothing.
    ShutdownInProgress = 8,
    /// A lock or a deadline was not had in time. Try again.
    TimedOut = 9,
    /// The operation was given up, by the caller's or the system's choice.
    Aborted = 10,
    /// Something else holds what is needed: another process, a lock, a running job.
    Busy = 11,
    Expired = 12,
    /// Nothing is wrong; the same call may succeed now (a snapshot too old to validate against).
    TryAgain = 13,
    CompactionTooLarge = 14,
    /// The column family was dropped.
    ColumnFamilyDropped = 15,
}

impl Kind {
    /// RocksDB's words for it, as `Status::ToString` begins.
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

/// The finer reason, as RocksDB's `Status::SubCode` numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Subcode {
    #[default]
    None = 0,
    MutexTimeout = 1,
    LockTimeout = 2,
    LockLimit = 3,
    NoSpace = 4,
    Deadlock = 5,
    StaleFile = 6,
    MemoryLimit = 7,
    SpaceLimit = 8,
    PathNotFound = 9,
    MergeOperandsInsufficientCapacity = 10,
    ManualCompactionPaused = 11,
    Overwritten = 12,
    TxnNotPrepared = 13,
    IoFenced = 14,
    MergeOperatorFailed = 15,
    MergeOperandThresholdExceeded = 16,
    PrefetchLimitReached = 17,
    NotExpectedCodePath = 18,
    CompactionAborted = 19,
}

impl Subcode {
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

/// How far a background error reaches, as RocksDB's `Status::Severity` numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Severity {
    #[default]
    None = 0,
    /// Writes go on; the job is tried again.
    Soft = 1,
    /// Writes stop until `resume`.
    Hard = 2,
    /// Writes stop; resuming may not be possible without reopening.
    Fatal = 3,
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

/// An operation's failure. Cheap to pass on, cloneable (a background error is told to many).
#[derive(Clone)]
pub struct Error(Box<Inner>);

macro_rules! constructors {
    ($($name:ident $kind:ident),* $(,)?) => {$(
        #[cold]
        pub fn $name(message: impl Into<String>) -> Self { Error::new(Kind::$kind, message) }
    )*};
}

impl Error {
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

    /// A file-system error with what was being done and to which file. A full disk gets
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

    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    pub fn subcode(&self) -> Subcode {
        self.0.subcode
    }

    pub fn severity(&self) -> Severity {
        self.0.severity
    }

    /// Whether the same operation may succeed later without anyone's help.
    pub fn retryable(&self) -> bool {
        self.0.retryable
    }

    pub fn data_loss(&self) -> bool {
        self.0.data_loss
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file it happened in, when there is one.
    pub fn path(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// The offset in that file, in bytes, when known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    pub fn is_not_found(&self) -> bool {
        self.0.kind == Kind::NotFound || self.0.subcode == Subcode::PathNotFound
    }

    pub fn is_corruption(&self) -> bool {
        self.0.kind == Kind::Corruption
    }

    #[must_use]
    pub fn with_kind(mut self, kind: Kind) -> Self {
        self.0.kind = kind;
        self
    }

    #[must_use]
    pub fn with_subcode(mut self, subcode: Subcode) -> Self {
        self.0.subcode = subcode;
        self
    }

    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.0.severity = severity;
        self
    }

    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    #[must_use]
    pub fn with_data_loss(mut self, data_loss: bool) -> Self {
        self.0.data_loss = data_loss;
        self
    }

    /// What was being done: "reading the index block". The innermost wins; outer calls are ignored.
    #[must_use]
    pub fn doing(mut self, doing: impl Into<String>) -> Self {
        self.0.doing.get_or_insert_with(|| doing.into());
        self
    }

    /// The file; the innermost wins.
    #[must_use]
    pub fn file(mut self, file: impl AsRef<Path>) -> Self {
        self.0.file.get_or_insert_with(|| file.as_ref().to_path_buf());
        self
    }

    /// The offset; the innermost wins.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds a base to an offset that was relative to a block or record.
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
