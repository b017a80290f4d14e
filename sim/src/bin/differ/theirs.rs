//! RocksDB as a [`Store`].

use std::path::Path;

use peer::{Batch, Compaction, Db, Family, Iter, Library, Reading, Snapshot, SstWriter};

use crate::store::{
    Code, Compacting, External, FamilyText, Item, Mode, Move, Position, Spec, Store, Times, Told, Writing,
    plain, stamped,
};

/// Returns the code of an error: the part of RocksDB's message before the first colon. With the variable
/// `DIFFER_WORDS`, prints the whole message.
pub fn code(words: String) -> Code {
    if std::env::var_os("DIFFER_WORDS").is_some() {
        eprintln!("theirs: {words}");
    }
    words.split(": ").next().unwrap_or_default().to_string()
}

fn told<T>(outcome: peer::Result<T>) -> Told<T> {
    outcome.map_err(code)
}

/// RocksDB with its open iterators, snapshots and column families.
pub struct Theirs {
    iters: Vec<Option<Iter>>,
    snapshots: Vec<Snapshot>,
    families: Vec<Family>,
    ghost: Option<Family>,
    times: Option<Times>,
    db: Db,
    library: Library,
}

impl Theirs {
    /// Opens the database with option text for the database and for each column family.
    ///
    /// # Errors
    /// The code of RocksDB's error.
    pub fn open(
        library: &Library,
        path: &Path,
        text: &str,
        families: &[FamilyText],
        read_only: bool,
    ) -> Told<Theirs> {
        let (db, families) = told(Db::open(library, path, text, families, read_only))?;
        Ok(Theirs {
            iters: Vec::new(),
            snapshots: Vec::new(),
            families,
            ghost: None,
            times: None,
            db,
            library: library.clone(),
        })
    }

    fn reading(&self, snapshot: Option<usize>, spec: &Spec) -> Reading {
        Reading {
            snapshot: snapshot.map(|s| self.snapshots[s].clone()),
            timestamp: self.times.map(|times| times.read.to_le_bytes().to_vec()),
            lower: spec.lower.clone(),
            upper: spec.upper.clone(),
            total_order: matches!(spec.mode, Mode::Total | Mode::Tailing),
            auto_prefix: spec.mode == Mode::Auto,
            same_prefix: spec.mode == Mode::SamePrefix,
            tailing: spec.mode == Mode::Tailing,
            pin_data: spec.pin,
            async_io: spec.async_io,
            no_fill_cache: spec.no_fill,
            no_checksums: spec.no_checksums,
            readahead: spec.readahead,
            soft_limit: spec.soft_limit,
        }
    }
}

/// Writes an external SST file for a column family with this option text.
///
/// # Errors
/// The code of the first error.
pub fn write_file(library: &Library, path: &Path, text: &str, entries: &[External]) -> Told<()> {
    let mut writer = told(SstWriter::open(library, path, text))?;
    for entry in entries {
        told(match entry {
            External::Put(key, value) => writer.put(key, value),
            External::Delete(key) => writer.delete(key),
            External::Merge(key, operand) => writer.merge(key, operand),
            External::DeleteRange(begin, end) => writer.delete_range(begin, end),
        })?;
    }
    told(writer.finish())
}

fn writing(w: Writing) -> peer::Writing {
    peer::Writing { sync: w.sync, disable_wal: w.no_wal, ignore_missing: w.ignore_missing }
}

impl Store for Theirs {
    fn set_times(&mut self, times: Times) {
        self.times = Some(times);
    }

    fn create(&mut self, name: &str, text: &str) -> Told<()> {
        self.families.push(told(self.db.create_family(name, text))?);
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
            told(self.db.get(ghost, b"ghost", &Reading::default()).map(|_| ())),
            told(self.db.iter(ghost, &Reading::default()).status()),
            told(self.db.flush(std::slice::from_ref(ghost))),
            told(self.db.drop_family(ghost)),
            told(self.db.set_options(Some(ghost), &[("write_buffer_size", "100000")])),
        ]
    }

    fn haunt_writing(&mut self) -> Vec<Told<()>> {
        let Some(ghost) = &self.ghost else { return Vec::new() };
        let w = peer::Writing::default();
        vec![told(self.db.put(ghost, b"ghost", b"1", w)), told(self.db.delete(ghost, b"ghost", w))]
    }

    fn single(&mut self, item: &Item, w: Writing) -> Told<()> {
        if self.times.is_some() || matches!(item, Item::Entity(..)) {
            return self.batch(std::slice::from_ref(item), w).2;
        }
        let w = writing(w);
        told(match item {
            Item::Put(f, k, v) => self.db.put(&self.families[*f], k, v, w),
            Item::Delete(f, k) => self.db.delete(&self.families[*f], k, w),
            Item::SingleDelete(f, k) => self.db.single_delete(&self.families[*f], k, w),
            Item::Merge(f, k, v) => self.db.merge(&self.families[*f], k, v, w),
            Item::DeleteRange(f, a, b) => self.db.delete_range(&self.families[*f], a, b, w),
            Item::Entity(..) | Item::LogData(_) => Ok(()),
            Item::SavePoint | Item::Rollback | Item::PopSavePoint => Ok(()),
        })
    }

    fn batch(&mut self, items: &[Item], w: Writing) -> (Vec<Told<()>>, u32, Told<()>) {
        // The C interface has no range deletion and no merge with a timestamp. So RocksDB takes the encoded batch.
        if let Some(times) = &mut self.times {
            let id = |f: usize| ironstone::FamilyId::new(self.families[f].id());
            let (encoded, answers) = stamped(items, &mut times.write, id);
            let batch = Batch::from_bytes(&self.library, encoded.bytes());
            return (answers, batch.count(), told(self.db.write(&batch, writing(w))));
        }
        // The C interface has no put of columns either.
        if items.iter().any(|item| matches!(item, Item::Entity(..))) {
            let (encoded, answers) = plain(items, |f| ironstone::FamilyId::new(self.families[f].id()));
            let batch = Batch::from_bytes(&self.library, encoded.bytes());
            return (answers, batch.count(), told(self.db.write(&batch, writing(w))));
        }
        let mut batch = Batch::new(&self.library);
        let mut answers = Vec::new();
        let of = |f: &usize| &self.families[*f];
        for item in items {
            match item {
                Item::Put(f, k, v) => batch.put(of(f), k, v),
                Item::Entity(..) => {}
                Item::Delete(f, k) => batch.delete(of(f), k),
                Item::SingleDelete(f, k) => batch.single_delete(of(f), k),
                Item::Merge(f, k, v) => batch.merge(of(f), k, v),
                Item::DeleteRange(f, a, b) => batch.delete_range(of(f), a, b),
                Item::LogData(blob) => batch.put_log_data(blob),
                Item::SavePoint => batch.set_save_point(),
                Item::Rollback => answers.push(told(batch.rollback_to_save_point())),
                Item::PopSavePoint => answers.push(told(batch.pop_save_point())),
            }
        }
        let count = batch.count();
        (answers, count, told(self.db.write(&batch, writing(w))))
    }

    fn get(&mut self, at: usize, key: &[u8], snapshot: Option<usize>, spec: &Spec) -> Told<Option<Vec<u8>>> {
        told(self.db.get(&self.families[at], key, &self.reading(snapshot, spec)))
    }

    fn multi_get(
        &mut self,
        at: usize,
        keys: &[Vec<u8>],
        snapshot: Option<usize>,
        spec: &Spec,
        batched: bool,
    ) -> Vec<Told<Option<Vec<u8>>>> {
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let answers = self.db.multi_get(&self.families[at], &slices, &self.reading(snapshot, spec), batched);
        answers.into_iter().map(told).collect()
    }

    fn snapshot(&mut self) {
        self.snapshots.push(self.db.snapshot());
    }

    fn release(&mut self, at: usize) {
        self.snapshots.remove(at);
    }

    fn open_iter(&mut self, slot: usize, at: usize, snapshot: Option<usize>, spec: &Spec) {
        self.close_iter(slot);
        let iter = self.db.iter(&self.families[at], &self.reading(snapshot, spec));
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
        let Some(Some(iter)) = self.iters.get_mut(slot) else { return Position::End };
        match how {
            Move::First => iter.seek_to_first(),
            Move::Last => iter.seek_to_last(),
            Move::Seek(key) => iter.seek(key),
            Move::SeekForPrev(key) => iter.seek_for_prev(key),
            Move::Next if iter.valid() => iter.next(),
            Move::Prev if iter.valid() => iter.prev(),
            Move::Next | Move::Prev => {}
            Move::Refresh => {
                if let Err(words) = iter.refresh() {
                    return Position::Failed(code(words));
                }
                iter.seek_to_first();
            }
        }
        if let Some((key, value)) = iter.row() {
            return Position::At(key, value);
        }
        match iter.status() {
            Ok(()) => Position::End,
            Err(words) => Position::Failed(code(words)),
        }
    }

    fn flush(&mut self, families: &[usize]) -> Told<()> {
        for at in families {
            told(self.db.flush(&[self.families[*at].clone()]))?;
        }
        Ok(())
    }

    fn flush_wal(&mut self, sync: bool) -> Told<()> {
        told(self.db.flush_wal(sync))
    }

    fn ingest(&mut self, at: usize, file: &Path) -> Told<()> {
        told(self.db.ingest(&self.families[at], &[file]))
    }

    fn compact(&mut self, at: usize, begin: Option<&[u8]>, end: Option<&[u8]>, how: Compacting) {
        let how = Compaction {
            bottommost: how.bottommost,
            exclusive: how.exclusive,
            target_level: how.target_level,
            subcompactions: how.subcompactions as i32,
        };
        self.db.compact(&self.families[at], begin, end, how);
    }

    fn wait(&mut self) -> Told<()> {
        told(self.db.wait_for_compact())
    }

    fn set_options(&mut self, at: Option<usize>, name: &str, value: &str) -> Told<()> {
        told(self.db.set_options(at.map(|at| &self.families[at]), &[(name, value)]))
    }

    fn int_property(&mut self, at: usize, name: &str) -> Option<u64> {
        self.db.int_property(&self.families[at], name)
    }

    fn has_property(&mut self, at: usize, name: &str) -> bool {
        self.db.property(&self.families[at], name).is_some()
    }

    fn sequence(&mut self) -> u64 {
        self.db.latest_sequence()
    }

    fn verify(&mut self) -> Told<()> {
        told(self.db.verify_checksum())
    }

    fn family_id(&mut self, at: usize) -> u32 {
        self.families[at].id()
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        self.iters.clear();
        self.snapshots.clear();
        self.ghost = None;
    }
}
