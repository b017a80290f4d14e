//! The text form of the messages of a compaction service.
//!
//! ```text
//! name=value;name=value;...      a struct: the fields in any order, unknown names are ignored
//! {name=value;...}               a struct as a value
//! a:b:c                          a list; an element with `:` is in braces; a list of structs is in braces
//! 6B6579                         a string: the bytes in hexadecimal digits
//! ```
//! RocksDB reads and writes the same text. Facts: RocksDB `options/options_helper.cc` (`StringToMap`, `NextToken`,
//! `StripOuterBraces`), `include/rocksdb/utilities/options_type.h` (`ParseVector`, `SerializeVector`).

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use base::{Error, Result};

/// The format of a message that RocksDB 11.8.1 writes: the text form.
const TEXT_FORMAT: u32 = 1;

/// The fields of a struct, by name.
pub struct Fields<'a>(BTreeMap<&'a str, &'a str>);

/// Writes the fields of a struct.
#[derive(Default)]
pub struct TextWriter(String);

/// Returns the text of a message. `what` names the message in errors, for example "Compaction Service Input".
///
/// # Errors
/// InvalidArgument if the message is too short, does not end with the end of a field, or is not text. NotSupported for another format.
pub fn text_of<'a>(message: &'a [u8], what: &str) -> Result<&'a str> {
    let Some((format, text)) = message.split_first_chunk::<4>().filter(|(_, text)| !text.is_empty()) else {
        return Err(Error::invalid_argument(format!("Invalid {} string", what.replace(' ', ""))));
    };
    let format = u32::from_le_bytes(*format);
    if format != TEXT_FORMAT {
        return Err(Error::not_supported(format!("{what} data version not supported: {format}")));
    }
    if !text.ends_with(b";") {
        return Err(Error::invalid_argument(format!("{what} ends within a field")));
    }
    std::str::from_utf8(text).map_err(|error| Error::invalid_argument(format!("{what} is not text: {error}")))
}

impl<'a> Fields<'a> {
    /// Reads the fields of a struct, with or without its braces.
    ///
    /// # Errors
    /// InvalidArgument if a name has no value or a brace has no partner.
    pub fn parse(text: &'a str) -> Result<Self> {
        let mut rest = text.trim();
        while let Some(inner) = without_braces(rest) {
            rest = inner;
        }
        let mut fields = BTreeMap::new();
        while !rest.is_empty() {
            let at = rest.find(['=', '{', '}', ';']);
            let Some(at) = at.filter(|at| rest.as_bytes()[*at] == b'=') else {
                return Err(Error::invalid_argument(format!("no name and value in {}", shown(rest))));
            };
            let (value, after) = value(&rest[at + 1..], ';')?;
            fields.insert(rest[..at].trim(), value);
            rest = after.trim_start();
        }
        Ok(Fields(fields))
    }

    /// Checks that the struct has these fields. RocksDB writes all fields of a struct, in any order.
    ///
    /// # Errors
    /// InvalidArgument with the name of the first absent field.
    pub fn require(&self, names: &[&str]) -> Result<()> {
        match names.iter().find(|name| !self.0.contains_key(**name)) {
            Some(name) => Err(Error::invalid_argument(format!("a message without the field {name}"))),
            None => Ok(()),
        }
    }

    /// Returns the text of a field. An absent field is empty.
    pub fn text(&self, name: &str) -> &'a str {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Returns a number. An absent field is the default.
    ///
    /// # Errors
    /// InvalidArgument if the text is no such number.
    pub fn number<T: std::str::FromStr + Default>(&self, name: &str) -> Result<T> {
        match self.text(name) {
            "" => Ok(T::default()),
            text => text
                .parse()
                .map_err(|_| Error::invalid_argument(format!("{name} is not a number: {}", shown(text)))),
        }
    }

    /// Returns a truth value. An absent field is false.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.text(name), "true" | "1")
    }

    /// Returns the bytes of a string. An absent field is empty.
    ///
    /// # Errors
    /// InvalidArgument if the text is not hexadecimal.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        decode(self.text(name))
    }

    /// Returns a string.
    ///
    /// # Errors
    /// InvalidArgument if the text is not hexadecimal or is not UTF-8.
    pub fn string(&self, name: &str) -> Result<String> {
        String::from_utf8(self.bytes(name)?)
            .map_err(|_| Error::invalid_argument(format!("{name} is not UTF-8")))
    }

    /// Returns the elements of a list.
    ///
    /// # Errors
    /// InvalidArgument if a brace has no partner.
    pub fn list(&self, name: &str) -> Result<Vec<&'a str>> {
        let text = self.text(name).trim();
        let mut rest = without_braces(text).unwrap_or(text);
        let mut elements = Vec::new();
        while !rest.is_empty() {
            let (element, after) = value(rest, ':')?;
            elements.push(without_braces(element).unwrap_or(element));
            rest = after;
        }
        Ok(elements)
    }
}

impl TextWriter {
    /// Adds a field.
    pub fn field(&mut self, name: &str, value: impl Display) -> &mut Self {
        // A write to a string does not fail.
        let _ = write!(self.0, "{name}={value};");
        self
    }

    /// Adds a string as hexadecimal digits.
    pub fn bytes(&mut self, name: &str, value: &[u8]) -> &mut Self {
        self.field(name, encode(value))
    }

    /// Adds a struct.
    pub fn fields(&mut self, name: &str, value: TextWriter) -> &mut Self {
        self.field(name, format_args!("{{{}}}", value.0))
    }

    /// Adds a list of texts without `:` and `=`.
    pub fn list(&mut self, name: &str, values: impl Iterator<Item = String>) -> &mut Self {
        self.field(name, values.collect::<Vec<_>>().join(":"))
    }

    /// Adds a list of structs.
    pub fn structs(&mut self, name: &str, values: impl Iterator<Item = TextWriter>) -> &mut Self {
        let values: Vec<String> = values.map(|value| format!("{{{{{}}}}}", value.0)).collect();
        match values.is_empty() {
            true => self.field(name, ""),
            false => self.field(name, format_args!("{{{}}}", values.join(":"))),
        }
    }

    /// Returns the message.
    pub fn message(self) -> Vec<u8> {
        let mut message = TEXT_FORMAT.to_le_bytes().to_vec();
        message.extend_from_slice(self.0.as_bytes());
        message
    }
}

/// Returns bytes as hexadecimal digits.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // A write to a string does not fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Returns the bytes of hexadecimal digits.
///
/// # Errors
/// InvalidArgument for another character, or an odd number of digits.
pub fn decode(text: &str) -> Result<Vec<u8>> {
    let digit = |c: &u8| char::from(*c).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
    bytes.ok_or_else(|| Error::invalid_argument(format!("not hexadecimal: {}", shown(text))))
}

/// Splits the text at the first `end` outside of braces. Returns the value, with its braces, and the text after `end`.
fn value(text: &str, end: char) -> Result<(&str, &str)> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                let outer = depth.checked_sub(1);
                depth = outer.ok_or_else(|| Error::invalid_argument("Mismatched curly braces"))?;
            }
            c if c == end && depth == 0 => return Ok((text[..at].trim(), &text[at + c.len_utf8()..])),
            _ => {}
        }
    }
    match depth {
        0 => Ok((text.trim(), "")),
        _ => Err(Error::invalid_argument("Mismatched curly braces for nested options")),
    }
}

/// Returns the text between two braces that enclose the whole text.
fn without_braces(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut depth = 0i64;
    for c in inner.bytes() {
        depth += i64::from(c == b'{') - i64::from(c == b'}');
        if depth < 0 {
            return None;
        }
    }
    Some(inner.trim())
}

/// Returns the start of a text for an error.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_lists_and_strings_are_read_back() -> Result<()> {
        let mut inner = TextWriter::default();
        inner.field("unique_id", "1:2").bytes("file_name", b"a;b}");
        let mut other = TextWriter::default();
        other.field("unique_id", "3:4");
        let mut writer = TextWriter::default();
        writer.field("level", 6).field("full", true).list("numbers", (1..=3).map(|n: u64| n.to_string()));
        writer.structs("files", [inner, other].into_iter()).structs("none", std::iter::empty());
        let message = writer.message();
        let fields = Fields::parse(text_of(&message, "test")?)?;
        assert_eq!(fields.number::<usize>("level")?, 6);
        assert!(fields.flag("full") && !fields.flag("absent"));
        assert_eq!(fields.list("numbers")?, ["1", "2", "3"]);
        assert!(fields.list("none")?.is_empty());
        let files = fields.list("files")?;
        assert_eq!(files.len(), 2);
        let file = Fields::parse(files[0])?;
        assert_eq!(file.bytes("file_name")?, b"a;b}");
        assert_eq!(file.list("unique_id")?, ["1", "2"]);
        assert_eq!(Fields::parse(files[1])?.list("unique_id")?, ["3", "4"]);
        Ok(())
    }

    #[test]
    fn damaged_text_is_an_error() {
        for text in ["a", "a=1;b", "a={1;", "a=1};", "{a=1;}}", "=;{"] {
            assert!(Fields::parse(text).is_err() || text.starts_with('='), "{text}");
        }
        assert!(decode("6G").is_err() && decode("6").is_err());
        assert!(text_of(b"\x01\0\0\0", "x").is_err() && text_of(b"\x02\0\0\0a=1;", "x").is_err());
        assert!(text_of(b"\x01\0\0\0a=1;b=2", "x").is_err());
    }
}
