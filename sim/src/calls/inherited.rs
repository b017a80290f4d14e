//! Databases that RocksDB wrote (`fixtures/golden`): formats, indexes, filters, tables, blob files and WALs that Ironstone does not
//! write by default. Each is opened with its own options or with drawn options, changed, compacted, repaired, and compared with a model.
//!
//! The rows of the model come from the `expect.jsonl` of the database. Not here: databases with timestamps, with prepared
//! transactions or with an order of integers, and databases of old releases (`crate::refusals::releases`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use env::{Env, FileSystem};
use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, Db, Family, FamilyDescriptor, FamilyOptions,
    FlushOptions, Options, ReadConfig, ReadOptions, Snapshot, WriteBatch,
};
use serde_json::Value;
use testkit::chance::Chance;
use testkit::hex::try_decode;

use super::{Setting, World, same, scan, told, value};

/// The largest size of a file of a fixture in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A column family as its fixture describes it.
struct Described {
    name: String,
    /// Options as text that every open needs: the order and the merge operator.
    text: String,
    rows: Rows,
}

/// A database that RocksDB made, and its model.
pub(super) struct Inherited {
    name: String,
    options: Options,
    families: Vec<Described>,
    /// True if all SST files are block-based tables.
    is_block_based: bool,
    db: Option<Db>,
    snapshots: Vec<(Snapshot, Vec<Rows>)>,
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden")
}

/// Copies a directory into the disk of a machine.
fn copy(from: &dyn FileSystem, dir: &Path, env: &Env, to: &Path) -> Result<(), String> {
    env.fs.create_dir_all(to).map_err(told("create_dir"))?;
    for name in from.list(dir).map_err(told("list of a fixture"))? {
        let (source, target) = (dir.join(&name), to.join(&name));
        if from.is_dir(&source).map_err(told("fixture"))? {
            copy(from, &source, env, &target)?;
            continue;
        }
        let bytes = from.read_all(&source, FILE_BYTES_MAX).map_err(told("file of a fixture"))?;
        env.fs.write_all(&target, &bytes, true).map_err(told("copy of a fixture"))?;
    }
    Ok(())
}

/// Reads the description of a fixture. `None`: the database has something that this world does not model.
fn describe(text: &str) -> Option<(Vec<Described>, bool)> {
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
    let head = lines.next()?;
    let needs = ["open_with", "prepared", "db", "db_paths", "cf_paths", "wal_dir"];
    if needs.iter().any(|name| !head[*name].is_null()) {
        return None;
    }
    let (mut families, mut is_block_based) = (Vec::new(), true);
    for family in head["cfs"].as_array()? {
        let comparator = family["comparator"].as_str()?;
        if !["leveldb.BytewiseComparator", "rocksdb.ReverseBytewiseComparator"].contains(&comparator) {
            return None;
        }
        is_block_based &= family["table"] == "BlockBasedTable";
        let operator = family["merge_operator_id"].as_str().unwrap_or("nullptr");
        families.push(Described {
            name: family["name"].as_str()?.to_string(),
            text: format!("comparator={comparator};merge_operator={operator};"),
            rows: Rows::new(),
        });
    }
    for line in lines.filter(|line| line["h"].is_null()) {
        let family = families.iter_mut().find(|family| line["cf"] == *family.name)?;
        family.rows.insert(try_decode(line["k"].as_str()?)?, try_decode(line["v"].as_str()?)?);
    }
    Some((families, is_block_based))
}

impl Inherited {
    /// Copies a drawn database, opens it, and compares its rows.
    ///
    /// # Errors
    /// The error of the first open, or the first row that differs.
    pub fn new(setting: &Setting, chance: &mut Chance) -> Result<Inherited, String> {
        let real = Env::posix();
        let mut all = real.fs.list(&golden()).map_err(told("fixtures"))?;
        all.retain(|name| name.ends_with(".expect.jsonl"));
        all.sort();
        loop {
            let file = chance.pick(&all).clone();
            let name = file.trim_end_matches(".expect.jsonl").to_string();
            if !real.fs.exists(&golden().join(&name).join("CURRENT")).unwrap_or(false) {
                continue;
            }
            let bytes = real.fs.read_all(&golden().join(&file), FILE_BYTES_MAX).map_err(told("rows"))?;
            let Some((families, is_block_based)) = describe(&String::from_utf8_lossy(&bytes)) else {
                continue;
            };
            copy(&*real.fs, &golden().join(&name), &setting.options.db.env, Path::new("/db"))?;
            let mut options = setting.options.clone();
            options
                .update(
                    "inplace_update_support=false;enable_blob_direct_write=false;prefix_extractor=nullptr",
                )
                .map_err(told("options"))?;
            // A hash index needs a prefix extractor.
            if setting.text.contains("kHashSearch") {
                let index = "block_based_table_factory={index_type=kBinarySearch}";
                options.update(index).map_err(told("options"))?;
            }
            let snapshots = Vec::new();
            let mut world = Inherited { name, options, families, is_block_based, db: None, snapshots };
            world.open(chance)?;
            return Ok(world);
        }
    }

    /// Returns the options of the OPTIONS file, or drawn options.
    fn descriptors(&self, is_own: bool) -> Result<(Options, Vec<FamilyDescriptor>), String> {
        let env = &self.options.db.env;
        let file = Options::load_latest("/db", env, &ReadConfig::default());
        let file = if is_own { Some(file.map_err(told("OPTIONS file"))?) } else { None };
        let mut options = self.options.clone();
        let of_file = |name: &str| -> Option<FamilyOptions> {
            let families = &file.as_ref()?.families;
            families.iter().find(|(own, _)| own == name).map(|(_, options)| options.clone())
        };
        let mut descriptors = Vec::new();
        for family in &self.families {
            let mut own = Options { family: self.options.family.clone(), ..Options::default() };
            own.family = of_file(&family.name).unwrap_or(own.family);
            own.update(&family.text).map_err(told("options of a column family"))?;
            // FIFO compaction drops the oldest rows above this size, and the model keeps them.
            own.update("compaction_options_fifo={max_table_files_size=1000000000}")
                .map_err(told("options of FIFO compaction"))?;
            descriptors.push(FamilyDescriptor::new(&family.name, own.family));
        }
        if let Some(file) = file {
            options.db = file.db;
            options.db.env = env.clone();
            options.db.wal_dir.clear();
        }
        Ok((options, descriptors))
    }

    fn open(&mut self, chance: &mut Chance) -> Result<(), String> {
        let has_file = Options::load_latest("/db", &self.options.db.env, &ReadConfig::default()).is_ok();
        // Tables of other formats are read with their own options: a plain table without its prefix cannot be scanned.
        let is_own = has_file && (chance.percent(50) || !self.is_block_based);
        let (options, families) = self.descriptors(is_own)?;
        let opened = Db::open_with_families("/db", options, families);
        self.db = Some(opened.map_err(|e| format!("open of {}, own options {is_own}: {e}", self.name))?);
        self.compare()
    }

    /// Closes the database. May repair it. Opens it again.
    fn reopen(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.snapshots.clear();
        super::close(&mut self.db)?;
        let (options, families) = self.descriptors(false)?;
        let report = ironstone::fsck("/db", options.clone(), families.clone()).map_err(told("fsck"))?;
        same(&format!("problems of {}: {:?}", self.name, report.problems), &report.is_sound(), &true)?;
        if chance.percent(40) && self.is_block_based {
            let report = ironstone::repair("/db", options, families);
            report.map_err(|error| format!("repair of {}: {error}", self.name))?;
        }
        self.open(chance)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn family(&self, at: usize) -> Result<Family, String> {
        self.db().family(&self.families[at].name).map_err(told("family"))
    }

    /// Draws a key of the database, a key beside it, or a new key.
    fn key(&self, at: usize, chance: &mut Chance) -> Vec<u8> {
        let rows = &self.families[at].rows;
        let known = rows.keys().nth(chance.below(rows.len().max(1) as u64) as usize).cloned();
        match (known, chance.below(10)) {
            (Some(key), 0..6) => key,
            // A plain table has keys of one length, and no key is empty.
            (Some(mut key), 6..9) => {
                if let Some(last) = key.last_mut() {
                    *last = last.wrapping_add(1);
                }
                key
            }
            _ if self.is_block_based => super::key(chance),
            (known, _) => known.unwrap_or_else(|| b"key".to_vec()),
        }
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let mut batch = WriteBatch::new();
        for _ in 0..1 + chance.below(8) {
            let at = chance.below(self.families.len() as u64) as usize;
            let (id, key, value) = (self.family(at)?.id(), self.key(at, chance), value(chance));
            let is_reverse = self.families[at].text.contains("Reverse");
            let other = self.key(at, chance);
            let rows = &mut self.families[at].rows;
            match chance.below(10) {
                0..6 => {
                    batch.put_in(id, &key, &value);
                    rows.insert(key, value);
                }
                6 if self.is_block_based && !is_reverse && key < other => {
                    batch.delete_range_in(id, &key, &other);
                    rows.retain(|row, _| *row < key || *row >= other);
                }
                _ => {
                    batch.delete_in(id, &key);
                    rows.remove(&key);
                }
            }
        }
        self.db().write(batch).map_err(told("write"))
    }

    fn read(&self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(self.families.len() as u64) as usize;
        let (family, rows) = (self.family(at)?, &self.families[at].rows);
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let keys: Vec<Vec<u8>> = (0..8).map(|_| self.key(at, chance)).collect();
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (key, found) in keys.iter().zip(family.multi_get_with(&wanted, &options)) {
            let found = found.map_err(told("multi_get"))?;
            same("multi_get", &found.as_deref(), &rows.get(key).map(Vec::as_slice))?;
            let found = family.get(key).map_err(told("get"))?;
            same("get", &found.as_deref(), &rows.get(key).map(Vec::as_slice))?;
        }
        if !self.is_block_based {
            return Ok(());
        }
        let mut iter = family.iter_with(options).map_err(told("iter"))?;
        for key in &keys {
            let expected: Option<&Vec<u8>> =
                match (self.families[at].text.contains("Reverse"), chance.percent(50)) {
                    (is_reverse, is_after) if is_reverse != is_after => {
                        if is_after {
                            iter.seek(key)
                        } else {
                            iter.seek_for_prev(key)
                        }
                        rows.range(key.clone()..).next().map(|(key, _)| key)
                    }
                    (_, is_after) => {
                        if is_after {
                            iter.seek(key)
                        } else {
                            iter.seek_for_prev(key)
                        }
                        rows.range(..=key.clone()).next_back().map(|(key, _)| key)
                    }
                };
            iter.status().map_err(told("seek"))?;
            same("seek", &iter.valid().then(|| iter.key()), &expected.map(Vec::as_slice))?;
        }
        Ok(())
    }

    fn compact(&self, chance: &mut Chance) -> Result<(), String> {
        let family = self.family(chance.below(self.families.len() as u64) as usize)?;
        let options = CompactRangeOptions {
            bottommost_level_compaction: *chance
                .pick(&[BottommostLevelCompaction::Force, BottommostLevelCompaction::IfHaveCompactionFilter]),
            ..CompactRangeOptions::default()
        };
        family.compact_range(None, None, &options).map_err(told("compact"))
    }

    fn rows(&self) -> Vec<Rows> {
        self.families.iter().map(|family| family.rows.clone()).collect()
    }
}

impl World for Inherited {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..35 => self.write(chance),
            35..80 => self.read(chance),
            80..85 => {
                let family = self.family(chance.below(self.families.len() as u64) as usize)?;
                let options = FlushOptions { allow_write_stall: true, ..FlushOptions::default() };
                family.flush_with(&options).map_err(told("flush"))
            }
            85..90 => self.compact(chance),
            90..92 => self.reopen(chance),
            92..94 => {
                let rows = self.rows();
                self.snapshots.truncate(1);
                self.snapshots.push((self.db().snapshot(), rows));
                Ok(())
            }
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
        .map_err(|words| format!("{} of RocksDB: {words}", self.name))
    }

    fn compare(&mut self) -> Result<(), String> {
        for (at, described) in self.families.iter().enumerate() {
            let found = scan(&self.family(at)?)?;
            if found != described.rows {
                let more: Vec<_> = found.iter().filter(|row| !described.rows.contains_key(row.0)).collect();
                let fewer: Vec<_> =
                    described.rows.iter().filter(|(key, _)| !found.contains_key(*key)).collect();
                return Err(format!(
                    "rows of {} of {}: {more:02x?} and not {fewer:02x?}",
                    described.name, self.name
                ));
            }
            for (snapshot, rows) in &self.snapshots {
                for (key, value) in rows[at].iter().take(20) {
                    let found = self.family(at)?.get_with(key, &snapshot.options()).map_err(told("get"))?;
                    same("a row of a snapshot", &found.as_deref(), &Some(value.as_slice()))?;
                }
            }
        }
        self.db().verify_checksum().map_err(told("verify_checksum"))
    }
}
