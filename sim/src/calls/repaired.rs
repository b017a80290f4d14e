//! Databases that lose files or bytes, and are repaired.
//!
//! ```text
//!  a running database ──► copy of its disk ──► damage ──► repair ──► open ──► rows
//! ```
//! The copy has all acknowledged writes. Each row after the repair is a row that the database had at some time. If the rows are not the
//! newest rows, the report of the repair has a loss. There is one exception: a process that was killed leaves WALs and a MANIFEST
//! whose ends are not proved, so a lost end looks like a torn write. Some copies are closed before the damage: then no loss is silent.
//! A copy without damage is sound, and a repair does not change its rows. The repaired database takes writes, and all its files can
//! be read. Other copies lose whole files, and are opened with `best_efforts_recovery` in an older state.
//!
//! The model has no merge operands: without its base, the operands of a key give a value that the key never had.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::Env;
use env::clock::ManualClock;
use env::executor::Inline;
use env::memory::MemoryFs;
use env::rng::SeededRng;
use ironstone::{Db, Family, Options, ReadOptions, Report, Weight};
use testkit::chance::Chance;

use super::indexed::rows_equal;
use super::overlay::{Key, State, columns};
use super::{FAMILIES, Setting, World, key, same, scan, told, value};

/// The rows of a database by column family.
type Rows = Vec<BTreeMap<Vec<u8>, Vec<u8>>>;

/// A database whose copies are damaged, and its model.
pub(super) struct Repaired {
    options: Options,
    disk: MemoryFs,
    clock: Arc<ManualClock>,
    db: Option<Db>,
    families: Vec<Family>,
    state: State,
    /// All values that each key ever had.
    had: BTreeMap<Key, BTreeSet<Vec<u8>>>,
    seed: u64,
}

impl Repaired {
    /// Opens the database on a disk of its own.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Repaired, String> {
        let mut options = setting.options.clone();
        // Without checksums, a changed bit is another value.
        options
            .update(
                "inplace_update_support=false;open_files_async=false;\
                 block_based_table_factory={checksum=kXXH3}",
            )
            .map_err(told("options"))?;
        let clock = setting.clock.clone();
        let disk = MemoryFs::new(clock.clone());
        options.db.env.fs = Arc::new(disk.clone());
        let state = vec![Default::default(); FAMILIES.len()];
        let (db, families, had) = Default::default();
        let mut world = Repaired { options, disk, clock, db, families, state, had, seed };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let (db, families) = super::open(&self.options, super::families(&self.options))?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.families.clear();
        super::close(&mut self.db)?;
        self.open()
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let key = Key::draw(chance);
        let (family, model) = (&self.families[key.family], &mut self.state[key.family]);
        if chance.percent(25) {
            family.delete(&key.bytes).map_err(told("delete"))?;
            model.delete(&key.bytes);
            return Ok(());
        }
        let value = value(chance);
        let done = match chance.percent(15) {
            true => family.put_entity(&key.bytes, &columns(&value)),
            false => family.put(&key.bytes, &value),
        };
        done.map_err(told("put"))?;
        model.put(&key.bytes, &value);
        self.had.entry(key).or_default().insert(value);
        Ok(())
    }

    fn delete_range(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, a, b) = (chance.below(2) as usize, key(chance), key(chance));
        let (begin, end) = if a <= b { (a, b) } else { (b, a) };
        self.families[at].delete_range(&begin, &end).map_err(told("delete_range"))?;
        self.state[at].delete_range(&begin, &end);
        Ok(())
    }

    /// Returns a copy of the disk as a killed process leaves it, and the options of a database on it.
    fn copy(&mut self) -> Result<(MemoryFs, Options, Arc<Inline>), String> {
        self.db().flush_wal(true).map_err(told("flush_wal"))?;
        self.seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        let disk = self.disk.fork(self.clock.clone());
        // The process that has the database open does not know the copy.
        disk.crash(env::memory::Survivors::Everything);
        let executor = Arc::new(Inline::new(self.seed, self.clock.clone()));
        let mut options = self.options.clone();
        options.db.env = Env {
            fs: Arc::new(disk.clone()),
            clock: self.clock.clone(),
            rng: Arc::new(SeededRng::new(self.seed)),
            executor: executor.clone(),
        };
        Ok((disk, options, executor))
    }

    /// Damages a copy, repairs it, and compares its rows.
    fn repair(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (disk, options, executor) = self.copy()?;
        let is_closed = chance.percent(50);
        if is_closed {
            let opened = Db::open_with_families("/db", options.clone(), super::families(&options));
            opened.and_then(|db| db.close()).map_err(told("close of a copy"))?;
        }
        let damages = *chance.pick(&[0, 1, 1, 1, 2, 3]);
        let mut done = Vec::new();
        for _ in 0..damages {
            done.extend(match chance.percent(30) {
                true => lose(&disk, &options, chance)?,
                false => damage(&disk, &options, chance)?,
            });
        }
        // The file `PROOF` proves the end of the WALs.
        let is_proved = is_closed && !done.iter().any(|words| words.starts_with("PROOF"));
        // A WAL can refer to values in blob files.
        let is_log = |words: &String| {
            words.contains(".log ") || words.contains(".blob ") || words.starts_with("MANIFEST")
        };
        let may_end_early = !is_proved && done.iter().any(is_log);
        let judged = self.judge(&options, done.is_empty(), may_end_early, chance);
        executor.abandon();
        judged.map_err(|words| format!("{words}\nclosed {is_closed}, after {}", done.join(", ")))
    }

    /// Deletes SST files and blob files of a copy, and opens the copy with `best_efforts_recovery`. The open restores an older state
    /// of which all files exist. The database had each row of this state.
    fn open_with_lost_files(&mut self, chance: &mut Chance) -> Result<(), String> {
        let flushes = chance.percent(50);
        if flushes {
            self.families.iter().try_for_each(|family| family.flush().map_err(told("flush")))?;
        }
        let (_, mut options, executor) = self.copy()?;
        let fs = options.db.env.fs.clone();
        let mut names = fs.list(Path::new("/db")).map_err(told("list"))?;
        names.retain(|name| name.ends_with(".sst") || name.ends_with(".blob"));
        names.sort();
        let mut lost = Vec::new();
        for _ in 0..*chance.pick(&[0, 1, 1, 2, 5]) {
            if !names.is_empty() {
                let name = names.remove(chance.below(names.len() as u64) as usize);
                fs.unlink(&PathBuf::from("/db").join(&name)).map_err(told("unlink"))?;
                lost.push(name);
            }
        }
        options.update("best_efforts_recovery=true").map_err(told("options"))?;
        // The open replays no WAL.
        let judged = self.judge_older_state(&options, flushes && lost.is_empty(), chance);
        executor.abandon();
        judged.map_err(|words| format!("{words}\nbest efforts without {}", lost.join(", ")))
    }

    fn judge_older_state(
        &self,
        options: &Options,
        is_whole: bool,
        chance: &mut Chance,
    ) -> Result<(), String> {
        let db = Db::open_with_families("/db", options.clone(), super::families(options))
            .map_err(told("open with best efforts"))?;
        let found = self.rows(&db, &Report::default())?;
        let newest: Rows = self.state.iter().map(|model| model.rows().into_iter().collect()).collect();
        if is_whole && found != newest {
            return Err("a database without losses is in an older state".to_string());
        }
        self.work_on(&db, found, chance)?;
        db.close().map_err(told("close after best efforts"))
    }

    fn judge(
        &self,
        options: &Options,
        is_whole: bool,
        may_end_early: bool,
        chance: &mut Chance,
    ) -> Result<(), String> {
        let families = || super::families(options);
        if is_whole {
            let report = ironstone::fsck("/db", options.clone(), families()).map_err(told("fsck"))?;
            same("problems of a sound database", &serious(&report), &Vec::new())?;
        }
        let report = match ironstone::repair("/db", options.clone(), families()) {
            Ok(report) => report,
            // A repair may be refused. The error says why.
            Err(_) if !is_whole => return Ok(()),
            Err(error) => return Err(format!("repair of a sound database: {error}")),
        };
        let what = || format!("problems {:?}, actions {:?}", serious(&report), report.actions);
        let db = Db::open_with_families("/db", options.clone(), families())
            .map_err(|error| format!("open after a repair: {error}; {}", what()))?;
        let found = self.rows(&db, &report).map_err(|words| format!("{words}; {}", what()))?;
        let newest: Rows = self.state.iter().map(|model| model.rows().into_iter().collect()).collect();
        if found != newest && report.weight() != Some(Weight::Loss) && !may_end_early {
            let (more, fewer) = (difference(&found, &newest), difference(&newest, &found));
            return Err(format!("a repair without a loss: {more:02x?} and not {fewer:02x?}; {}", what()));
        }
        if is_whole || report.weight() != Some(Weight::Loss) {
            self.work_on(&db, found, chance).map_err(|words| format!("{words}; {}", what()))?;
        }
        db.close().map_err(told("close after a repair"))
    }

    /// Reads the rows of a repaired database. Each is a row that the database had.
    fn rows(&self, db: &Db, report: &Report) -> Result<Rows, String> {
        let mut found = Rows::new();
        for (at, name) in FAMILIES.iter().enumerate() {
            let family = db.family(name).map_err(told("family after a repair"))?;
            let mut rows = BTreeMap::new();
            match scan(&family) {
                Ok(scanned) => rows = scanned,
                // A repair keeps the references to the values of a lost blob file.
                Err(_) if names_blob(report) => {
                    let keys = self.had.keys().filter(|key| key.family == at);
                    let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
                    for key in keys {
                        if let Ok(Some(value)) = family.get_with(&key.bytes, &options) {
                            rows.insert(key.bytes.clone(), value.to_vec());
                        }
                    }
                }
                Err(words) => return Err(format!("after a repair: {words}")),
            }
            for (bytes, value) in &rows {
                let key = |family| Key { family, bytes: bytes.clone() };
                let had = |family| self.had.get(&key(family)).is_some_and(|values| values.contains(value));
                let is_known = had(at) || assumes_family(report) && (0..FAMILIES.len()).any(had);
                if !is_known {
                    return Err(format!("a repair made the row {:02x?} {value:02x?}", key(at)));
                }
            }
            found.push(rows);
        }
        Ok(found)
    }

    /// Writes to a repaired database, and compacts it. All other rows stay.
    fn work_on(&self, db: &Db, found: Rows, chance: &mut Chance) -> Result<(), String> {
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
        let families = families.map_err(told("family"))?;
        let mut state = State::new();
        for rows in found {
            let mut model = testkit::model::Model::default();
            rows.iter().for_each(|(key, value)| model.put(key, value));
            state.push(model);
        }
        for _ in 0..chance.below(8) {
            let (key, value) = (Key::draw(chance), value(chance));
            families[key.family].put(&key.bytes, &value).map_err(told("put after a repair"))?;
            state[key.family].put(&key.bytes, &value);
        }
        rows_equal(&families, &state).map_err(|words| format!("writes after a repair: {words}"))?;
        for family in &families {
            family.compact_range(None, None, &Default::default()).map_err(told("compact after a repair"))?;
        }
        db.verify_checksum().map_err(told("verify_checksum after a repair"))?;
        rows_equal(&families, &state).map_err(|words| format!("a compaction after a repair: {words}"))
    }
}

/// Returns the rows of `a` that are not in `b`.
fn difference(a: &Rows, b: &Rows) -> Vec<(usize, Vec<u8>, Vec<u8>)> {
    let own = |(at, rows): (usize, &BTreeMap<Vec<u8>, Vec<u8>>)| {
        let left = rows.iter().filter(|(key, value)| b[at].get(*key) != Some(value));
        left.map(|(key, value)| (at, key.clone(), value.clone())).collect::<Vec<_>>()
    };
    a.iter().enumerate().flat_map(own).collect()
}

/// Returns the problems of a report that are no notes.
fn serious(report: &Report) -> Vec<String> {
    let problems = report.problems.iter().filter(|problem| problem.weight != Weight::Note);
    problems.map(|p| format!("{:?} {}: {}", p.weight, p.file.display(), p.what)).collect()
}

/// Returns true if a report says that the column family of an SST file is not known. Its rows can then be in another column family.
fn assumes_family(report: &Report) -> bool {
    report.problems.iter().any(|problem| problem.what.contains("its column family is assumed"))
}

/// Returns true if a report names the loss of values in a blob file.
fn names_blob(report: &Report) -> bool {
    let is_blob = |file: &Path| file.extension().is_some_and(|end| end == "blob");
    report.problems.iter().any(|problem| problem.weight == Weight::Loss && is_blob(&problem.file))
}

/// Deletes, cuts or changes a file of the database. Returns the words for it.
fn damage(disk: &MemoryFs, options: &Options, chance: &mut Chance) -> Result<Option<String>, String> {
    let fs = &options.db.env.fs;
    let mut names = fs.list(Path::new("/db")).map_err(told("list"))?;
    let is_other =
        |name: &str| ["LOCK", "IDENTITY", "lost", "archive"].contains(&name) || name.starts_with("LOG");
    names.retain(|name| !is_other(name));
    names.sort();
    // Each kind of file is drawn equally often.
    let kind = |name: &str| -> String {
        let start: String = name.chars().take_while(char::is_ascii_alphabetic).collect();
        if start.is_empty() { name.rsplit('.').next().unwrap_or_default().to_string() } else { start }
    };
    let kinds: BTreeSet<String> = names.iter().map(|name| kind(name)).collect();
    let kinds: Vec<String> = kinds.into_iter().collect();
    if kinds.is_empty() {
        return Ok(None);
    }
    let drawn = chance.pick(&kinds).clone();
    names.retain(|name| kind(name) == drawn);
    let name = chance.pick(&names).clone();
    let path = PathBuf::from("/db").join(&name);
    let size = fs.file_size(&path).map_err(told("size"))?;
    let at = chance.below(size.max(1)) as usize;
    Ok(Some(match chance.below(3) {
        0 => {
            fs.unlink(&path).map_err(told("unlink"))?;
            format!("{name} is gone")
        }
        1 => {
            disk.damage(&path, |bytes| bytes.truncate(at));
            format!("{name} is cut at {at} of {size}")
        }
        _ => {
            let bit = 1 << chance.below(8);
            disk.damage(&path, |bytes| {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bit;
                }
            });
            format!("{name} has another bit at {at} of {size}")
        }
    }))
}

/// Loses several files, or all bytes of one file, or changes the names of files. Returns the words for it.
fn lose(disk: &MemoryFs, options: &Options, chance: &mut Chance) -> Result<Option<String>, String> {
    let fs = &options.db.env.fs;
    let mut names = fs.list(Path::new("/db")).map_err(told("list"))?;
    names.sort();
    let path = |name: &str| PathBuf::from("/db").join(name);
    let of = |start: &str, end: &str| -> Vec<String> {
        names.iter().filter(|name| name.starts_with(start) && name.ends_with(end)).cloned().collect()
    };
    let (tables, manifests) = (of("", ".sst"), of("MANIFEST", ""));
    let gone: Vec<String> = match chance.below(9) {
        0 => manifests,
        1 => [manifests, of("OPTIONS", "")].concat(),
        2 => [manifests, of("CURRENT", "")].concat(),
        3 => [of("CURRENT", ""), of("OPTIONS", "")].concat(),
        4 => [of("IDENTITY", ""), of("", ".log")].concat(),
        5 => [manifests, of("IDENTITY", ""), of("CURRENT", "")].concat(),
        6 if tables.len() > 1 => {
            let (a, b) = (chance.pick(&tables).clone(), chance.pick(&tables).clone());
            let aside = path("aside");
            fs.rename(&path(&a), &aside).map_err(told("rename"))?;
            if a != b {
                fs.rename(&path(&b), &path(&a)).map_err(told("rename"))?;
            }
            fs.rename(&aside, &path(&b)).map_err(told("rename"))?;
            return Ok(Some(format!("{a} and {b} have each other's name")));
        }
        7 if !tables.is_empty() => {
            let old = chance.pick(&tables);
            let new = old.replace(".sst", ".ldb");
            fs.rename(&path(old), &path(&new)).map_err(told("rename"))?;
            return Ok(Some(format!("{old} is {new}")));
        }
        _ => {
            let files = [tables, manifests, of("", ".log"), of("", ".blob"), of("OPTIONS", "")].concat();
            let Some(name) = (!files.is_empty()).then(|| chance.pick(&files).clone()) else {
                return Ok(None);
            };
            let is_zeroed = chance.percent(50);
            disk.damage(&path(&name), |bytes| if is_zeroed { bytes.fill(0) } else { bytes.clear() });
            return Ok(Some(format!("{name} has {} bytes", if is_zeroed { "only zero" } else { "no" })));
        }
    };
    for name in &gone {
        fs.unlink(&path(name)).map_err(told("unlink"))?;
    }
    // The words of a lost WAL or MANIFEST come first.
    let words: Vec<String> = gone.iter().rev().map(|name| format!("{name} is gone")).collect();
    Ok((!words.is_empty()).then(|| words.join(", ")))
}

impl World for Repaired {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..60 => self.write(chance),
            60..63 => self.delete_range(chance),
            63..73 => self.families[chance.below(2) as usize].flush().map_err(told("flush")),
            73..76 => {
                let family = &self.families[chance.below(2) as usize];
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))
            }
            76 => self.reopen(),
            77..84 => self.repair(chance),
            84..87 => self.open_with_lost_files(chance),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        rows_equal(&self.families, &self.state)
    }
}
