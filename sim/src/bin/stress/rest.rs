//! Rest points. At a rest point the database has a fixed state, so the resources of the process can be
//! compared.
//!
//! ```text
//!  epochs with drawn options ··· │ fixed options: every key put, all tables one, nothing waiting │ close ─► measured
//! ```
//! The disk use after an epoch depends on the drawn options, the live keys and the unfinished work. The
//! allocated and resident memory depend on the last operation. These effects exceed two percent, and they
//! are not growth. At a rest point every key exists with a value of one length, and no flush, compaction or
//! deletion is due. Then the program opens and closes the database once more, so that MANIFEST and info log
//! hold only this open. If a rest point shows more resources than an earlier rest point, the epochs between
//! them left the difference.
//!
//! Two kinds of files stay longer than a run by design: archived WALs (`WAL_ttl_seconds`), and files in `lost/`,
//! which stay for a day. The rest point deletes these files and reports their size.

use std::path::Path;

use env::Env;
use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, Db, Family, WaitForCompactOptions, WriteBatch,
    WriteOptions,
};
use ironstone_sim::stamp::Stamp;

use crate::expected::{Expected, FAMILIES, KEYS, name, value};
use crate::store::Store;
use crate::worker::{scan, verify};
use crate::{Settings, gauge};

/// The number of epochs between two rest points.
pub const EVERY: u64 = 4;

/// The options of a rest point: the defaults, the options that the life of the database fixes, one info
/// log, and no periodic work.
const OPTIONS: &str = "create_if_missing=true;create_missing_column_families=true;num_levels=7;merge_operator=stringappend;\
     comparator=leveldb.BytewiseComparator;keep_log_file_num=1;stats_dump_period_sec=0;stats_persist_period_sec=0;\
     compression=kNoCompression;";

/// The result of a rest point.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    pub rows: u64,
    /// The size of the archived WALs and of the files in `lost/` since the last rest point, in KiB.
    pub aside_kb: u64,
}

/// Brings the database to rest and closes it.
///
/// # Errors
/// A wrong answer, or an error: no call fails at a rest point.
pub fn rest(settings: &Settings, dir: &Path, expected: &Path) -> Result<Rest, String> {
    let kind = settings.kind.unwrap_or_default();
    let open = || Store::open(kind, dir, OPTIONS, Env::posix(), settings.seed).map_err(told("refused"));
    let mut slots = (0..settings.threads)
        .map(|thread| Expected::load(expected, thread).map_err(|e| e.to_string()))
        .collect::<Result<Vec<_>, _>>()?;
    let (db, families) = open()?;
    for (thread, slots) in slots.iter_mut().enumerate() {
        verify(&families, thread, slots).map_err(|e| format!("before a rest: {e}"))?;
        fill(&db, &families, thread, slots).map_err(told("filling"))?;
    }
    settle(&db, &families).map_err(told("settling"))?;
    db.close().map_err(told("closing"))?;
    drop((db, families));
    let aside_kb = take_away(dir).map_err(|e| format!("at rest: {e}"))?;
    let (db, families) = open()?;
    let mut rows = 0;
    for (thread, slots) in slots.iter_mut().enumerate() {
        verify(&families, thread, slots).map_err(|e| format!("at rest: {e}"))?;
        for family in families.iter().take(FAMILIES) {
            rows += scan(family, thread, false).map_err(told("counting"))?.len() as u64;
        }
    }
    db.close().map_err(told("closing"))?;
    Ok(Rest { rows, aside_kb })
}

fn told(what: &'static str) -> impl Fn(ironstone::Error) -> String {
    move |error| format!("at rest: {what}: {error}")
}

/// Deletes the files that stay by design, and returns their size in KiB.
fn take_away(dir: &Path) -> std::io::Result<u64> {
    let mut kb = 0;
    for name in ["archive", "lost"] {
        let aside = dir.join(name);
        if aside.is_dir() {
            kb += gauge::size(&aside) / 1024;
            std::fs::remove_dir_all(aside)?;
        }
    }
    Ok(kb)
}

/// Puts every key of a thread with a value of the fixed length.
fn fill(db: &Db, families: &[Family], thread: usize, slots: &mut Expected) -> ironstone::Result<()> {
    for (family, handle) in families.iter().enumerate().take(FAMILIES) {
        for key in 0..KEYS {
            let generation = slots.begin_full(family, key);
            let mut batch = WriteBatch::new();
            if let Some(value) = value(thread, family, key, generation) {
                Stamp::next(db).put(&mut batch, handle, name(thread, key).as_bytes(), &value);
            }
            db.write_with(batch, &WriteOptions::default())?;
            slots.settle(family, key);
        }
    }
    Ok(())
}

/// Compacts all entries of a column family into its last level, and deletes the obsolete files.
fn settle(db: &Db, families: &[Family]) -> ironstone::Result<()> {
    let whole = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    for family in families {
        family.flush()?;
        family.compact_range(None, None, &whole)?;
    }
    db.wait_for_compact_with(&WaitForCompactOptions {
        flush: true,
        wait_for_purge: true,
        ..WaitForCompactOptions::default()
    })
}
