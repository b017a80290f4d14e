//! The text of values: escapes, maps `{name=value;..}`, and lists `a:b:c`.
//!
//! See RocksDB `options/options_helper.cc` (StringToMap) and `util/string_util.cc`.

use crate::map::HashMap;
use crate::{Error, Result};

/// The largest nesting depth of braces. Deeper text is rejected.
const DEPTH_MAX: usize = 64;

/// Puts a backslash before each character that has a meaning in an OPTIONS file.
pub fn escape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '\\' | '#' | ':' => out.extend(['\\', c]),
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            _ => out.push(c),
        }
    }
    out
}

/// Undoes [`escape`]. A backslash at the end is dropped.
pub fn unescape(escaped: &str) -> String {
    let mut out = String::with_capacity(escaped.len());
    let mut chars = escaped.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('r') => out.push('\r'),
                Some('n') => out.push('\n'),
                Some(c) => out.push(c),
                None => {}
            },
            _ => out.push(c),
        }
    }
    out
}

/// Splits an option string `k=v;k2={..}`, with or without braces around the whole string, into names and values.
/// Values lose one pair of braces. If a name occurs twice, the last value counts, as in RocksDB. An earlier value is
/// not checked.
///
/// # Errors
/// InvalidArgument if braces do not match, a name is empty or has braces, or a `=` is missing.
pub fn parse_map(text: &str) -> Result<Vec<(String, String)>> {
    let mut rest = text.trim();
    // The whole string may be in braces, also in several pairs.
    for _ in 0..DEPTH_MAX {
        if !rest.starts_with('{') {
            break;
        }
        let end = closing_brace(rest)?;
        if end + 1 != rest.len() {
            return Err(invalid("text after the closing brace", rest));
        }
        rest = rest[1..end].trim();
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::default();
    while !rest.is_empty() {
        let Some(eq) = rest.find('=') else {
            return Err(invalid("mismatched key value pair, '=' expected", rest));
        };
        let name = rest[..eq].trim();
        if name.is_empty() {
            return Err(invalid("empty key found", rest));
        }
        if name.contains(['{', '}', ';']) {
            return Err(invalid("unexpected character in key", name));
        }
        let (value, after) = next_token(&rest[eq + 1..], ';')?;
        let place = *places.entry(name).or_insert(pairs.len());
        match pairs.get_mut(place) {
            Some((_, earlier)) => *earlier = value.to_string(),
            None => pairs.push((name.to_string(), value.to_string())),
        }
        rest = after.trim_start();
    }
    Ok(pairs)
}

/// Splits a list at `delimiter`. Elements lose one pair of braces. An empty text is an empty list.
///
/// # Errors
/// InvalidArgument if braces do not match.
pub fn parse_list(text: &str, delimiter: char) -> Result<Vec<String>> {
    let mut items = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (item, after) = next_token(rest, delimiter)?;
        items.push(item.to_string());
        rest = after;
    }
    Ok(items)
}

/// Drops one pair of braces around the whole text, if the first brace is closed by the last.
pub fn strip_outer_braces(text: &str) -> &str {
    let text = text.trim();
    match closing_brace(text) {
        Ok(end) if text.starts_with('{') && end + 1 == text.len() => text[1..end].trim(),
        _ => text,
    }
}

/// Returns the value up to the delimiter, and the text after the delimiter. A value in braces loses the braces.
fn next_token(text: &str, delimiter: char) -> Result<(&str, &str)> {
    let text = text.trim_start();
    if text.starts_with('{') {
        let end = closing_brace(text)?;
        let after = text[end + 1..].trim_start();
        let after = match after.strip_prefix(delimiter) {
            Some(after) => after,
            None if after.is_empty() => after,
            None => return Err(invalid("unexpected chars after nested options", after)),
        };
        return Ok((text[1..end].trim(), after));
    }
    Ok(match text.find(delimiter) {
        Some(at) => (text[..at].trim(), &text[at + delimiter.len_utf8()..]),
        None => (text.trim(), ""),
    })
}

/// Returns the offset of the brace that closes the first brace of `text`.
fn closing_brace(text: &str) -> Result<usize> {
    let mut depth = 0usize;
    for (at, b) in text.bytes().enumerate() {
        match b {
            b'{' => depth += 1,
            b'}' if depth == 0 => break,
            b'}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Ok(at);
        }
        if depth > DEPTH_MAX {
            return Err(invalid("braces nested too deep", text));
        }
    }
    Err(invalid("mismatched curly braces for nested options", text))
}

#[cold]
fn invalid(what: &str, near: &str) -> Error {
    let near: String = near.chars().take(40).collect();
    Error::invalid_argument(format!("{what}, at '{near}'"))
}
