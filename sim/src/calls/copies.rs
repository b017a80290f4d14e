//! Files that leave or enter a database: checkpoints, backups, exports, SST files, readers, and the WAL as a stream.

mod files;

use std::path::PathBuf;

use base::SequenceNumber;
use ironstone::{
    BackupEngine, BackupEngineOptions, BackupId, Checkpoint, CheckpointOptions, CreateBackupOptions, Db,
    Family, FamilyDescriptor, FlushOptions, Follower, Kind, Options, Record, RestoreMode, RestoreOptions,
    Secondary, Snapshot, WriteBatch,
};
use testkit::chance::Chance;

use super::indexed::rows_equal;
use super::overlay::{Change, Key, Overlay, State};
use super::{FAMILIES, Setting, World, key, same, told};

/// A backup, and the state that its restore must return.
struct Kept {
    id: BackupId,
    state: State,
    words: Vec<u8>,
}

/// A database whose files are copied, and its model.
pub(super) struct Copies {
    options: Options,
    descriptors: Vec<FamilyDescriptor>,
    db: Db,
    families: Vec<Family>,
    state: State,
    engine: BackupEngine,
    kept: Vec<Kept>,
    secondary: Option<(Secondary, State)>,
    follower: Option<Follower>,
    /// A sequence number, and the state at this number.
    mark: Option<(u64, State)>,
    /// A snapshot that keeps range tombstones, and the entries that they delete, in the SST files.
    held: Option<Snapshot>,
    made: u64,
}

impl Copies {
    /// Opens the database and a backup engine. Replaces options that the copies do not allow.
    ///
    /// # Errors
    /// The error of an open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Copies, String> {
        let mut options = setting.options.clone();
        if (seed / super::WORLDS).is_multiple_of(2) {
            options.update("min_tombstones_for_range_conversion=2").map_err(told("options"))?;
        }
        // `updates_since` needs the archive. Secondary instances need open files, and WAL records that are written at
        // once.
        options
            .update(
                "WAL_ttl_seconds=100000;recycle_log_file_num=0;manual_wal_flush=false;max_open_files=-1;\
                 open_files_async=false;inplace_update_support=false",
            )
            .map_err(told("options"))?;
        let mut descriptors = setting.families();
        descriptors.iter_mut().for_each(|family| family.options = options.family.clone());
        let opened = Db::open_with_families("/db", options.clone(), descriptors.clone());
        let db = opened.map_err(told("open"))?;
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
        let families = families.map_err(told("family"))?;
        let backups = BackupEngineOptions::new("/backups");
        let engine = BackupEngine::open(backups, &options.db.env).map_err(told("open of the backups"))?;
        Ok(Copies {
            options,
            descriptors,
            db,
            families,
            state: vec![Default::default(); FAMILIES.len()],
            engine,
            kept: Vec::new(),
            secondary: None,
            follower: None,
            mark: None,
            held: None,
            made: 0,
        })
    }

    fn path(&mut self, of: &str) -> PathBuf {
        self.made += 1;
        PathBuf::from(format!("/{of}{}", self.made))
    }

    /// Deletes a range of keys.
    fn delete_range(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, a, b) = (chance.below(2) as usize, key(chance), key(chance));
        let (begin, end) = if a <= b { (a, b) } else { (b, a) };
        self.families[at].delete_range(&begin, &end).map_err(told("delete_range"))?;
        self.state[at].delete_range(&begin, &end);
        if chance.percent(50) {
            self.held = (self.held.is_none()).then(|| self.db.snapshot());
        }
        Ok(())
    }

    /// Deletes a run of neighbouring keys, each by its own tombstone. A later scan may convert the run into a range tombstone.
    fn delete_run(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, first) = (chance.below(2) as usize, chance.below(48));
        for number in first..first + 2 + chance.below(8) {
            let key = format!("key{number:02}").into_bytes();
            self.families[at].delete(&key).map_err(told("delete"))?;
            self.state[at].delete(&key);
        }
        Ok(())
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (mut batch, mut overlay) = (WriteBatch::new(), Overlay::default());
        for _ in 0..1 + chance.below(8) {
            let (key, change) = (Key::draw(chance), Change::draw(chance));
            let id = self.families[key.family].id();
            match &change {
                // The model of the stream knows values, but no columns.
                Change::Put(value) | Change::Entity(value) => batch.put_in(id, &key.bytes, value),
                Change::Delete => batch.delete_in(id, &key.bytes),
                Change::Merge(operand) => batch.merge_in(id, &key.bytes, operand),
            };
            overlay.change(&key, &change);
        }
        self.db.write(batch).map_err(told("write"))?;
        overlay.apply(&mut self.state);
        Ok(())
    }

    /// Opens a copy of the database, compares its rows, and deletes the copy.
    fn compare_copy(&self, what: &str, path: &PathBuf, state: &State) -> Result<(), String> {
        let doing = |error: ironstone::Error| format!("{what}: {error}");
        let copy =
            Db::open_with_families(path, self.options.clone(), self.descriptors.clone()).map_err(doing)?;
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| copy.family(name)).collect();
        rows_equal(&families.map_err(doing)?, state).map_err(|words| format!("{what}: {words}"))?;
        copy.verify_checksum().map_err(doing)?;
        copy.close().map_err(doing)?;
        ironstone::destroy(path, &self.options.db).map_err(doing)
    }

    fn checkpoint(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("checkpoint");
        let options = CheckpointOptions {
            log_size_for_flush: *chance.pick(&[0, 1000, u64::MAX]),
            use_link_file_when_available: chance.percent(50),
            ..CheckpointOptions::default()
        };
        let checkpoint = Checkpoint::new(&self.db);
        checkpoint.create_with(&path, &options).map_err(told("checkpoint"))?;
        match checkpoint.create(&path) {
            Err(error) if error.kind() == Kind::InvalidArgument => {}
            other => return Err(format!("a checkpoint over a checkpoint: {other:?}")),
        }
        self.compare_copy("checkpoint", &path, &self.state)
    }

    fn back_up(&mut self, chance: &mut Chance) -> Result<(), String> {
        let words = chance.bytes(chance.clone().below(20) as usize);
        let options = CreateBackupOptions {
            flush_before_backup: chance.percent(30),
            app_metadata: words.clone(),
            ..CreateBackupOptions::default()
        };
        let id = self.engine.create_new_backup_with(&self.db, &options).map_err(told("backup"))?;
        self.kept.push(Kept { id, state: self.state.clone(), words });
        Ok(())
    }

    fn restore(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("restored");
        let Some(at) = (!self.kept.is_empty()).then(|| chance.below(self.kept.len() as u64) as usize) else {
            let restored =
                self.engine.restore_db_from_latest_backup(&path, &path, &RestoreOptions::default());
            return match restored {
                Err(error) if error.kind() == Kind::NotFound => Ok(()),
                other => Err(format!("restore without a backup: {other:?}")),
            };
        };
        let modes = [
            RestoreMode::PurgeAllFiles,
            RestoreMode::KeepLatestDbSessionIdFiles,
            RestoreMode::VerifyChecksum,
        ];
        let options = RestoreOptions { mode: *chance.pick(&modes), ..RestoreOptions::default() };
        let (id, newest) = (self.kept[at].id, at + 1 == self.kept.len());
        self.engine.verify_backup(id, chance.percent(50)).map_err(told("verify_backup"))?;
        let restored = if newest && chance.percent(50) {
            self.engine.restore_db_from_latest_backup(&path, &path, &options)
        } else {
            self.engine.restore_db_from_backup(id, &path, &path, &options)
        };
        restored.map_err(told("restore"))?;
        self.compare_copy("restored backup", &path, &self.kept[at].state)
    }

    fn tend_backups(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(4) {
            0 if !self.kept.is_empty() => {
                let kept = self.kept.remove(chance.below(self.kept.len() as u64) as usize);
                self.engine.delete_backup(kept.id).map_err(told("delete_backup"))?;
            }
            1 => {
                let keep = chance.below(4) as usize;
                self.engine.purge_old_backups(keep).map_err(told("purge_old_backups"))?;
                self.kept.drain(..self.kept.len().saturating_sub(keep));
            }
            2 => self.engine.garbage_collect().map_err(told("garbage_collect"))?,
            _ => {
                if chance.percent(50) {
                    // Without metadata and without options.
                    let id = self.engine.create_new_backup(&self.db).map_err(told("create_new_backup"))?;
                    self.kept.push(Kept { id, state: self.state.clone(), words: Vec::new() });
                    self.engine.stop_backup();
                    let stopped = self.engine.create_new_backup(&self.db).map_err(|error| error.kind());
                    same("backup of a stopped engine", &stopped.is_err(), &true)?;
                }
                let backups = BackupEngineOptions::new("/backups");
                let opened = BackupEngine::open(backups, &self.options.db.env);
                self.engine = opened.map_err(told("open of the backups"))?;
            }
        }
        let read_only =
            BackupEngine::open_read_only(BackupEngineOptions::new("/backups"), &self.options.db.env);
        let read_only = read_only.map_err(told("read-only open of the backups"))?;
        let told: Vec<_> = self.kept.iter().map(|kept| (kept.id, kept.words.clone())).collect();
        for engine in [&self.engine, &read_only] {
            let found: Vec<_> =
                engine.backup_info().into_iter().map(|info| (info.id, info.app_metadata)).collect();
            same("backups", &found, &told)?;
            same("corrupt backups", &engine.corrupted_backups().len(), &0)?;
        }
        Ok(())
    }

    /// Checks that the view of a secondary never changes, and that the view after a catch-up is the state of the
    /// writer.
    fn follow(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.db.flush_wal(false).map_err(told("flush_wal"))?;
        let families = |db: &Db| -> Result<Vec<Family>, String> {
            FAMILIES.iter().map(|name| db.family(name).map_err(told("family of a secondary"))).collect()
        };
        match self.secondary.take() {
            Some((secondary, _)) if chance.percent(10) => drop(secondary),
            Some((secondary, before)) => {
                let view = secondary.view();
                rows_equal(&families(&view)?, &before).map_err(|words| format!("older view: {words}"))?;
                secondary.try_catch_up_with_primary().map_err(told("catch-up"))?;
                rows_equal(&families(&secondary.view())?, &self.state)
                    .map_err(|words| format!("secondary: {words}"))?;
                rows_equal(&families(&view)?, &before).map_err(|words| format!("held view: {words}"))?;
                self.secondary = Some((secondary, self.state.clone()));
            }
            None => {
                let opened =
                    Secondary::open_with_families("/db", self.options.clone(), self.descriptors.clone());
                self.secondary = Some((opened.map_err(told("open as a secondary"))?, self.state.clone()));
            }
        }
        if chance.percent(70) {
            return Ok(());
        }
        self.db.flush_families(&self.families, &FlushOptions::default()).map_err(told("flush_families"))?;
        if self.follower.is_none() {
            let opened = Follower::open_with_families(
                "/follower",
                "/db",
                self.options.clone(),
                self.descriptors.clone(),
            );
            self.follower = Some(opened.map_err(told("open as a follower"))?);
        }
        let Some(follower) = &self.follower else { return Ok(()) };
        follower.try_catch_up_with_leader().map_err(told("catch-up of a follower"))?;
        same("last error of the follower", &follower.last_error().is_none(), &true)?;
        rows_equal(&families(&follower.view())?, &self.state).map_err(|words| format!("follower: {words}"))
    }

    /// Applies the WAL records since the mark to the marked state, and compares the result with the database.
    fn stream(&mut self) -> Result<(), String> {
        self.db.flush_wal(false).map_err(told("flush_wal"))?;
        let newest = self.db.latest_sequence();
        // With `enable_blob_direct_write`, records have references to values, as in RocksDB.
        if let Some((seq, mut state)) = self.mark.take()
            && seq < newest.get()
            && !self.options.family.enable_blob_direct_write
        {
            let updates =
                self.db.updates_since(SequenceNumber::new(seq + 1)).map_err(told("updates_since"))?;
            for update in updates {
                let update = update.map_err(told("an update"))?;
                for record in update.batch.iter() {
                    self.repeat(&record.map_err(told("a record"))?, &mut state)?;
                }
            }
            same("the state after the updates", &state, &self.state)?;
        }
        self.mark = Some((newest.get(), self.state.clone()));
        let (files, current) = (self.db.wal_files(), self.db.current_wal_file());
        let (files, current) =
            (files.map_err(told("wal_files"))?, current.map_err(told("current_wal_file"))?);
        // A WAL without records is not listed.
        let later = files.iter().find(|file| file.number > current.number).map(|file| file.number);
        same("a WAL after the current WAL", &later, &None)
    }

    fn repeat(&self, record: &Record<'_>, state: &mut State) -> Result<(), String> {
        let Some(family) = record.family() else { return Ok(()) };
        let Some(at) = self.families.iter().position(|own| own.id() == family) else { return Ok(()) };
        match record {
            Record::Put { key, value, .. } => state[at].put(key, value),
            Record::Delete { key, .. } => state[at].delete(key),
            Record::Merge { key, operand, .. } => state[at].append(key, operand),
            Record::DeleteRange { begin, end, .. } => state[at].delete_range(begin, end),
            other => return Err(format!("an update has {other:?}")),
        }
        Ok(())
    }
}

impl World for Copies {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..31 => self.write(chance),
            31..34 => self.delete_run(chance),
            34..36 => self.scan_partly(chance),
            36..40 => self.delete_range(chance),
            40..46 => self.checkpoint(chance),
            46..52 => self.back_up(chance),
            52..56 => self.restore(chance),
            56..60 => self.tend_backups(chance),
            60..68 => self.follow(chance),
            68..74 => self.stream(),
            74..79 => self.ingest(chance),
            79..82 => self.export(chance),
            82..85 => self.compact_some(chance),
            85..88 => self.pause(chance),
            88..91 => self.look_at_files(),
            91..93 => self.several_families(chance),
            93 => self.clip(chance),
            94..98 => self.families[chance.below(2) as usize].flush().map_err(told("flush")),
            _ => {
                let family = &self.families[chance.below(2) as usize];
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        rows_equal(&self.families, &self.state)
    }
}
