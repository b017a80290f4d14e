//! Rules over the facts of a database. Each finding has its evidence, its cost, and the change.
//!
//! ```text
//!  Database ─► rules (pure functions) ─► findings, heaviest first
//! ```
//! Each finding has its evidence. Rules about levels, reads and space need evidence in the files or in the info log that the option costs
//! something in this database. Rules about safety, and rules about options whose effect no file shows, report an option that the OPTIONS
//! file names, and the bytes that the option concerns. A rule compares with the defaults of the release that wrote the OPTIONS file. A
//! column family with less than 1 MiB of data needs no tuning, so rules about speed and space skip it. The data are SST files and blob
//! files. If a database has one column family, the WALs are its data too.

mod cache;
mod damage;
mod extremes;
mod finding;
mod memtables;
mod reads;
mod safety;
mod settings;
mod space;
mod tables;
mod work;
mod writes;

pub use finding::{Change, Finding, Severity};

use crate::model::{Database, Family, Source};

/// A family below this size gets no finding about speed or space.
pub(crate) const SMALL_BYTES: u64 = 1 << 20;

/// Returns the findings, heaviest first.
pub fn examine(db: &Database) -> Vec<Finding> {
    match db.source {
        Source::InfoLog => examine_facts(&db.with_logged_levels()),
        _ => examine_facts(db),
    }
}

fn examine_facts(db: &Database) -> Vec<Finding> {
    let mut found = damage::rules(db);
    found.extend(safety::rules(db));
    found.extend(writes::database(db));
    found.extend(reads::database(db));
    found.extend(space::database(db));
    found.extend(settings::database(db));
    // Writes without WAL can be in memory only, so the files may be empty.
    found.extend(work::no_wal(db));
    if db.data_bytes() >= SMALL_BYTES {
        found.extend(cache::database(db));
        found.extend(work::database(db));
        if db.knows_options() {
            found.extend(memtables::database(db));
            found.extend(tables::database(db));
            found.extend(extremes::database(db));
        }
    }
    for family in &db.families {
        let facts = Facts { db, family };
        // Blobs count even if the SST files are small.
        found.extend(space::blobs(&facts));
        found.extend(settings::small_blobs(&facts));
        found.extend(settings::small_blob_files(&facts));
        if facts.data_bytes() < SMALL_BYTES {
            continue;
        }
        found.extend(memtables::family(&facts));
        found.extend(cache::family(&facts));
        found.extend(writes::family(&facts));
        found.extend(reads::family(&facts));
        found.extend(space::family(&facts));
        found.extend(settings::family(&facts));
        found.extend(tables::family(&facts));
        found.extend(extremes::family(&facts));
    }
    found.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.rule.cmp(b.rule)));
    found
}

/// Findings of one rule with one change, each in another column family.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The findings with their places in the list of findings. There is at least one.
    pub members: Vec<(usize, &'a Finding)>,
}

impl<'a> Group<'a> {
    /// Returns the first finding. The others differ from it only in their column family and their evidence.
    pub fn first(&self) -> &'a Finding {
        self.members[0].1
    }

    /// Returns the names of the column families, at most `max`, and the number of further names. Returns no name for a finding
    /// about the whole database.
    pub fn families(&self, max: usize) -> (Vec<&'a str>, usize) {
        let names = self.members.iter().filter_map(|(_, finding)| finding.family.as_deref());
        (names.take(max).collect(), self.members.len().saturating_sub(max))
    }

    /// Returns the lines of evidence: the common lines once, or the lines of each column family with its name. `max` limits the
    /// column families.
    pub fn evidence(&self, max: usize) -> Vec<String> {
        let first = self.first();
        if self.members.iter().all(|(_, finding)| finding.evidence == first.evidence) {
            return first.evidence.clone();
        }
        let of = |finding: &Finding| {
            format!("{}: {}", finding.family.as_deref().unwrap_or_default(), finding.evidence.join("; "))
        };
        let mut lines: Vec<String> = self.members.iter().take(max).map(|(_, finding)| of(finding)).collect();
        if self.members.len() > max {
            lines.push(format!("and {} more column families", self.members.len() - max));
        }
        lines
    }
}

/// Joins the findings that differ only in their column family and their evidence. The order stays.
pub fn groups(findings: &[Finding]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (at, finding) in findings.iter().enumerate() {
        let is_same = |group: &&mut Group<'_>| {
            let first = group.first();
            (first.rule, &first.title, &first.cost, &first.change)
                == (finding.rule, &finding.title, &finding.cost, &finding.change)
                && first.family.is_some() == finding.family.is_some()
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.members.push((at, finding)),
            None => groups.push(Group { members: vec![(at, finding)] }),
        }
    }
    groups
}

/// One family with its database.
pub(crate) struct Facts<'a> {
    pub db: &'a Database,
    pub family: &'a Family,
}

impl Facts<'_> {
    /// Returns the bytes of the SST files and blob files. If the database has one column family, also the bytes of the WALs.
    fn data_bytes(&self) -> u64 {
        let blobs: u64 = self.family.blobs.iter().map(|blob| blob.bytes).sum();
        match self.db.families.len() {
            1 => self.db.data_bytes(),
            _ => self.family.bytes() + blobs,
        }
    }

    /// Returns true if this is the compaction style of the family.
    fn has_style(&self, style: &str) -> bool {
        self.text("compaction_style").is_some_and(|text| text.strip_prefix("kCompactionStyle") == Some(style))
    }

    /// Returns true if the family has leveled compaction.
    pub fn is_leveled(&self) -> bool {
        self.has_style("Level")
    }

    /// Returns true if the family has universal compaction.
    pub fn is_universal(&self) -> bool {
        self.has_style("Universal")
    }

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

/// Returns an option of the database as a flag.
pub(crate) fn flag(db: &Database, name: &str) -> Option<bool> {
    db.db_option(name)?.trim().parse().ok()
}

/// Returns an option of the database as a number.
pub(crate) fn db_number(db: &Database, name: &str) -> Option<f64> {
    db.db_option(name)?.trim().parse().ok()
}
