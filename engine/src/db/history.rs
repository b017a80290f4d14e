//! The history of the statistics. Every `stats_persist_period_sec` seconds, the engine stores how much each ticker
//! rose since the last sample. The samples are in memory, or with `persist_stats_to_disk` in a column family of their
//! own.
//!
//! ```text
//!  ___rocksdb_stats_history___     1700000600#rocksdb.bytes.read = 1234        seconds, ticker, difference
//!                                  __persistent_stats_format_version__ = 1
//!                                  __persistent_stats_compatible_version__ = 1
//! ```
//! If the database has no `statistics`, there is no history. Facts: RocksDB `DBImpl::PersistStats`,
//! `monitoring/persistent_stats_history.cc`, `DBImpl::InitPersistStatsColumnFamily`.

use std::collections::BTreeMap;

use base::{Error, Result};

use super::{Db, Inner};
use crate::batch::WriteBatch;
use crate::family::{Family, FamilySet};
use crate::opening::{STATS_FAMILY as NAME, stats_descriptor as descriptor};
use crate::options::{ReadOptions, WriteOptions};
use crate::output::JobTools;
use crate::sync::{Arc, Mutex, Weak};
use crate::write::Writer;

const FORMAT_VERSION_KEY: &[u8] = b"__persistent_stats_format_version__";
const COMPATIBLE_VERSION_KEY: &[u8] = b"__persistent_stats_compatible_version__";
/// The format version of the samples, and the oldest format version whose readers can read the samples. Both are 1.
const VERSION: u64 = 1;

/// One sample: ticker name, and how much the ticker rose since the sample before.
pub type Slice = BTreeMap<String, u64>;

/// The samples in memory, and the base of the next sample.
#[derive(Default)]
pub(super) struct History {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The tickers at the last sample. `None` before the first sample.
    last: Option<BTreeMap<&'static str, u64>>,
    /// Second of the sample (Unix time) to sample. Used without `persist_stats_to_disk`.
    slices: BTreeMap<u64, Slice>,
}

/// Starts the history of the statistics, if the options ask for a history.
///
/// # Errors
/// Errors of the creation of the column family.
pub(super) fn keep_history(db: &Db) -> Result<()> {
    let Some(writing) = &db.inner.writing else { return Ok(()) };
    if db.inner.tools.options.load().persist_stats_to_disk {
        prepare_stats_family(db)?;
    }
    if db.inner.tools.stats.statistics().is_some() {
        let inner = &db.inner;
        let (tools, families, history) = (inner.tools.clone(), inner.families.clone(), inner.history.clone());
        let keeper = Keeper { tools, families, history, writer: Arc::downgrade(&writing.writer) };
        writing.upkeep.persist_with(Box::new(move || keeper.persist_stats()));
    }
    Ok(())
}

/// Creates the column family of the statistics. If the column family exists with an unknown format version, drops
/// and creates it again.
fn prepare_stats_family(db: &Db) -> Result<()> {
    if let Some(family) = db.family(NAME) {
        if knows_version(db, &family) {
            return Ok(());
        }
        db.inner
            .tools
            .events
            .warn(format_args!("Recreating persistent stats column family: its version is not known"));
        db.admin().drop_family(&family)?;
    }
    let family = db.admin().create_family(descriptor())?;
    let version = VERSION.to_string();
    let mut batch = WriteBatch::new();
    batch.put_in(family.id(), FORMAT_VERSION_KEY, version.as_bytes());
    batch.put_in(family.id(), COMPATIBLE_VERSION_KEY, version.as_bytes());
    db.write(&mut batch, &low_priority())
}

fn knows_version(db: &Db, family: &Family) -> bool {
    let number = |key: &[u8]| {
        let value = db.get(family, key, &ReadOptions::default()).ok()??;
        std::str::from_utf8(&value).ok()?.parse::<u64>().ok()
    };
    let (format, compatible) = (number(FORMAT_VERSION_KEY), number(COMPATIBLE_VERSION_KEY));
    matches!((format, compatible), (Some(format), Some(compatible)) if format <= VERSION || compatible <= VERSION)
}

/// Returns the first sample on disk from second `start` on.
fn slice_on_disk(db: &Db, start: u64, end: u64) -> Result<Option<(u64, Slice)>> {
    let Some(family) = db.family(NAME) else { return Ok(None) };
    let mut iter = db.iter(&family, ReadOptions::default())?;
    iter.seek(format!("{start:010}").as_bytes());
    let mut found: Option<(u64, Slice)> = None;
    while iter.valid() {
        let Some((second, name)) = parse_key(iter.key()) else { break };
        let (of, slice) = found.get_or_insert_with(|| (second, Slice::new()));
        if *of != second {
            break;
        }
        let rise = std::str::from_utf8(iter.value()).ok().and_then(|text| text.parse().ok());
        slice.insert(name.to_string(), rise.unwrap_or(0));
        iter.next();
    }
    iter.status()?;
    Ok(found.filter(|(second, _)| *second <= end))
}

/// The objects that store a sample. The database handle is not among them: if a background job dropped the last
/// handle, the close would wait for this job.
struct Keeper {
    tools: Arc<JobTools>,
    families: Arc<FamilySet>,
    history: Arc<History>,
    writer: Weak<Writer>,
}

impl Keeper {
    /// Stores one sample.
    fn persist_stats(&self) {
        let tools = &self.tools;
        let Some(statistics) = tools.stats.statistics() else { return };
        let (options, events) = (tools.options.load(), &tools.events);
        let second = tools.env.clock.now_seconds();
        events.info(format_args!("------- PERSISTING STATS -------"));
        let mut state = self.history.state.lock();
        let now: BTreeMap<_, _> = statistics.tickers().collect();
        let count = now.len();
        let Some(last) = &state.last else {
            state.last = Some(now);
            return;
        };
        let rise =
            |(name, n): (&&'static str, &u64)| Some((name.to_string(), n.wrapping_sub(*last.get(name)?)));
        let slice: Slice = now.iter().filter_map(rise).collect();
        if !options.persist_stats_to_disk {
            events.info(format_args!(
                "Storing {count} stats with timestamp {second} to in-memory stats history"
            ));
            state.last = Some(now);
            state.slices.insert(second, slice);
            state.trim(options.stats_history_buffer_size);
            return;
        }
        drop(state);
        match self.write_slice(second, slice) {
            Ok(()) => {
                // Only a written sample changes `last`. After a failed write, the next sample also has the numbers of the lost sample.
                self.history.state.lock().last = Some(now);
                events.info(format_args!(
                    "Writing {count} stats with timestamp {second} to persistent stats CF succeeded"
                ));
            }
            Err(error) => events.info(format_args!("Writing to persistent stats CF failed -- {error}")),
        }
    }

    fn write_slice(&self, second: u64, slice: Slice) -> Result<()> {
        let family = self.families.by_name(NAME).ok_or_else(|| Error::column_family_dropped(NAME))?;
        let writer =
            self.writer.upgrade().ok_or_else(|| Error::shutdown_in_progress("the database is closed"))?;
        let mut batch = WriteBatch::new();
        for (name, rise) in slice {
            let key = format!("{second:010}#{name}");
            batch.put_in(family.id(), key.as_bytes(), rise.to_string().as_bytes());
        }
        writer.write(&mut batch, &low_priority(), None)
    }
}

impl Inner {
    /// Returns the first sample in memory from second `start` on.
    fn slice_in_memory(&self, start: u64, end: u64) -> Option<(u64, Slice)> {
        let state = self.history.state.lock();
        let (second, slice) = state.slices.range(start..).next()?;
        (*second < end).then(|| (*second, slice.clone()))
    }
}

impl State {
    /// Removes the oldest samples until the rest takes at most `most` bytes. Counts the bytes as RocksDB does.
    fn trim(&mut self, most: usize) {
        while let Some((_, oldest)) = self.slices.first_key_value() {
            /// Sizes in C++: a map, a string, and the characters that a string holds without a heap allocation.
            const MAP: usize = 48;
            const STRING: usize = 32;
            const SHORT: usize = 15;
            let each: usize =
                oldest.keys().map(|name| name.len().max(SHORT) + STRING + size_of::<u64>()).sum();
            if MAP + (size_of::<u64>() + MAP + each) * self.slices.len() <= most {
                return;
            }
            self.slices.pop_first();
        }
    }
}

/// The iterator of [`super::Properties::stats_history`].
pub struct StatsHistory {
    pub(super) db: Db,
    pub(super) next: Option<u64>,
    pub(super) end: u64,
}

impl Iterator for StatsHistory {
    type Item = Result<(u64, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next.take()?;
        let on_disk = self.db.inner.tools.options.load().persist_stats_to_disk;
        let found = match on_disk {
            true => slice_on_disk(&self.db, start, self.end).transpose()?,
            false => Ok(self.db.inner.slice_in_memory(start, self.end)?),
        };
        if let Ok((second, _)) = &found {
            self.next = second.checked_add(1);
        }
        Some(found)
    }
}

/// Options of writes that never delay writes of the user.
fn low_priority() -> WriteOptions {
    WriteOptions { low_pri: true, no_slowdown: true, ..WriteOptions::default() }
}

/// Returns second and ticker of a key. Returns `None` for the two version keys, which sort after all samples.
fn parse_key(key: &[u8]) -> Option<(u64, &str)> {
    let (second, name) = std::str::from_utf8(key).ok()?.split_once('#')?;
    Some((second.parse().ok()?, name))
}
