//! File names: from the type of a file and its number to the name, and back.
//!
//! Names do not contain a directory, except the names of archived WALs (`archive/000012.log`). Numbers are
//! printed with at least six digits and read with any count of digits. A name that does not parse is not a
//! name of the engine: the engine neither opens nor deletes the file. Two kinds of names parse in RocksDB and
//! not here. First: names with bytes after the number of an `OPTIONS-` or `LOG.old.` name, so a copy such as
//! `OPTIONS-000007.bak` stays. Second: names with a file number above [`FILE_NUMBER_MAX`]. RocksDB source:
//! `file/filename.cc`.

use base::{Error, FileNumber, Result, WalNumber};

/// The file that names the current MANIFEST.
pub const CURRENT: &str = "CURRENT";
/// The file that contains the id of the database.
pub const IDENTITY: &str = "IDENTITY";
/// The file that a database locks while the database is open for writing.
pub const LOCK: &str = "LOCK";
/// The name of the info log if it is in the database's directory.
pub const INFO_LOG: &str = "LOG";
/// The directory of archived WALs, in the directory of the WALs.
pub const ARCHIVE_DIR: &str = "archive";
/// The temporary file that is renamed to IDENTITY.
pub const IDENTITY_TEMP: &str = "000000.dbtmp";

/// The largest file number. No RocksDB database can have a larger number: the upper two bits of a packed file number
/// hold the path id (`kFileNumberMask` in `db/version_edit.h`). If a larger number were accepted from a foreign file,
/// the counter of file numbers could wrap, and new files would replace old files.
pub const FILE_NUMBER_MAX: FileNumber = FileNumber::new((1 << 62) - 1);

/// File numbers that stay free after an open.
pub const FILE_NUMBERS_LEFT: u64 = 1 << 32;

/// The largest file number in a MANIFEST. It leaves [`FILE_NUMBERS_LEFT`] numbers for new files.
pub const MANIFEST_NUMBER_MAX: FileNumber = FileNumber::new(FILE_NUMBER_MAX.get() - FILE_NUMBERS_LEFT);

/// Half of [`FILE_NUMBER_MAX`]. A larger number in a file name is doubtful: no database has written so many files.
pub const FILE_NUMBER_PLAUSIBLE_MAX: FileNumber = FileNumber::new(FILE_NUMBER_MAX.get() / 2);

const MANIFEST_PREFIX: &str = "MANIFEST-";
const OPTIONS_PREFIX: &str = "OPTIONS-";
const PROGRESS_PREFIX: &str = "COMPACTION_PROGRESS-";
const METADB_PREFIX: &str = "METADB-";
const TEMP_SUFFIX: &str = ".dbtmp";

/// A parsed file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileName {
    /// `000012.log`
    Wal(WalNumber),
    /// `archive/000012.log`
    ArchivedWal(WalNumber),
    /// `000012.sst`
    Table(FileNumber),
    /// `000012.ldb`: a table with LevelDB's name.
    LegacyTable(FileNumber),
    /// `000012.blob`
    Blob(FileNumber),
    /// `MANIFEST-000012`
    Manifest(FileNumber),
    /// `CURRENT`
    Current,
    /// `IDENTITY`
    Identity,
    /// `LOCK`
    Lock,
    /// `OPTIONS-000012`
    Options(FileNumber),
    /// `000012.dbtmp`
    Temp(FileNumber),
    /// `OPTIONS-000012.dbtmp`
    OptionsTemp(FileNumber),
    /// `LOG`
    InfoLog,
    /// `LOG.old.1700000000000000` with microseconds since 1970, or `LOG.old`; then the number is 0.
    OldInfoLog(u64),
    /// `COMPACTION_PROGRESS-1700000000`
    CompactionProgress(u64),
    /// `COMPACTION_PROGRESS-1700000000.dbtmp`
    CompactionProgressTemp(u64),
    /// `METADB-1`: a reserved name. Such a file is kept.
    MetaDb(u64),
}

impl FileName {
    /// Parses a name. The info log is called `LOG`.
    pub fn parse(name: &str) -> Option<FileName> {
        Self::parse_with_info_log(name, INFO_LOG)
    }

    /// Parses a name. `info_log` is the name of the database's info log: in a separate `db_log_dir`, the name contains the
    /// path of the database. One leading slash is ignored.
    pub fn parse_with_info_log(name: &str, info_log: &str) -> Option<FileName> {
        let name = name.strip_prefix('/').unwrap_or(name);
        match name {
            CURRENT => return Some(FileName::Current),
            IDENTITY => return Some(FileName::Identity),
            LOCK => return Some(FileName::Lock),
            _ => {}
        }
        if let Some(rest) = name.strip_prefix(info_log) {
            return match rest {
                "" => Some(FileName::InfoLog),
                ".old" => Some(FileName::OldInfoLog(0)),
                _ => rest.strip_prefix(".old.").and_then(number).map(FileName::OldInfoLog),
            };
        }
        if let Some(rest) = name.strip_prefix(MANIFEST_PREFIX) {
            return file_number(rest).map(FileName::Manifest);
        }
        if let Some(rest) = name.strip_prefix(OPTIONS_PREFIX) {
            return match rest.strip_suffix(TEMP_SUFFIX) {
                Some(rest) => file_number(rest).map(FileName::OptionsTemp),
                None => file_number(rest).map(FileName::Options),
            };
        }
        if let Some(rest) = name.strip_prefix(PROGRESS_PREFIX) {
            return match rest.strip_suffix(TEMP_SUFFIX) {
                Some(rest) => number(rest).map(FileName::CompactionProgressTemp),
                None => number(rest).map(FileName::CompactionProgress),
            };
        }
        if let Some(rest) = name.strip_prefix(METADB_PREFIX) {
            return number(rest).map(FileName::MetaDb);
        }
        if let Some(rest) = name.strip_prefix(ARCHIVE_DIR).and_then(|r| r.strip_prefix('/')) {
            return rest
                .strip_suffix(".log")
                .and_then(file_number)
                .map(WalNumber::of_file)
                .map(FileName::ArchivedWal);
        }
        let (digits, extension) = name.split_once('.')?;
        let n = file_number(digits)?;
        Some(match extension {
            "log" => FileName::Wal(WalNumber::of_file(n)),
            "sst" => FileName::Table(n),
            "ldb" => FileName::LegacyTable(n),
            "blob" => FileName::Blob(n),
            "dbtmp" => FileName::Temp(n),
            _ => return None,
        })
    }

    /// Returns the file number, for the types whose number comes from the database's file number counter.
    pub fn number(&self) -> Option<FileNumber> {
        use FileName::*;
        match *self {
            Wal(n) | ArchivedWal(n) => Some(n.file()),
            Table(n) | LegacyTable(n) | Blob(n) | Manifest(n) | Options(n) | Temp(n) | OptionsTemp(n) => {
                Some(n)
            }
            Current
            | Identity
            | Lock
            | InfoLog
            | OldInfoLog(_)
            | CompactionProgress(_)
            | CompactionProgressTemp(_)
            | MetaDb(_) => None,
        }
    }
}

impl std::fmt::Display for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use FileName::*;
        match *self {
            Wal(n) => write!(f, "{n:06}.log"),
            ArchivedWal(n) => write!(f, "{ARCHIVE_DIR}/{n:06}.log"),
            Table(n) => write!(f, "{n:06}.sst"),
            LegacyTable(n) => write!(f, "{n:06}.ldb"),
            Blob(n) => write!(f, "{n:06}.blob"),
            Manifest(n) => write!(f, "{MANIFEST_PREFIX}{n:06}"),
            Current => f.write_str(CURRENT),
            Identity => f.write_str(IDENTITY),
            Lock => f.write_str(LOCK),
            Options(n) => write!(f, "{OPTIONS_PREFIX}{n:06}"),
            Temp(n) => write!(f, "{n:06}{TEMP_SUFFIX}"),
            OptionsTemp(n) => write!(f, "{OPTIONS_PREFIX}{n:06}{TEMP_SUFFIX}"),
            InfoLog => f.write_str(INFO_LOG),
            OldInfoLog(0) => write!(f, "{INFO_LOG}.old"),
            OldInfoLog(us) => write!(f, "{INFO_LOG}.old.{us}"),
            CompactionProgress(ts) => write!(f, "{PROGRESS_PREFIX}{ts}"),
            CompactionProgressTemp(ts) => write!(f, "{PROGRESS_PREFIX}{ts}{TEMP_SUFFIX}"),
            MetaDb(n) => write!(f, "{METADB_PREFIX}{n}"),
        }
    }
}

/// Returns the name of a WAL, for example `000012.log`.
pub fn wal(number: WalNumber) -> String {
    FileName::Wal(number).to_string()
}

/// Returns the name of an SST file, for example `000012.sst`.
pub fn table(number: FileNumber) -> String {
    FileName::Table(number).to_string()
}

/// Returns LevelDB's name for a table. It is tried when the usual name does not exist.
pub fn legacy_table(number: FileNumber) -> String {
    FileName::LegacyTable(number).to_string()
}

/// Returns the name of a blob file, for example `000012.blob`.
pub fn blob(number: FileNumber) -> String {
    FileName::Blob(number).to_string()
}

/// Returns the name of a MANIFEST, for example `MANIFEST-000012`.
pub fn manifest(number: FileNumber) -> String {
    FileName::Manifest(number).to_string()
}

/// Returns the name of an OPTIONS file, for example `OPTIONS-000012`.
pub fn options(number: FileNumber) -> String {
    FileName::Options(number).to_string()
}

/// Returns the temporary name of an OPTIONS file, for example `OPTIONS-000012.dbtmp`.
pub fn options_temp(number: FileNumber) -> String {
    FileName::OptionsTemp(number).to_string()
}

/// Returns the name of a temporary file, for example `000012.dbtmp`.
pub fn temp(number: FileNumber) -> String {
    FileName::Temp(number).to_string()
}

/// Returns the content of a CURRENT file that names a MANIFEST.
pub fn current_content(manifest_number: FileNumber) -> String {
    format!("{}\n", manifest(manifest_number))
}

/// Returns the number of the MANIFEST that the content of CURRENT names.
///
/// # Errors
/// Corruption if the content does not end with a newline or does not name a MANIFEST.
pub fn parse_current(content: &[u8]) -> Result<FileNumber> {
    let Some(name) = content.strip_suffix(b"\n") else {
        return Err(Error::corruption("CURRENT file does not end with newline").at(content.len() as u64));
    };
    match std::str::from_utf8(name).ok().and_then(FileName::parse) {
        Some(FileName::Manifest(n)) if !name.starts_with(b"/") => Ok(n),
        _ => Err(Error::corruption(format!(
            "CURRENT file names no MANIFEST but {:?}",
            name[..name.len().min(64)].escape_ascii().to_string()
        ))
        .at(first_wrong(name) as u64)),
    }
}

/// Returns the index of the first byte that does not fit the name of a MANIFEST.
fn first_wrong(name: &[u8]) -> usize {
    let prefix = MANIFEST_PREFIX.as_bytes();
    let same = name.iter().zip(prefix).take_while(|(a, b)| a == b).count();
    if same < prefix.len() {
        return same;
    }
    same + name[same..].iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Returns the database id that the content of IDENTITY contains. One newline at the end is dropped.
pub fn parse_identity(content: &[u8]) -> Result<String> {
    let id = content.strip_suffix(b"\n").unwrap_or(content);
    let text = std::str::from_utf8(id);
    let text =
        text.map_err(|e| Error::corruption("IDENTITY file is not UTF-8").at(e.valid_up_to() as u64))?;
    Ok(text.to_string())
}

/// Reads a file number. Returns `None` for a number above [`FILE_NUMBER_MAX`].
fn file_number(digits: &str) -> Option<FileNumber> {
    number(digits).map(FileNumber::new).filter(|n| *n <= FILE_NUMBER_MAX)
}

/// Reads a number of 64 bits that consists of decimal digits only.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests;
