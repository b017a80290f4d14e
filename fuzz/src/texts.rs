//! Targets for text: file names, CURRENT, OPTIONS files, option strings.

use engine::options::file::{self, ReadConfig};
use engine::options::{DbOptions, FamilyOptions};
use format::names::{FileName, current_content, parse_current, parse_identity};
use format::options_ini as ini;

/// A name that parses prints to a name that parses to the same value.
pub fn names(data: &[u8]) {
    if let Ok(number) = parse_current(data) {
        assert_eq!(parse_current(current_content(number).as_bytes()).expect("what we wrote reads"), number);
    }
    let _ = parse_identity(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(name) = FileName::parse(text) {
        assert_eq!(FileName::parse(&name.to_string()), Some(name));
    }
}

/// Parses any OPTIONS text into sections.
pub fn options_ini(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = ini::parse(text);
    let _ = ini::parse_map(text);
    let _ = ini::parse_list(text, ':');
}

/// Reads any OPTIONS text as options. Options that are read can be written and read again.
pub fn options(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Each input uses one setting of the flag: an option is read in the same way with both settings.
    let config = ReadConfig { ignore_unknown_options: data.len().is_multiple_of(2), ..ReadConfig::default() };
    let Ok(read) = file::read(text, &config) else { return };
    let again = file::write(&read.db, read.families.iter().map(|(name, options)| (&name[..], options)));
    let _ = file::read(&again, &config);
}

/// Parses any option string. Accepted options can be printed, and the printed text is accepted.
pub fn option_strings(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut db = DbOptions::default();
    if db.update(text).is_ok() {
        let mut again = DbOptions::default();
        let printed = db.print();
        let _ = again.update(&printed);
    }
    let mut family = FamilyOptions::default();
    if family.update(text).is_ok() {
        let mut again = FamilyOptions::default();
        let _ = again.update(&family.print());
    }
}
