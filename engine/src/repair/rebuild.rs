//! Rebuilds a database without a MANIFEST from its SST files, WALs and OPTIONS file.
//!
//! ```text
//!  properties of SST files ─► column families: id, name, comparator     OPTIONS, caller ─► families without an SST file
//!  entries of SST files ─► level 0, by sequence number (`order`)        WALs ─► entries that are not in SST files
//! ```
//! A flush empties the memtable of a column family up to the end of a WAL. So if an SST file has the last
//! entry of the column family in a WAL, the SST files have the whole WAL and all older WALs. Replay skips
//! these WALs for this column family, because merge operands would count twice. If the last entry was
//! overwritten, or if an SST file is damaged, the WAL is replayed. A second replay of puts and deletions
//! changes nothing.
//!
//! A WAL names column families only by id. If a column family has no SST file, its name comes from the
//! OPTIONS file. The names there are in the order of ids, and the assignment needs as many missing ids as
//! names; the report states the assumption. Otherwise the entries stay in the WAL, and the WAL goes to
//! `lost/`.
//!
//! The report states what is unknown: files that are lost, the true range of a cut range tombstone (`edges`), and SST
//! files that the MANIFEST had deleted. Entries of such SST files may be older than entries that overwrote or deleted
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use base::key::user_key;
use base::{FamilyId, FileNumber, Result, SequenceNumber, WalNumber};
use format::batch::{Batch, Record};
use format::names::{self};
use format::properties::COLUMN_FAMILY_ID_UNKNOWN;

use super::adopt::OrphanFile;
use super::choose::choose;
use super::found::{InWals, Part, Proofs, State, Survey};
use super::terms::{descriptor_of, newest_options, problem};
use super::{Report, Scope, Weight};
use crate::components::FamilyDescriptor;
use crate::manifest::FamilyRecord;
use crate::options::file::OptionsFile;

impl InWals {
    /// Adds the entries of a valid batch.
    pub(super) fn batch(&mut self, wal: WalNumber, bytes: &[u8]) -> Result<()> {
        let batch = Batch::new(bytes)?;
        let mut seq = batch.sequence();
        for record in batch.records() {
            let record = record?;
            let (Some(family), Some((_, key, _))) = (record.family(), record.entry()) else { continue };
            let part = self.families.entry(family).or_default().entry(wal).or_default();
            if part.num_rows == 0 {
                part.first = seq;
            }
            part.num_rows += 1;
            part.merges |= matches!(record, Record::Merge { .. });
            part.last = seq;
            part.last_key.clear();
            part.last_key.extend_from_slice(key);
            seq += 1;
        }
        Ok(())
    }

    pub(super) fn only_default(&self) -> bool {
        self.families.keys().all(|id| *id == FamilyId::DEFAULT)
    }

    /// Returns names for column family ids that only WALs have. The OPTIONS file lists the names in the order of ids.
    /// Between two known names, there must be as many missing ids as unknown names. After the last known name, the
    /// WALs must have exactly the ids of the unknown names.
    fn named_by_order(
        &self,
        options: &OptionsFile,
        known: &BTreeMap<&str, FamilyId>,
    ) -> Vec<(FamilyId, String)> {
        let (mut out, mut unnamed, mut below) = (Vec::new(), Vec::new(), FamilyId::DEFAULT);
        let mut run = |unnamed: &mut Vec<&String>, below: FamilyId, above: Option<FamilyId>| {
            let following = std::iter::successors(below.next(), |id| id.next());
            let ids: Vec<_> = following.zip(unnamed.drain(..)).collect();
            let due = BTreeSet::from_iter(ids.iter().map(|(id, _)| *id));
            let is_determined = match above {
                Some(above) => ids.last().map_or(below, |(id, _)| *id).next() == Some(above),
                None => self
                    .families
                    .range((Excluded(below), Unbounded))
                    .map(|(id, _)| *id)
                    .eq(due.iter().copied()),
            };
            let is_free = known.values().all(|id| !due.contains(id));
            out.extend(
                ids.into_iter().filter(|_| is_determined && is_free).map(|(id, name)| (id, name.clone())),
            );
        };
        for (name, _) in &options.families {
            let Some(id) = known.get(name.as_str()) else {
                unnamed.push(name);
                continue;
            };
            if *id < below {
                return Vec::new();
            }
            if *id > below {
                run(&mut unnamed, below, Some(*id));
            }
            below = *id;
        }
        run(&mut unnamed, below, None);
        out
    }

    /// Returns the last entries of all WALs, for a comparison with the entries of SST files.
    pub(super) fn proofs(&self) -> Proofs {
        let mut out = Proofs::default();
        for (family, wals) in &self.families {
            let rows = wals.iter().map(|(wal, part)| ((*family, part.last), (*wal, part.last_key.clone())));
            out.rows.extend(rows);
        }
        out
    }
}

impl Proofs {
    pub(super) fn row(&mut self, family: FamilyId, seq: SequenceNumber, key: &[u8]) {
        if self.rows.is_empty() || seq.is_zero() {
            return;
        }
        if let Some((wal, _)) = self.rows.get(&(family, seq)).filter(|(_, last)| last == key) {
            let newest = self.flushed.entry(family).or_default();
            *newest = (*wal).max(*newest);
        }
    }

    /// Records that entries of the SST files of a column family are lost. The WALs may have these entries.
    pub(super) fn damaged(&mut self, family: FamilyId) {
        self.damaged.insert(family);
    }

    /// Returns the newest WAL of which the SST files have all entries of the column family.
    pub(super) fn flushed(&self, family: FamilyId) -> Option<WalNumber> {
        self.flushed.get(&family).copied().filter(|_| !self.damaged.contains(&family))
    }
}

/// Returns the column families of the newest OPTIONS file that are not in the scope, if no MANIFEST is usable.
/// Otherwise returns nothing. Skips column families with an unknown comparator.
///
/// # Errors
/// The errors of [`super::survey`].
pub fn families_of_options(scope: &Scope) -> Result<Vec<FamilyDescriptor>> {
    if !choose(scope, &mut Report::default())?.rebuilt {
        return Ok(Vec::new());
    }
    let Some((_, read)) = newest_options(scope)? else { return Ok(Vec::new()) };
    let has_comparator = |name: &str| {
        !read.missing.iter().any(|m| m.family.as_deref() == Some(name) && m.option == "comparator")
    };
    let unnamed = read.families.iter().filter(|(name, _)| !scope.families.iter().any(|f| f.name == *name));
    let families = unnamed.filter(|(name, _)| has_comparator(name));
    Ok(families.map(|(name, options)| FamilyDescriptor::new(name, options.clone())).collect())
}

impl Survey {
    /// Adds the column families that SST files name and the MANIFEST (if there is one) does not name.
    pub(super) fn found_families(&mut self, scope: &Scope, orphans: &[OrphanFile]) -> Result<()> {
        let own_word: Vec<_> = orphans.iter().filter(|s| !s.is_external()).collect();
        let mut named: BTreeMap<FamilyId, BTreeMap<&str, (usize, FileNumber)>> = BTreeMap::new();
        for orphan in &own_word {
            let (Some(id), Some(name)) = (orphan.id(), orphan.family_name()) else { continue };
            let (tables, newest) = named.entry(id).or_default().entry(name).or_default();
            (*tables, *newest) = (*tables + 1, orphan.number);
        }
        let recovered = &mut self.manifest.recovered;
        let ids = named.keys().chain(self.in_wals.families.keys()).copied();
        let known = ids.filter(|id| u64::from(id.get()) < COLUMN_FAMILY_ID_UNKNOWN);
        recovered.max_family = known.fold(recovered.max_family, FamilyId::max);
        // Newest id first. If two ids have one name, the older column family was dropped.
        for (id, names) in named.into_iter().rev() {
            let Some((name, _)) = names.into_iter().max_by_key(|(_, votes)| *votes) else { continue };
            let taken = recovered.families.values().any(|f| f.id == id || f.name == name);
            if taken || self.manifest.dropped.contains(&id) {
                continue;
            }
            recovered
                .families
                .insert(id, FamilyRecord { id, name: name.to_string(), ..FamilyRecord::default() });
            let what = "this column family is known only from its SST files";
            let mut found = problem(Weight::Note, scope.paths.db.clone(), None, what);
            found.family = Some(name.to_string());
            self.report.problems.push(found);
        }
        let stated = recovered.families.values().filter(|f| f.comparator.is_some()).map(|f| f.id).collect();
        for family in recovered.families.values_mut().filter(|f| f.comparator.is_none()) {
            let own = own_word.iter().rev().filter(|orphan| orphan.is_of(family));
            family.comparator = own.filter_map(|orphan| orphan.comparator()).next().map(str::to_string);
        }
        if self.rebuilt {
            self.families_by_name(scope)?;
        }
        self.stored_timestamps(scope, &own_word, &stated)
    }

    /// Finds out whether the SST files have timestamps, for each column family that is not in `stated`. The newest SST file of the
    /// column family decides. Without an SST file, all entries are in WALs, and the options decide.
    fn stored_timestamps(
        &mut self,
        scope: &Scope,
        own_word: &[&OrphanFile],
        stated: &BTreeSet<FamilyId>,
    ) -> Result<()> {
        let families = self.manifest.recovered.families.values_mut();
        for family in families.filter(|family| !stated.contains(&family.id)) {
            let options = descriptor_of(scope, &family.name, family.comparator.as_deref())?.options;
            if options.comparator.timestamp_size() == 0 {
                continue;
            }
            let newest = own_word.iter().rev().filter(|orphan| orphan.is_of(family));
            let stored = newest.filter_map(|orphan| orphan.has_timestamps(&options.comparator)).next();
            family.persist_user_defined_timestamps =
                Some(stored.unwrap_or(options.persist_user_defined_timestamps));
        }
        Ok(())
    }

    /// Adds column families without SST files that the OPTIONS file or the caller names. Reports the column families
    /// that the OPTIONS file does not name, because they may have been dropped.
    fn families_by_name(&mut self, scope: &Scope) -> Result<()> {
        let recovered = &mut self.manifest.recovered;
        if let Some((path, options)) = newest_options(scope)? {
            for family in recovered.families.values().filter(|f| options.family(&f.name).is_none()) {
                let what = "the OPTIONS file does not name this column family, which may have been dropped and is back";
                let mut found = problem(Weight::Loss, path.clone(), None, what);
                found.family = Some(family.name.clone());
                self.report.problems.push(found);
            }
            let known = recovered.families.values().map(|f| (f.name.as_str(), f.id)).collect();
            for (id, name) in self.in_wals.named_by_order(&options, &known) {
                let what = format!(
                    "column family {id} is known only from WALs: its name is assumed to be {name}, from the order of names in the OPTIONS file"
                );
                recovered
                    .families
                    .insert(id, FamilyRecord { id, name: name.clone(), ..FamilyRecord::default() });
                let mut found = problem(Weight::Loss, path.clone(), None, &what);
                found.family = Some(name);
                self.report.problems.push(found);
            }
        }
        for descriptor in &scope.families {
            if recovered.families.values().any(|f| f.name == descriptor.name) {
                continue;
            }
            let id = recovered.max_family.next().unwrap_or(recovered.max_family);
            recovered.max_family = id;
            recovered
                .families
                .insert(id, FamilyRecord { id, name: descriptor.name.clone(), ..FamilyRecord::default() });
            let what = "no SST file belongs to this column family: it is created again, without entries";
            let mut found = problem(Weight::Note, scope.paths.db.clone(), None, what);
            found.family = Some(descriptor.name.clone());
            self.report.problems.push(found);
        }
        Ok(())
    }

    /// Runs after every SST file was added. Finds the WALs whose entries are in SST files, and reports
    /// unknown facts.
    pub(super) fn finish_rebuild(
        &mut self,
        scope: &Scope,
        orphans: &[OrphanFile],
        proofs: &Proofs,
    ) -> Result<()> {
        self.cut_range_deletions(scope)?;
        self.identity(scope, orphans);
        for family in self.manifest.recovered.families.values_mut() {
            family.wal_number = proofs.flushed(family.id).map_or(WalNumber::ZERO, WalNumber::next);
        }
        for family in self.manifest.recovered.families.values().cloned().collect::<Vec<_>>() {
            self.report_unknown(scope, &family, orphans)?;
        }
        let in_wals = std::mem::take(&mut self.in_wals);
        for (id, wals) in
            in_wals.families.iter().filter(|(id, _)| !self.manifest.recovered.families.contains_key(id))
        {
            for (wal, part) in wals {
                let what = format!(
                    "{} writes of column family {id}, whose name is unknown, are not recovered; the WAL is kept in lost/",
                    part.num_rows
                );
                self.report.problems.push(problem(Weight::Loss, scope.paths.wal(*wal), None, &what));
            }
        }
        self.in_wals = in_wals;
        Ok(())
    }

    /// Takes the id of the database from the file IDENTITY, or from the SST files.
    fn identity(&mut self, scope: &Scope, orphans: &[OrphanFile]) {
        let path = scope.paths.db.join(names::IDENTITY);
        let bytes = scope.options.env.fs.read_all(&path, 4096);
        let own = bytes.and_then(|bytes| names::parse_identity(&bytes)).ok();
        let newest = orphans.iter().rev().filter(|s| !s.is_external()).filter_map(|s| s.properties.as_ref());
        let by_tables =
            || newest.filter_map(|p| String::from_utf8(p.db_id.clone()).ok()).find(|id| !id.is_empty());
        self.manifest.recovered.db_id = own.filter(|id| !id.is_empty()).or_else(by_tables);
    }

    /// For a column family with SST files, reports the entries that may differ from their former state.
    fn report_unknown(&mut self, scope: &Scope, family: &FamilyRecord, orphans: &[OrphanFile]) -> Result<()> {
        let order = descriptor_of(scope, &family.name, family.comparator.as_deref())?.options.comparator;
        let own: Vec<_> =
            self.tables.iter().filter(|t| t.family == family.id && t.state != State::Gone).collect();
        let smallest = own.iter().map(|t| user_key(&t.record.smallest)).min_by(|a, b| order.compare(a, b));
        let largest = own.iter().map(|t| user_key(&t.record.largest)).max_by(|a, b| order.compare(a, b));
        let (Some(smallest), Some(largest)) = (smallest, largest) else { return Ok(()) };
        let is_own = |orphan: &&OrphanFile| own.iter().any(|t| t.record.number == orphan.number);
        let properties = orphans.iter().filter(is_own).filter_map(|orphan| orphan.properties.as_ref());
        let mut what = format!(
            "{} SST files are added to the database: entries that were deleted or overwritten may be back, if one of these \
             SST files was obsolete",
            own.len()
        );
        if properties.into_iter().any(|p| p.num_merge_operands > 0) || self.merges_twice(family) {
            what.push_str("; merge operands may be applied twice");
        }
        if order.timestamp_size() > 0 {
            what.push_str("; the timestamp below which history was dropped is unknown");
        }
        let mut found = problem(Weight::Loss, scope.paths.db.clone(), None, &what);
        found.family = Some(family.name.clone());
        found.range = Some((Some(smallest.to_vec()), Some(largest.to_vec())));
        self.report.problems.push(found);
        Ok(())
    }

    /// Returns true if the open will replay merge operands that may be in SST files already.
    fn merges_twice(&self, family: &FamilyRecord) -> bool {
        let own: Vec<_> = self.tables.iter().filter(|t| t.family == family.id).map(|t| &t.record).collect();
        // A compaction to the last level sets sequence numbers to 0: such an SST file can have entries of each WAL.
        let is_unknown = own.iter().any(|record| record.smallest_seqno.is_zero());
        let newest = own.iter().map(|record| record.largest_seqno).max().unwrap_or_default();
        let is_held = |part: &Part| part.merges && (is_unknown || part.first <= newest);
        let wals = self.in_wals.families.get(&family.id);
        wals.is_some_and(|wals| wals.range(family.wal_number..).any(|(_, part)| is_held(part)))
    }
}
