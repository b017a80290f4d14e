//! The text of an OPTIONS file: sections of statements. Knows no option.
//!
//! ```text
//! # comment
//! [DBOptions]                         also [Version], [CFOptions "name"], [TableOptions/Factory "name"]
//!   name=value                        one line; split at the first '='
//! ```
//! A `#` ends the line unless a backslash stands before it. In names and string values each of
//! `\ # : CR LF` is written behind a backslash, the last two as `r` and `n`. A repeated statement: the
//! first wins. Facts: RocksDB `options/options_parser.cc`, `util/string_util.cc`.

mod read;

pub use base::option::{escape, parse_list, parse_map, strip_outer_braces, unescape};
pub use read::{Line, Lines, Section, Sections, Version, parse};

/// The version this code writes, and up to which unknown options mean damage, not the future.
pub const ROCKSDB_VERSION: Version = Version([11, 8, 1]);

pub const HEADER: &str = "# This is a RocksDB option file.\n#\n# For detailed file format spec, please refer to the example file\n# in examples/rocksdb_option_file_example.ini\n#\n\n";

/// What a section is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Title {
    Version,
    DbOptions,
    /// Of the family of this name.
    CfOptions(String),
    TableOptions {
        factory: String,
        family: String,
    },
}

impl std::fmt::Display for Title {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Title::Version => f.write_str("[Version]"),
            Title::DbOptions => f.write_str("[DBOptions]"),
            Title::CfOptions(family) => write!(f, "[CFOptions \"{}\"]", escape(family)),
            Title::TableOptions { factory, family } => {
                write!(f, "[TableOptions/{factory} \"{}\"]", escape(family))
            }
        }
    }
}

/// Writes sections in the shape RocksDB writes: header, version, and then as given. Empty values are
/// left out, as RocksDB leaves them out.
pub fn write(sections: &[(Title, Vec<(String, String)>)]) -> String {
    let mut writer = Writer::new();
    for (title, statements) in sections {
        writer.section(title);
        statements.iter().for_each(|(name, value)| writer.statement(name, value));
        writer.end_section();
    }
    writer.finish()
}

/// The text in the making: `section`, its `statement`s, `end_section`, and the next.
#[derive(Debug)]
pub struct Writer(String);

impl Default for Writer {
    fn default() -> Self {
        Writer::new()
    }
}

impl Writer {
    /// Starts the text with the header and the version [`ROCKSDB_VERSION`].
    pub fn new() -> Writer {
        Writer::of_version(ROCKSDB_VERSION)
    }

    /// Starts the text with the header and a version. A reader of this version or a newer version rejects options that
    /// the reader does not know.
    pub fn of_version(version: Version) -> Writer {
        let [major, minor, patch] = version.0;
        let mut out = String::with_capacity(16 << 10);
        out.push_str(HEADER);
        out.push_str(&format!(
            "[Version]\n  rocksdb_version={major}.{minor}.{patch}\n  options_file_version=1.1\n"
        ));
        Writer(out)
    }

    pub fn section(&mut self, title: &Title) {
        if !matches!(title, Title::TableOptions { .. }) {
            self.0.push('\n');
        }
        self.0.push_str(&format!("{title}\n"));
    }

    /// A line of the section; none if the value is empty.
    pub fn statement(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            for part in ["  ", name, "=", value, "\n"] {
                self.0.push_str(part);
            }
        }
    }

    pub fn end_section(&mut self) {
        self.0.push_str("  \n");
    }

    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests;
