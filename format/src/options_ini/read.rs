//! Reads the text into sections. RocksDB's rules for the order of sections are checked.

use base::map::HashSet;
use base::{Error, Result};

use super::{ROCKSDB_VERSION, Title, unescape};

/// A version number of up to three parts; missing parts are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

/// One section and its statements, in file order and without repeated statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The title of the section.
    pub title: Title,
    /// Names and values in file order. If a name is repeated, the first value counts.
    pub statements: Vec<(String, String)>,
    /// The line number of the section's title; the first line of the file is 1.
    pub line: usize,
}

/// A complete file. These rules were checked: there is one DBOptions section, the default column family comes
/// first, no column family occurs twice, and each table section follows its column family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// The release that wrote the file; 0.0.0 if the file does not state the release.
    pub rocksdb_version: Version,
    /// The version of the file format; 0.0.0 if the file does not state the version.
    pub options_file_version: Version,
    /// All sections in file order, the version section too.
    pub sections: Vec<Section>,
}

impl Sections {
    /// Returns true if the file is from a later release than this code. Unknown names may then be new
    /// options. In all other files an unknown name is an error.
    pub fn is_from_future(&self) -> bool {
        self.rocksdb_version > ROCKSDB_VERSION
    }

    /// Returns the names and values of the `DBOptions` section, in file order. The values are not parsed.
    pub fn db_options(&self) -> &[(String, String)] {
        self.find(&Title::DbOptions)
    }

    /// Returns the names of the column families. The default column family is first.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().filter_map(|s| match &s.title {
            Title::CfOptions(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the names and values of the options of a column family, in file order. Empty if the file does
    /// not name the column family.
    pub fn family(&self, name: &str) -> &[(String, String)] {
        self.find(&Title::CfOptions(name.to_string()))
    }

    /// Returns the table factory of a column family and its statements, if the file contains them.
    pub fn table(&self, family: &str) -> Option<(&str, &[(String, String)])> {
        self.sections.iter().rev().find_map(|s| match &s.title {
            Title::TableOptions { factory, family: of } if of == family => {
                Some((factory.as_str(), s.statements.as_slice()))
            }
            _ => None,
        })
    }

    fn find(&self, title: &Title) -> &[(String, String)] {
        self.sections.iter().find(|s| s.title == *title).map_or(&[], |s| &s.statements)
    }
}

/// Reads the text of an OPTIONS file.
///
/// InvalidArgument with the line number if something cannot be read or is in the wrong place. Corruption if
/// DBOptions or the default column family is missing. Each error has the offset in the text of the line where
/// it was noticed.
pub fn parse(text: &str) -> Result<Sections> {
    let mut at = 0;
    parse_lines(text, &mut at).map_err(|e| e.at(at as u64))
}

/// Parses the lines. `at_byte` is set to the offset of the line that is being read.
fn parse_lines(text: &str, at_byte: &mut usize) -> Result<Sections> {
    let mut file = Sections::default();
    let mut seen_version = false;
    // The names in the current section.
    let mut names: HashSet<&str> = HashSet::default();
    let mut lines = Lines::new(text);
    loop {
        let line = lines.next();
        *at_byte = lines.line_at;
        let (name, value) = match line? {
            None => break,
            Some(Line::Section(title)) => {
                check_place(&file, &title, lines.number)?;
                names.clear();
                file.sections.push(Section { title, statements: Vec::new(), line: lines.number });
                continue;
            }
            Some(Line::Statement { name, value }) => (name, value),
        };
        // Statements before the first section belong to no section. RocksDB drops them too.
        let Some(section) = file.sections.last_mut() else { continue };
        if section.title == Title::Version {
            seen_version = true;
        }
        if names.insert(name) {
            section.statements.push((name.to_string(), value.to_string()));
        }
    }
    if seen_version {
        read_versions(&mut file)?;
    }
    if !file.sections.iter().any(|s| s.title == Title::DbOptions) {
        return Err(Error::corruption("A RocksDB Option file must have a single DBOptions section"));
    }
    if file.families().next().is_none() {
        return Err(Error::corruption("A RocksDB Option file must have a single CFOptions:default section"));
    }
    Ok(file)
}

/// The content of a line of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A title in brackets.
    Section(Title),
    /// A name and a value, without the white space around them. Escapes are not resolved.
    Statement { name: &'a str, value: &'a str },
}

/// Reads the lines of a text that are neither empty nor comments. Does not check whether a line is in the
/// right place.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a str,
    /// The offset in the text of the last line that was read; at the end, the length of the text.
    line_at: usize,
    next_at: usize,
    /// The line number of the last line that was read; the first line is 1.
    number: usize,
}

impl<'a> Lines<'a> {
    /// Makes a reader at the first line of the text.
    pub fn new(text: &'a str) -> Self {
        Lines { rest: text, line_at: 0, next_at: 0, number: 0 }
    }

    /// Skips the next line and returns true if the line is exactly what [`super::Writer::statement`] writes
    /// for `name` and `value`. Returns false for other spellings, and if an empty line or a comment comes
    /// first. The caller already knows the value of such a line, so the line need not be parsed.
    pub fn skip(&mut self, name: &str, value: &str) -> bool {
        let parts = ["  ", name, "=", value, "\n"];
        let rest = parts.iter().try_fold(self.rest, |rest, part| rest.strip_prefix(part));
        let Some(rest) = rest else { return false };
        self.line_at = self.next_at;
        self.next_at += self.rest.len() - rest.len();
        self.number += 1;
        self.rest = rest;
        true
    }

    /// Returns the next line that is neither empty nor a comment.
    ///
    /// # Errors
    /// InvalidArgument with the line number for a line that is neither a section title nor a statement.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Line<'a>>> {
        loop {
            self.line_at = self.next_at;
            if self.rest.is_empty() {
                return Ok(None);
            }
            // Lines are short: a loop over bytes is faster than the standard library's search, which is made
            // for long texts.
            let end = find(self.rest, b'\n').map_or(self.rest.len(), |at| at + 1);
            let (raw, rest) = self.rest.split_at(end);
            self.rest = rest;
            self.next_at += end;
            self.number += 1;
            let line = trim(strip_comment(raw));
            if !line.is_empty() {
                return read_line(line, self.number).map(Some);
            }
        }
    }
}

fn read_line(line: &str, number: usize) -> Result<Line<'_>> {
    if line.len() >= 2 && line.starts_with('[') && line.ends_with(']') {
        return parse_title(line).map(Line::Section);
    }
    let Some(equals) = find(line, b'=') else {
        return Err(at(number, "A valid statement must have a '='."));
    };
    let (name, value) = (trim(&line[..equals]), trim(&line[equals + 1..]));
    if name.is_empty() {
        return Err(at(number, "A valid statement must have a variable name."));
    }
    Ok(Line::Statement { name, value })
}

fn read_versions(file: &mut Sections) -> Result<()> {
    let statements = file.find(&Title::Version).to_vec();
    for (name, value) in &statements {
        match name.as_str() {
            "rocksdb_version" => file.rocksdb_version = parse_version(name, value, 3)?,
            "options_file_version" => {
                file.options_file_version = parse_version(name, value, 2)?;
                if file.options_file_version.0[0] < 1 {
                    return Err(Error::invalid_argument("A valid options_file_version must be at least 1."));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes the comment: everything from the first `#` that has no backslash before it.
fn strip_comment(line: &str) -> &str {
    if find(line, b'#').is_none() {
        return line;
    }
    let bytes = line.as_bytes();
    let comment = bytes.iter().enumerate().position(|(i, &b)| b == b'#' && (i == 0 || bytes[i - 1] != b'\\'));
    &line[..comment.unwrap_or(line.len())]
}

/// Returns the position of the first occurrence of an ASCII character.
fn find(text: &str, wanted: u8) -> Option<usize> {
    text.bytes().position(|byte| byte == wanted)
}

/// Removes white space (as defined by C's `isspace`) at both ends.
fn trim(text: &str) -> &str {
    let is_word = |b: &u8| !matches!(b, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r');
    let bytes = text.as_bytes();
    let from = bytes.iter().position(is_word).unwrap_or(bytes.len());
    let to = bytes.iter().rposition(is_word).map_or(from, |last| last + 1);
    &text[from..to]
}

fn parse_title(line: &str) -> Result<Title> {
    let (title, argument) = match (line.find('"'), line.rfind('"')) {
        (Some(from), Some(to)) if from < to => (&line[1..from], unescape(&line[from + 1..to])),
        _ => (&line[1..line.len() - 1], String::new()),
    };
    match trim(title) {
        "Version" => Ok(Title::Version),
        "DBOptions" => Ok(Title::DbOptions),
        "CFOptions" => Ok(Title::CfOptions(argument)),
        other => match other.strip_prefix("TableOptions/") {
            Some(factory) if !factory.is_empty() => {
                Ok(Title::TableOptions { factory: factory.to_string(), family: argument })
            }
            _ => Err(Error::invalid_argument(format!("Unknown section {line}"))),
        },
    }
}

fn check_place(file: &Sections, title: &Title, line: usize) -> Result<()> {
    let seen = |title: &Title| file.sections.iter().any(|s| s.title == *title);
    match title {
        Title::Version if seen(title) => {
            Err(at(line, "More than one Version section found in the option config file."))
        }
        Title::DbOptions if seen(title) => {
            Err(at(line, "More than one DBOption section found in the option config file"))
        }
        Title::CfOptions(name) => {
            let first = file.families().next().is_none();
            if first != (name == "default") {
                return Err(at(
                    line,
                    "Default column family must be the first CFOptions section in the option config file",
                ));
            }
            if seen(title) {
                return Err(at(line, "Two identical column families found in option config file"));
            }
            Ok(())
        }
        Title::TableOptions { family, .. } if !seen(&Title::CfOptions(family.clone())) => Err(at(
            line,
            &format!(
                "Does not find a matched column family name in TableOptions section.  Column Family Name:{family}"
            ),
        )),
        _ => Ok(()),
    }
}

fn parse_version(name: &str, text: &str, parts_max: usize) -> Result<Version> {
    let invalid = |what: String| Error::invalid_argument(format!("A valid {name} {what}"));
    let mut version = Version::default();
    if text.is_empty() {
        return Ok(version);
    }
    for (i, part) in text.split('.').enumerate() {
        if i >= parts_max {
            return Err(invalid(format!("can only contains at most {} dots.", parts_max - 1)));
        }
        if part.is_empty() {
            return Err(invalid("must have at least one digit before and after each dot.".to_string()));
        }
        if !part.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid("can only contains dots and numbers.".to_string()));
        }
        version.0[i] = part.parse().map_err(|_| invalid("has a number too large.".to_string()))?;
    }
    Ok(version)
}

#[cold]
fn at(line: usize, what: &str) -> Error {
    Error::invalid_argument(format!("[RocksDBOptionsParser Error] : {what} (at line {line})"))
}
