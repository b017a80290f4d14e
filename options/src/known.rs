//! Facts about rows that are computed once: the texts of defaults, and the places of names.

use base::map::HashMap;
use base::option::Row;
use format::options_ini::{Line, Lines};

/// The computed facts of one kind of options.
pub(super) struct Known {
    /// The texts of the defaults, in the order of the rows.
    pub texts: Vec<String>,
    /// True if the line of the default reads back as the default.
    read_back: Vec<bool>,
    /// The place of each name among the rows.
    pub places: HashMap<&'static str, usize>,
}

impl Known {
    /// Prints the default of each row, and checks which of these texts set the same value when they are read.
    pub fn of<T: Default>(rows: &'static [Row<T>]) -> Known {
        let default = T::default();
        let texts: Vec<String> = rows.iter().map(|row| (row.print)(&default)).collect();
        let reads_back = |(row, text): (&Row<T>, &String)| {
            let mut read = T::default();
            reads_as(row.name, text) && (row.set)(&mut read, text).is_ok() && !row.differs(&default, &read)
        };
        Known {
            read_back: rows.iter().zip(&texts).map(reads_back).collect(),
            places: rows.iter().map(|row| row.name).zip(0..).collect(),
            texts,
        }
    }

    /// Returns the text of the default of row `at`, if the line of the default reads back as the default. An empty
    /// text has no line, and is returned too.
    pub(crate) fn default_read_back(&self, at: usize) -> Option<&str> {
        (self.read_back[at] || self.texts[at].is_empty()).then_some(&self.texts[at])
    }
}

/// Returns true if the line of a statement reads as the statement.
fn reads_as(name: &str, value: &str) -> bool {
    let line = format!("  {name}={value}\n");
    matches!(Lines::new(&line).next(), Ok(Some(Line::Statement { name: n, value: v })) if n == name && v == value)
}
