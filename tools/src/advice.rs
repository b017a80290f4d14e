//! Prints an error with advice: the tools print the advice below the error, if there is any.

use std::io::ErrorKind;

use base::{Error, Kind, Subcode};
use format::names::FileName;

/// Returns the text of the error. If the user can do something about the error, the next line says what to do.
pub fn with_advice(error: &Error) -> String {
    match advice(error) {
        Some(advice) => format!("{error}\n{advice}"),
        None => error.to_string(),
    }
}

fn advice(error: &Error) -> Option<&'static str> {
    let says = |words: &str| error.message().contains(words);
    let is_file = |name: &str| error.path().and_then(|p| p.file_name()).is_some_and(|file| file == name);
    let of_system = std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .map_or(ErrorKind::Other, std::io::Error::kind);
    Some(match (error.kind(), error.subcode()) {
        _ if says("create_if_missing is false") => {
            "The path has no database. Check the path, or create a database with `create_if_missing`."
        }
        (_, Subcode::PathNotFound) if is_file("CURRENT") => "The path has no database. Check the path.",
        (_, Subcode::PathNotFound) if !is_of_a_database(error) => "Check the path.",
        (_, Subcode::PathNotFound) => {
            "The database needs this file. `ldb fsck` lists what is lost without the file; `ldb repair` restores all other entries."
        }
        (_, Subcode::NoSpace) => {
            "Free space on the device, and run the command again. All acknowledged writes are kept."
        }
        (_, Subcode::MergeOperatorFailed) => {
            "Open the database with the merge operator that wrote its merge operands."
        }
        _ if is_file("LOCK") && of_system == ErrorKind::ReadOnlyFilesystem => {
            "The file system is read-only. Commands that only read (get, scan, dump, ...) work."
        }
        _ if is_file("LOCK") && says("holds the lock") => {
            "Another process has the database open. End this process, or use a command that only reads (get, scan, dump, ...)."
        }
        _ if of_system == ErrorKind::PermissionDenied => {
            "Run the command as a user who may access this file."
        }
        _ if of_system == ErrorKind::NotADirectory => "A database is a directory. Check the path.",
        _ if says("does not match existing comparator") => {
            "Open the column family with the comparator of its creation: load the OPTIONS file, or set the option."
        }
        _ if says("Column families not opened") => {
            "Name all column families, or use `ldb`, which opens all of them."
        }
        (Kind::Corruption, _) if says("unknown tag") || says("unsupported format_version") => {
            "A newer release may have written the file: use that release. Otherwise `ldb fsck` lists what is lost."
        }
        (Kind::Corruption, _) => {
            "`ldb fsck` lists what is lost and changes nothing; `ldb repair` restores every entry outside of the damage."
        }
        _ => return None,
    })
}

/// Returns true if the error names a file of a database.
fn is_of_a_database(error: &Error) -> bool {
    error.path().and_then(|p| p.file_name()?.to_str()).is_some_and(|name| FileName::parse(name).is_some())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn advice_is_printed_below_the_error() {
        let io = |file: &str, kind: ErrorKind| Error::io("while trying", Path::new(file), kind.into());
        let locked = std::io::Error::new(ErrorKind::WouldBlock, "busy; process 5 holds the lock");
        for (error, words) in [
            (io("db/CURRENT", ErrorKind::NotFound), "Check the path"),
            (io("db/000007.sst", ErrorKind::NotFound), "ldb fsck"),
            (io("db/000007.log", ErrorKind::StorageFull), "Free space"),
            (io("db/LOCK", ErrorKind::ReadOnlyFilesystem), "only read"),
            (Error::io("locking a file", Path::new("db/LOCK"), locked), "End this process"),
            (io("db/x", ErrorKind::PermissionDenied), "as a user"),
            (Error::corruption("checksum mismatch").file("db/000007.sst"), "ldb repair"),
            (Error::corruption("VersionEdit: unknown tag 6000"), "newer"),
            (Error::corruption("corrupt or unsupported format_version 9"), "newer"),
        ] {
            let text = with_advice(&error);
            assert!(text.starts_with(&error.to_string()) && text.contains(words), "{text}");
        }
        assert_eq!(
            with_advice(&Error::not_supported("blob files")),
            Error::not_supported("blob files").to_string()
        );
    }
}
