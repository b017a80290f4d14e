//! Repairs what the survey found. First repair writes new SST files and WALs, then a new MANIFEST, then CURRENT. The
//! replaced files go to `lost/` at the end. So a crash in between leaves a database that can be repaired again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use table::sst::writer::BlockCompression;
use table::sst::writer::DataTimes;
use table::sst::writer::Identity;

use base::{Arrange, EpochNumber, FamilyId, Level, Result, WalNumber};
use compress::Compression;
use env::rate::IoPriority;
use env::{AppendHints, Env, ReadHints};
use format::batch::Batch;
use format::edit::{BlobEdit, FamilyEdit, FileChecksum, NewFile, VersionEdit};
use format::names;
use format::wal::{Framing, Writer, salvage as salvage_wal};
use table::any::salvage;
use table::unique_id::SessionId;

use super::blobs::records_of;
use super::found::{State, Survey, Table};
use super::survey::look;
use super::terms::{common_seqno, descriptor_of, parts_of, table_options};
use super::wals::{salvage_options, sound_batch};
use super::{Report, Scope};
use crate::family::Parts;
use crate::files::{DbLock, LOST_DIR, Numbers, lost_name};
use crate::manifest::{FileSource, Manifest, ManifestSettings, Record, write_identity};
use crate::output::{
    FlushPriority, OutputFile, OutputIo, OutputPlace, OutputSettings, Purpose, Rewrite, WriteBack,
};
use crate::stats::Stats;
use crate::sync::Arc;

/// Repairs a database that is not open. Returns the problems and the actions. The caller opens the database
/// afterwards.
///
/// # Errors
/// The errors of [`super::survey`]. `IoError` if the database is open elsewhere. Errors of writing files.
pub fn run(scope: &Scope) -> Result<Report> {
    let _lock = DbLock::take(&*scope.options.env.fs, &scope.paths.db)?;
    let survey = look(scope)?;
    if survey.report.is_sound() && !survey.current_damaged {
        return Ok(survey.report);
    }
    Repair::new(scope, survey)?.run()
}

/// Returns the record of the SST file that replaces `old`. The old bounds stay: they limit range tombstones that
/// reach beyond the file.
pub(super) fn rewritten(old: &NewFile, new: &OutputFile) -> NewFile {
    let fresh = new.meta.to_record(old.level, 0);
    NewFile {
        number: fresh.number,
        path_id: 0,
        file_size: fresh.file_size,
        unique_id: fresh.unique_id,
        tail_size: fresh.tail_size,
        checksum: FileChecksum { value: fresh.checksum.value, function: fresh.checksum.function },
        user_defined_timestamps_persisted: fresh.user_defined_timestamps_persisted,
        ..old.clone()
    }
}

pub(super) struct Repair<'a> {
    pub(super) scope: &'a Scope,
    pub(super) env: &'a Env,
    pub(super) survey: Survey,
    numbers: Arc<Numbers>,
    session: String,
    db_id: String,
    lost: PathBuf,
    pub(super) actions: Vec<String>,
    /// The written SST files. They keep their file numbers reserved until the end of the repair.
    pub(super) written: Vec<OutputFile>,
    /// Files that go to `lost/` at the end.
    replaced: Vec<PathBuf>,
}

impl<'a> Repair<'a> {
    fn new(scope: &'a Scope, survey: Survey) -> Result<Self> {
        let env = &scope.options.env;
        let lost = scope.paths.db.join(LOST_DIR);
        env.fs.create_dir_all(&lost)?;
        Ok(Repair {
            scope,
            env,
            numbers: Numbers::new(survey.next_number),
            session: SessionId::new(env.rng.next_u64(), env.rng.next_u64()).to_string(),
            db_id: survey.manifest.recovered.db_id.clone().unwrap_or_default(),
            survey,
            lost,
            actions: Vec::new(),
            written: Vec::new(),
            replaced: Vec::new(),
        })
    }

    fn run(mut self) -> Result<Report> {
        self.keep()?;
        let mut tables = std::mem::take(&mut self.survey.tables);
        for table in &mut tables {
            match table.state {
                State::Whole => {}
                State::Rewrite => self.rewrite(table)?,
                State::Gone => self.set_aside(table.path.clone()),
            }
        }
        tables.retain(|t| t.state != State::Gone);
        let tables = self.flatten_adopted(tables)?;
        for index in 0..self.survey.wals.len() {
            if self.survey.wals[index].rewrite {
                self.rewrite_wal(index)?;
            }
        }
        self.manifest(&tables)?;
        for path in std::mem::take(&mut self.survey.unreadable) {
            if path.file_name().is_some_and(|n| n == names::IDENTITY) && !self.db_id.is_empty() {
                write_identity(self.env, &self.scope.paths.db, &self.db_id)?;
                self.actions.push("IDENTITY is written from the MANIFEST's record".to_string());
            } else {
                self.set_aside(path);
            }
        }
        self.write_missing_identity()?;
        self.move_away()?;
        let mut report = self.survey.report;
        report.actions = self.actions;
        Ok(report)
    }

    /// Moves SST files without a known owner to `lost/`, because the next open would delete files that the new
    /// MANIFEST does not name. In a rebuild, also gives the WALs a second name in `lost/`: the next open replays and
    /// deletes them.
    fn keep(&mut self) -> Result<()> {
        for path in std::mem::take(&mut self.survey.aside) {
            self.set_aside(path);
        }
        self.move_away()?;
        for at in 0..self.survey.wals.len() {
            let wal = &self.survey.wals[at];
            if self.survey.rebuilt && !wal.rewrite && wal.first_seq.is_some() {
                let path = wal.path.clone();
                self.second_name(&path)?;
                self.actions.push(format!("{} is kept in {LOST_DIR}/", shown(&path)));
            }
        }
        Ok(())
    }

    /// In a rebuild, writes the file IDENTITY if it is missing. The id comes from the SST files.
    fn write_missing_identity(&mut self) -> Result<()> {
        let path = self.scope.paths.db.join(names::IDENTITY);
        if self.survey.rebuilt && !self.db_id.is_empty() && !self.env.fs.exists(&path)? {
            write_identity(self.env, &self.scope.paths.db, &self.db_id)?;
            self.actions.push("IDENTITY is written from the properties of the SST files".to_string());
        }
        Ok(())
    }

    pub(super) fn set_aside(&mut self, path: PathBuf) {
        if !self.replaced.contains(&path) {
            self.replaced.push(path);
        }
    }

    /// Writes the readable entries of a damaged SST file to a new SST file, which replaces the damaged
    /// file.
    fn rewrite(&mut self, table: &mut Table) -> Result<()> {
        let recovered = &self.survey.manifest.recovered;
        let family = recovered.families.get(&table.family);
        let (name, comparator) =
            family.map_or(("default", None), |f| (f.name.as_str(), f.comparator.as_deref()));
        let descriptor = descriptor_of(self.scope, name, comparator)?;
        let parts =
            parts_of(self.scope, &descriptor, family.and_then(|f| f.persist_user_defined_timestamps))?;
        let settings = self.settings(table, name.to_string(), parts, &descriptor.options.compression_opts);
        let file = self.env.fs.open_random(&table.path, &ReadHints::default())?;
        let size = file.size()?;
        let options = table_options(&descriptor.options.comparator, &table.record);
        let mut new = Rewrite::begin(&settings)?;
        let salvaged =
            salvage(file, size, &options, common_seqno(&table.record), &mut |key, value| new.add(key, value))
                .and_then(|salvaged| new.add_tombstones(&salvaged.tombstones).map(|()| salvaged));
        let salvaged = match salvaged {
            Ok(salvaged) => salvaged,
            Err(error) => {
                new.abandon();
                return Err(error.doing("rewriting a damaged SST file").file(&table.path));
            }
        };
        let new = new.finish()?;
        self.actions.push(format!(
            "{:06}.sst is rewritten as {:06}.sst: {} entries, {} range tombstones",
            table.record.number,
            new.meta.number,
            salvaged.num_rows,
            salvaged.tombstones.len()
        ));
        base::invariant!(
            table.record.number < new.meta.number,
            "SST file {} is rewritten as the older file {}",
            table.record.number,
            new.meta.number
        );
        self.set_aside(table.path.clone());
        table.record = rewritten(&table.record, &new);
        table.path = settings.parts.table_path(new.meta.number, 0);
        self.written.push(new);
        Ok(())
    }

    pub(super) fn settings(
        &self,
        table: &Table,
        family_name: String,
        parts: Arc<Parts>,
        compression: &crate::options::CompressionOptions,
    ) -> OutputSettings {
        let o = &self.scope.options;
        let kind = Compression::from_byte(parts.pick.codecs.compression).unwrap_or(Compression::None);
        OutputSettings {
            env: self.env.clone(),
            numbers: self.numbers.clone(),
            place: OutputPlace {
                family: table.family,
                family_name,
                path_id: 0,
                level: table.record.level,
                to_level: table.record.level,
            },
            identity: Identity {
                db_id: self.db_id.clone(),
                db_session_id: self.session.clone(),
                db_host_id: String::new(),
            },
            block_compression: BlockCompression {
                kind: if kind.is_supported() { kind } else { Compression::None },
                options: *compression,
                sample_one_in: 0,
            },
            data_times: DataTimes {
                oldest_ancestor: table.record.times.oldest_ancester,
                oldest_key: 0,
                newest_key: 0,
            },
            io: OutputIo {
                rate_limiter: None,
                priority: IoPriority::High,
                buffer_bytes: o.writable_file_max_buffer_size,
                write_back: WriteBack { bytes: 0, is_strict: false },
                use_fsync: o.use_fsync,
                direct: false,
                preallocate_bytes: 0,
                flush_priority: Arc::new(FlushPriority::new(usize::MAX)),
            },
            times: None,
            purpose: Purpose::Open,
            is_flush: false,
            old_before: None,
            epoch: table.record.epoch_number,
            blobs: None,
            target_file_size: table.record.file_size,
            parts,
            temperature: table.record.temperature,
            file_checksum: o.file_checksum_gen_factory.is_some(),
            stats: Stats::new(None, self.env.clock.clone()),
            events: None,
        }
    }

    /// If SST files were added to a column family, moves all SST files of the family to level 0, ordered by
    /// their newest entry.
    fn flatten_adopted(&mut self, tables: Vec<Table>) -> Result<Vec<Table>> {
        let families: BTreeSet<_> = tables.iter().filter(|t| t.adopted).map(|t| t.family).collect();
        let (mut flat, mut out): (Vec<_>, Vec<_>) =
            tables.into_iter().partition(|t| families.contains(&t.family));
        for family in families {
            let own: Vec<_> = flat.extract_if(.., |t| t.family == family).collect();
            let mut own = self.with_one_order(family, own)?;
            own.arrange_by_key(|t| (t.record.largest_seqno, t.record.number));
            for (epoch, table) in (1..).zip(&mut own) {
                table.record.level = Level::ZERO;
                table.record.epoch_number = EpochNumber::new(epoch);
            }
            out.extend(own);
            if let Some(record) = self.survey.manifest.recovered.families.get_mut(&family) {
                record.cursors.clear();
                self.actions
                    .push(format!("all SST files of column family {} are on level 0 now", record.name));
            }
        }
        Ok(out)
    }

    /// Writes the readable records of a damaged WAL to a new WAL with the same number. The sizes of timestamps stand before the
    /// records: if they were missing, RocksDB would take the keys for keys without timestamps and append a timestamp to each key.
    fn rewrite_wal(&mut self, index: usize) -> Result<()> {
        let (number, path) = (self.survey.wals[index].number, self.survey.wals[index].path.clone());
        let temp = self.scope.paths.wal.join(names::temp(self.numbers.take()));
        let mut out = self.env.fs.create(&temp, &AppendHints::default())?;
        let (mut writer, mut framed, mut records) = (Writer::new(Framing::Classic), Vec::new(), 0u64);
        let sizes = self.timestamp_sizes(number, &path)?;
        if !sizes.is_empty() {
            writer.timestamp_sizes(&mut framed, &sizes);
            out.append(&framed)?;
        }
        let file = self.env.fs.open_random(&path, &ReadHints::default())?;
        let refused = &self.survey.wals[index].refused;
        salvage_wal(&mut FileSource(file), &salvage_options(number), &mut |record, offset, _| {
            if sound_batch(record).is_err() || refused.contains(&offset) {
                return Ok(());
            }
            framed.clear();
            writer.append(&mut framed, record)?;
            records += 1;
            out.append(&framed)
        })?;
        out.sync()?;
        out.close()?;
        // Link the old file into `lost/` before its first name is removed.
        self.second_name(&path)?;
        self.env.fs.rename(&temp, &path)?;
        self.env.fs.open_dir(&self.scope.paths.wal)?.sync()?;
        self.actions.push(format!("{:06}.log is rewritten with its {records} readable records", number));
        Ok(())
    }

    /// Returns the sizes of the timestamps in a WAL, in bytes: the sizes that the WAL states, and the sizes of the column
    /// families for which the record with the sizes can be lost. A WAL from before the timestamps of a column family were
    /// turned on has keys without timestamps, and no size for the column family. No later WAL file continues such a WAL. A key
    /// that is shorter than a timestamp is from such a WAL. Without such a key, the report states the assumption.
    fn timestamp_sizes(&mut self, number: WalNumber, path: &Path) -> Result<Vec<(FamilyId, u16)>> {
        let file = self.env.fs.open_random(path, &ReadHints::default())?;
        // Where the first entry of each column family is, and the size of its shortest key.
        let mut entries: BTreeMap<FamilyId, (u64, usize)> = BTreeMap::new();
        let found = salvage_wal(&mut FileSource(file), &salvage_options(number), &mut |record, at, _| {
            // The rewrite leaves out a record that is no batch.
            let Ok(batch) = Batch::new(record) else { return Ok(()) };
            for record in batch.records().flatten() {
                if let (Some(id), Some((_, key, _))) = (record.family(), record.entry()) {
                    let (_, shortest) = entries.entry(id).or_insert((at, key.len()));
                    *shortest = key.len().min(*shortest);
                }
            }
            Ok(())
        })?;
        let mut sizes = found.timestamp_sizes.clone();
        for (id, family) in &self.survey.manifest.recovered.families {
            let descriptor = descriptor_of(self.scope, &family.name, family.comparator.as_deref())?;
            let size = descriptor.options.comparator.timestamp_size();
            let is_lost = |lost_at| {
                entries.get(id).is_none_or(|(first, shortest)| lost_at < *first && *shortest >= size)
            };
            let can_be_lost = found.sizes_lost_at.is_some_and(is_lost);
            // Only a column family whose SST files have no timestamps may have them turned on.
            let always = family.persist_user_defined_timestamps != Some(false);
            if size == 0 || sizes.contains_key(id) || !(always || can_be_lost) {
                continue;
            }
            sizes.insert(*id, size as u16);
            if !always && entries.contains_key(id) {
                self.actions.push(format!(
                    "{number:06}.log has lost whether its keys of column family {} have timestamps: they are read as \
                     keys with timestamps",
                    family.name
                ));
            }
        }
        Ok(sizes.into_iter().collect())
    }

    fn second_name(&self, path: &Path) -> Result<()> {
        let aside = self.name_in_lost(path)?;
        match self.env.fs.link(path, &aside) {
            Ok(()) => {}
            Err(_) => drop(self.env.fs.copy(path, &aside)?),
        }
        self.env.fs.open_dir(&self.lost)?.sync()
    }

    fn manifest(&mut self, tables: &[Table]) -> Result<()> {
        let records = self.records(tables)?;
        let number = self.numbers.take();
        let o = &self.scope.options;
        let settings = ManifestSettings {
            dir: self.scope.paths.db.clone(),
            preallocate_bytes: 0,
            max_file_size: o.max_manifest_file_size,
            max_space_amp_pct: 0,
            use_fsync: o.use_fsync,
        };
        let mut manifest = Manifest::new(self.env.clone(), settings, self.survey.number);
        manifest.roll(number, &records, &[])?;
        base::invariant!(
            manifest.number() == number,
            "MANIFEST {} is written, and CURRENT names MANIFEST {}",
            number,
            manifest.number()
        );
        manifest.close()?;
        self.actions.push(format!("MANIFEST-{:06} is written and CURRENT names it", number));
        for name in self.env.fs.list(&self.scope.paths.db)? {
            if let Some(names::FileName::Manifest(old)) = names::FileName::parse(&name)
                && old != number
            {
                self.set_aside(self.scope.paths.db.join(name));
            }
        }
        Ok(())
    }

    fn records(&self, tables: &[Table]) -> Result<Vec<Record>> {
        let recovered = &self.survey.manifest.recovered;
        let mut records: Vec<Record> = Vec::new();
        // WALs older than the oldest existing WAL are gone. If later WALs have marks about them, the report
        // says so, and the open continues.
        let oldest = self.survey.wals.iter().map(|wal| wal.number).min().unwrap_or_default();
        let min_wal = recovered.min_log_number_to_keep.max(oldest);
        let first = VersionEdit {
            db_id: recovered.db_id.clone(),
            wal_number: Some(WalNumber::ZERO),
            next_file_number: Some(self.numbers.peek().next()),
            last_sequence: Some(self.survey.last_seq),
            max_column_family: Some(recovered.max_family),
            min_log_number_to_keep: (min_wal > WalNumber::ZERO).then_some(min_wal),
            ..VersionEdit::default()
        };
        records.push((first, 0));
        let mut files: BTreeMap<FamilyId, Vec<&Table>> = BTreeMap::new();
        tables.iter().for_each(|t| files.entry(t.family).or_default().push(t));
        for family in recovered.families.values() {
            let order =
                descriptor_of(self.scope, &family.name, family.comparator.as_deref())?.options.comparator;
            let own = files.remove(&family.id).unwrap_or_default();
            let new_files = with_epochs(own.iter().map(|t| t.record.clone()).collect());
            let linked = own.iter().filter_map(|t| t.record.oldest_blob_file_number).collect();
            let (blob_file_additions, blob_file_garbages) = records_of(family, &linked);
            let edit = VersionEdit {
                comparator: Some(order.name().to_string()),
                family: FamilyEdit {
                    id: family.id,
                    add: (family.id != FamilyId::DEFAULT).then(|| family.name.clone()),
                    ..FamilyEdit::default()
                },
                persist_user_defined_timestamps: family.persist_user_defined_timestamps,
                ..VersionEdit::default()
            };
            records.push((edit, 0));
            let content = VersionEdit {
                family: FamilyEdit { id: family.id, ..FamilyEdit::default() },
                blobs: BlobEdit { additions: blob_file_additions, garbages: blob_file_garbages },
                wal_number: Some(family.wal_number),
                new_files,
                compact_cursors: family.cursors.iter().map(|(level, key)| (*level, key.clone())).collect(),
                full_history_ts_low: family.full_history_ts_low.clone(),
                ..VersionEdit::default()
            };
            records.push((content, order.timestamp_size()));
        }
        base::invariant!(
            files.is_empty(),
            "SST files belong to {} column families that the new MANIFEST does not have",
            files.len()
        );
        Ok(records)
    }

    fn move_away(&mut self) -> Result<()> {
        let mut dirs = vec![self.lost.clone()];
        for path in std::mem::take(&mut self.replaced) {
            if !self.env.fs.exists(&path)? {
                continue;
            }
            let aside = self.name_in_lost(&path)?;
            self.env.fs.rename(&path, &aside)?;
            self.actions.push(format!("{} is in {LOST_DIR}/ now", shown(&path)));
            if let Some(dir) = path.parent().filter(|dir| !dirs.iter().any(|d| d == dir)) {
                dirs.push(dir.to_path_buf());
            }
        }
        dirs.iter().try_for_each(|dir| self.env.fs.open_dir(dir)?.sync())
    }

    /// Returns a free name in `lost/`. A later open deletes the file after some time.
    fn name_in_lost(&self, path: &Path) -> Result<PathBuf> {
        let now_s = self.env.clock.now_seconds();
        let mut aside = self.lost.join(lost_name(path, now_s));
        for later in 1.. {
            if !self.env.fs.exists(&aside)? {
                break;
            }
            aside = self.lost.join(lost_name(path, now_s + later));
        }
        Ok(aside)
    }
}

/// Adds epoch numbers to records of a release that wrote none. On level 0, files with newer entries get higher
/// numbers. All files on lower levels get 1.
fn with_epochs(mut files: Vec<NewFile>) -> Vec<NewFile> {
    if files.iter().any(|f| !f.epoch_number.is_known()) {
        files.arrange_by_key(|f| (f.largest_seqno, f.number));
        let mut newest = EpochNumber::FIRST;
        for file in &mut files {
            file.epoch_number = EpochNumber::FIRST;
            if file.level == Level::ZERO {
                newest = newest.next();
                file.epoch_number = newest;
            }
        }
    }
    base::invariant!(
        files.iter().all(|file| file.epoch_number.is_known()),
        "one of {} SST files has no epoch number",
        files.len()
    );
    files
}

fn shown(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}
