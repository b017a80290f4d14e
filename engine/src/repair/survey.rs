//! Finds the problems of a database. Writes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::key::user_key;
use base::{Arrange, Error, FamilyId, FileNumber, Order, Result, WalNumber};
use env::ReadHints;
use format::edit::NewFile;
use format::names::{self, FileName};
use format::proof::PROOF;
use format::properties::names::EMBEDDED_BLOB_STATS;
use table::any::salvage;
use table::sst::salvage::{Part, Salvaged};

use super::choose::{Chosen, choose};
use super::found::{BlobReferences, InWals, State, Survey, Table};
use super::identity::{self, RecordCheck};
use super::terms::{
    common_seqno, descriptor_of, order_of, problem, table_dirs, table_options, with_timestamps,
};
use super::{Report, Scope, Weight};
use crate::manifest::read_proof;
use crate::options::file;

pub(super) fn look(scope: &Scope) -> Result<Survey> {
    let mut report = Report::default();
    let Chosen { number, manifest, damaged, current_damaged, rebuilt } = choose(scope, &mut report)?;
    let mut survey = Survey {
        report,
        number,
        last_seq: manifest.recovered.last_sequence,
        next_number: manifest.recovered.next_file_number.max(number.next()),
        manifest,
        manifest_damaged: damaged,
        current_damaged,
        rebuilt,
        tables: Vec::new(),
        wals: Vec::new(),
        in_wals: InWals::default(),
        misplaced: Vec::new(),
        blob_references: BlobReferences::default(),
        unreadable: Vec::new(),
        aside: Vec::new(),
        claims: BTreeMap::new(),
    };
    survey.proof(scope)?;
    survey.small_files(scope)?;
    survey.wals(scope)?;
    survey.tables(scope)?;
    survey.orphans(scope)?;
    survey.blob_files(scope)?;
    survey.unneeded_blob_files(scope)?;
    if survey.next_number > NUMBER_MAX.next() {
        let what = format!(
            "a file or a record has the file number {}, which is too large for new files",
            survey.next_number.get() - 1
        );
        return Err(Error::corruption(what).file(&scope.paths.db));
    }
    base::invariant!(
        survey.tables.iter().all(|table| table.record.number < survey.next_number)
            && survey.wals.iter().all(|wal| wal.number.file() < survey.next_number),
        "a file of the database has the number {} or a larger one, and new files begin there",
        survey.next_number
    );
    base::invariant!(
        survey.tables.iter().all(|table| table.record.largest_seqno <= survey.last_seq),
        "an SST file has a newer entry than the sequence number {}",
        survey.last_seq
    );
    Ok(survey)
}

/// The largest file number that leaves numbers for new files.
const NUMBER_MAX: FileNumber = FileNumber::new(1 << 60);

impl Survey {
    /// Reads the sizes that were durable when the database was last closed or idle, if the proof is for this
    /// MANIFEST.
    fn proof(&mut self, scope: &Scope) -> Result<()> {
        let env = &scope.options.env;
        let proof = match read_proof(env, &scope.paths.db, self.number) {
            Ok(Some(proof)) => proof,
            Ok(None) => return Ok(()),
            Err(error) if error.is_corruption() => {
                let path = scope.paths.db.join(PROOF);
                self.report.problems.push(problem(Weight::Note, path, error.offset(), error.message()));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if self.manifest.recovered.db_id.as_ref().is_some_and(|id| *id != proof.db_id) {
            return Ok(());
        }
        self.manifest_durable(scope, proof.manifest.bytes);
        self.claims.extend(proof.wals.iter().map(|wal| (WalNumber::of_file(wal.number), wal.bytes)));
        Ok(())
    }

    /// Handles a mark in a WAL that states a durable size of the MANIFEST. Ignores the mark if no bytes follow the
    /// last record of the MANIFEST: the WAL may have been copied after the MANIFEST.
    pub(super) fn check_manifest_size(&mut self, scope: &Scope, durable: u64) -> Result<()> {
        if !self.rebuilt
            && scope.options.env.fs.file_size(&scope.paths.manifest(self.number))? > self.manifest.last_end
        {
            self.manifest_durable(scope, durable);
        }
        Ok(())
    }

    /// Reports a loss if the MANIFEST ends before its durable size.
    fn manifest_durable(&mut self, scope: &Scope, durable: u64) {
        let end = self.manifest.last_end;
        if end >= durable || self.manifest.lost_end {
            return;
        }
        let path = scope.paths.manifest(self.number);
        let what = format!("its last record ends here, and it was durable up to byte {durable}");
        let mut found = problem(Weight::Loss, path, Some(end), &what);
        found.bytes = durable - end;
        self.report.problems.push(found);
        self.manifest_damaged = true;
        self.manifest.lost_end = true;
    }

    fn small_files(&mut self, scope: &Scope) -> Result<()> {
        let env = &scope.options.env;
        let config = file::ReadConfig { ignore_unknown_options: true, ..file::ReadConfig::default() };
        for name in env.fs.list(&scope.paths.db)? {
            let path = scope.paths.db.join(&name);
            let wrong = match FileName::parse(&name) {
                Some(FileName::Options(_)) => file::load(env, &path, &config).err(),
                Some(FileName::Identity) => {
                    env.fs.read_all(&path, 4096).and_then(|bytes| names::parse_identity(&bytes)).err()
                }
                _ => continue,
            };
            self.report.num_files += 1;
            let Some(error) = wrong else { continue };
            self.report.problems.push(problem(
                Weight::Mendable,
                path.clone(),
                error.offset(),
                error.message(),
            ));
            self.unreadable.push(path);
        }
        Ok(())
    }

    fn tables(&mut self, scope: &Scope) -> Result<()> {
        let families: Vec<_> = self.manifest.recovered.families.values().cloned().collect();
        for family in families {
            let descriptor = descriptor_of(scope, &family.name, family.comparator.as_deref())?;
            let order = descriptor.options.comparator.clone();
            let dirs = table_dirs(scope, &descriptor);
            let mut records: Vec<_> = family.files.into_values().collect();
            records.arrange_by_key(|f| f.number);
            for record in records {
                self.next_number = self.next_number.max(record.number.next());
                self.last_seq = self.last_seq.max(record.largest_seqno);
                let record = with_timestamps(record, &order);
                let table = self.table(scope, family.id, &family.name, &order, &dirs, record)?;
                self.tables.push(table);
            }
        }
        self.find_misplaced(scope)
    }

    /// Finds SST files that lie under the name of another SST file, and whose own name also holds another file.
    fn find_misplaced(&mut self, scope: &Scope) -> Result<()> {
        for (id, path) in std::mem::take(&mut self.misplaced) {
            let is_its = |t: &&mut Table| t.state == State::Gone && t.record.unique_id == id;
            let Some(table) = self.tables.iter_mut().find(is_its) else { continue };
            let Some(family) = self.manifest.recovered.families.get(&table.family) else { continue };
            let (name, order) =
                (family.name.clone(), order_of(scope, &family.name, family.comparator.as_deref())?);
            for found in
                self.report.problems.iter_mut().filter(|p| p.file == table.path && p.weight == Weight::Loss)
            {
                found.what = format!("{}; this SST file was found at {}", found.what, path.display());
                (found.weight, found.range, found.bytes) = (Weight::Mendable, None, 0);
            }
            (table.path, table.state) = (path.clone(), State::Rewrite);
            let whole = (
                Some(user_key(&table.record.smallest).to_vec()),
                Some(user_key(&table.record.largest).to_vec()),
            );
            let options = table_options(&order, &table.record);
            let file = scope.options.env.fs.open_random(&path, &ReadHints::default())?;
            let size = file.size()?;
            let salvaged = salvage(file, size, &options, common_seqno(&table.record), &mut |_, _| Ok(()))
                .map_err(|e| e.file(&path))?;
            self.report.num_rows += salvaged.num_rows;
            self.table_problems(&path, &name, &salvaged, &whole);
        }
        Ok(())
    }

    fn table(
        &mut self,
        scope: &Scope,
        id: FamilyId,
        family: &str,
        order: &Order,
        dirs: &[PathBuf],
        record: NewFile,
    ) -> Result<Table> {
        let dir = dirs.get(record.path_id as usize).or(dirs.last()).unwrap_or(&scope.paths.db);
        let path = dir.join(names::table(record.number));
        let mut table = Table { family: id, record, path, state: State::Whole, adopted: false, edges: None };
        let whole_range =
            (Some(user_key(&table.record.smallest).to_vec()), Some(user_key(&table.record.largest).to_vec()));
        let file = match scope.options.env.fs.open_random(&table.path, &ReadHints::default()) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => {
                let mut found = problem(Weight::Loss, table.path.clone(), None, "the SST file is missing");
                (found.family, found.range, found.bytes) =
                    (Some(family.to_string()), Some(whole_range), table.record.file_size);
                self.report.problems.push(found);
                table.state = State::Gone;
                return Ok(table);
            }
            Err(error) => return Err(error),
        };
        let size = file.size()?;
        self.report.num_files += 1;
        self.report.num_bytes += size;
        let options = table_options(order, &table.record);
        let record = table.record.clone();
        let mut check = RecordCheck::new(order, &record);
        let salvaged = salvage(file, size, &options, common_seqno(&record), &mut |key, _| {
            check.entry(key);
            Ok(())
        });
        let salvaged = salvaged.map_err(|e| e.file(&table.path))?;
        if salvaged.properties.as_ref().is_some_and(|p| p.user(EMBEDDED_BLOB_STATS).is_some()) {
            // `salvage` takes the values between the blocks for damage. A rewrite of the entries would lose the
            // values.
            return Err(Error::not_supported("an SST file with embedded blobs").file(&table.path));
        }
        if check.is_foreign(&salvaged) {
            let mut found = problem(Weight::Loss, table.path.clone(), None, "the path has another SST file");
            (found.family, found.range, found.bytes) =
                (Some(family.to_string()), Some(whole_range), record.file_size);
            self.report.problems.push(found);
            self.misplaced.extend(identity::id(&salvaged).map(|id| (id, table.path.clone())));
            table.state = State::Gone;
            return Ok(table);
        }
        self.report.num_rows += salvaged.num_rows;
        if size != record.file_size {
            let what = format!("the file has {size} bytes; the MANIFEST says {}", record.file_size);
            let mut found = problem(Weight::Mendable, table.path.clone(), None, &what);
            found.family = Some(family.to_string());
            let cut = (size < record.file_size).then(|| check.cut_behind(&salvaged)).flatten();
            if let Some(last_key) = cut {
                found.weight = Weight::Loss;
                (found.offset, found.bytes) = (Some(size), record.file_size - size);
                let (first, last) = whole_range.clone();
                found.range = Some((last_key.or(first), last));
            }
            self.report.problems.push(found);
            table.state = State::Rewrite;
        }
        if !salvaged.is_whole() {
            table.state = if salvaged.num_rows == 0 && salvaged.tombstones.is_empty() {
                State::Gone
            } else {
                State::Rewrite
            };
        }
        self.table_problems(&table.path, family, &salvaged, &whole_range);
        Ok(table)
    }

    pub(super) fn table_problems(
        &mut self,
        path: &Path,
        family: &str,
        salvaged: &Salvaged,
        whole: &(Option<Vec<u8>>, Option<Vec<u8>>),
    ) {
        for mended in &salvaged.mended {
            let what = match mended.bit {
                Some(bit) => format!("bit {bit} of this byte of the {} is wrong", mended.part.name()),
                None => format!("this byte of the {} is wrong", mended.part.name()),
            };
            let mut found = problem(Weight::Mendable, path.to_path_buf(), Some(mended.offset), &what);
            found.family = Some(family.to_string());
            self.report.problems.push(found);
        }
        for loss in &salvaged.losses {
            let weight = if loss.part.holds_data() { Weight::Loss } else { Weight::Mendable };
            let what = match loss.part {
                Part::RangeTombstones => {
                    format!("{}: entries that it deleted may be back: {}", loss.part.name(), loss.reason)
                }
                part => format!("{}: {}", part.name(), loss.reason),
            };
            let mut found = problem(weight, path.to_path_buf(), Some(loss.offset), &what);
            found.family = Some(family.to_string());
            found.bytes = loss.size;
            found.range = match loss.part {
                Part::Data => {
                    let (first, last) = whole.clone();
                    Some((loss.after.clone().or(first), loss.until.clone().or(last)))
                }
                Part::RangeTombstones | Part::Dictionary => Some(whole.clone()),
                _ => None,
            };
            self.report.problems.push(found);
        }
    }
}
