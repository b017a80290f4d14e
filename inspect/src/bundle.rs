//! A support bundle: the facts of a database in one JSON file, without keys and values.
//!
//! Each key bound is replaced by its rank. Messages of the info log can contain keys, so each text loses the parts in
//! quotes and the hexadecimal numbers. Secrets are removed from the options when they are read.

use std::path::Path;

use base::{Error, Result};
use env::{Env, ReadHints};
use serde::{Deserialize, Serialize};

use crate::model::{Database, FileKind, LogLine, Source};

/// The first bytes of a bundle.
const MAGIC: &str = "{\"ironstone_bundle\":1,";

/// The maximum size of a bundle in bytes. A larger bundle is not read.
const BUNDLE_BYTES_MAX: u64 = 1 << 30;

/// The number of info log lines in a bundle.
const TAIL_LINES_MAX: usize = 2000;

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Bundle {
    ironstone_bundle: u32,
    database: Database,
    /// The last lines of the info log.
    log_tail: Vec<String>,
}

/// Returns the text of a bundle.
///
/// # Errors
/// Errors of the file system while the tail of the info log is read.
pub fn write(env: &Env, dir: &Path, db: &Database) -> Result<String> {
    let mut database = db.clone();
    database.source = Source::Bundle;
    for file in database.families.iter_mut().flat_map(|family| family.files.iter_mut()) {
        (file.smallest, file.largest) = (None, None);
    }
    let lines =
        |lines: &mut Vec<LogLine>| lines.iter_mut().for_each(|line| line.text = without_keys(&line.text));
    lines(&mut database.log.errors);
    lines(&mut database.log.warnings);
    database.problems.iter_mut().for_each(|problem| problem.text = without_keys(&problem.text));
    let bundle = Bundle { ironstone_bundle: 1, database, log_tail: tail(env, dir, db)? };
    serde_json::to_string(&bundle).map_err(|error| Error::aborted(format!("writing the bundle: {error}")))
}

/// Returns true if the file is a bundle.
///
/// # Errors
/// Errors of the file system.
pub fn is_bundle(env: &Env, path: &Path) -> Result<bool> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let mut start = vec![0; MAGIC.len()];
    let read = file.read_at(0, &mut start)?;
    Ok(start[..read] == *MAGIC.as_bytes())
}

/// Reads a bundle.
///
/// # Errors
/// Corruption if the text is not a bundle. Errors of the file system.
pub fn read(env: &Env, path: &Path) -> Result<Database> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let size = file.size()?;
    if size > BUNDLE_BYTES_MAX {
        return Err(Error::not_supported(format!(
            "the bundle has {size} bytes; {BUNDLE_BYTES_MAX} are read"
        )));
    }
    let mut bytes = vec![0; size as usize];
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(read as u64, &mut bytes[read..])? {
            0 => break,
            n => read += n,
        }
    }
    let bundle: Bundle = serde_json::from_slice(&bytes[..read])
        .map_err(|error| Error::corruption(format!("the file is no bundle: {error}")).file(path))?;
    let mut database = bundle.database;
    database.source = Source::Bundle;
    Ok(database)
}

fn tail(env: &Env, dir: &Path, db: &Database) -> Result<Vec<String>> {
    let logs = db.files.iter().filter(|file| file.kind == FileKind::InfoLog);
    let Some(newest) = logs.max_by_key(|file| file.number) else { return Ok(Vec::new()) };
    let path = db.dir_of(newest, dir).join(&newest.name);
    if !env.fs.exists(&path)? {
        return Ok(Vec::new());
    }
    let file = env.fs.open_random(&path, &ReadHints::default())?;
    let size = file.size()?;
    let from = size.saturating_sub(1 << 20);
    let mut bytes = vec![0; (size - from) as usize];
    let read = file.read_at(from, &mut bytes)?;
    let text = String::from_utf8_lossy(&bytes[..read]);
    // The facts of the bundle already contain the events and the options.
    let kept = |line: &&str| !line.contains("EVENT_LOG_v1") && !line.contains("Options.");
    let lines: Vec<&str> = text.lines().filter(kept).collect();
    let first = lines.len().saturating_sub(TAIL_LINES_MAX);
    Ok(lines[first..].iter().map(|line| without_keys(line)).collect())
}

/// Returns the text without parts that may be keys. All between the first and the last quote of the text is removed,
/// because a key may contain a quote. Without a second quote, the rest of the text is removed. A word of hexadecimal
/// digits is removed in three cases: the word begins with `0x`; it has at least 16 digits; it has at least 6 digits,
/// and one digit is a letter. In a text about keys, a word of 4 or more decimal digits is removed too, because the
/// hexadecimal form of a key can have decimal digits only.
fn without_keys(text: &str) -> String {
    let is_quote = |c: char| c == '\'' || c == '"';
    let out = match (text.find(is_quote), text.rfind(is_quote)) {
        (Some(first), Some(last)) if first < last => format!("{}...{}", &text[..=first], &text[last..]),
        (Some(first), _) => format!("{}...", &text[..=first]),
        _ => text.to_string(),
    };
    let lower = out.to_ascii_lowercase();
    let is_about_keys =
        ["key", "range", "smallest", "largest", "begin", " end"].iter().any(|word| lower.contains(word));
    let mut clean = String::new();
    for part in out.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
        let is_hex = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_hexdigit());
        let is_decimal = word.bytes().all(|b| b.is_ascii_digit());
        let is_key = match word.len() {
            _ if digits.is_some_and(is_hex) => true,
            _ if !is_hex(word) => false,
            16.. => true,
            6.. if !is_decimal => true,
            4.. => is_decimal && is_about_keys,
            _ => false,
        };
        match is_key {
            true => clean.extend(["...", &part[word.len()..]]),
            false => clean.push_str(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_messages_are_removed() {
        let text = "compact from 'alice' to 'bob' at 0x616C696365616C6963650000, job 12";
        assert_eq!(without_keys(text), "compact from '...' at ..., job 12");
        assert_eq!(without_keys("an open 'quote"), "an open '...");
        assert_eq!(without_keys("from 'it's alice' to 'bob', job 7"), "from '...', job 7");
        assert_eq!(without_keys("from \"a'b\" to 'c\"d' x"), "from \"...' x");
    }

    #[test]
    fn short_hexadecimal_keys_are_removed_and_numbers_stay() {
        for (text, clean) in [
            ("smallest 6B6579 largest 31323334", "smallest ... largest ..."),
            ("at 0x61", "at ..."),
            ("corrupt key 616C6963 in table 12", "corrupt key ... in table 12"),
            ("wrote 67108864 bytes to 000012.sst", "wrote 67108864 bytes to 000012.sst"),
            ("alive and feed 12 decades", "alive and feed 12 decades"),
            ("block checksum deadbeef", "block checksum ..."),
        ] {
            assert_eq!(without_keys(text), clean);
        }
    }
}
