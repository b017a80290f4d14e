//! Rules over the facts of a database. Each finding has its evidence, its cost, and the change.
//!
//! ```text
//!  Database ─► rules (pure functions) ─► findings, heaviest first
//! ```
//! Each finding has its evidence. Rules about levels, reads and space need evidence in the files or in the info log that the option costs
//! something in this database. Rules about safety, and rules about options whose effect no file shows, report an option that the OPTIONS
//! file names, and the bytes that the option concerns. A rule compares with the defaults of the release that wrote the OPTIONS file. A
//! column family with less than 1 MiB of SST files needs no tuning, so rules about speed and space skip it. The rule about blob files
//! counts bytes of blob files.

mod damage;
mod finding;
mod reads;
mod safety;
mod settings;
mod space;
mod writes;

pub use finding::{Change, Finding, Severity};

use crate::model::{Database, Family};

/// A family below this size gets no finding about speed or space.
pub(crate) const SMALL_BYTES: u64 = 1 << 20;

/// Returns the findings, heaviest first.
pub fn examine(db: &Database) -> Vec<Finding> {
    let mut found = damage::rules(db);
    found.extend(safety::rules(db));
    found.extend(writes::database(db));
    found.extend(reads::database(db));
    found.extend(space::database(db));
    found.extend(settings::database(db));
    for family in &db.families {
        let facts = Facts { db, family };
        // Blobs count even if the SST files are small.
        found.extend(space::blobs(&facts));
        found.extend(settings::small_blobs(&facts));
        if family.bytes() < SMALL_BYTES {
            continue;
        }
        found.extend(writes::family(&facts));
        found.extend(reads::family(&facts));
        found.extend(space::family(&facts));
        found.extend(settings::family(&facts));
    }
    found.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.rule.cmp(b.rule)));
    found
}

/// One family with its database.
pub(crate) struct Facts<'a> {
    pub db: &'a Database,
    pub family: &'a Family,
}

impl Facts<'_> {
    /// Returns an option of the family as a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.trim().parse().ok()
    }

    /// Returns an option of the family as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.db.family_option(&self.family.name, name)
    }

    /// Returns an option of the family as a flag.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text.trim() == "true")
    }

    /// Returns a finding about this family.
    pub fn finding(&self, rule: &'static str, severity: Severity, title: String) -> Finding {
        Finding::new(rule, severity, title).family(&self.family.name)
    }
}

/// Returns an option of the database as a number.
pub(crate) fn db_number(db: &Database, name: &str) -> Option<f64> {
    db.db_option(name)?.trim().parse().ok()
}
