//! The directory that a path of Java names.
//!
//! A Java text is UTF-16. The name of a directory is UTF-8, as in `java.io.File`. RocksDB's natives name a directory by the modified
//! UTF-8 of the JNI: a character above U+FFFF is two surrogates of three bytes each. `java.io.File` does not find this name. A
//! program that changes from RocksDB's library to this library must find its database again, so a path also names the directory
//! that RocksDB made.
//!
//! Facts: the JNI specification, "Modified UTF-8 Strings".

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use env::FileSystem;

use crate::fault::Outcome;
use crate::java::{JString, Java};

/// Returns the directory of a database. With characters above U+FFFF, a database of the modified name is found if the UTF-8 name
/// has no database.
///
/// # Errors
/// NullPointerException.
pub fn database_dir(java: Java<'_>, path: JString<'_>, fs: &dyn FileSystem) -> Outcome<PathBuf> {
    let text = java.text(path)?;
    let Some(modified) = modified(&text) else { return Ok(text.into()) };
    let is_database = |dir: &PathBuf| fs.exists(&dir.join("CURRENT")).unwrap_or(false);
    let plain = PathBuf::from(text);
    Ok(if !is_database(&plain) && is_database(&modified) { modified } else { plain })
}

/// Returns the path in modified UTF-8, if the path differs from UTF-8.
fn modified(text: &str) -> Option<PathBuf> {
    if text.chars().all(|character| character <= '\u{FFFF}') {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() * 3 / 2);
    for character in text.chars() {
        if character <= '\u{FFFF}' {
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let unit = *unit;
            bytes.extend([
                0xE0 | (unit >> 12) as u8,
                0x80 | (unit >> 6 & 0x3F) as u8,
                0x80 | (unit & 0x3F) as u8,
            ]);
        }
    }
    Some(OsString::from_vec(bytes).into())
}
