//! Text to sections, with RocksDB's rules for which sections may stand where.

use base::map::HashSet;
use base::{Error, Result};

use super::{ROCKSDB_VERSION, Title, unescape};

/// A version number of up to three parts; missing ones are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

/// One section and its statements, in file order and without repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub title: Title,
    pub statements: Vec<(String, String)>,
    /// Of the section's line, from 1.
    pub line: usize,
}

/// A whole file, its rules checked: one DBOptions, the default family first, no family twice, each
/// table section behind its family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    pub rocksdb_version: Version,
    pub options_file_version: Version,
    pub sections: Vec<Section>,
}

impl Sections {
    /// Whether the file is from a later release than this code's, so that unknown names may be options
    /// of the future. In any other file they are damage.
    pub fn is_from_future(&self) -> bool {
        self.rocksdb_version > ROCKSDB_VERSION
    }

    pub fn db_options(&self) -> &[(String, String)] {
        self.find(&Title::DbOptions)
    }

    /// Names of the families, the default one first.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().filter_map(|s| match &s.title {
            Title::CfOptions(name) => Some(name.as_str()),
            _ => None,
        })
    }

    pub fn family(&self, name: &str) -> &[(String, String)] {
        self.find(&Title::CfOptions(name.to_string()))
    }

    /// The table factory of a family and its statements, if the file has them.
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
/// # Errors
/// InvalidArgument with the line for what cannot be read or stands in the wrong place; Corruption if
/// DBOptions or the default family are missing. Each with the offset in the text of the line at which it was
/// noticed.
pub fn parse(text: &str) -> Result<Sections> {
    let mut at = 0;
    parse_lines(text, &mut at).map_err(|e| e.at(at as u64))
}

/// `at_byte` is where the line begins that is being read.
fn parse_lines(text: &str, at_byte: &mut usize) -> Result<Sections> {
    let mut file = Sections::default();
    let mut seen_version = false;
    // Of the section being read.
    let mut names: HashSet<&str> = HashSet::default();
    let mut next = 0;
    for (i, raw) in text.split_inclusive('\n').enumerate() {
        *at_byte = next;
        next += raw.len();
        let number = i + 1;
        let line = strip_comment(raw).trim_matches(is_space);
        if line.is_empty() {
            continue;
        }
        if line.len() >= 2 && line.starts_with('[') && line.ends_with(']') {
            let title = parse_title(line)?;
            check_place(&file, &title, number)?;
            names.clear();
            file.sections.push(Section { title, statements: Vec::new(), line: number });
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            return Err(at(number, "A valid statement must have a '='."));
        };
        let (name, value) = (name.trim_matches(is_space), value.trim_matches(is_space));
        if name.is_empty() {
            return Err(at(number, "A valid statement must have a variable name."));
        }
        // Statements before the first section belong to nothing; RocksDB drops them too.
        let Some(section) = file.sections.last_mut() else { continue };
        if section.title == Title::Version {
            seen_version = true;
        }
        if names.insert(name) {
            section.statements.push((name.to_string(), value.to_string()));
        }
    }
    *at_byte = next;
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

/// Cuts from the first `#` that has no backslash before it.
fn strip_comment(line: &str) -> &str {
    if !line.contains('#') {
        return line;
    }
    let bytes = line.as_bytes();
    let comment = bytes.iter().enumerate().position(|(i, &b)| b == b'#' && (i == 0 || bytes[i - 1] != b'\\'));
    &line[..comment.unwrap_or(line.len())]
}

/// C's `isspace`.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

fn parse_title(line: &str) -> Result<Title> {
    let (title, argument) = match (line.find('"'), line.rfind('"')) {
        (Some(from), Some(to)) if from < to => (&line[1..from], unescape(&line[from + 1..to])),
        _ => (&line[1..line.len() - 1], String::new()),
    };
    match title.trim_matches(is_space) {
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
    Error::invalid_argument(format!("[RocksDBOptionsParser Error] {what} (at line {line})"))
}
