//! What a repair finds before it touches anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::map::{HashMap, HashSet};
use base::key::user_key;
use base::{Error, FamilyId, FileNumber, Level, Order, Result, SequenceNumber, key};
use env::ReadHints;
use format::edit::NewFile;
use format::names::{self, FileName};
use format::proof::PROOF;
use table::sst::OpenOptions;
use table::sst::salvage::{Part, Salvaged, salvage};

use super::logs::Log;
use super::whose::{self, Rows};
use super::{Problem, Report, Scope, Weight};
use crate::components::FamilyDescriptor;
use crate::manifest::{Lenient, read_current, read_proof, recover_leniently};
use crate::options::file;

/// Everything known about a database.
pub(super) struct Survey {
    pub report: Report,
    /// The MANIFEST that was read, and what it says.
    pub number: FileNumber,
    pub manifest: Lenient,
    pub manifest_damaged: bool,
    pub current_damaged: bool,
    pub tables: Vec<Table>,
    pub logs: Vec<Log>,
    /// Tables in the place of another: what the MANIFEST says of their origin, and where they lie.
    misplaced: Vec<([u64; 2], PathBuf)>,
    /// OPTIONS files that do not read, and an IDENTITY that does not.
    pub unreadable: Vec<PathBuf>,
    /// Above every number in a name or a record.
    pub next_number: u64,
    pub last_seq: SequenceNumber,
    /// What the proof of the last close and the marks in logs say of logs: number to durable bytes.
    pub(super) claims: BTreeMap<u64, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Whole,
    /// To be written anew from what is left.
    Rewrite,
    /// Nothing is left of it.
    Gone,
}

pub(super) struct Table {
    pub family: FamilyId,
    pub record: NewFile,
    pub path: PathBuf,
    pub state: State,
    /// No record of the MANIFEST speaks of it.
    pub adopted: bool,
}

pub(super) fn look(scope: &Scope) -> Result<Survey> {
    let fs = &scope.options.env.fs;
    if !fs.exists(&scope.paths.db)? {
        return Err(Error::invalid_argument(format!("{}: does not exist", scope.paths.db.display())));
    }
    let mut report = Report::default();
    let (number, manifest, current_damaged, manifest_damaged) = manifest(scope, &mut report)?;
    let mut survey = Survey {
        report,
        number,
        last_seq: manifest.recovered.last_sequence,
        next_number: manifest.recovered.next_file_number.max(number.0 + 1),
        manifest,
        manifest_damaged,
        current_damaged,
        tables: Vec::new(),
        logs: Vec::new(),
        misplaced: Vec::new(),
        unreadable: Vec::new(),
        claims: BTreeMap::new(),
    };
    survey.proof(scope)?;
    survey.small_files(scope)?;
    survey.logs(scope)?;
    survey.tables(scope)?;
    survey.strays(scope)?;
    Ok(survey)
}

/// The MANIFEST that CURRENT names; failing that, the newest one that has anything to say.
fn manifest(scope: &Scope, report: &mut Report) -> Result<(FileNumber, Lenient, bool, bool)> {
    let env = &scope.options.env;
    let named = match read_current(env, &scope.paths.db) {
        Ok(number) => Some(number),
        Err(error) if error.is_corruption() || error.is_not_found() => {
            let path = scope.paths.current();
            report.problems.push(problem(Weight::Mendable, path, error.offset(), error.message()));
            None
        }
        Err(error) => return Err(error),
    };
    let mut candidates: Vec<_> = env
        .fs
        .list(&scope.paths.db)?
        .iter()
        .filter_map(|name| match FileName::parse(name) {
            Some(FileName::Manifest(n)) => Some(n),
            _ => None,
        })
        .collect();
    candidates.sort_unstable();
    candidates.reverse();
    if let Some(named) = named {
        candidates.retain(|n| *n != named);
        candidates.insert(0, named);
    }
    for number in &candidates {
        let path = scope.paths.manifest(*number);
        let read = match recover_leniently(env, &path, *number) {
            Ok(read) => read,
            Err(error) if error.is_corruption() || error.is_not_found() => {
                report.problems.push(problem(Weight::Loss, path, error.offset(), error.message()));
                continue;
            }
            Err(error) => return Err(error),
        };
        report.num_files += 1;
        report.num_bytes += env.fs.file_size(&path)?;
        let mut damaged = Some(*number) != named && named.is_some();
        for fault in &read.faults {
            let weight = match (fault.lost_bytes, fault.at_end) {
                (0, _) => Weight::Mendable,
                (_, true) => Weight::Note,
                _ => Weight::Loss,
            };
            damaged |= weight != Weight::Note;
            let mut found = problem(weight, path.clone(), Some(fault.offset), &fault.what);
            found.bytes = fault.lost_bytes;
            report.problems.push(found);
        }
        if read.recovered.edits == 0 {
            report.problems.push(problem(Weight::Loss, path, None, "no record of it can be read"));
            continue;
        }
        return Ok((*number, read, named != Some(*number), damaged));
    }
    Err(Error::invalid_argument(format!(
        "{}: not a database: no MANIFEST of it can be read",
        scope.paths.db.display()
    )))
}

impl Survey {
    /// What was durable when the database was last closed or idle, if that speaks of this MANIFEST.
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
        self.claims.extend(proof.wals.iter().map(|wal| (wal.number, wal.bytes)));
        Ok(())
    }

    /// So far the MANIFEST was durable by what a log says, which may have been copied later.
    pub(super) fn manifest_told(&mut self, scope: &Scope, durable: u64) -> Result<()> {
        if scope.options.env.fs.file_size(&scope.paths.manifest(self.number))? > self.manifest.last_end {
            self.manifest_durable(scope, durable);
        }
        Ok(())
    }

    /// The MANIFEST was durable up to there.
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
            self.report.problems.push(problem(Weight::Mendable, path.clone(), error.offset(), error.message()));
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
            records.sort_by_key(|f| f.number);
            for record in records {
                self.next_number = self.next_number.max(record.number.saturating_add(1));
                self.last_seq = self.last_seq.max(record.largest_seqno);
                let table = self.table(scope, family.id, &family.name, &order, &dirs, record)?;
                self.tables.push(table);
            }
        }
        self.find_misplaced(scope)
    }

    /// Tables whose place another took, and that lie in the place of yet another.
    fn find_misplaced(&mut self, scope: &Scope) -> Result<()> {
        for (id, path) in std::mem::take(&mut self.misplaced) {
            let is_its = |t: &&mut Table| t.state == State::Gone && t.record.unique_id == id;
            let Some(table) = self.tables.iter_mut().find(is_its) else { continue };
            let Some(family) = self.manifest.recovered.families.get(&table.family) else { continue };
            let (name, order) = (family.name.clone(), order_of(scope, &family.name, family.comparator.as_deref())?);
            for found in self.report.problems.iter_mut().filter(|p| p.file == table.path && p.weight == Weight::Loss) {
                found.what = format!("{}; this one lies at {}", found.what, path.display());
                (found.weight, found.range, found.bytes) = (Weight::Mendable, None, 0);
            }
            (table.path, table.state) = (path.clone(), State::Rewrite);
            let whole = (Some(user_key(&table.record.smallest).to_vec()), Some(user_key(&table.record.largest).to_vec()));
            let options = table_options(&order, &table.record);
            let file = scope.options.env.fs.open_random(&path, &ReadHints::default())?;
            let size = file.size()?;
            let salvaged = salvage(file, size, &options, &mut |_, _| Ok(())).map_err(|e| e.file(&path))?;
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
        let path = dir.join(names::table(FileNumber(record.number)));
        let mut table = Table { family: id, record, path, state: State::Whole, adopted: false };
        let whole_range = (
            Some(user_key(&table.record.smallest).to_vec()),
            Some(user_key(&table.record.largest).to_vec()),
        );
        let file = match scope.options.env.fs.open_random(&table.path, &ReadHints::default()) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => {
                let mut found = problem(Weight::Loss, table.path.clone(), None, "the table is missing");
                (found.family, found.range, found.bytes) = (Some(family.to_string()), Some(whole_range), table.record.file_size);
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
        let mut rows = Rows::new(order, &record);
        let salvaged = salvage(file, size, &options, &mut |key, _| {
            rows.row(key);
            Ok(())
        });
        let salvaged = salvaged.map_err(|e| e.file(&table.path))?;
        if rows.is_foreign(&salvaged) {
            let mut found = problem(Weight::Loss, table.path.clone(), None, "another table's file is in this one's place");
            (found.family, found.range, found.bytes) = (Some(family.to_string()), Some(whole_range), record.file_size);
            self.report.problems.push(found);
            self.misplaced.extend(whose::id(&salvaged).map(|id| (id, table.path.clone())));
            table.state = State::Gone;
            return Ok(table);
        }
        self.report.num_rows += salvaged.num_rows;
        if size != record.file_size {
            let what = format!("the file has {size} bytes; the MANIFEST says {}", record.file_size);
            let mut found = problem(Weight::Mendable, table.path.clone(), None, &what);
            found.family = Some(family.to_string());
            let cut = (size < record.file_size).then(|| rows.cut_behind(&salvaged)).flatten();
            if let Some(behind) = cut {
                found.weight = Weight::Loss;
                (found.offset, found.bytes) = (Some(size), record.file_size - size);
                found.range = Some((behind.or_else(|| whole_range.0.clone()), whole_range.1.clone()));
            }
            self.report.problems.push(found);
            table.state = State::Rewrite;
        }
        if !salvaged.is_whole() {
            table.state = if salvaged.num_rows == 0 && salvaged.tombstones.is_empty() { State::Gone } else { State::Rewrite };
        }
        self.table_problems(&table.path, family, &salvaged, &whole_range);
        Ok(table)
    }

    fn table_problems(&mut self, path: &Path, family: &str, salvaged: &Salvaged, whole: &(Option<Vec<u8>>, Option<Vec<u8>>)) {
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
                Part::RangeTombstones => format!("{}: rows that it deleted may be back: {}", loss.part.name(), loss.reason),
                part => format!("{}: {}", part.name(), loss.reason),
            };
            let mut found = problem(weight, path.to_path_buf(), Some(loss.offset), &what);
            found.family = Some(family.to_string());
            found.bytes = loss.size;
            found.range = match loss.part {
                Part::Data => Some((
                    loss.after.clone().or_else(|| whole.0.clone()),
                    loss.until.clone().or_else(|| whole.1.clone()),
                )),
                Part::RangeTombstones | Part::Dictionary => Some(whole.clone()),
                _ => None,
            };
            self.report.problems.push(found);
        }
    }

    /// Tables that no record speaks of.
    fn strays(&mut self, scope: &Scope) -> Result<()> {
        let known: HashSet<u64> = self.tables.iter().map(|t| t.record.number).collect();
        let mut strays = BTreeMap::new();
        let of_families: Vec<_> = scope.families.iter().flat_map(|f| table_dirs(scope, f)).collect();
        for dir in scope.paths.all_with(&of_families) {
            for name in scope.options.env.fs.list(dir)? {
                let Some(kind) = FileName::parse(&name) else { continue };
                if let Some(number) = kind.number() {
                    self.next_number = self.next_number.max(number.0.saturating_add(1));
                }
                if let FileName::Table(number) | FileName::LegacyTable(number) = kind
                    && !known.contains(&number.0)
                {
                    strays.insert(number.0, dir.join(&name));
                }
            }
        }
        let lost_records = self.manifest.lost_end || self.manifest.faults.iter().any(|f| f.lost_bytes > 0 && !f.at_end);
        for (number, path) in strays {
            let deleted = self.manifest.deleted.contains(&number);
            if !self.manifest_damaged || deleted || !(lost_records || self.current_damaged) {
                self.report.problems.push(problem(Weight::Note, path, None, "no record of the MANIFEST speaks of this table"));
                continue;
            }
            self.adopt(scope, number, path)?;
        }
        Ok(())
    }

    fn adopt(&mut self, scope: &Scope, number: u64, path: PathBuf) -> Result<()> {
        let file = scope.options.env.fs.open_random(&path, &ReadHints::default())?;
        let size = file.size()?;
        self.report.num_files += 1;
        self.report.num_bytes += size;
        let comparators: HashMap<_, _> =
            self.manifest.recovered.families.values().map(|f| (f.id, (f.name.clone(), f.comparator.clone()))).collect();
        // The file's own word on which family's it is, then everything else under that family's order.
        let first = OpenOptions { file_number: FileNumber(number), ..OpenOptions::default() };
        let probe = salvage(file.clone(), size, &first, &mut |_, _| Ok(())).map_err(|e| e.file(&path))?;
        let owner = probe.properties.as_ref().and_then(|p| u32::try_from(p.column_family_id).ok()).map(FamilyId);
        let Some((id, (name, comparator))) = owner.and_then(|id| comparators.get_key_value(&id)) else {
            let what = "no record of the MANIFEST speaks of this table, nor does it say whose it is";
            self.report.problems.push(problem(Weight::Loss, path, None, what));
            return Ok(());
        };
        let order = order_of(scope, name, comparator.as_deref())?;
        let options = OpenOptions { order: order.clone(), ..first };
        let mut record = NewFile { number, file_size: size, smallest_seqno: u64::MAX, ..NewFile::default() };
        let internal = base::key::InternalOrder::new(order);
        let salvaged = salvage(file, size, &options, &mut |row, _| {
            if record.smallest.is_empty() {
                record.smallest = row.to_vec();
            }
            record.largest.clear();
            record.largest.extend_from_slice(row);
            let seq = key::sequence(row);
            record.smallest_seqno = record.smallest_seqno.min(seq);
            record.largest_seqno = record.largest_seqno.max(seq);
            Ok(())
        })?;
        for (start, end) in &salvaged.tombstones {
            let seq = key::sequence(start);
            record.smallest_seqno = record.smallest_seqno.min(seq);
            record.largest_seqno = record.largest_seqno.max(seq);
            let mut end_key = Vec::new();
            key::append_internal(&mut end_key, end, key::MAX_SEQUENCE, base::ValueType::RangeDeletion);
            if record.smallest.is_empty() || internal.compare(start, &record.smallest).is_lt() {
                record.smallest = start.clone();
            }
            if record.largest.is_empty() || internal.compare(&end_key, &record.largest).is_gt() {
                record.largest = end_key;
            }
        }
        if record.smallest.is_empty() {
            self.report.problems.push(problem(Weight::Note, path, None, "an unfinished table"));
            return Ok(());
        }
        let in_log = |log: &Log| log.first_seq.is_some_and(|first| first <= record.smallest_seqno && record.largest_seqno <= log.last_seq);
        if self.logs.iter().any(in_log) {
            self.report.problems.push(problem(Weight::Note, path, None, "an unknown table whose rows are still in a WAL"));
            return Ok(());
        }
        let what = "no record that is left of the MANIFEST speaks of this table: it is taken in; rows deleted since may be back";
        let mut found = problem(Weight::Loss, path.clone(), None, what);
        found.family = Some(name.clone());
        found.range = Some((Some(user_key(&record.smallest).to_vec()), Some(user_key(&record.largest).to_vec())));
        self.report.problems.push(found);
        self.report.num_rows += salvaged.num_rows;
        self.last_seq = self.last_seq.max(record.largest_seqno);
        let (id, name) = (*id, name.clone());
        let whole = (Some(user_key(&record.smallest).to_vec()), Some(user_key(&record.largest).to_vec()));
        self.table_problems(&path, &name, &salvaged, &whole);
        let state = if salvaged.is_whole() { State::Whole } else { State::Rewrite };
        self.tables.push(Table { family: id, record, path, state, adopted: true });
        Ok(())
    }
}

pub(super) fn table_options(order: &Order, record: &NewFile) -> OpenOptions {
    OpenOptions {
        order: order.clone(),
        file_number: FileNumber(record.number),
        level: Level(record.level.min(u32::from(u8::MAX)) as u8),
        largest_seqno: Some(record.largest_seqno),
        ..OpenOptions::default()
    }
}

/// The descriptor of a family, or the default one's under its name and comparator.
///
/// # Errors
/// InvalidArgument for another comparator than the recorded one, or one that is not built in and was not given.
pub fn descriptor_of(scope: &Scope, name: &str, comparator: Option<&str>) -> Result<FamilyDescriptor> {
    if let Some(given) = scope.families.iter().find(|d| d.name == name) {
        let own = given.options.comparator.name();
        if comparator.is_some_and(|recorded| recorded != own) {
            return Err(Error::invalid_argument(format!(
                "{own} does not match existing comparator {} of column family {name}",
                comparator.unwrap_or_default()
            )));
        }
        return Ok(given.clone());
    }
    let mut options = scope.families.iter().find(|d| d.name == "default").map(|d| d.options.clone()).unwrap_or_default();
    if let Some(recorded) = comparator.filter(|recorded| *recorded != options.comparator.name()) {
        options.comparator = Order::by_name(recorded).ok_or_else(|| {
            Error::invalid_argument(format!("column family {name} needs its comparator {recorded}: name the family with it"))
        })?;
    }
    Ok(FamilyDescriptor::new(name, options))
}

/// Where a family's tables lie, by path id.
fn table_dirs(scope: &Scope, family: &FamilyDescriptor) -> Vec<PathBuf> {
    let own: Vec<_> = family.options.cf_paths.iter().map(|p| p.path.clone()).collect();
    if own.is_empty() { scope.paths.tables.clone() } else { own }
}

fn order_of(scope: &Scope, name: &str, comparator: Option<&str>) -> Result<Order> {
    Ok(descriptor_of(scope, name, comparator)?.options.comparator)
}

pub(super) fn problem(weight: Weight, file: PathBuf, offset: Option<u64>, what: &str) -> Problem {
    Problem { weight, file, offset, bytes: 0, family: None, what: what.to_string(), range: None }
}
