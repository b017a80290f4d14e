//! Options that decide what a database holds: ingestion behind the existing entries, compaction filters, WAL filters, column families
//! without memtables, and options that an open refuses.
//!
//! ```text
//!  behind      a key of the file that was never written gets the value of the file; no other key changes
//!  filter      a key with the prefix of the filter has its value, or is gone; after a compaction of all files it is gone
//!  WAL filter  an open skips the records of the filter, and replays all other records
//!  no memtable a column family takes only SST files
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use ironstone::{
    Batch, BottommostLevelCompaction, CompactRangeOptions, CompactionFilter, CompactionFilterFactory, Db,
    Decision, Family, FamilyDescriptor, FileNumber, FilterContext, FilterInput, IngestExternalFileOptions,
    Kind, Options, SstFileWriter, WalFilter, WalFilterDecision, WriteBatch,
};
use testkit::chance::Chance;

use super::{Setting, World, key, same, scan, told, value};

/// Keys that the compaction filter removes.
const FILTERED: &[u8] = b"filtered";

/// Keys whose WAL records the WAL filter skips.
const SKIPPED: &[u8] = b"skipped";

/// Removes the keys with the prefix [`FILTERED`].
#[derive(Debug)]
struct Removes;

impl CompactionFilter for Removes {
    fn name(&self) -> &str {
        "removes"
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        if input.user_key.starts_with(FILTERED) { Decision::Remove } else { Decision::Keep }
    }
}

impl CompactionFilterFactory for Removes {
    fn name(&self) -> &str {
        "removes"
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(Removes))
    }
}

/// Skips the records with a key that begins with [`SKIPPED`].
struct Skips;

impl WalFilter for Skips {
    fn name(&self) -> &str {
        "skips"
    }

    fn record(&self, _wal: FileNumber, _path: &Path, batch: &Batch<'_>) -> WalFilterDecision {
        let mut entries = batch.records().flatten();
        let skips = entries.any(|record| record.entry().is_some_and(|(_, key, _)| key.starts_with(SKIPPED)));
        if skips { WalFilterDecision::IgnoreCurrentRecord } else { WalFilterDecision::ContinueProcessing }
    }
}

/// A database with such options, and its model.
pub(super) struct Shaped {
    options: Options,
    /// True if level 0 is the only level. FIFO compaction then merges small files, and never all files.
    is_flat: bool,
    /// The options of the column family without memtables.
    closed: Options,
    db: Option<Db>,
    state: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The keys that were written or ingested at any time.
    touched: BTreeSet<Vec<u8>>,
    /// The rows of the column family without memtables.
    ingested: BTreeMap<Vec<u8>, Vec<u8>>,
    made: u64,
}

impl Shaped {
    /// Opens the database.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Shaped, String> {
        let mut options = setting.options.clone();
        let behind =
            ["allow_ingest_behind=true", "cf_allow_ingest_behind=true"][(seed / super::WORLDS % 2) as usize];
        // With `enable_blob_direct_write`, a close flushes the records that the WAL filter must skip.
        options
            .update(&format!(
                "{behind};enable_blob_direct_write=false;inplace_update_support=false;manual_wal_flush=false;\
                 avoid_flush_during_shutdown=true"
            ))
            .map_err(told("options"))?;
        let is_flat = seed / super::WORLDS % 4 < 2;
        if is_flat {
            options
                .update(
                    "compaction_style=kCompactionStyleFIFO;num_levels=1;max_open_files=-1;open_files_async=false;ttl=0;\
                     periodic_compaction_seconds=0;compaction_options_fifo={allow_compaction=true}",
                )
                .map_err(told("options"))?;
        }
        options.family.compaction_filter = None;
        options.family.compaction_filter_factory = Some(Arc::new(Removes));
        let mut closed = setting.options.clone();
        closed
            .update("disallow_memtable_writes=true;inplace_update_support=false")
            .map_err(told("options"))?;
        let (state, touched, ingested) = Default::default();
        let mut world = Shaped { options, is_flat, closed, db: None, state, touched, ingested, made: 0 };
        world.open(None)?;
        Ok(world)
    }

    fn open(&mut self, wal_filter: Option<Arc<dyn WalFilter>>) -> Result<(), String> {
        let options = Options { wal_filter, ..self.options.clone() };
        let families = vec![
            FamilyDescriptor::new("default", self.options.family.clone()),
            FamilyDescriptor::new("closed", self.closed.family.clone()),
        ];
        self.db = Some(Db::open_with_families("/db", options, families).map_err(told("open"))?);
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        super::close(&mut self.db)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn closed_family(&self) -> Result<Family, String> {
        self.db().family("closed").map_err(told("family"))
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let mut batch = WriteBatch::new();
        for _ in 0..1 + chance.below(4) {
            let mut key = key(chance);
            if chance.percent(20) {
                key.splice(0..0, FILTERED.iter().copied());
            }
            self.touched.insert(key.clone());
            if chance.percent(75) {
                let value = value(chance);
                batch.put(&key, &value);
                self.state.insert(key, value);
            } else {
                batch.delete(&key);
                self.state.remove(&key);
            }
        }
        self.db().write(batch).map_err(told("write"))
    }

    fn file(&mut self, rows: &BTreeMap<Vec<u8>, Vec<u8>>, options: &Options) -> Result<String, String> {
        self.made += 1;
        let path = format!("/external{}.sst", self.made);
        let mut writer =
            SstFileWriter::create(&path, &options.db, &options.family).map_err(told("an SST file"))?;
        for (key, value) in rows {
            writer.put(key, value).map_err(told("put in an SST file"))?;
        }
        writer.finish().map_err(told("finish of an SST file"))?;
        Ok(path)
    }

    /// Ingests a file behind all entries.
    fn ingest_behind(&mut self, chance: &mut Chance) -> Result<(), String> {
        let rows: BTreeMap<Vec<u8>, Vec<u8>> = (0..1 + chance.below(6))
            .map(|_| match chance.percent(50) {
                true => (format!("k{:05}", chance.below(100_000)).into_bytes(), value(chance)),
                false => (key(chance), value(chance)),
            })
            .collect();
        let path = self.file(&rows, &self.options.clone())?;
        let how = IngestExternalFileOptions { ingest_behind: true, ..IngestExternalFileOptions::default() };
        match self.db().ingest_external_files([&path], &how) {
            Ok(()) => {
                for (key, value) in rows {
                    if self.touched.insert(key.clone()) {
                        self.state.insert(key, value);
                    }
                }
                Ok(())
            }
            // The last level has a file in this range. Or a file in this range was ingested behind level 0 before.
            Err(error)
                if error.kind() == Kind::InvalidArgument && error.to_string().contains("doesn't fit") =>
            {
                Ok(())
            }
            Err(error) => Err(format!("ingestion behind: {error}")),
        }
    }

    /// Ingests a file into the column family without memtables, which rejects writes.
    fn ingest_closed(&mut self, chance: &mut Chance) -> Result<(), String> {
        let rows: BTreeMap<Vec<u8>, Vec<u8>> =
            (0..1 + chance.below(6)).map(|_| (key(chance), value(chance))).collect();
        let path = self.file(&rows, &self.closed.clone())?;
        let family = self.closed_family()?;
        let before = self.db().latest_sequence();
        let refused = family.put(b"key", b"value").map_err(|error| error.kind());
        same("write without memtables", &refused, &Err(Kind::InvalidArgument))?;
        same("sequence number after a refusal", &self.db().latest_sequence(), &before)?;
        family
            .ingest_external_files([&path], &IngestExternalFileOptions::default())
            .map_err(told("ingestion without memtables"))?;
        self.ingested.extend(rows);
        same("rows of the closed column family", &scan(&family)?, &self.ingested)
    }

    /// Compacts everything. The filter then has seen each value.
    fn compact(&mut self) -> Result<(), String> {
        let force = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        self.db().compact_range(None, None, &force).map_err(told("compact"))?;
        if self.is_flat {
            return self.compare();
        }
        self.state.retain(|key, _| !key.starts_with(FILTERED));
        same("rows after a compaction", &scan(self.db())?, &self.state)
    }

    /// Writes records that the next open skips.
    fn skip(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.db().flush().map_err(told("flush"))?;
        let newest = |db: &Db| db.live_files().iter().map(|file| file.number).max();
        let before = newest(self.db());
        for at in 0..1 + chance.below(4) {
            let name = [SKIPPED, format!("{at}").as_bytes()].concat();
            self.db().put(&name, b"not replayed").map_err(told("put"))?;
            self.write(chance)?;
        }
        let skips = chance.percent(70);
        // A record that was flushed is not replayed. A compaction can end meanwhile, so the number of files does not show a flush.
        let flushed = newest(self.db()) != before;
        self.close()?;
        self.open(skips.then(|| Arc::new(Skips) as Arc<dyn WalFilter>))?;
        let found = self.db().get(&[SKIPPED, b"0"].concat()).map_err(told("get"))?.is_some();
        if !flushed {
            same("a record that the WAL filter skips", &found, &!skips)?;
        }
        let rows = scan(self.db())?;
        for name in rows.keys().filter(|key| key.starts_with(SKIPPED)) {
            self.db().delete(name).map_err(told("delete"))?;
        }
        self.compare()
    }

    /// Opens with options that are not built.
    fn refuse(&self) -> Result<(), String> {
        let texts = [
            "block_based_table_factory={use_udi_as_primary_index=true}",
            "block_based_table_factory={user_defined_index_factory=trie}",
        ];
        for text in texts {
            let mut options = Options::in_memory();
            let opened = options.update(text).and_then(|()| Db::open("/refused", options.clone()).map(drop));
            match opened {
                Err(error) if matches!(error.kind(), Kind::NotSupported | Kind::InvalidArgument) => {}
                other => return Err(format!("an open with {text}: {other:?}")),
            }
            same(
                "a refused database",
                &options.db.env.fs.exists(Path::new("/refused/CURRENT")).ok(),
                &Some(false),
            )?;
        }
        Ok(())
    }
}

impl World for Shaped {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..60 => self.write(chance),
            60..70 => self.db().flush().map_err(told("flush")),
            70..78 => self.ingest_behind(chance),
            78..84 => self.ingest_closed(chance),
            84..88 => self.compact(),
            88..92 => self.skip(chance),
            92 => self.refuse(),
            93..95 => {
                self.close()?;
                self.open(None)
            }
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        let found = scan(self.db())?;
        // A compaction can have removed a filtered key. It stays away until the next write.
        let gone = |key: &Vec<u8>| key.starts_with(FILTERED) && !found.contains_key(key);
        self.state.retain(|key, _| !gone(key));
        same("rows", &found, &self.state)?;
        same("rows of the closed column family", &scan(&self.closed_family()?)?, &self.ingested)
    }
}
