//! Prints an error with advice: the tools print the advice below the error, if there is any.

use std::io::ErrorKind;

use base::{Error, Kind, Subcode};
use format::names::FileName;

/// Returns the text of the error. If the user can do something about the error, the next line says what to do.
pub fn told(error: &Error) -> String {
    match what_to_do(error) {
        Some(advice) => format!("{error}\n{advice}"),
        None => error.to_string(),
    }
}

fn what_to_do(error: &Error) -> Option<&'static str> {
    let says = |words: &str| error.message().contains(words);
    let is_file = |name: &str| error.path().and_then(|p| p.file_name()).is_some_and(|file| file == name);
    let of_system = std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .map_or(ErrorKind::Other, std::io::Error::kind);
    Some(match (error.kind(), error.subcode()) {
        _ if says("create_if_missing is false") => {
            "No database is there: look at the path again, or let one be made (`create_if_missing`)."
        }
        (_, Subcode::PathNotFound) if is_file("CURRENT") => "No database is there: look at the path again.",
        (_, Subcode::PathNotFound) if !is_of_a_database(error) => "Look at the path again.",
        (_, Subcode::PathNotFound) => {
            "The database needs this file. `ldb fsck` tells what is lost without it, `ldb repair` brings back the rest."
        }
        (_, Subcode::NoSpace) => "Make room and try again; what was acknowledged before is kept.",
        (_, Subcode::MergeOperatorFailed) => {
            "Open the database with the merge operator that its data were written for."
        }
        _ if is_file("LOCK") && of_system == ErrorKind::ReadOnlyFilesystem => {
            "Nothing can be written there; commands that only read (get, scan, dump, ...) work."
        }
        _ if is_file("LOCK") && says("is held by") => {
            "Another process has the database open: end it first, or use a command that only reads (get, scan, dump, ...)."
        }
        _ if of_system == ErrorKind::PermissionDenied => "Run it as a user who may use this file.",
        _ if of_system == ErrorKind::NotADirectory => "A database is a directory: look at the path again.",
        _ if says("does not match existing comparator") => {
            "Open the family with the comparator that it was made with, by its OPTIONS file or by option."
        }
        _ if says("Column families not opened") => "Name all of them, or use ldb, which opens them all.",
        (Kind::Corruption, _) if says("unknown tag") || says("unsupported format_version") => {
            "A newer release may have written this: use that one. If none did, `ldb fsck` tells what is lost."
        }
        (Kind::Corruption, _) => {
            "`ldb fsck` tells what is lost and changes nothing; `ldb repair` brings back every row outside of the damage."
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
    fn what_can_be_done_is_said_below_the_error() {
        let io = |file: &str, kind: ErrorKind| Error::io("while trying", Path::new(file), kind.into());
        for (error, words) in [
            (io("db/CURRENT", ErrorKind::NotFound), "look at the path"),
            (io("db/000007.sst", ErrorKind::NotFound), "ldb fsck"),
            (io("db/000007.log", ErrorKind::StorageFull), "Make room"),
            (io("db/LOCK", ErrorKind::ReadOnlyFilesystem), "only read"),
            (io("db/x", ErrorKind::PermissionDenied), "as a user"),
            (Error::corruption("checksum mismatch").file("db/000007.sst"), "ldb repair"),
            (Error::corruption("VersionEdit: unknown tag 6000"), "newer"),
            (Error::corruption("corrupt or unsupported format_version 9"), "newer"),
        ] {
            let text = told(&error);
            assert!(text.starts_with(&error.to_string()) && text.contains(words), "{text}");
        }
        assert_eq!(told(&Error::not_supported("blob files")), Error::not_supported("blob files").to_string());
    }
}
