//! What is written as text: names, CURRENT, OPTIONS, option strings.

use engine::options::file::{self, ReadConfig};
use engine::options::{DbOptions, FamilyOptions};
use format::names::{FileName, current_content, parse_current, parse_identity};
use format::options_ini as ini;

/// Names that parse print to names that parse alike.
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

/// OPTIONS text of any kind, as sections.
pub fn options_ini(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = ini::parse(text);
    let _ = ini::parse_map(text);
    let _ = ini::parse_list(text, ':');
}

/// OPTIONS text of any kind, as options; what reads is written and reads again.
pub fn options(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Each input one way: what an option says is read alike in both.
    let config = ReadConfig { ignore_unknown_options: data.len().is_multiple_of(2), ..ReadConfig::default() };
    let Ok(read) = file::read(text, &config) else { return };
    let again = file::write(&read.db, read.families.iter().map(|(name, options)| (&name[..], options)));
    let _ = file::read(&again, &config);
}

/// Option strings of any kind; what is taken is printed, and what is printed is taken.
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
