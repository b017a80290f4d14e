//! The OPTIONS file of an open database.
//!
//! A change of options writes the file before the call returns. A new or dropped column family does the same while the
//! database has few column families. With many, a file for each change would make the creation of `n` column families cost
//! `n` squared. Then the file follows in one of three ways:
//!
//! ```text
//!  more than half of the column families are not in the file   the call writes the file
//!  no change for a second                                      a task of the upkeep writes the file
//!  close, checkpoint, backup                                   the call writes the file first
//! ```
//! So `n` creations write at most three times the bytes of the last file. After a crash the file may lack the newest column
//! families. An open takes the names from the MANIFEST, so the open is right without the file.

use base::{Arrange, Result};

use super::{OPTIONS, Upkeep};
use crate::family::FamilySet;
use crate::options::file;
use crate::output::JobTools;
use crate::sync::Ordering;

/// With at most this many column families, each change of the list writes the OPTIONS file, as in RocksDB.
const FEW_FAMILIES: usize = 16;

/// After a change, the task looks again after this time.
const BURST_END_US: u64 = 1_000_000;

/// Writes a new OPTIONS file with the options as they are now. The default column family is the first section, in whatever
/// order the caller named the column families.
///
/// # Errors
/// Errors of the file system. An error if the written file does not read back with the same options.
pub fn write_options_file(tools: &JobTools, families: &FamilySet) -> Result<()> {
    // One call at a time. Otherwise a slow call could end after a call with a newer number, and the slow call would record
    // its older file as the newest OPTIONS file.
    let mut newest = tools.options_file.lock();
    let (temporary, number) = (tools.numbers.take(), tools.numbers.take());
    base::invariant!(temporary < number, "OPTIONS file {temporary} is renamed to the older number {number}");
    // Reset before the list is read. A change between the reset and the read makes one extra write, and is never
    // lost.
    let unwritten = tools.families_unwritten.swap(0, Ordering::AcqRel);
    let mut all: Vec<_> = families.all().iter().map(|f| (f.name().to_string(), f.options())).collect();
    all.arrange_by_key(|(name, _)| name != "default");
    base::invariant!(
        all.first().is_some_and(|(name, _)| name == "default"),
        "an OPTIONS file of {} column families does not begin with the default column family",
        all.len()
    );
    let named = all.iter().map(|(name, options)| (name.as_str(), &**options));
    match file::persist(&tools.env, &tools.paths.db, (temporary, number), &tools.options.load(), named) {
        Ok(written) => {
            *newest = Some(written);
            Ok(())
        }
        Err(error) => {
            tools.families_unwritten.fetch_add(unwritten, Ordering::AcqRel);
            Err(error)
        }
    }
}

impl Upkeep {
    /// Records that `count` column families were created or dropped, and writes the OPTIONS file now or later.
    ///
    /// # Errors
    /// The errors of [`write_options_file`], if the file is written now.
    pub fn families_changed(&self, count: usize) -> Result<()> {
        let unwritten = self.context.tools.families_unwritten.fetch_add(count, Ordering::AcqRel) + count;
        let families = self.context.families.len();
        if families <= FEW_FAMILIES || unwritten > families / 2 {
            return write_options_file(&self.context.tools, &self.context.families);
        }
        self.plan(OPTIONS);
        Ok(())
    }

    /// Writes the OPTIONS file if the file lacks a change of the list of column families.
    ///
    /// # Errors
    /// The errors of [`write_options_file`].
    pub fn write_late_options(&self) -> Result<()> {
        match self.context.tools.families_unwritten.load(Ordering::Acquire) {
            0 => Ok(()),
            _ => write_options_file(&self.context.tools, &self.context.families),
        }
    }

    pub(super) fn options_period_us(&self) -> Option<u64> {
        let is_late = self.context.tools.families_unwritten.load(Ordering::Acquire) > 0;
        is_late.then_some(BURST_END_US)
    }

    /// Writes the OPTIONS file, unless a change arrived since the last look. A file that cannot be written is tried again.
    pub(super) fn write_options_after_burst(&self) {
        let unwritten = self.context.tools.families_unwritten.load(Ordering::Acquire);
        if self.burst.swap(unwritten, Ordering::AcqRel) != unwritten {
            return;
        }
        self.burst.store(0, Ordering::Release);
        if let Err(error) = self.write_late_options() {
            self.context.tools.events.warn(format_args!("the OPTIONS file is written again later: {error}"));
        }
    }
}
