//! The text of an OPTIONS file: sections that consist of statements. This module does not know the options.
//!
//! ```text
//! # comment
//! [DBOptions]                         also [Version], [CFOptions "name"], [TableOptions/Factory "name"]
//!   name=value                        one line; split at the first '='
//! ```
//! A `#` starts a comment unless a backslash is before it. In names and string values each of `\ # : CR LF`
//! is written with a backslash before it, CR and LF as `\r` and `\n`. If a statement is repeated, the first
//! one counts. RocksDB source: `options/options_parser.cc`, `util/string_util.cc`.

mod read;

pub use base::option::{escape, parse_list, parse_map, strip_outer_braces, unescape};
pub use read::{Line, Lines, Section, Sections, Version, parse};

/// The version that this code writes. In files of this version and older versions an unknown option is an
/// error. In files of newer versions it may be a new option.
pub const ROCKSDB_VERSION: Version = Version([11, 8, 1]);

/// The comment and the empty line at the start of each OPTIONS file. RocksDB writes the same text.
pub const HEADER: &str = "# This is a RocksDB option file.\n#\n# For detailed file format spec, please refer to the example file\n# in examples/rocksdb_option_file_example.ini\n#\n\n";

/// The title of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Title {
    /// `[Version]`: the releases of RocksDB and of the file format.
    Version,
    /// `[DBOptions]`: the options of the database.
    DbOptions,
    /// The options of the column family with this name.
    CfOptions(String),
    /// The options of the table factory of a column family.
    TableOptions { factory: String, family: String },
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

/// Writes sections in RocksDB's layout: the header, the version, and then the sections as given. Empty values
/// are left out, as RocksDB does.
pub fn write(sections: &[(Title, Vec<(String, String)>)]) -> String {
    let mut writer = Writer::new();
    for (title, statements) in sections {
        writer.section(title);
        statements.iter().for_each(|(name, value)| writer.statement(name, value));
        writer.end_section();
    }
    writer.finish()
}

/// Writes the text step by step: for each section `section`, then `statement` for each statement, then
/// `end_section`.
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

    /// Writes the title line of a section. An empty line comes first, except before table options.
    pub fn section(&mut self, title: &Title) {
        if !matches!(title, Title::TableOptions { .. }) {
            self.0.push('\n');
        }
        self.0.push_str(&format!("{title}\n"));
    }

    /// Writes a statement as one line. Writes nothing if the value is empty.
    pub fn statement(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            for part in ["  ", name, "=", value, "\n"] {
                self.0.push_str(part);
            }
        }
    }

    /// Writes the line of two spaces that ends a section in RocksDB's layout.
    pub fn end_section(&mut self) {
        self.0.push_str("  \n");
    }

    /// Returns the whole text. Nothing is added at the end.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests;
