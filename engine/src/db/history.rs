//! The history of the statistics: how much each ticker rose from one moment to the next, every
//! `stats_persist_period_sec`; in memory, or with `persist_stats_to_disk` in a column family of its own.
//!
//! ```text
//!  ___rocksdb_stats_history___     1700000600#rocksdb.bytes.read = 1234        seconds, ticker, difference
//!                                  __persistent_stats_format_version__ = 1
//!                                  __persistent_stats_compatible_version__ = 1
//! ```
//! Without statistics there is no history. Facts: RocksDB `DBImpl::PersistStats`,
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
/// The version of the format that is written here, and the oldest version that can read the format.
const VERSION: u64 = 1;

/// By ticker's name: how much it rose.
pub type Slice = BTreeMap<String, u64>;

/// What is kept in memory.
#[derive(Default)]
pub(super) struct History {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The counts at the last moment.
    last: Option<BTreeMap<&'static str, u64>>,
    /// By second.
    slices: BTreeMap<u64, Slice>,
}

impl Db {
    /// The history of the statistics from second `start` on, as long as it lies before second `end` (on disk: not
    /// after it), oldest first: the second, and how much each ticker had risen since the moment before. Empty
    /// without `DbOptions::statistics`. Slices that are let go of meanwhile are not met.
    pub fn stats_history(&self, start: u64, end: u64) -> StatsHistory {
        StatsHistory { db: self.clone(), next: Some(start), end }
    }

    /// Begins to keep the history, if the options ask for one.
    ///
    /// # Errors
    /// Those of making the column family.
    pub(super) fn keep_history(&self) -> Result<()> {
        let Some(writing) = &self.inner.writing else { return Ok(()) };
        if self.inner.tools.options.load().persist_stats_to_disk {
            self.prepare_stats_family()?;
        }
        if self.inner.tools.stats.statistics().is_some() {
            let inner = &self.inner;
            let (tools, families, history) =
                (inner.tools.clone(), inner.families.clone(), inner.history.clone());
            let keeper = Keeper { tools, families, history, writer: Arc::downgrade(&writing.writer) };
            writing.upkeep.persist_with(Box::new(move || keeper.persist_stats()));
        }
        Ok(())
    }

    /// The family is there and of a version that is known; one of another is dropped and made anew.
    fn prepare_stats_family(&self) -> Result<()> {
        if let Some(family) = self.family(NAME) {
            if self.knows_version(&family) {
                return Ok(());
            }
            self.inner
                .tools
                .events
                .warn(format_args!("Recreating persistent stats column family: its version is not known"));
            self.drop_family(&family)?;
        }
        let family = self.create_family(descriptor())?;
        let version = VERSION.to_string();
        let mut batch = WriteBatch::new();
        batch.put_in(family.id(), FORMAT_VERSION_KEY, version.as_bytes());
        batch.put_in(family.id(), COMPATIBLE_VERSION_KEY, version.as_bytes());
        self.write(&mut batch, &giving_way())
    }

    fn knows_version(&self, family: &Family) -> bool {
        let number = |key: &[u8]| {
            let value = self.get(family, key, &ReadOptions::default()).ok()??;
            std::str::from_utf8(&value).ok()?.parse::<u64>().ok()
        };
        let (format, compatible) = (number(FORMAT_VERSION_KEY), number(COMPATIBLE_VERSION_KEY));
        matches!((format, compatible), (Some(format), Some(compatible)) if format <= VERSION || compatible <= VERSION)
    }

    /// The first slice on disk from second `start` on.
    fn slice_on_disk(&self, start: u64, end: u64) -> Result<Option<(u64, Slice)>> {
        let Some(family) = self.family(NAME) else { return Ok(None) };
        let mut iter = self.iter(&family, ReadOptions::default())?;
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
}

/// The objects that keeping the history needs. The database is not one of them: a job that drops the last
/// handle would wait for itself.
struct Keeper {
    tools: Arc<JobTools>,
    families: Arc<FamilySet>,
    history: Arc<History>,
    writer: Weak<Writer>,
}

impl Keeper {
    /// Keeps this moment.
    fn persist_stats(&self) {
        let tools = &self.tools;
        let Some(statistics) = tools.stats.statistics() else { return };
        let (options, events) = (tools.options.load(), &tools.events);
        let second = tools.env.clock.now_seconds();
        events.info(format_args!("------- PERSISTING STATS -------"));
        let mut state = self.history.state.lock();
        let now: BTreeMap<_, _> = statistics.tickers().collect();
        let count = now.len();
        let Some(last) = state.last.replace(now.clone()) else { return };
        let slice =
            now.iter().filter_map(|(name, n)| Some((name.to_string(), n.wrapping_sub(*last.get(name)?))));
        if !options.persist_stats_to_disk {
            events.info(format_args!(
                "Storing {count} stats with timestamp {second} to in-memory stats history"
            ));
            state.slices.insert(second, slice.collect());
            state.trim(options.stats_history_buffer_size);
            return;
        }
        drop(state);
        match self.write_slice(second, slice) {
            Ok(()) => events.info(format_args!(
                "Writing {count} stats with timestamp {second} to persistent stats CF succeeded"
            )),
            Err(error) => events.info(format_args!("Writing to persistent stats CF failed -- {error}")),
        }
    }

    fn write_slice(&self, second: u64, slice: impl Iterator<Item = (String, u64)>) -> Result<()> {
        let family = self.families.by_name(NAME).ok_or_else(|| Error::column_family_dropped(NAME))?;
        let writer =
            self.writer.upgrade().ok_or_else(|| Error::shutdown_in_progress("the database is closed"))?;
        let mut batch = WriteBatch::new();
        for (name, rise) in slice {
            let key = format!("{second:010}#{name}");
            batch.put_in(family.id(), key.as_bytes(), rise.to_string().as_bytes());
        }
        writer.write(&mut batch, &giving_way(), None)
    }
}

impl Inner {
    /// The first slice in memory from second `start` on.
    fn slice_in_memory(&self, start: u64, end: u64) -> Option<(u64, Slice)> {
        let state = self.history.state.lock();
        let (second, slice) = state.slices.range(start..).next()?;
        (*second < end).then(|| (*second, slice.clone()))
    }
}

impl State {
    /// Lets the oldest go until the rest takes `most` bytes, counted as RocksDB counts them.
    fn trim(&mut self, most: usize) {
        while let Some((_, oldest)) = self.slices.first_key_value() {
            /// A C++ map's own size, a string's, and what a string holds without memory of its own.
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

/// See [`Db::stats_history`].
pub struct StatsHistory {
    db: Db,
    next: Option<u64>,
    end: u64,
}

impl Iterator for StatsHistory {
    type Item = Result<(u64, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next.take()?;
        let on_disk = self.db.inner.tools.options.load().persist_stats_to_disk;
        let found = match on_disk {
            true => self.db.slice_on_disk(start, self.end).transpose()?,
            false => Ok(self.db.inner.slice_in_memory(start, self.end)?),
        };
        if let Ok((second, _)) = &found {
            self.next = second.checked_add(1);
        }
        Some(found)
    }
}

/// Writes that give way to all others.
fn giving_way() -> WriteOptions {
    WriteOptions { low_pri: true, no_slowdown: true, ..WriteOptions::default() }
}

/// Second and ticker; `None` for keys of another form: the versions, which stand behind all others.
fn parse_key(key: &[u8]) -> Option<(u64, &str)> {
    let (second, name) = std::str::from_utf8(key).ok()?.split_once('#')?;
    Some((second.parse().ok()?, name))
}
