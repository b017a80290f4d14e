//! Ingestion and export of SST files, and the metadata of files.

use base::Level;
use std::collections::BTreeMap;

use ironstone::{
    Checkpoint, CompactionOptions, FamilyDescriptor, FileIngestionHandle, FlushOptions,
    IngestExternalFileArg, IngestExternalFileOptions, Kind, LiveFilesStorageInfoOptions, ReadOptions,
    ReadTier, SstFileReader, SstFileWriter, TableFilter, ValueType, WaitForCompactOptions,
};
use testkit::chance::Chance;
use testkit::model::Model;

use super::super::indexed::{forward, rows_equal};
use super::super::overlay::columns;
use super::super::{same, told, value, walk};
use super::{Copies, key};

/// The changes of one SST file, in the order of their keys.
enum Row {
    Put(Vec<u8>),
    /// The value is the default column.
    Entity(Vec<u8>),
    Delete,
    Merge(Vec<u8>),
}

impl Row {
    fn value_type(&self) -> ValueType {
        match self {
            Row::Put(_) => ValueType::Value,
            Row::Entity(_) => ValueType::WideColumnEntity,
            Row::Delete => ValueType::Deletion,
            Row::Merge(_) => ValueType::Merge,
        }
    }
}

impl Copies {
    /// Writes an SST file, reads it alone, and ingests it.
    pub(super) fn ingest(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, path) = (chance.below(2) as usize, self.path("external").with_extension("sst"));
        let mut rows = BTreeMap::new();
        for _ in 0..1 + chance.below(20) {
            let row = match chance.below(10) {
                0 => Row::Delete,
                1 => Row::Merge(b"outside".to_vec()),
                2 => Row::Entity(value(chance)),
                _ => Row::Put(value(chance)),
            };
            rows.insert(key(chance), row);
        }
        let family = &self.families[at];
        let mut writer = SstFileWriter::create(&path, &self.options.db, &family.options())
            .map_err(told("create of an SST file"))?;
        let (mut alone, mut size) = (Model::default(), 0);
        for (key, row) in &rows {
            let done = match row {
                Row::Put(value) => writer.put(key, value),
                Row::Entity(value) => writer.put_entity(key, &columns(value)),
                Row::Delete => writer.delete(key),
                Row::Merge(operand) => writer.merge(key, operand),
            };
            done.map_err(told("write to an SST file"))?;
            change(&mut alone, key, row);
            same("the file shrinks", &(writer.file_size() < size), &false)?;
            size = writer.file_size();
        }
        let info = writer.finish().map_err(told("finish of an SST file"))?;
        same("entries of the SST file", &info.num_entries, &(rows.len() as u64))?;
        let on_disk = self.options.db.env.fs.file_size(&path).map_err(told("size of the SST file"))?;
        same("size of the SST file", &(info.file_size, size <= on_disk), &(on_disk, true))?;
        self.read_alone(&path, &alone, &rows, chance)?;
        let move_files = chance.percent(50);
        let all = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let older = chance.percent(50).then(|| family.iter_with(all)).transpose().map_err(told("iter"))?;
        let rows_before = self.state[at].rows();
        let options = IngestExternalFileOptions {
            move_files,
            verify_checksums_before_ingest: chance.percent(50),
            ..IngestExternalFileOptions::default()
        };
        let given = IngestExternalFileArg::new(family, [&path], &options);
        let done = match chance.below(4) {
            0 => family.ingest_external_files([&path], &options),
            1 => self.db.ingest_external_files_with(vec![given]),
            2 => {
                let prepared = self.db.prepare_file_ingestion(vec![given]);
                prepared.and_then(|handle| FileIngestionHandle::commit_together(vec![handle]))
            }
            _ => self.db.prepare_file_ingestion(vec![given]).and_then(|handle| handle.commit()),
        };
        done.map_err(told("ingestion"))?;
        rows.iter().for_each(|(key, row)| change(&mut self.state[at], key, row));
        // An ingestion writes no WAL record, so the stream since the mark is incomplete.
        self.mark = None;
        let left = self.options.db.env.fs.open_sequential(&path).is_ok();
        same("the ingested file is still there", &left, &!move_files)?;
        let Some(mut older) = older else { return Ok(()) };
        same("rows of an older iterator", &forward(&mut older)?, &rows_before)?;
        rows_equal(&self.families, &self.state).map_err(|words| format!("after an older iterator: {words}"))
    }

    /// Scans with an iterator that skips SST files, or reads memtables only. The scan changes no row of later reads.
    pub(super) fn scan_partly(&self, chance: &mut Chance) -> Result<(), String> {
        let family = &self.families[chance.below(2) as usize];
        let odd = chance.below(2);
        let skips = TableFilter::new(move |properties| properties.original_file_number % 2 == odd);
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let options = match chance.percent(50) {
            true => ReadOptions { table_filter: Some(skips), ..options },
            false => ReadOptions { read_tier: ReadTier::Memtable, ..options },
        };
        let rows = forward(&mut family.iter_with(options).map_err(told("iter"))?)?;
        same("a partial scan is in order", &rows.is_sorted_by(|a, b| a.0 < b.0), &true)?;
        rows_equal(&self.families, &self.state).map_err(|words| format!("after a partial scan: {words}"))
    }

    /// Reads an SST file without a database.
    fn read_alone(
        &self,
        path: &std::path::Path,
        rows: &Model,
        changes: &BTreeMap<Vec<u8>, Row>,
        chance: &mut Chance,
    ) -> Result<(), String> {
        let reader = SstFileReader::open(path, &self.options).map_err(told("open of an SST file"))?;
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        reader.verify_checksums(&options).map_err(told("verify_checksums"))?;
        reader.verify_num_entries(&options).map_err(told("verify_num_entries"))?;
        let mut iter = reader.iter(options.clone()).map_err(told("iter of an SST file"))?;
        walk("an SST file", &mut iter, &rows.rows(), chance)?;
        iter.seek_to_first();
        if iter.valid() {
            let (value, pinned) = (iter.value().to_vec(), iter.pinned_value());
            iter.next();
            same("a pinned value after a move", &pinned.to_vec(), &value)?;
        }
        // The iterator merges operands, and skips deletions.
        for _ in 0..8 {
            iter.seek(&key(chance));
            while iter.valid() && chance.percent(80) {
                let expected = changes.get(iter.key()).map(Row::value_type);
                same("type of an entry", &iter.value_type(), &expected)?;
                same("timestamp", &iter.timestamp(), &&[][..])?;
                if chance.percent(70) { iter.next() } else { iter.prev() }
            }
        }
        let keys: Vec<Vec<u8>> = (0..6).map(|_| key(chance)).collect();
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (key, found) in keys.iter().zip(reader.multi_get(&wanted, &options)) {
            // If the file has operands and no value of a key, an iterator merges the operands, but a get of the file
            // fails.
            if matches!(changes.get(key), Some(Row::Merge(_))) {
                let kinds = [found.err(), reader.get(key).err()].map(|error| error.map(|error| error.kind()));
                same("get of operands in an SST file", &kinds, &[Some(Kind::MergeInProgress); 2])?;
                continue;
            }
            let expected = rows.get(key).map(<[u8]>::to_vec);
            same("multi_get of an SST file", &read(found)?, &expected)?;
            same("get of an SST file", &read(reader.get(key))?, &expected)?;
        }
        let listed: Result<Vec<_>, _> = reader.entries().collect();
        same("entries", &listed.map_err(told("entries"))?.len(), &changes.len())?;
        same("entries by the properties", &reader.properties().num_entries, &(changes.len() as u64))
    }

    /// Exports a column family, and imports it under another name.
    pub(super) fn export(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, path) = (chance.below(2) as usize, self.path("export"));
        let exported = match Checkpoint::new(&self.db).export_column_family(&self.families[at], &path) {
            Ok(exported) => exported,
            // Blob files cannot be exported. The error says so.
            Err(error) if error.kind() == Kind::NotSupported => return Ok(()),
            Err(error) => return Err(format!("export: {error}")),
        };
        self.made += 1;
        let name = format!("imported{}", self.made);
        let descriptor = FamilyDescriptor::new(&name, self.options.family.clone());
        let how = Default::default();
        let imported = self.db.create_family_with_import(descriptor, &how, &[&exported]);
        if exported.files.is_empty() {
            return same(
                "import of nothing",
                &imported.map(drop).map_err(|e| e.kind()),
                &Err(Kind::InvalidArgument),
            );
        }
        let imported = imported.map_err(told("import"))?;
        rows_equal(std::slice::from_ref(&imported), &self.state[at..=at].to_vec())?;
        self.mark = None;
        self.db.drop_family(&imported).map_err(told("drop of the import"))
    }

    /// Runs compactions of chosen files and ranges. No compaction may change a row.
    pub(super) fn compact_some(&mut self, chance: &mut Chance) -> Result<(), String> {
        let family = &self.families[chance.below(2) as usize];
        match chance.below(3) {
            0 => {
                let levels = family.metadata().levels;
                let Some(level) = levels.iter().find(|level| !level.files.is_empty()) else { return Ok(()) };
                let files: Vec<_> = level.files.iter().map(|file| file.number).collect();
                let output = level.level.max(Level::new(1));
                match family.compact_files(&files, output, None, &CompactionOptions::default()) {
                    // Universal compaction restricts the levels, and another job may have a chosen file.
                    Err(error) if !matches!(error.kind(), Kind::InvalidArgument | Kind::Aborted) => {
                        Err(format!("compact_files: {error}"))
                    }
                    _ => Ok(()),
                }
            }
            1 => {
                let (a, b) = (key(chance), key(chance));
                let done = family.suggest_compact_range(Some(&a.clone().min(b.clone())), Some(&a.max(b)));
                done.map_err(told("suggest_compact_range"))
            }
            _ => match family.promote_l0(Level::new(1)) {
                Err(error) if error.kind() != Kind::InvalidArgument => Err(format!("promote_l0: {error}")),
                _ => Ok(()),
            },
        }
    }

    /// Pauses background work, checks that it stopped, and continues it.
    pub(super) fn pause(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (db, family) = (&self.db, &self.families[chance.below(2) as usize]);
        let stopped = |what: &str, kind: Kind| match family.compact_range(None, None, &Default::default()) {
            Err(error) if error.kind() == kind => Ok(()),
            other => Err(format!("a compaction while {what}: {other:?}")),
        };
        match chance.below(5) {
            0 => {
                db.pause_background_work().map_err(told("pause_background_work"))?;
                rows_equal(&self.families, &self.state)?;
                db.continue_background_work().map_err(told("continue_background_work"))
            }
            1 => {
                db.disable_manual_compaction().map_err(told("disable_manual_compaction"))?;
                stopped("manual compactions are disabled", Kind::Incomplete)?;
                db.enable_manual_compaction().map_err(told("enable_manual_compaction"))
            }
            2 => {
                db.disable_file_deletions();
                let before = family.live_files();
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))?;
                let gone =
                    before.iter().find(|file| self.options.db.env.fs.open_sequential(&file.path).is_err());
                let gone = gone.map(|file| file.path.clone());
                db.enable_file_deletions();
                same("files that are gone while deletions are disabled", &gone, &None)
            }
            3 => {
                db.enable_auto_compaction(&self.families).map_err(told("enable_auto_compaction"))?;
                let options = WaitForCompactOptions { flush: true, ..WaitForCompactOptions::default() };
                db.wait_for_compact_with(&options).map_err(told("wait_for_compact_with"))
            }
            _ => {
                db.lock_wal().map_err(told("lock_wal"))?;
                rows_equal(&self.families, &self.state)?;
                db.unlock_wal().map_err(told("unlock_wal"))
            }
        }
    }

    /// Checks that the metadata of files is consistent with itself and with the disk.
    pub(super) fn look_at_files(&mut self) -> Result<(), String> {
        for (family, all) in self.families.iter().zip(self.db.metadata_of_all()) {
            let own = family.metadata();
            same("metadata", &own, &all)?;
            let files = family.live_files();
            same("number of files", &files.len(), &own.file_count)?;
            same("bytes of the family", &files.iter().map(|file| file.size).sum::<u64>(), &own.size)?;
            let live = family.int_property("rocksdb.live-sst-files-size");
            same("rocksdb.live-sst-files-size", &live, &Some(own.size))?;
            for file in &files {
                let opened = self.options.db.env.fs.open_random(&file.path, &Default::default());
                let size = opened.and_then(|opened| opened.size()).map_err(told("a live file"))?;
                same("size of a live file", &size, &file.size)?;
            }
            let properties = family.table_properties().map_err(told("table_properties"))?;
            let (mut listed, mut live): (Vec<_>, Vec<_>) =
                (properties.into_keys().collect(), files.iter().map(|file| file.path.clone()).collect());
            listed.sort();
            live.sort();
            same("files with properties", &listed, &live)?;
            let all = [(&b""[..], &[0xff; 8][..])];
            let found =
                family.table_properties_in_ranges(&all).map_err(told("table_properties_in_ranges"))?;
            same("files of the whole range", &found.len(), &live.len())?;
        }
        let usage = ironstone::memory_usage(&[&self.db], &[]);
        same("unflushed memtables are memtables", &(usage.unflushed_memtables <= usage.memtables), &true)?;
        let options = LiveFilesStorageInfoOptions::default();
        let files = self.db.live_files_storage_info(&options);
        for file in files.map_err(told("live_files_storage_info"))? {
            if file.replacement_contents.is_none() {
                let opened = self.options.db.env.fs.open_sequential(&file.path());
                opened.map_err(told("a file of live_files_storage_info"))?;
            }
        }
        match self.db.verify_file_checksums() {
            Err(error) if self.options.db.file_checksum_gen_factory.is_none() => {
                same("verify_file_checksums", &error.kind(), &Kind::InvalidArgument)
            }
            done => done.map_err(told("verify_file_checksums")),
        }
    }

    /// Calls for several column families at once.
    pub(super) fn several_families(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.made += 1;
        let name = |part: &str| format!("{part}{}", self.made);
        let descriptor = |part: &str| FamilyDescriptor::new(name(part), self.options.family.clone());
        let made = self.db.create_families(vec![descriptor("a"), descriptor("b")]);
        let made = made.map_err(told("create_families"))?;
        for (at, family) in made.iter().enumerate() {
            family.put(b"own", &[at as u8]).map_err(told("put"))?;
        }
        self.db.flush_families(&made, &FlushOptions::default()).map_err(told("flush_families"))?;
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let mut iters = self.db.iterators(&made, &options).map_err(told("iterators"))?;
        for (at, iter) in iters.iter_mut().enumerate() {
            walk("iterators", iter, &[(b"own".to_vec(), vec![at as u8])], chance)?;
        }
        drop(iters);
        self.db.drop_families(&made).map_err(told("drop_families"))?;
        self.mark = None;
        let missing = self.db.family(&name("a"));
        same("a dropped family can be found", &missing.is_ok(), &false)
    }

    /// Cuts a column family to a range of keys.
    pub(super) fn clip(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let (a, b) = (key(chance), key(chance));
        let (begin, end) = (a.clone().min(b.clone()), a.max(b));
        if begin == end {
            let done = self.families[at].clip(&begin, &end).map_err(|error| error.kind());
            return same("clip to nothing", &done, &Err(Kind::InvalidArgument));
        }
        self.mark = None;
        self.families[at].clip(&begin, &end).map_err(told("clip"))?;
        let inside: Vec<_> =
            self.state[at].rows().into_iter().filter(|(key, _)| begin <= *key && *key < end).collect();
        self.state[at] = Model::default();
        inside.iter().for_each(|(key, value)| self.state[at].put(key, value));
        Ok(())
    }
}

fn change(model: &mut Model, key: &[u8], row: &Row) {
    match row {
        Row::Put(value) | Row::Entity(value) => model.put(key, value),
        Row::Delete => model.delete(key),
        Row::Merge(operand) => model.append(key, operand),
    }
}

fn read(found: ironstone::Result<Option<ironstone::Pinned>>) -> Result<Option<Vec<u8>>, String> {
    Ok(found.map_err(told("a read of an SST file"))?.map(|value| value.to_vec()))
}
