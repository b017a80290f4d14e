//! Checks the state of a database directly after an open, independently of its history.
//!
//! All ways of reading must return the same rows. The levels must be in order. The directory must hold exactly the
//! files that the versions name.

use std::collections::BTreeSet;
use std::path::Path;

use base::Level;
use env::FileSystem;
use format::names::FileName;
use ironstone::{Db, ReadOptions};

use crate::look;
use crate::sample::Sample;
use crate::stamp;
use crate::state::State;

/// Returns every row of every column family, from a forward scan.
///
/// # Errors
/// The error of the iterator.
pub fn rows(db: &Db) -> Result<State, String> {
    let mut found = State::default();
    for family in db.families() {
        let model = found.families.entry(family.name().to_string()).or_default();
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        let options = stamp::reading(&family, u64::MAX, options);
        let mut iter = family.iter_with(options).map_err(|e| format!("iterator: {e}"))?;
        iter.seek_to_first();
        while iter.valid() {
            model.put(iter.key(), iter.value());
            iter.next();
        }
        iter.status().map_err(|e| format!("scan: {e}"))?;
    }
    Ok(found)
}

/// Compares the reads of a database with `state`, which [`rows`] returned just before. The reads are get, multi-get,
/// reverse, bounded and prefix iteration, now and through a snapshot.
///
/// # Errors
/// The first answer that differs.
pub fn reads(db: &Db, state: &State, sample: &Sample, seed: u64) -> Result<(), String> {
    look::all_but_forward(db, state, sample.reverse)?;
    let snapshot = db.snapshot();
    look::all(db, state, sample.reverse, Some(&snapshot)).map_err(|e| format!("snapshot: {e}"))?;
    for kind in 0..look::DIFFERENT {
        let held = (seed >> kind) & 1 == 1;
        look::one(db, state, sample, held.then_some(&snapshot), seed.rotate_left(kind as u32), 40, kind)?;
    }
    Ok(())
}

/// Checks the levels below level 0: files are in key order and do not overlap. Checks that every file exists with its
/// full length.
///
/// # Errors
/// The first file that fails a check.
pub fn tree(db: &Db, fs: &dyn FileSystem, dir: &Path) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for family in db.engine().families() {
        let version = family.pin().version.clone();
        let order = family.order();
        let mut before: Option<(Level, Box<[u8]>, u64)> = None;
        for (level, file) in version.files() {
            let number = file.number.get();
            let told = |what: &str| Err(format!("{} {level} {number:06}: {what}", family.name()));
            if !seen.insert(number) {
                return told("named twice");
            }
            if order.compare(&file.smallest, &file.largest).is_gt() {
                return told("ends before it begins");
            }
            if let Some((of, largest, other)) = &before
                && level > Level::ZERO
                && *of == level
                && order.compare(largest, &file.smallest).is_ge()
            {
                return told(&format!("overlaps {other:06}"));
            }
            let path = dir.join(format::names::table(file.number));
            match fs.file_size(&path) {
                Ok(size) if size == file.size => {}
                Ok(size) => return told(&format!("{size} bytes long, not {}", file.size)),
                Err(error) => return told(&error.to_string()),
            }
            before = Some((level, file.largest.clone(), number));
        }
    }
    Ok(())
}

/// Returns the SST files of all column families: column family, level, number and length.
pub fn tables(db: &Db) -> BTreeSet<(String, Level, u64, u64)> {
    let of = |family: &std::sync::Arc<engine::family::Family>| {
        let version = family.pin().version.clone();
        version
            .files()
            .map(|(level, file)| (family.name().to_string(), level, file.number.get(), file.size))
            .collect::<Vec<_>>()
    };
    db.engine().families().iter().flat_map(of).collect()
}

/// The largest value of `recycle_log_file_num` in scenes and drawn options.
const RECYCLED_MAX: i32 = 3;

/// Checks that the directory has no orphan file after the obsolete files were deleted.
///
/// # Errors
/// The orphan files.
pub fn leftovers(db: &Db, fs: &dyn FileSystem, dir: &Path) -> Result<(), String> {
    let mut live = BTreeSet::new();
    for family in db.engine().families() {
        for version in family.live_versions() {
            live.extend(version.files().map(|(_, file)| file.number.get()));
        }
    }
    let mut names = fs.list(dir).map_err(|e| e.to_string())?;
    // Some scenes have their WALs in this directory.
    names.extend(fs.list(&dir.join("wal")).unwrap_or_default());
    // Obsolete WALs of this open are kept to be recycled.
    let oldest_log = db.int_property("rocksdb.min-log-number-to-keep").ok_or("no oldest log")?;
    let mut recycled = RECYCLED_MAX;
    let current = fs.read_all(&dir.join(format::names::CURRENT), 4096).map_err(|e| e.to_string())?;
    let current = String::from_utf8_lossy(&current).trim_end().to_string();
    let mut options = 0;
    let mut extra: Vec<&String> = names
        .iter()
        .filter(|name| match FileName::parse(name) {
            Some(FileName::Table(number)) => !live.contains(&number.get()),
            Some(FileName::Manifest(_)) => **name != current,
            Some(FileName::Wal(number)) if number.get() < oldest_log => {
                recycled -= 1;
                recycled < 0
            }
            Some(FileName::Temp(_) | FileName::OptionsTemp(_)) => true,
            Some(FileName::Options(_)) => {
                options += 1;
                options > 2
            }
            _ => false,
        })
        .collect();
    extra.sort();
    if extra.is_empty() { Ok(()) } else { Err(format!("nothing refers to {extra:?}")) }
}
