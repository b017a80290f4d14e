//! Short forms of calls: opens with the fewest arguments, and the figures that a database reports about its holders.
//!
//! ```text
//!  readers      `Db::open_read_only`, `Secondary::open` and `Follower::open` see the rows of the writer
//!  figures      the parts of `Db::memory` sum up, and `Family::disk` lists the bytes of the files on disk
//!  budget       a database with `memory_budget` has the same rows, and holds less memory than its budget
//!  kinds        databases with a time to live and with transactions, opened with the default options of their kind
//!  cached       a persistent cache of blocks
//!  dumps        the text of SST files, as `sst_dump` prints it
//!  history      the history of the statistics in its own column family
//!  formats      formats of older releases, plain tables with keys of one length, plain tables without an index
//! ```
//! A short form gives one set of options to all column families of the database.

mod cached;
mod dumps;
mod formats;
mod history;
mod kinds;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, Db, Family, FamilyDescriptor, FlushOptions, Follower,
    MemoryHolder, Options, ReadOptions, Secondary,
};
use testkit::chance::Chance;

use super::indexed::{forward, rows_equal};
use super::overlay::{Change, Key, State, columns};
use super::served::catch_up_by_page;
use super::{FAMILIES, Setting, World, same, told};

/// A database that is opened with the short forms, and its model.
pub(super) struct Forms {
    options: Options,
    clock: Arc<env::clock::ManualClock>,
    db: Option<Db>,
    families: Vec<Family>,
    state: State,
    /// The number of other databases that were made. Each has the number in its name.
    made: u64,
}

impl Forms {
    /// Opens the database, and creates the second column family.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting) -> Result<Forms, String> {
        let mut options = setting.options.clone();
        // Secondary instances need open files, and WAL records that are written at once.
        options
            .update(
                "recycle_log_file_num=0;manual_wal_flush=false;max_open_files=-1;open_files_async=false;\
                 inplace_update_support=false;unordered_write=false",
            )
            .map_err(told("options"))?;
        let state = vec![Default::default(); FAMILIES.len()];
        let clock = setting.clock.clone();
        let mut world = Forms { options, clock, db: None, families: Vec::new(), state, made: 0 };
        world.open()?;
        let second = FamilyDescriptor::new(FAMILIES[1], world.options.family.clone());
        let second = world.db().create_family(second).map_err(told("create_family"))?;
        world.families.push(second);
        Ok(world)
    }

    /// Opens the database with all existing column families.
    fn open(&mut self) -> Result<(), String> {
        let db = Db::open("/db", self.options.clone()).map_err(told("open"))?;
        self.families = families_of(&db);
        self.db = Some(db);
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.families.clear();
        self.db.take().map_or(Ok(()), |db| db.close().map_err(told("close")))?;
        self.open()?;
        let names: Vec<&str> = self.families.iter().map(Family::name).collect();
        same("column families", &names, &FAMILIES.to_vec())?;
        rows_equal(&self.families, &self.state)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    /// Returns the path of a new database.
    fn path(&mut self, of: &str) -> PathBuf {
        self.made += 1;
        PathBuf::from(format!("/{of}{}", self.made))
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (key, change) = (Key::draw(chance), Change::draw(chance));
        change_row(&self.families[key.family], &mut self.state[key.family], &key.bytes, &change)
    }

    fn flush(&self) -> Result<(), String> {
        self.db().flush_families(&self.families, &FlushOptions::default()).map_err(told("flush_families"))
    }

    /// Opens a second reader of the directory, and compares its rows.
    fn read(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.db().flush_wal(false).map_err(told("flush_wal"))?;
        match chance.below(3) {
            0 => {
                let reader =
                    Db::open_read_only("/db", self.options.clone()).map_err(told("open_read_only"))?;
                rows_equal(&families_of(&reader), &self.state)
                    .map_err(|words| format!("open_read_only: {words}"))?;
                let refused = reader.put(b"key00", b"refused").map_err(|error| error.kind());
                same("write of a reader", &refused, &Err(ironstone::Kind::NotSupported))
            }
            1 => {
                let reader =
                    Secondary::open("/db", self.options.clone()).map_err(told("open as a secondary"))?;
                rows_equal(&families_of(&reader.view()), &self.state)
                    .map_err(|words| format!("secondary: {words}"))?;
                self.write(chance)?;
                self.db().flush_wal(false).map_err(told("flush_wal"))?;
                let reader = Arc::new(reader);
                match chance.percent(30) {
                    true => catch_up_by_page(&reader)?,
                    false => reader.try_catch_up_with_primary().map_err(told("catch-up"))?,
                }
                rows_equal(&families_of(&reader.view()), &self.state)
                    .map_err(|words| format!("secondary after a catch-up: {words}"))
            }
            _ => {
                // A follower reads no WAL.
                self.flush()?;
                let path = self.path("follower");
                let opened = Follower::open(path, "/db", self.options.clone());
                let reader = opened.map_err(told("open as a follower"))?;
                rows_equal(&families_of(&reader.view()), &self.state)
                    .map_err(|words| format!("follower: {words}"))
            }
        }
    }

    /// Compares the figures of memory and disk with their parts and with the directory.
    fn look(&self) -> Result<(), String> {
        let memory = self.db().memory();
        check_sums(&memory)?;
        same("text of the memory", &self.db().property("ironstone.memory"), &Some(memory.to_string()))?;
        for family in &self.families {
            let (mut found, mut listed) = (BTreeMap::new(), BTreeMap::new());
            for share in family.disk() {
                let (files, bytes): &mut (u64, u64) = found.entry(share.level).or_default();
                (*files, *bytes) = (*files + share.files, *bytes + share.bytes);
            }
            for file in family.live_files() {
                let size =
                    self.options.db.env.fs.file_size(&file.path).map_err(told("size of a live file"))?;
                let (files, bytes): &mut (u64, u64) = listed.entry(file.level).or_default();
                (*files, *bytes) = (*files + 1, *bytes + size);
            }
            same("files on disk by level", &found, &listed)?;
        }
        Ok(())
    }

    /// Copies the rows to a database with a memory budget. Compares its rows, and its memory with the budget.
    fn budget(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("budget");
        let mut options = self.options.clone();
        let few = options.clone().memory_budget(1 << 20).map(drop).map_err(|error| error.kind());
        same("a budget of one MiB", &few, &Err(ironstone::Kind::InvalidArgument))?;
        let bytes = (8 + chance.below(56)) << 20;
        if chance.percent(50) {
            options.memory_budget(bytes).map_err(told("memory_budget"))?;
        } else {
            options.update(&format!("memory_budget_bytes={bytes}")).map_err(told("memory_budget_bytes"))?;
        }
        let db = Db::open(&path, options).map_err(told("open with a budget"))?;
        let second = FamilyDescriptor::new(FAMILIES[1], self.options.family.clone());
        let families = [db.default_family(), db.create_family(second).map_err(told("create_family"))?];
        let mut iters = Vec::new();
        for (family, model) in families.iter().zip(&self.state) {
            for (key, value) in model.rows() {
                family.put(&key, &value).map_err(told("put"))?;
                if chance.percent(5) {
                    family.flush().map_err(told("flush"))?;
                }
            }
            let all = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
            iters.push((family.iter_with(all).map_err(told("iter"))?, model.rows()));
        }
        let memory = db.memory();
        check_sums(&memory)?;
        if memory.bytes > bytes {
            return Err(format!("a budget of {bytes} bytes holds:\n{memory}"));
        }
        let caches = memory.parts.iter().find(|part| part.name == "caches").map(|caches| caches.parts.len());
        same("one block cache for all column families", &caches, &Some(1))?;
        for (iter, rows) in &mut iters {
            same("rows of an iterator with a budget", &forward(iter)?, rows)?;
        }
        drop(iters);
        rows_equal(&families, &self.state).map_err(|words| format!("with a budget: {words}"))?;
        drop(families);
        db.close().map_err(told("close"))?;
        ironstone::destroy(&path, &self.options.db).map_err(told("destroy"))
    }

    fn compact(&self, chance: &mut Chance) -> Result<(), String> {
        let force = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        let family = &self.families[chance.below(2) as usize];
        family.compact_range(None, None, &force).map_err(told("compact"))
    }
}

/// Changes a key of a column family and of its model.
pub(super) fn change_row(
    family: &Family,
    model: &mut testkit::model::Model,
    key: &[u8],
    change: &Change,
) -> Result<(), String> {
    let done = match change {
        Change::Put(value) => family.put(key, value),
        Change::Entity(value) => family.put_entity(key, &columns(value)),
        Change::Delete => family.delete(key),
        Change::Merge(operand) => family.merge(key, operand),
    };
    done.map_err(told("write"))?;
    match change {
        Change::Put(value) | Change::Entity(value) => model.put(key, value),
        Change::Delete => model.delete(key),
        Change::Merge(operand) => model.append(key, operand),
    }
    Ok(())
}

/// Returns the column families of a database in the order of their creation.
fn families_of(db: &Db) -> Vec<Family> {
    let mut families = db.families();
    families.sort_by_key(Family::id);
    families
}

/// Checks that each holder with parts has the bytes of its parts.
fn check_sums(holder: &MemoryHolder) -> Result<(), String> {
    if !holder.parts.is_empty() {
        let sum = holder.parts.iter().map(|part| part.bytes).sum::<u64>();
        same(&format!("bytes of {}", holder.name), &holder.bytes, &sum)?;
    }
    holder.parts.iter().try_for_each(check_sums)
}

impl World for Forms {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..68 => self.write(chance),
            68 | 69 => self.dump(chance),
            70..76 => self.flush(),
            76..80 => self.compact(chance),
            80..85 => self.read(chance),
            85..89 => self.look(),
            89 => self.budget(chance),
            90 => self.age(chance),
            91 => self.transact(chance),
            92 => self.transact_optimistically(chance),
            93 => self.roll_back(chance),
            94 => self.write_older_formats(chance),
            95 if chance.percent(50) => self.keep_history(chance),
            95 => self.write_plain_tables(chance),
            96 if chance.percent(50) => self.keep_blocks(chance),
            96 => self.reopen(),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        self.look()?;
        rows_equal(&self.families, &self.state)
    }
}
