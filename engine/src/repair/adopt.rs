//! Adds SST files that no record of the MANIFEST names to the database, by their own properties.
//!
//! The properties of an SST file name its column family: id, name, comparator. If the properties are
//! missing or contradict the properties of other SST files, the owner is unknown. The file then goes to
//! `lost/`, unless the database has only one column family. The bounds and sequence numbers of the file
//! come from its entries and range tombstones (see also `edges`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use base::key::user_key;
use base::map::HashSet;
use base::{Error, FamilyId, FileNumber, Order, Result, SequenceNumber, ValueType, key};
use env::{RandomRead, ReadHints};
use format::edit::{CRC32C_CHECKSUM_FUNC_NAME, NewFile};
use format::names::FileName;
use format::properties::{COLUMN_FAMILY_ID_UNKNOWN, Properties, names};
use kernel::checksum::crc32c;
use lsm::blob_flow::references;
use table::any::{AnyReader, salvage};
use table::sst::salvage::{Part, Salvaged};
use table::sst::{OpenOptions, stores_timestamps};

use super::found::{Edges, Proofs, State, Survey, Table};
use super::replayed::{Held, Replayed};
use super::terms::{descriptor_of, newest_options, problem, table_dirs};
use super::{Scope, Weight, identity};
use crate::components::FamilyDescriptor;
use crate::manifest::FamilyRecord;
use crate::options::file::OptionsFile;

/// An SST file that may be added.
pub(super) struct OrphanFile {
    pub number: FileNumber,
    pub path: PathBuf,
    /// `None` if the properties cannot be read.
    pub properties: Option<Properties>,
}

impl OrphanFile {
    pub(super) fn probe(scope: &Scope, number: FileNumber, path: PathBuf) -> Result<OrphanFile> {
        let file = scope.options.env.fs.open_random(&path, &ReadHints::default())?;
        let size = file.size()?;
        let options = OpenOptions { file_number: number, ..OpenOptions::default() };
        let properties = match AnyReader::open(file.clone(), size, &options) {
            Ok(reader) => Some(reader.properties().as_ref().clone()),
            // Repair damaged properties, if possible.
            Err(error) if error.is_corruption() => {
                salvage(file, size, &options, None, &mut |_, _| Ok(())).map_err(|e| e.file(&path))?.properties
            }
            Err(error) => return Err(error.file(&path)),
        };
        Ok(OrphanFile { number, path, properties })
    }

    /// Returns the column family that the properties name.
    pub(super) fn id(&self) -> Option<FamilyId> {
        let id = self.properties.as_ref()?.column_family_id;
        u32::try_from(id).ok().filter(|_| id < COLUMN_FAMILY_ID_UNKNOWN).map(FamilyId::new)
    }

    /// Returns true if the SST file was written outside of a database. The column family in its properties
    /// may then belong to another database.
    pub(super) fn is_external(&self) -> bool {
        self.says(names::EXTERNAL_VERSION)
    }

    fn says(&self, name: &str) -> bool {
        self.properties.as_ref().is_some_and(|p| p.user(name).is_some())
    }

    /// Returns true if all entries share one global sequence number, and only the MANIFEST had this number.
    fn lacks_number(&self) -> bool {
        self.is_external()
            && self
                .properties
                .as_ref()
                .is_some_and(|p| matches!(p.global_seqno(None), Ok(Some(SequenceNumber::ZERO))))
    }

    pub(super) fn family_name(&self) -> Option<&str> {
        let name = std::str::from_utf8(&self.properties.as_ref()?.column_family_name).ok()?;
        (!name.is_empty()).then_some(name)
    }

    pub(super) fn comparator(&self) -> Option<&str> {
        let name = std::str::from_utf8(&self.properties.as_ref()?.comparator_name).ok()?;
        (!name.is_empty()).then_some(name)
    }

    /// Returns true if the keys of the SST file have timestamps. Returns `None` if the file has no properties, or was written
    /// with another comparator.
    pub(super) fn has_timestamps(&self, order: &Order) -> Option<bool> {
        let properties = self.properties.as_ref().filter(|_| self.comparator() == Some(order.name()))?;
        Some(properties.user_defined_timestamps_persisted != 0)
    }

    /// Returns true if the SST file is older than an open that turned the timestamps of the column family on or off. The
    /// keys of such a file have no timestamps.
    fn is_before_change(&self, family: &FamilyRecord) -> bool {
        let (Some(own), Some(now)) = (self.comparator(), family.comparator.as_deref()) else { return false };
        let is_cut = self.properties.as_ref().is_some_and(|p| p.user_defined_timestamps_persisted == 0);
        let turned_on = now.strip_suffix(".u64ts") == Some(own);
        let turned_off = own.strip_suffix(".u64ts") == Some(now);
        turned_on && family.persist_user_defined_timestamps == Some(false) || turned_off && is_cut
    }

    /// Returns true if the properties name this column family.
    pub(super) fn is_of(&self, family: &FamilyRecord) -> bool {
        self.id() == Some(family.id) && self.family_name().is_none_or(|name| name == family.name)
    }
}

impl Survey {
    /// Handles SST files that no record of the MANIFEST names. If edits may be lost, adds the SST files; otherwise
    /// only notes them.
    pub(super) fn orphans(&mut self, scope: &Scope) -> Result<()> {
        let orphans = self.find_strays(scope)?;
        let lost_records = self.lost_records();
        let mut wanted = Vec::new();
        for (number, path) in orphans {
            let deleted = self.manifest.deleted.contains(&number);
            if !self.manifest_damaged || deleted || !(lost_records || self.current_damaged) {
                self.report.problems.push(problem(
                    Weight::Note,
                    path,
                    None,
                    "the MANIFEST does not name this SST file",
                ));
                continue;
            }
            wanted.push(OrphanFile::probe(scope, number, path)?);
        }
        self.found_families(scope, &wanted)?;
        let (mut proofs, mut replayed) = (self.in_wals.proofs(), Replayed::default());
        // The sequence number of an ingested file follows from the other files.
        let (ingested, others): (Vec<_>, Vec<_>) = wanted.iter().partition(|orphan| orphan.lacks_number());
        for orphan in others.into_iter().chain(ingested) {
            self.adopt(scope, orphan, &mut proofs, &mut replayed)?;
        }
        if self.rebuilt {
            return self.finish_rebuild(scope, &wanted, &proofs);
        }
        self.skip_flushed_wals(&replayed, &proofs);
        Ok(())
    }

    /// Returns true if records of the MANIFEST are missing.
    pub(super) fn lost_records(&self) -> bool {
        self.manifest.lost_end || self.manifest.faults.iter().any(|f| f.lost_bytes > 0 && !f.at_end)
    }

    fn find_strays(&mut self, scope: &Scope) -> Result<BTreeMap<FileNumber, PathBuf>> {
        let known: HashSet<FileNumber> = self.tables.iter().map(|t| t.record.number).collect();
        let mut strays = Vec::new();
        let of_families: Vec<_> = scope.families.iter().flat_map(|f| table_dirs(scope, f)).collect();
        for dir in scope.paths.all_with(&of_families) {
            let found = match scope.options.env.fs.list(dir) {
                // The OPTIONS file may name a directory that does not exist.
                Err(error) if error.is_not_found() && self.rebuilt => continue,
                found => found?,
            };
            for name in found {
                let Some(kind) = FileName::parse(&name) else { continue };
                if let Some(number) = kind.number() {
                    self.next_number = self.next_number.max(number.next());
                }
                let (FileName::Table(number) | FileName::LegacyTable(number)) = kind else { continue };
                if !known.contains(&number) {
                    strays.push((number, dir.join(&name)));
                }
            }
        }
        self.leave_files_of_others(scope, &mut strays)?;
        let mut orphans: BTreeMap<FileNumber, PathBuf> = BTreeMap::new();
        for (number, path) in strays {
            if let Some(other) = orphans.get(&number) {
                let what = format!("another SST file has the same file number: {}", other.display());
                self.put_aside(path, &what);
                continue;
            }
            orphans.insert(number, path);
        }
        Ok(orphans)
    }

    fn put_aside(&mut self, path: PathBuf, why: &str) {
        let what = format!("this SST file is not added to the database: {why}");
        self.report.problems.push(problem(Weight::Loss, path.clone(), None, &what));
        self.aside.push(path);
    }

    /// Returns the column family of an SST file, or the reason why the column family is unknown.
    fn owner(&self, orphan: &OrphanFile) -> std::result::Result<FamilyRecord, String> {
        let families = &self.manifest.recovered.families;
        let only = || {
            (families.len() == 1 && self.in_wals.only_default())
                .then(|| families.get(&FamilyId::DEFAULT))
                .flatten()
        };
        let own = orphan.id().and_then(|id| families.get(&id)).filter(|family| orphan.is_of(family));
        let is_silent = orphan.id().is_none() || orphan.is_external();
        let family = match own.or_else(|| only().filter(|_| is_silent)) {
            Some(family) => family,
            None if is_silent => return Err("its column family is unknown".to_string()),
            None => {
                let (id, name) = (orphan.id().unwrap_or_default(), orphan.family_name().unwrap_or_default());
                return Err(match families.get(&id) {
                    Some(family) => {
                        format!(
                            "its properties name column family {id} {name}, but the name of this column family is {}",
                            family.name
                        )
                    }
                    None => format!(
                        "its column family {id}, {name}, was dropped: another column family has this name"
                    ),
                });
            }
        };
        match (orphan.comparator(), family.comparator.as_deref()) {
            (Some(own), Some(other)) if own != other && !orphan.is_before_change(family) => Err(format!(
                "its comparator is {own}, but the comparator of column family {} is {other}",
                family.name
            )),
            _ => Ok(family.clone()),
        }
    }

    fn adopt(
        &mut self,
        scope: &Scope,
        orphan: &OrphanFile,
        proofs: &mut Proofs,
        replayed: &mut Replayed,
    ) -> Result<()> {
        let path = orphan.path.clone();
        let family = match self.owner(orphan) {
            Ok(family) => family,
            Err(why) => {
                self.put_aside(path, &why);
                return Ok(());
            }
        };
        if orphan.says(names::EMBEDDED_BLOB_STATS) {
            return Err(
                Error::not_supported("an SST file with embedded blobs, without its MANIFEST").file(&path)
            );
        }
        let descriptor = descriptor_of(scope, &family.name, family.comparator.as_deref())?;
        let order = descriptor.options.comparator.clone();
        let file = scope.options.env.fs.open_random(&path, &ReadHints::default())?;
        let size = file.size()?;
        self.report.num_files += 1;
        self.report.num_bytes += size;
        let options = OpenOptions {
            order: order.clone(),
            file_number: orphan.number,
            timestamps_persisted: family.persist_user_defined_timestamps != Some(false),
            ..OpenOptions::default()
        };
        let mut facts = Facts::new(&family, order.clone(), orphan, size);
        let salvaged =
            salvage(file.clone(), size, &options, None, &mut |row, value| facts.row(row, value, proofs))
                .map_err(|e| e.file(&path))?;
        let rows = facts.rows();
        let blob_files = std::mem::take(&mut facts.blob_files);
        let Some(mut record) = facts.finish(&salvaged, proofs) else {
            self.report.problems.push(problem(Weight::Note, path, None, "an unfinished SST file"));
            return Ok(());
        };
        if !self.rebuilt && !orphan.is_external() {
            let held = self.held_in_wals(&family, &record);
            replayed.record(family.id, &path, &record, held);
            if held == Held::All {
                self.report.problems.push(problem(
                    Weight::Note,
                    path,
                    None,
                    "the MANIFEST does not name this SST file, and its entries are still in WALs",
                ));
                return Ok(());
            }
        }
        if orphan.lacks_number() {
            self.number(scope, &family, &order, &mut record)?;
        }
        origin(&mut record, &salvaged);
        let stored = salvaged.properties.as_ref().is_none_or(|p| stores_timestamps(p, &order));
        record.user_defined_timestamps_persisted = options.timestamps_persisted && stored;
        if scope.options.file_checksum_gen_factory.is_some() {
            record.checksum.value = crc_of(&*file)?.to_be_bytes().to_vec();
            record.checksum.function = CRC32C_CHECKSUM_FUNC_NAME.to_string();
        }
        let in_place = self.place(scope, &descriptor, orphan, &mut record);
        self.report_added(orphan, &family.name, &record, &salvaged);
        self.report.num_rows += salvaged.num_rows;
        self.last_seq = self.last_seq.max(record.largest_seqno);
        let state = if salvaged.is_whole() && in_place { State::Whole } else { State::Rewrite };
        let edges = if self.rebuilt { Edges::of(&salvaged, rows) } else { None };
        if !blob_files.is_empty() {
            self.blob_references.entry(family.id).or_default().extend(blob_files);
        }
        self.tables.push(Table { edges, family: family.id, record, path, state, adopted: true });
        Ok(())
    }

    /// Chooses the sequence number of an ingested SST file whose sequence number is lost. The files with lower file
    /// numbers existed before the ingestion. So the sequence number is at least the largest sequence number of the older
    /// files. If the key range of an older file overlaps the ingested file, the sequence number is above the largest
    /// sequence number of the older file. The sequence number is also above 0 if another file has entries with the sequence
    /// number 0 in the key range: a compaction removes sequence numbers only where no SST file is older. The function takes
    /// the smallest possible number, so that the file hides no newer entry.
    fn number(
        &self,
        scope: &Scope,
        family: &FamilyRecord,
        order: &Order,
        record: &mut NewFile,
    ) -> Result<()> {
        // An SST file that was ingested behind the existing data has sequence number 0.
        if newest_options(scope)?.is_some_and(|(_, options)| ingests_behind(&options, &family.name)) {
            return Ok(());
        }
        let before = || self.tables.iter().filter(|t| t.record.number < record.number);
        let mut seq = before().map(|t| t.record.largest_seqno).max().unwrap_or(SequenceNumber::ZERO);
        let apart =
            |a: &NewFile, b: &NewFile| order.compare(user_key(&a.largest), user_key(&b.smallest)).is_lt();
        let overlaps =
            |t: &Table| t.family == family.id && !apart(&t.record, record) && !apart(record, &t.record);
        if before().any(overlaps) {
            seq = (seq + 1).min(key::MAX_SEQUENCE);
        }
        if self.tables.iter().any(|t| t.record.smallest_seqno.is_zero() && overlaps(t)) {
            seq = seq.max(SequenceNumber::ZERO + 1);
        }
        let numbered = |key: &mut Vec<u8>| {
            let (user, old, value_type) = key::split(key);
            let mut new = Vec::with_capacity(key.len());
            key::append_with_trailer(
                &mut new,
                user,
                key::pack(if old == key::MAX_SEQUENCE { old } else { seq }, value_type),
            );
            *key = new;
        };
        (record.smallest_seqno, record.largest_seqno) = (seq, seq);
        numbered(&mut record.smallest);
        numbered(&mut record.largest);
        Ok(())
    }

    /// Sets the path id of the SST file. Returns false if the file is in no directory of its column family, or has an
    /// old name.
    fn place(
        &self,
        scope: &Scope,
        family: &FamilyDescriptor,
        orphan: &OrphanFile,
        record: &mut NewFile,
    ) -> bool {
        let dirs = table_dirs(scope, family);
        let place = orphan.path.parent().and_then(|own| dirs.iter().position(|dir| dir == own));
        record.path_id = place.unwrap_or(0) as u32;
        place.is_some() && orphan.path.extension().is_some_and(|extension| extension == "sst")
    }

    fn report_added(&mut self, orphan: &OrphanFile, family: &str, record: &NewFile, salvaged: &Salvaged) {
        let whole = (Some(user_key(&record.smallest).to_vec()), Some(user_key(&record.largest).to_vec()));
        let (weight, what) = if self.rebuilt {
            let (rows, range_deletions) = (salvaged.num_rows, salvaged.tombstones.len());
            let (first, last) = (record.smallest_seqno, record.largest_seqno);
            let what = format!(
                "added to the database: {rows} entries and {range_deletions} range tombstones with sequence numbers {first} to {last}"
            );
            (Weight::Note, what)
        } else {
            let what = "no readable record of the MANIFEST names this SST file: the file is added to the database; entries that were deleted later may be back";
            (Weight::Loss, what.to_string())
        };
        let mut found = problem(weight, orphan.path.clone(), None, &what);
        (found.family, found.range) = (Some(family.to_string()), Some(whole.clone()));
        self.report.problems.push(found.clone());
        if orphan.lacks_number() {
            found.weight = Weight::Loss;
            found.what = format!(
                "only the MANIFEST had the sequence number of this ingested SST file: its entries get the sequence number \
                 {}, the smallest possible one",
                record.largest_seqno
            );
            self.report.problems.push(found.clone());
        }
        if salvaged.properties.is_none() {
            found.weight = Weight::Loss;
            found.what = "its properties cannot be read: its column family is assumed".to_string();
            self.report.problems.push(found);
        }
        self.table_problems(&orphan.path, family, salvaged, &whole);
    }
}

/// Builds the record of an SST file from its entries.
struct Facts<'a> {
    family: &'a FamilyRecord,
    order: Order,
    record: NewFile,
    /// Blob files that the entries refer to.
    blob_files: BTreeSet<FileNumber>,
}

impl<'a> Facts<'a> {
    fn new(family: &'a FamilyRecord, order: Order, orphan: &OrphanFile, file_size: u64) -> Self {
        let record = NewFile {
            number: orphan.number,
            file_size,
            smallest_seqno: SequenceNumber::NONE,
            ..NewFile::default()
        };
        Facts { family, order, record, blob_files: BTreeSet::new() }
    }

    fn row(&mut self, row: &[u8], value: &[u8], proofs: &mut Proofs) -> Result<()> {
        let blob_files = &mut self.blob_files;
        references(key::split(row).2, value, &mut |blob| {
            blob_files.insert(blob.file_number);
        })?;
        self.record.oldest_blob_file_number =
            blob_files.first().copied().filter(|blob| *blob != FileNumber::ZERO);
        if self.record.smallest.is_empty() {
            self.record.smallest = row.to_vec();
        }
        self.record.largest.clear();
        self.record.largest.extend_from_slice(row);
        self.seq(row, proofs);
        Ok(())
    }

    fn seq(&mut self, row: &[u8], proofs: &mut Proofs) {
        let seq = key::sequence(row);
        self.record.smallest_seqno = self.record.smallest_seqno.min(seq);
        self.record.largest_seqno = self.record.largest_seqno.max(seq);
        proofs.row(self.family.id, seq, user_key(row));
    }

    /// Returns the internal keys of the first and the last entry.
    fn rows(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        (!self.record.smallest.is_empty())
            .then(|| (self.record.smallest.clone(), self.record.largest.clone()))
    }

    /// Returns `None` if the SST file is empty.
    fn finish(mut self, salvaged: &Salvaged, proofs: &mut Proofs) -> Option<NewFile> {
        let internal = base::key::InternalOrder::new(self.order.clone());
        for (start, end) in &salvaged.tombstones {
            self.seq(start, proofs);
            let record = &mut self.record;
            let mut end_key = Vec::new();
            key::append_internal(&mut end_key, end, key::MAX_SEQUENCE, ValueType::RangeDeletion);
            if record.smallest.is_empty() || internal.compare(start, &record.smallest).is_lt() {
                record.smallest = start.clone();
            }
            if record.largest.is_empty() || internal.compare(&end_key, &record.largest).is_gt() {
                record.largest = end_key;
            }
        }
        if salvaged.losses.iter().any(|loss| loss.part == Part::Data || loss.part.holds_data()) {
            proofs.damaged(self.family.id);
        }
        base::invariant!(
            self.record.smallest.is_empty() || self.record.smallest_seqno <= self.record.largest_seqno,
            "the entries of SST file {} have the sequence numbers {} to {}",
            self.record.number,
            self.record.smallest_seqno,
            self.record.largest_seqno
        );
        (!self.record.smallest.is_empty()).then_some(self.record)
    }
}

/// Adds the origin of the SST file to the record, from the table properties.
fn origin(record: &mut NewFile, salvaged: &Salvaged) {
    record.unique_id = identity::id(salvaged).unwrap_or_default();
    let Some(properties) = &salvaged.properties else { return };
    record.times.oldest_ancester = properties.creation_time;
    record.times.creation = properties.file_creation_time;
    record.tail_size = properties.tail_size(record.file_size);
}

fn ingests_behind(options: &OptionsFile, family: &str) -> bool {
    options.db.allow_ingest_behind || options.family(family).is_some_and(|f| f.cf_allow_ingest_behind)
}

fn crc_of(file: &dyn RandomRead) -> Result<u32> {
    let mut buffer = vec![0; 256 << 10];
    let (mut at, mut crc) = (0, 0);
    loop {
        let got = file.read_at(at, &mut buffer)?;
        if got == 0 {
            return Ok(crc);
        }
        crc = crc32c::extend(crc, &buffer[..got]);
        at += got as u64;
    }
}
