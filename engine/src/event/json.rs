//! One-line JSON as RocksDB's event logger writes it: `{"a": 1, "b": [2, 3]}`, strings not escaped.
//!
//! Programs parse these lines with patterns, so spaces and order must stay.

use std::fmt::{Display, Write};

/// A line that is being built.
pub struct Line {
    text: String,
    first: bool,
}

impl Line {
    /// Starts the object with the field `time_micros`.
    pub fn new(now_us: u64) -> Self {
        let mut line = Line { text: String::from("{"), first: true };
        line.number("time_micros", now_us);
        line
    }

    fn name(&mut self, name: &str) {
        let comma = if std::mem::take(&mut self.first) { "" } else { ", " };
        let _ = write!(self.text, "{comma}\"{name}\": ");
    }

    /// Adds a field whose value is printed without quotes: a number, or text that is already JSON.
    pub fn number(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.name(name);
        let _ = write!(self.text, "{value}");
        self
    }

    /// Adds a field whose value is printed in quotes. Quotes and control characters in the value are not
    /// escaped.
    pub fn text(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.name(name);
        let _ = write!(self.text, "\"{value}\"");
        self
    }

    /// Adds an array. Its values are printed without quotes, with a comma and a space between them.
    pub fn list<T: Display>(&mut self, name: &str, values: impl IntoIterator<Item = T>) -> &mut Self {
        self.name(name);
        self.text.push('[');
        for (i, value) in values.into_iter().enumerate() {
            let _ = write!(self.text, "{}{value}", if i == 0 { "" } else { ", " });
        }
        self.text.push(']');
        self
    }

    /// Starts a nested object. [`Line::close`] ends it.
    pub fn open(&mut self, name: &str) -> &mut Self {
        self.name(name);
        self.text.push('{');
        self.first = true;
        self
    }

    /// Ends the object that [`Line::open`] started.
    pub fn close(&mut self) -> &mut Self {
        self.text.push('}');
        self.first = false;
        self
    }

    /// Ends the outermost object and returns the line, without a line break.
    pub fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}
