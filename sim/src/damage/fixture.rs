//! The databases to damage, and every state that each database ever had.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use env::Env;
use env::memory::Survivors;
use ironstone::{
    CompactRangeOptions, Db, Family, FamilyDescriptor, Options, Report, WriteBatch, WriteOptions,
};
use testkit::chance::Chance;
use testkit::machine::Machine;

use crate::state::Key;

/// The directory of the databases.
pub const DIR: &str = "/db";

/// All rows of all column families: column family and key to value.
pub type Rows = BTreeMap<Key, Vec<u8>>;

/// Files by name.
pub type Image = BTreeMap<String, Vec<u8>>;

/// The promise about damage to a fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// The database was closed, or was idle before it was killed. Every damage must be detected or harmless.
    Proved,
    /// The database was killed after a synced write. Damage to data that marks prove durable, and one flipped bit
    /// anywhere, must be detected or harmless. A cut may remove the newest writes.
    Marked,
}

/// A database before its damage.
pub struct Fixture {
    pub name: &'static str,
    pub promise: Promise,
    pub files: Image,
    /// The files as they were at earlier times.
    pub older: Vec<Image>,
    /// Every state, oldest first. The last state is the expected state.
    pub states: Vec<Rows>,
    pub families: Vec<String>,
    pub options: String,
    /// The text of the OPTIONS file when it is read without damage.
    pub loaded: String,
}

/// Makes a machine with these files in the directory [`DIR`].
pub fn machine(files: &Image) -> Machine {
    let machine = Machine::new(1);
    write(&machine.env, files);
    machine
}

/// Puts these files into the directory [`DIR`].
pub fn write(env: &Env, files: &Image) {
    let made = env.fs.create_dir_all(Path::new(DIR));
    let write = |(name, bytes): (&String, &Vec<u8>)| env.fs.write_all(&path(name), bytes, true);
    let done = made.and_then(|()| files.iter().try_for_each(write));
    // Sync the parent directory, so that the directory survives a crash.
    let done = done.and_then(|()| env.fs.open_dir(Path::new("/"))?.sync());
    done.unwrap_or_else(|e| panic!("a disk in memory takes files: {e}"));
}

/// Returns the files of the directory [`DIR`] that matter: no info logs, no LOCK, no directories.
pub fn image(env: &Env) -> Image {
    let names = env.fs.list(Path::new(DIR)).unwrap_or_default();
    let matter = |name: &String| !name.starts_with("LOG") && name != "LOCK" && !name.ends_with(".dbtmp");
    let read = |name: String| {
        let bytes = env.fs.read_all(&path(&name), 1 << 30).ok()?;
        Some((name, bytes))
    };
    names.into_iter().filter(matter).filter_map(read).collect()
}

/// Returns the path of a file in the directory of the databases.
pub fn path(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

/// The options of every fixture: small blocks and memtables, and no automatic compactions.
const OPTIONS: &str = "create_if_missing=true;create_missing_column_families=true;disable_auto_compactions=true;\
    compression=kNoCompression;stats_dump_period_sec=0;max_subcompactions=1;\
    block_based_table_factory={block_size=256;filter_policy=bloomfilter:10:false;block_cache=65536}";

/// More options of fixtures whose writes put values into blob files before the WAL. Shorter values stay in WAL and SST files.
const DIRECT: &str = "enable_blob_files=true;min_blob_size=20;enable_blob_direct_write=true;allow_concurrent_memtable_write=false";

impl Fixture {
    /// Returns all fixtures.
    pub fn all() -> Vec<Fixture> {
        vec![
            make("closed", Promise::Proved, &["default", "other"], "", End::Close),
            make("idle", Promise::Proved, &["default"], "", End::Idle),
            make("recycled", Promise::Proved, &["default"], "recycle_log_file_num=2", End::Close),
            make("killed", Promise::Marked, &["default"], "", End::Kill),
            make("direct closed", Promise::Proved, &["default"], DIRECT, End::Close),
            make("direct killed", Promise::Marked, &["default"], DIRECT, End::Kill),
        ]
    }

    /// Returns the expected state.
    pub fn base(&self) -> &Rows {
        // A fixture has at least the empty state.
        &self.states[self.states.len() - 1]
    }

    /// Returns true if some state has this row.
    pub fn had(&self, row: &Key, value: &[u8]) -> bool {
        self.states.iter().any(|state| state.get(row).is_some_and(|own| own == value))
    }

    /// Repairs a copy of the fixture.
    ///
    /// # Errors
    /// The error of the repair.
    pub fn repair(&self, machine: &Machine) -> ironstone::Result<Report> {
        let (options, families) = settings(machine, &self.options, &self.families)?;
        ironstone::repair(DIR, options, families)
    }

    /// Opens a copy of the fixture.
    ///
    /// # Errors
    /// The error of the open.
    pub fn open(&self, machine: &Machine, read_only: bool) -> ironstone::Result<Db> {
        open(machine, &self.options, &self.families, read_only)
    }
}

fn settings(
    machine: &Machine,
    text: &str,
    families: &[String],
) -> ironstone::Result<(Options, Vec<FamilyDescriptor>)> {
    let mut options = Options::default();
    options.update(text)?;
    options.db.env = machine.env.clone();
    let descriptor = |name: &String| FamilyDescriptor::new(name.as_str(), options.family.clone());
    let families = families.iter().map(descriptor).collect();
    Ok((options, families))
}

fn open(machine: &Machine, text: &str, families: &[String], read_only: bool) -> ironstone::Result<Db> {
    let (options, families) = settings(machine, text, families)?;
    if read_only {
        Db::open_read_only_with_families(DIR, options, families)
    } else {
        Db::open_with_families(DIR, options, families)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Close,
    Idle,
    Kill,
}

struct Making {
    machine: Machine,
    db: Db,
    chance: Chance,
    states: Vec<Rows>,
    older: Vec<Image>,
}

fn make(name: &'static str, promise: Promise, families: &[&str], more: &str, end: End) -> Fixture {
    let families: Vec<String> = families.iter().map(|f| f.to_string()).collect();
    let options = format!("{OPTIONS};{more}");
    let machine = machine(&Image::new());
    let db = must(open(&machine, &options, &families, false));
    let mut making =
        Making { machine, db, chance: Chance::new(7), states: vec![Rows::new()], older: Vec::new() };
    for round in 0..3 {
        for family in &families {
            making.writes(family, round);
        }
        making.keep();
        if round < 2 {
            for family in making.db.families() {
                must(family.flush());
                if round == 0 {
                    must(family.compact_range(None, None, &CompactRangeOptions::default()));
                }
            }
        }
        if round == 1 {
            // Open again, so that the fixture has files of two opens.
            must(making.db.close());
            making.keep();
            making.db = must(open(&making.machine, &options, &families, false));
        }
    }
    let Making { machine, db, states, older, .. } = making;
    match end {
        End::Close => must(db.close()),
        End::Kill => {}
        End::Idle => {
            for _ in 0..4 {
                machine.clock.advance(4_000_000);
                while env::Executor::help(&*machine.executor) {}
            }
        }
    }
    if end != End::Close {
        machine.crash(Survivors::Synced);
        // The process was killed. Take the files before the drop, because the drop may still write.
        let files = image(&machine.env);
        drop(db);
        return finish(name, promise, families, options, states, older, files);
    }
    let files = image(&machine.env);
    finish(name, promise, families, options, states, older, files)
}

fn finish(
    name: &'static str,
    promise: Promise,
    families: Vec<String>,
    options: String,
    states: Vec<Rows>,
    older: Vec<Image>,
    files: Image,
) -> Fixture {
    let loaded = super::judge::load_options(&machine(&files)).unwrap_or_else(|e| panic!("{name}: {e}"));
    Fixture { name, promise, files, older, states, families, options, loaded }
}

impl Making {
    fn keep(&mut self) {
        self.older.push(image(&self.machine.env));
    }

    /// Writes synced puts, deletions, a batch and a range deletion.
    fn writes(&mut self, family: &str, round: u64) {
        let handle = must(self.db.family(family));
        for i in 0..8 {
            let key = format!("user{:04}", self.chance.below(24)).into_bytes();
            let mut batch = WriteBatch::new();
            let mut state = self.states[self.states.len() - 1].clone();
            match i {
                3 => {
                    batch.delete_in(handle.id(), &key);
                    state.remove(&Key { family: family.to_string(), bytes: key });
                }
                5 => {
                    for n in 0..3u64 {
                        let key = format!("batch{:02}", n + round).into_bytes();
                        self.put(&handle, &mut batch, &mut state, key);
                    }
                }
                7 if round > 0 => {
                    let (begin, end) = (b"user0008".to_vec(), b"user0010".to_vec());
                    batch.delete_range_in(handle.id(), &begin, &end);
                    state.retain(|key, _| key.family != family || key.bytes < begin || key.bytes >= end);
                }
                _ => self.put(&handle, &mut batch, &mut state, key),
            }
            must(self.db.write_with(batch, &WriteOptions { sync: true, ..WriteOptions::default() }));
            self.states.push(state);
        }
    }

    fn put(&mut self, family: &Family, batch: &mut WriteBatch, state: &mut Rows, key: Vec<u8>) {
        let length = 6 + self.chance.below(18) as usize;
        let mut value = format!("v{:03}-", self.states.len()).into_bytes();
        value.extend(self.chance.bytes(length));
        batch.put_in(family.id(), &key, &value);
        state.insert(Key { family: family.name().to_string(), bytes: key }, value);
    }
}

fn must<T>(result: ironstone::Result<T>) -> T {
    result.unwrap_or_else(|e| panic!("making a fixture: {e}"))
}
