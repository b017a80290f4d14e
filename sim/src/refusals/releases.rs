//! Databases of old releases of RocksDB (`fixtures/releases`): opened with their own OPTIONS, changed, compacted, and
//! opened again. Every answer equals the model's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::components::{Components, FamilyDescriptor};
use engine::db::{Db, OpenRequest};
use engine::family::Family;
use engine::options::file::{self, ReadConfig};
use engine::options::{BottommostLevelCompaction, CompactRangeOptions, FlushOptions, WriteOptions};
use env::Env;
use testkit::chance::Chance;
use testkit::hex::try_decode;

use super::{rows, words};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/releases")
}

/// The rows of each column family, which are equal for all releases.
fn expected() -> Result<BTreeMap<String, Rows>, String> {
    let env = Env::posix();
    let text = env.fs.read_all(&fixtures().join("rows.txt"), 1 << 20).map_err(words("rows.txt"))?;
    let mut all: BTreeMap<String, Rows> = BTreeMap::new();
    for line in String::from_utf8_lossy(&text).lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, family, key, value] = fields[..] else { return Err(format!("rows.txt has {line}")) };
        let (key, value) = (try_decode(key), try_decode(value));
        let (Some(key), Some(value)) = (key, value) else { return Err(format!("rows.txt has {line}")) };
        all.entry(family.to_string()).or_default().insert(key, value);
    }
    Ok(all)
}

/// Copies a database of a drawn release into memory.
fn copy(env: &Env, chance: &mut Chance) -> Result<String, String> {
    let real = Env::posix();
    let list = |dir: &Path| real.fs.list(dir).map_err(words("list"));
    let mut releases = list(&fixtures())?;
    releases.retain(|name| real.fs.is_dir(&fixtures().join(name)).unwrap_or(false));
    releases.sort();
    let name = chance.pick(&releases).clone();
    env.fs.create_dir_all(Path::new("/db")).map_err(words("create_dir"))?;
    for file in list(&fixtures().join(&name))? {
        let content = real.fs.read_all(&fixtures().join(&name).join(&file), 1 << 24).map_err(words(&file))?;
        env.fs.write_all(&Path::new("/db").join(&file), &content, true).map_err(words(&file))?;
    }
    Ok(name)
}

fn open(env: &Env) -> Result<Db, String> {
    let dir = Path::new("/db");
    let (_, mut options) = file::load_latest(env, dir, &ReadConfig::default()).map_err(words("OPTIONS"))?;
    // Old releases write the path of the database as the directory of the WALs.
    options.db.wal_dir.clear();
    options.db.env = env.clone();
    let families =
        options.families.into_iter().map(|(name, own)| FamilyDescriptor::new(&name, own)).collect();
    let (path, components) = (dir.to_path_buf(), Components::default());
    Db::open(OpenRequest { path, options: options.db, components, families, others: None })
        .map_err(words("open"))
}

pub(super) fn run(seed: u64, chance: &mut Chance, len: usize) -> Result<u64, String> {
    let env = Env::memory(seed);
    let release = copy(&env, chance)?;
    drive(&env, chance, len).map_err(|words| format!("database of {release}: {words}"))?;
    Ok(len as u64)
}

fn drive(env: &Env, chance: &mut Chance, len: usize) -> Result<(), String> {
    let mut kept = expected()?;
    let mut db = open(env)?;
    compare(&db, &kept)?;
    for n in 0..len {
        let families = db.families();
        let family = chance.pick(&families).clone();
        match chance.below(40) {
            0 => {
                db.close().map_err(words("close"))?;
                db = open(env)?;
            }
            1 => compare(&db, &kept)?,
            2 | 3 => db.flush(&[family], &FlushOptions::default()).map_err(words("flush"))?,
            4 | 5 => {
                let forced = CompactRangeOptions {
                    bottommost_level_compaction: BottommostLevelCompaction::Force,
                    ..CompactRangeOptions::default()
                };
                db.compactions()
                    .compact_range(&family, None, None, &forced)
                    .map_err(words("compact_range"))?;
            }
            _ => {
                let rows = kept.get_mut(family.name()).ok_or("rows.txt lacks a column family")?;
                write(&db, &family, rows, chance, n)?;
            }
        }
    }
    compare(&db, &kept)?;
    db.close().map_err(words("close"))
}

/// A key of the fixture or a new one.
fn key(chance: &mut Chance) -> Vec<u8> {
    let first = b'a' + chance.below(8) as u8;
    vec![first; 1 + chance.below(3) as usize]
}

fn write(
    db: &Db,
    family: &Arc<Family>,
    rows: &mut Rows,
    chance: &mut Chance,
    n: usize,
) -> Result<(), String> {
    let plain = WriteOptions::default();
    let key_a = key(chance);
    match chance.below(10) {
        0 | 1 => {
            db.delete(family, &key_a, &plain).map_err(words("delete"))?;
            rows.remove(&key_a);
        }
        2 => {
            let key_b = key(chance);
            let (begin, end) = if key_a < key_b { (key_a, key_b) } else { (key_b, key_a) };
            db.delete_range(family, &begin, &end, &plain).map_err(words("delete_range"))?;
            rows.retain(|key, _| *key < begin || *key >= end);
        }
        _ => {
            let value = format!("{n}").into_bytes();
            db.put(family, &key_a, &value, &plain).map_err(words("put"))?;
            rows.insert(key_a, value);
        }
    }
    Ok(())
}

fn compare(db: &Db, kept: &BTreeMap<String, Rows>) -> Result<(), String> {
    for family in db.families() {
        let found = rows(db, &family)?;
        if kept.get(family.name()) != Some(&found) {
            return Err(format!("family {} has {} wrong entries", family.name(), found.len()));
        }
    }
    Ok(())
}
