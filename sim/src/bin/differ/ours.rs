//! Ironstone as a [`Store`].

use std::path::Path;

use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, Db, Error, Family, FamilyDescriptor,
    IngestExternalFileOptions, Iter, Kind, Options, ReadOptions, Snapshot, SstFileWriter, WriteOptions,
};

use crate::store::{
    Code, Compacting, External, FamilyText, Item, Mode, Move, Position, Spec, Store, Times, Told, Writing,
    plain, stamped,
};

/// Returns the name of the code of an error. With the variable `DIFFER_WORDS`, prints the whole error.
pub fn code(error: &Error) -> Code {
    // No script expects that an SST file cannot be read. Print the error, which names the call and the file.
    let of_table = error.path().is_some_and(|path| path.extension().is_some_and(|ext| ext == "sst"));
    if (error.kind() == Kind::IoError && of_table) || std::env::var_os("DIFFER_WORDS").is_some() {
        eprintln!("ours: {error}");
    }
    error.kind().text().trim_end_matches(": ").to_string()
}

fn told<T>(outcome: ironstone::Result<T>) -> Told<T> {
    outcome.map_err(|e| code(&e))
}

/// Ironstone with its open iterators, snapshots and column families.
pub struct Ours {
    iters: Vec<Option<Result<Iter, Code>>>,
    snapshots: Vec<Snapshot>,
    families: Vec<Family>,
    ghost: Option<Family>,
    times: Option<Times>,
    db: Db,
}

fn options(text: &str) -> Told<Options> {
    let mut options = Options::default();
    told(options.update(text))?;
    Ok(options)
}

impl Ours {
    /// Opens the database with option text for the database and for each column family.
    ///
    /// # Errors
    /// The code of an error of the options or of the open.
    pub fn open(path: &Path, text: &str, families: &[FamilyText], read_only: bool) -> Told<Ours> {
        let all = options(text)?;
        let descriptors = families
            .iter()
            .map(|(name, text)| Ok(FamilyDescriptor::new(name.clone(), options(text)?.family)))
            .collect::<Told<Vec<_>>>()?;
        let db = told(if read_only {
            Db::open_read_only_with_families(path, all, descriptors)
        } else {
            Db::open_with_families(path, all, descriptors)
        })?;
        let families = families.iter().map(|(name, _)| told(db.family(name))).collect::<Told<Vec<_>>>()?;
        Ok(Ours { iters: Vec::new(), snapshots: Vec::new(), families, ghost: None, times: None, db })
    }

    fn reading(&self, snapshot: Option<usize>, spec: &Spec) -> ReadOptions {
        ReadOptions {
            snapshot: snapshot.map(|s| self.snapshots[s].held()),
            timestamp: self.times.map(|times| times.read.to_le_bytes().to_vec()),
            iterate_lower_bound: spec.lower.clone(),
            iterate_upper_bound: spec.upper.clone(),
            total_order_seek: matches!(spec.mode, Mode::Total | Mode::Tailing),
            auto_prefix_mode: spec.mode == Mode::Auto,
            prefix_same_as_start: spec.mode == Mode::SamePrefix,
            tailing: spec.mode == Mode::Tailing,
            pin_data: spec.pin,
            async_io: spec.async_io,
            fill_cache: !spec.no_fill,
            verify_checksums: !spec.no_checksums,
            readahead_size: spec.readahead,
            value_size_soft_limit: spec.soft_limit.unwrap_or(u64::MAX),
            ..ReadOptions::default()
        }
    }
}

/// Writes an external SST file for a column family with this option text.
///
/// # Errors
/// The code of the first error.
pub fn write_file(path: &Path, text: &str, entries: &[External]) -> Told<()> {
    let options = options(text)?;
    let mut writer = told(SstFileWriter::create(path, &options.db, &options.family))?;
    for entry in entries {
        told(match entry {
            External::Put(key, value) => writer.put(key, value),
            External::Delete(key) => writer.delete(key),
            External::Merge(key, operand) => writer.merge(key, operand),
            External::DeleteRange(begin, end) => writer.delete_range(begin, end),
        })?;
    }
    told(writer.finish().map(drop))
}

fn writing(w: Writing) -> WriteOptions {
    WriteOptions {
        sync: w.sync,
        disableWAL: w.no_wal,
        ignore_missing_column_families: w.ignore_missing,
        ..WriteOptions::default()
    }
}

impl Store for Ours {
    fn set_times(&mut self, times: Times) {
        self.times = Some(times);
    }

    fn create(&mut self, name: &str, text: &str) -> Told<()> {
        let descriptor = FamilyDescriptor::new(name, options(text)?.family);
        self.families.push(told(self.db.create_family(descriptor))?);
        Ok(())
    }

    fn drop_family(&mut self, at: usize) -> Told<()> {
        told(self.db.drop_family(&self.families[at]))?;
        self.ghost = Some(self.families.remove(at));
        Ok(())
    }

    fn haunt(&mut self) -> Vec<Told<()>> {
        let Some(ghost) = &self.ghost else { return Vec::new() };
        vec![
            told(ghost.get(b"ghost").map(|_| ())),
            told(ghost.iter().map(|_| ())),
            told(ghost.flush()),
            told(self.db.drop_family(ghost)),
            told(ghost.set_options(&[("write_buffer_size", "100000")])),
        ]
    }

    fn haunt_writing(&mut self) -> Vec<Told<()>> {
        let Some(ghost) = &self.ghost else { return Vec::new() };
        vec![told(ghost.put(b"ghost", b"1")), told(ghost.delete(b"ghost"))]
    }

    fn single(&mut self, item: &Item, w: Writing) -> Told<()> {
        if self.times.is_some() || matches!(item, Item::Entity(..)) {
            return self.batch(std::slice::from_ref(item), w).2;
        }
        let w = writing(w);
        told(match item {
            Item::Put(f, k, v) => self.families[*f].put_with(k, v, &w),
            Item::Delete(f, k) => self.families[*f].delete_with(k, &w),
            Item::SingleDelete(f, k) => self.families[*f].single_delete_with(k, &w),
            Item::Merge(f, k, v) => self.families[*f].merge_with(k, v, &w),
            Item::DeleteRange(f, a, b) => self.families[*f].delete_range_with(a, b, &w),
            Item::Entity(..) | Item::LogData(_) => Ok(()),
            Item::SavePoint | Item::Rollback | Item::PopSavePoint => Ok(()),
        })
    }

    fn batch(&mut self, items: &[Item], w: Writing) -> (Vec<Told<()>>, u32, Told<()>) {
        if let Some(times) = &mut self.times {
            let (batch, answers) = stamped(items, &mut times.write, |f| self.families[f].id());
            return (answers, batch.count(), told(self.db.write_with(batch, &writing(w))));
        }
        let (batch, answers) = plain(items, |f| self.families[f].id());
        let count = batch.count();
        (answers, count, told(self.db.write_with(batch, &writing(w))))
    }

    fn get(&mut self, at: usize, key: &[u8], snapshot: Option<usize>, spec: &Spec) -> Told<Option<Vec<u8>>> {
        told(self.families[at].get_with(key, &self.reading(snapshot, spec))).map(|v| v.map(|v| v.to_vec()))
    }

    fn multi_get(
        &mut self,
        at: usize,
        keys: &[Vec<u8>],
        snapshot: Option<usize>,
        spec: &Spec,
        _batched: bool,
    ) -> Vec<Told<Option<Vec<u8>>>> {
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let answers = self.families[at].multi_get_with(&slices, &self.reading(snapshot, spec));
        answers.into_iter().map(|a| told(a).map(|v| v.map(|v| v.to_vec()))).collect()
    }

    fn snapshot(&mut self) {
        self.snapshots.push(self.db.snapshot());
    }

    fn release(&mut self, at: usize) {
        self.snapshots.remove(at);
    }

    fn open_iter(&mut self, slot: usize, at: usize, snapshot: Option<usize>, spec: &Spec) {
        self.close_iter(slot);
        let iter = told(self.families[at].iter_with(self.reading(snapshot, spec)));
        while self.iters.len() <= slot {
            self.iters.push(None);
        }
        self.iters[slot] = Some(iter);
    }

    fn close_iter(&mut self, slot: usize) {
        if let Some(iter) = self.iters.get_mut(slot) {
            *iter = None;
        }
    }

    fn move_iter(&mut self, slot: usize, how: &Move) -> Position {
        let iter = match self.iters.get_mut(slot) {
            Some(Some(Ok(iter))) => iter,
            Some(Some(Err(code))) => return Position::Failed(code.clone()),
            _ => return Position::End,
        };
        match how {
            Move::First => iter.seek_to_first(),
            Move::Last => iter.seek_to_last(),
            Move::Seek(key) => iter.seek(key),
            Move::SeekForPrev(key) => iter.seek_for_prev(key),
            Move::Next if iter.valid() => iter.next(),
            Move::Prev if iter.valid() => iter.prev(),
            Move::Next | Move::Prev => {}
            Move::Refresh => {
                if let Err(error) = iter.refresh() {
                    return Position::Failed(code(&error));
                }
                iter.seek_to_first();
            }
        }
        if iter.valid() {
            return Position::At(iter.key().to_vec(), iter.value().to_vec());
        }
        match iter.status() {
            Ok(()) => Position::End,
            Err(error) => Position::Failed(code(&error)),
        }
    }

    fn flush(&mut self, families: &[usize]) -> Told<()> {
        for at in families {
            told(self.families[*at].flush())?;
        }
        Ok(())
    }

    fn flush_wal(&mut self, sync: bool) -> Told<()> {
        told(self.db.flush_wal(sync))
    }

    fn ingest(&mut self, at: usize, file: &Path) -> Told<()> {
        told(self.families[at].ingest_external_files([file], &IngestExternalFileOptions::default()))
    }

    fn compact(&mut self, at: usize, begin: Option<&[u8]>, end: Option<&[u8]>, how: Compacting) {
        let options = CompactRangeOptions {
            bottommost_level_compaction: match how.bottommost {
                0 => BottommostLevelCompaction::Skip,
                1 => BottommostLevelCompaction::IfHaveCompactionFilter,
                2 => BottommostLevelCompaction::Force,
                _ => BottommostLevelCompaction::ForceOptimized,
            },
            exclusive_manual_compaction: how.exclusive,
            change_level: how.target_level.is_some(),
            target_level: how.target_level.unwrap_or(-1),
            max_subcompactions: how.subcompactions,
            ..CompactRangeOptions::default()
        };
        // The C interface of RocksDB ignores the error of this call.
        let _ = told(self.families[at].compact_range(begin, end, &options));
    }

    fn wait(&mut self) -> Told<()> {
        told(self.db.wait_for_compact())
    }

    fn set_options(&mut self, at: Option<usize>, name: &str, value: &str) -> Told<()> {
        told(match at {
            Some(at) => self.families[at].set_options(&[(name, value)]),
            None => self.db.set_db_options(&[(name, value)]),
        })
    }

    fn int_property(&mut self, at: usize, name: &str) -> Option<u64> {
        self.families[at].int_property(name)
    }

    fn has_property(&mut self, at: usize, name: &str) -> bool {
        self.families[at].property(name).is_some()
    }

    fn sequence(&mut self) -> u64 {
        self.db.latest_sequence().get()
    }

    fn verify(&mut self) -> Told<()> {
        told(self.db.verify_checksum())
    }

    fn family_id(&mut self, at: usize) -> u32 {
        self.families[at].id().get()
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.iters.clear();
        self.snapshots.clear();
        // If the close fails, the next open shows the error.
        let _ = self.db.close();
    }
}
