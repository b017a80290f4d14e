//! Tests of situations that the simulation of files does not reach. One seed is one run of one of six worlds.
//!
//! ```text
//!  dropped      a listener drops column families while jobs write their SST files; afterwards each SST file on the
//!               disk is an SST file of the database
//!  directories  three databases; each open and each destroy names directories of the others by four options;
//!               a database loses its entries only by its own destroy, and files of the user stay
//!  threads      starts of threads fail for some time; every write ends, and every entry exists
//!  beside       read-only opens; a writer writes, flushes and starts a new MANIFEST before any call of the open
//!  closers      several threads close one database; all get one result, after the close has ended
//!  releases     databases of old releases of RocksDB are opened, changed, compacted and opened again
//! ```
//! `threads` and `closers` need real threads. The other worlds run in one thread and repeat with the seed.

mod beside;
mod closers;
mod releases;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::components::FamilyDescriptor;
use engine::db::{Db, OpenRequest, destroy};
use engine::event::{Event, Listener};
use engine::family::Family;
use engine::ingest::{ImportFile, ImportRequest};
use engine::options::{
    CompactRangeOptions, DbOptions, DbPath, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};
use env::Env;
use env::executor::Threads;
use format::names::FileName;
use parking_lot::Mutex;
use testkit::chance::Chance;

/// Runs a seed of `len` operations. Returns the number of operations.
///
/// # Errors
/// The text of the failure.
pub fn seed(seed: u64, len: usize) -> Result<u64, String> {
    let mut chance = Chance::new(seed);
    let run = match chance.below(6) {
        0 => dropped,
        1 => directories,
        2 => threads,
        3 => beside::run,
        4 => closers::run,
        _ => releases::run,
    };
    run(seed, &mut chance, len).map_err(|words| format!("seed {seed}: wrong: {words}"))
}

fn options(env: &Env) -> DbOptions {
    DbOptions { create_if_missing: true, env: env.clone(), ..DbOptions::default() }
}

fn words(doing: &str) -> impl FnOnce(base::Error) -> String + '_ {
    move |error| format!("{doing}: {error}")
}

/// Drops column families in the middle of jobs.
struct Dropper {
    db: Mutex<Option<Db>>,
    chance: Mutex<Chance>,
    dropped: AtomicU64,
}

impl Listener for Dropper {
    fn on_event(&self, event: &Event) {
        let Event::TableCreationStarted { family, .. } = event else { return };
        let db = self.db.lock().clone();
        let (Some(db), true) = (db, self.chance.lock().percent(30)) else { return };
        if let Some(family) = db.family(&family.name).filter(|family| family.name() != "default") {
            self.dropped.fetch_add(u64::from(db.admin().drop_family(&family).is_ok()), Ordering::Relaxed);
        }
    }
}

fn dropped(seed: u64, chance: &mut Chance, len: usize) -> Result<u64, String> {
    let env = Env::memory(seed);
    let listener = Arc::new(Dropper {
        db: Mutex::default(),
        chance: Mutex::new(Chance::new(chance.next())),
        dropped: AtomicU64::new(0),
    });
    let own = FamilyOptions {
        write_buffer_size: 64 << 10,
        level0_file_num_compaction_trigger: 2,
        ..FamilyOptions::default()
    };
    let mut request = OpenRequest::new("/db", options(&env), own.clone());
    request.components.listeners.push(listener.clone());
    let db = Db::open(request).map_err(words("open"))?;
    *listener.db.lock() = Some(db.clone());
    for n in 0..len {
        let families = db.families();
        let family = chance.pick(&families).clone();
        match chance.below(10) {
            0 if families.len() < 6 => {
                let made = db.admin().create_family(FamilyDescriptor::new(format!("f{n}"), own.clone()));
                made.map_err(words("create_family"))?;
            }
            1 => drop(
                db.flush(&[family], &FlushOptions { wait: chance.percent(50), ..FlushOptions::default() }),
            ),
            2 => drop(db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default())),
            _ => {
                let key = chance.below(1000).to_be_bytes();
                // A flush that this write waits for may drop the column family.
                drop(db.put(&family, &key, &chance.bytes(4000), &WriteOptions::default()));
            }
        }
    }
    *listener.db.lock() = None;
    db.background().wait_for_compact().map_err(words("wait_for_compact"))?;
    let live = db.families().iter().flat_map(tables_of).collect::<BTreeSet<_>>();
    db.close().map_err(words("close"))?;
    let names = env.fs.list(Path::new("/db")).map_err(words("list"))?;
    let is_left = |name: &&String| match FileName::parse(name) {
        Some(FileName::Table(number)) => !live.contains(&number.get()),
        _ => false,
    };
    let left: Vec<_> = names.iter().filter(is_left).collect();
    match left.is_empty() {
        true => Ok(len as u64),
        false => Err(format!("no version names {left:?}, and the files are on the disk")),
    }
}

fn tables_of(family: &Arc<Family>) -> Vec<u64> {
    family.pin_owned().version.files().map(|(_, file)| file.number.get()).collect()
}

/// The databases of a run, one inside another.
const PATHS: [&str; 3] = ["/one", "/one/two", "/three"];

/// Files that no engine made: in `lost/`, with a file number that no file can have, and with another name.
const STRAYS: [&str; 3] = ["lost/thesis.txt", "18446744073709551615.sst", "notes.txt"];

/// Options that name directories of other databases, and the shared directory for info logs.
fn drawn(env: &Env, chance: &mut Chance) -> (DbOptions, FamilyOptions) {
    let (mut db, mut family) = (options(env), FamilyOptions::default());
    let dir = |chance: &mut Chance| chance.pick(&PATHS).to_string();
    let path = |dir: &str| DbPath { path: dir.into(), target_size: 1 << 30 };
    match chance.below(6) {
        0 => db.wal_dir = dir(chance),
        1 => db.db_log_dir = dir(chance),
        2 => db.db_log_dir = "/logs".to_string(),
        3 => db.db_paths = vec![path(&dir(chance))],
        4 => family.cf_paths = vec![path(&dir(chance))],
        _ => {}
    }
    (db, family)
}

fn directories(seed: u64, chance: &mut Chance, len: usize) -> Result<u64, String> {
    let env = Env::memory(seed);
    // The directories exist with a database for the whole run. Without CURRENT, an open could use a directory that
    // another test creates later.
    let create = |name: &str| {
        let db = Db::open(OpenRequest::new(name, options(&env), FamilyOptions::default()));
        db.and_then(|db| db.close()).map_err(|error| format!("creating {name}: {error}"))
    };
    PATHS.into_iter().try_for_each(create)?;
    let strays = PATHS.iter().flat_map(|path| STRAYS.map(|name| Path::new(path).join(name)));
    let strays: Vec<_> = strays.filter(|_| chance.percent(50)).collect();
    for path in &strays {
        env.fs.create_dir_all(path.parent().unwrap_or(path)).map_err(words("create_dir"))?;
        env.fs.write_all(path, b"of the user", true).map_err(words("a file of the user"))?;
    }
    let mut open: [Option<Db>; 3] = [None, None, None];
    let mut kept: [BTreeMap<Vec<u8>, Vec<u8>>; 3] = Default::default();
    for n in 0..len {
        let at = chance.below(3) as usize;
        let name = PATHS[at];
        match (&open[at], chance.below(8)) {
            (None, 0) => {
                let (db, family) = drawn(&env, chance);
                let own = db.wal_dir.is_empty() && db.db_paths.is_empty() && family.cf_paths.is_empty();
                let done = destroy(Path::new(name), &db, &[family]);
                if done.is_ok() {
                    kept[at].clear();
                    create(name)?;
                } else if own {
                    return Err(format!("destroy of {name}: {done:?}"));
                }
            }
            (None, kind) => {
                let (db, family) =
                    if kind < 4 { drawn(&env, chance) } else { (options(&env), FamilyOptions::default()) };
                match Db::open(OpenRequest::new(name, db, family)) {
                    Ok(db) => open[at] = Some(check(&db, &kept[at], name).map(|()| db)?),
                    // Another database is in the directory, or its files would be in the way of a new database.
                    Err(_) if kind < 4 => {}
                    Err(error) => return Err(format!("open of {name}: {error}")),
                }
            }
            (Some(db), 0) => {
                db.close().map_err(words("close"))?;
                open[at] = None;
            }
            (Some(db), 1) => {
                let family = db.default_family().map_err(words("default"))?;
                db.flush(&[family], &FlushOptions::default()).map_err(words("flush"))?;
            }
            (Some(db), 2) => adopt(db, name, drawn(&env, chance).1)?,
            (Some(db), _) => {
                let family = db.default_family().map_err(words("default"))?;
                let (key, value) = (chance.below(50).to_be_bytes(), n.to_be_bytes());
                db.put(&family, &key, &value, &WriteOptions::default()).map_err(words("put"))?;
                kept[at].insert(key.to_vec(), value.to_vec());
            }
        }
    }
    open.iter_mut().filter_map(Option::take).try_for_each(|db| db.close().map_err(words("close")))?;
    for path in &strays {
        if !env.fs.exists(path).map_err(words("exists"))? {
            return Err(format!("{} of the user is gone", path.display()));
        }
    }
    for (name, kept) in PATHS.iter().zip(&kept).filter(|(_, kept)| !kept.is_empty()) {
        let existing = DbOptions { create_if_missing: false, ..options(&env) };
        let db = Db::open(OpenRequest::new(*name, existing, FamilyOptions::default()));
        check(&db.map_err(|error| format!("{name} at the end: {error}"))?, kept, name)?;
    }
    Ok(len as u64)
}

/// Imports the SST files of a database into a new column family, whose options may name the directory of another database.
fn adopt(db: &Db, name: &str, options: FamilyOptions) -> Result<(), String> {
    let family = db.default_family().map_err(words("default"))?;
    let is_foreign = options.cf_paths.iter().any(|dir| dir.path != Path::new(name));
    let pin = family.pin_owned();
    let files = pin.version.files().map(|(level, file)| ImportFile {
        path: pin.parts.table_path(file.number, file.path_id),
        level,
        size: file.size,
        smallest_seq: file.smallest_seq,
        largest_seq: file.largest_seq,
        epoch_number: file.epoch_number,
        temperature: file.temperature,
        boundaries: Some((file.smallest.to_vec(), file.largest.to_vec())),
    });
    let comparator_name = family.order().user.name().to_string();
    let request = ImportRequest { comparator_name, files: files.collect() };
    let is_empty = request.files.is_empty();
    match db.admin().create_family_with_import(FamilyDescriptor::new("adopted", options), &[request], false) {
        Ok(_) if is_foreign => Err(format!("{name} imports into the directory of another database")),
        Ok(family) => db.admin().drop_family(&family).map_err(words("drop_family")),
        Err(_) if is_foreign || is_empty => Ok(()),
        Err(error) => Err(format!("import into {name}: {error}")),
    }
}

fn check(db: &Db, kept: &BTreeMap<Vec<u8>, Vec<u8>>, name: &str) -> Result<(), String> {
    let found = rows(db, &db.default_family().map_err(words("default"))?)?;
    match found == *kept {
        true => Ok(()),
        false => Err(format!("{name} has {} entries instead of {}", found.len(), kept.len())),
    }
}

/// Returns the entries of a column family.
fn rows(db: &Db, family: &Arc<Family>) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, String> {
    let mut iter = db.iter(family, ReadOptions::default()).map_err(words("iter"))?;
    let mut found = BTreeMap::new();
    iter.seek_to_first();
    while iter.valid() {
        found.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().map_err(words("scan"))?;
    Ok(found)
}

fn threads(seed: u64, chance: &mut Chance, len: usize) -> Result<u64, String> {
    let left = Arc::new(AtomicU64::new(0));
    let refusals = left.clone();
    let take = |left: u64| left.checked_sub(1);
    let executor = Threads::asking(Arc::new(move || {
        match refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
            Ok(_) => Err(std::io::Error::from_raw_os_error(11)),
            Err(_) => Ok(()),
        }
    }));
    let env = Env { executor: Arc::new(executor), ..Env::memory(seed) };
    let own = FamilyOptions {
        write_buffer_size: 64 << 10,
        target_file_size_base: 32 << 10,
        level0_file_num_compaction_trigger: 2,
        ..FamilyOptions::default()
    };
    let db = DbOptions { max_subcompactions: 1 + chance.below(4) as u32, ..options(&env) };
    let db = Db::open(OpenRequest::new("/db", db, own)).map_err(words("open"))?;
    let family = db.default_family().map_err(words("default"))?;
    let mut kept = BTreeMap::new();
    for n in 0..len {
        if chance.percent(20) {
            left.store(1 + chance.below(6), Ordering::SeqCst);
        }
        match chance.below(20) {
            0 => db.flush(&[family.clone()], &FlushOptions::default()).map_err(words("flush"))?,
            1 => drop(
                db.compactions()
                    .compact_range(&family, None, None, &CompactRangeOptions::default())
                    .map_err(words("compact_range"))?,
            ),
            _ => {
                let (key, value) = (chance.below(500).to_be_bytes(), vec![n as u8; 4000]);
                db.put(&family, &key, &value, &WriteOptions::default()).map_err(words("put"))?;
                kept.insert(key.to_vec(), value);
            }
        }
    }
    check(&db, &kept, "/db")?;
    db.close().map_err(words("close"))?;
    Ok(len as u64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_few_seeds_end_as_they_should() {
        for seed in 1..60 {
            super::seed(seed, 60).unwrap();
        }
    }
}
