//! JSON for scripts, one object in each line.
//!
//! Bytes that are text have their plain name. Bytes that are not text have the name with the suffix `_hex` and are
//! capital hexadecimal digits. All bytes have this form if the command line asks for hexadecimal.

use table::dump::hex;

/// An object that is being written: `{"a": 1, "b": "x"}`. The spaces are those of RocksDB.
#[derive(Default)]
pub(crate) struct Object(String);

impl Object {
    /// Adds a field with a value that is printed without quotes.
    pub fn raw(&mut self, name: &str, value: impl std::fmt::Display) -> &mut Self {
        let comma = if self.0.is_empty() { "" } else { ", " };
        self.0.push_str(&format!("{comma}{}: {value}", quoted(name)));
        self
    }

    /// Adds a field with a quoted value. Escapes the value.
    pub fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw(name, quoted(value))
    }

    /// Adds a number, or nothing if there is no value.
    pub fn maybe(&mut self, name: &str, value: Option<impl std::fmt::Display>) -> &mut Self {
        if let Some(value) = value {
            self.raw(name, value);
        }
        self
    }

    /// Adds bytes as text, or as hexadecimal digits under the name with the suffix `_hex`.
    pub fn bytes(&mut self, name: &str, value: &[u8], as_hex: bool) -> &mut Self {
        match std::str::from_utf8(value) {
            Ok(text) if !as_hex => self.text(name, text),
            _ => self.text(&format!("{name}_hex"), &hex(value)),
        }
    }

    /// Adds an array of objects.
    pub fn list(&mut self, name: &str, items: impl IntoIterator<Item = Object>) -> &mut Self {
        let items: Vec<_> = items.into_iter().map(|item| item.finish()).collect();
        self.raw(name, format_args!("[{}]", items.join(", ")))
    }

    /// Returns the object with its braces.
    pub fn finish(&self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// Returns a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
