//! Calls that must fail, and databases that are open for reading only.
//!
//! ```text
//!  a call with a wrong argument   fails with the kind of error of its row in [`Wrong::ALL`]
//!  an open with wrong options     fails, and creates no database
//!  a database open for reading    has the rows, and rejects each change
//! ```
//! A rejected call changes no row, no sequence number and no column family.

mod files;

use std::path::{Path, PathBuf};

use ironstone::{
    Checkpoint, CompactRangeOptions, CompactionOptions, Db, Error, Family, FamilyDescriptor, FileNumber,
    FlushOptions, IngestExternalFileOptions, Kind, Level, Options, ReadOptions, ReadTier, SequenceNumber,
    SizeApproximationOptions, SstFileReader, TableFilter, WaitForCompactOptions, WriteBatch, WriteOptions,
};
use testkit::chance::Chance;

use super::indexed::rows_equal;
use super::overlay::{Key, State};
use super::{FAMILIES, Setting, World, same, told, value};

/// The directory of another database.
const OTHER: &str = "/other";

/// Option texts that every open rejects, one text for each open.
const OPTIONS: &[&str] = &[
    "memtable_protection_bytes_per_key=3",
    "block_protection_bytes_per_key=3",
    "block_based_table_factory={no_block_cache=true;cache_index_and_filter_blocks=true}",
    "block_based_table_factory={no_block_cache=true;pin_l0_filter_and_index_blocks_in_cache=true}",
    "compression=kSnappyCompression;block_based_table_factory={block_align=true;block_size=4096}",
    "block_based_table_factory={block_align=true;block_size=4097};compression=kNoCompression",
    "block_based_table_factory={format_version=99}",
    "block_based_table_factory={index_type=kHashSearch};prefix_extractor=nullptr",
    "block_based_table_factory={data_block_index_type=kDataBlockBinaryAndHash;data_block_hash_table_util_ratio=0}",
    "block_based_table_factory={cache_usage_options={options_overrides={{kBlobCache={charged=kEnabled}}}}}",
    "table_factory={id=PlainTable;hash_table_ratio=-1}",
    "table_factory={id=PlainTable;bloom_bits_per_key=-3}",
    "enable_pipelined_write=true;unordered_write=true",
    "enable_pipelined_write=true;atomic_flush=true",
    "unordered_write=true;allow_concurrent_memtable_write=false",
    "allow_concurrent_memtable_write=true;inplace_update_support=true",
    "use_direct_reads=true;allow_mmap_reads=true",
    "use_direct_io_for_flush_and_compaction=true;allow_mmap_writes=true",
    "keep_log_file_num=0",
    "num_levels=1;compaction_style=kCompactionStyleLevel;level_compaction_dynamic_level_bytes=true;ttl=99;max_open_files=x",
    "comparator=no.Such.Comparator",
    "merge_operator=no.such.operator",
    "prefix_extractor=no.such.extractor:3",
    "memtable_factory=no_such_memtable",
    "compaction_style=kNoSuchStyle",
    "compression=kNoSuchCompression",
    "no_such_option=1",
    "write_buffer_size=many",
    "max_background_jobs=100000",
    "daily_offpeak_time_utc=25:00-26:00",
    "block_based_table_factory={block_cache=lru_cache://}",
    "block_based_table_factory={filter_policy={bits_per_key=10}}",
    "block_based_table_factory={filter_policy={id=bloomfilter:10;bloom_before_level=2}}",
    "block_based_table_factory={filter_policy={id=ribbonfilter:10;no_such_field=2}}",
    "block_based_table_factory={index_block_search_type=kInterpolation};comparator=rocksdb.ReverseBytewiseComparator",
    "blob_direct_write_partitions=0;enable_blob_files=true;enable_blob_direct_write=true",
];

/// A database, its model, and another database.
pub(super) struct Rejected {
    options: Options,
    db: Option<Db>,
    families: Vec<Family>,
    other: Db,
    state: State,
}

/// A call that must fail.
struct Wrong {
    name: &'static str,
    kinds: &'static [Kind],
    call: fn(&Rejected, &mut Chance) -> Result<(), Error>,
}

/// The kinds of most errors.
const INVALID: &[Kind] = &[Kind::InvalidArgument];

impl Wrong {
    const ALL: &[Wrong] = &[
        Wrong {
            name: "a synced write without a WAL",
            kinds: INVALID,
            call: |w, _| {
                let options = WriteOptions { sync: true, disableWAL: true, ..WriteOptions::default() };
                w.families[0].put_with(b"key", b"wrong", &options)
            },
        },
        Wrong {
            name: "a batch for a column family that does not exist",
            kinds: INVALID,
            call: |w, _| {
                let mut batch = WriteBatch::new();
                batch.put(b"key01", b"wrong");
                batch.put_in(ironstone::FamilyId::new(77), b"key02", b"wrong");
                w.db().write(batch)
            },
        },
        Wrong {
            name: "a flush of a column family of another database",
            kinds: INVALID,
            call: |w, _| w.db().flush_families(&[w.other.default_family()], &FlushOptions::default()),
        },
        Wrong {
            name: "iterators over a column family of another database",
            kinds: INVALID,
            call: |w, _| w.db().iterators(&[w.other.default_family()], &ReadOptions::default()).map(drop),
        },
        Wrong {
            name: "reads of a column family of another database",
            kinds: INVALID,
            call: |w, _| {
                let family = w.other.default_family();
                let keys = [(&family, &b"key01"[..])];
                w.db().multi_get_families(&keys, &ReadOptions::default()).remove(0).map(drop)
            },
        },
        Wrong {
            name: "the end of a column family of another database",
            kinds: INVALID,
            call: |w, _| w.db().drop_family(&w.other.default_family()),
        },
        Wrong {
            name: "the end of the default column family",
            kinds: INVALID,
            call: |w, _| w.db().drop_family(&w.families[0]),
        },
        Wrong {
            name: "a second column family of the name",
            kinds: INVALID,
            call: |w, _| {
                let again = FamilyDescriptor::new(FAMILIES[1], w.options.family.clone());
                w.db().create_family(again).map(drop)
            },
        },
        Wrong {
            name: "a compaction to a path that does not exist",
            kinds: INVALID,
            call: |w, chance| {
                let options = CompactRangeOptions { target_path_id: 9, ..CompactRangeOptions::default() };
                w.family(chance).compact_range(None, None, &options)
            },
        },
        Wrong {
            name: "a compaction with a timestamp of history, without timestamps",
            kinds: INVALID,
            call: |w, chance| {
                let options = CompactRangeOptions {
                    full_history_ts_low: Some(vec![1; 8]),
                    ..CompactRangeOptions::default()
                };
                w.family(chance).compact_range(None, None, &options)
            },
        },
        Wrong {
            name: "a compaction of a file that does not exist",
            kinds: INVALID,
            call: |w, chance| {
                let files = [FileNumber::new(1 << 40)];
                let options = CompactionOptions::default();
                w.family(chance).compact_files(&files, Level::new(1), Some(0), &options).map(drop)
            },
        },
        Wrong {
            name: "a compaction of a file to a path or a level that does not exist",
            kinds: INVALID,
            call: |w, chance| {
                let family = w.family(chance);
                let files: Vec<_> = family.live_files().iter().map(|file| file.number).collect();
                let (level, path) = *chance.pick(&[(1, 9), (60, 0)]);
                family
                    .compact_files(&files, Level::new(level), Some(path), &CompactionOptions::default())
                    .map(drop)
            },
        },
        Wrong {
            name: "a move of level 0 to itself or to a level that does not exist",
            kinds: INVALID,
            call: |w, chance| {
                let level = *chance.pick(&[0, 60]);
                w.family(chance).promote_l0(Level::new(level))
            },
        },
        Wrong {
            name: "the end of a lock of the WAL without the lock",
            kinds: &[Kind::Aborted],
            call: |w, _| w.db().unlock_wal(),
        },
        Wrong {
            name: "the end of a pause without a pause",
            kinds: INVALID,
            call: |w, _| w.db().continue_background_work(),
        },
        Wrong {
            name: "updates after the newest update",
            kinds: &[Kind::NotFound],
            call: |w, _| {
                let seq = SequenceNumber::new(w.db().latest_sequence().get() + 1000);
                w.db().updates_since(seq).map(drop)
            },
        },
        Wrong {
            name: "a read at a timestamp, without timestamps",
            kinds: INVALID,
            call: |w, chance| {
                let options = ReadOptions { timestamp: Some(vec![0; 8]), ..ReadOptions::default() };
                let family = w.family(chance);
                match chance.percent(50) {
                    true => family.get_with(b"key01", &options).map(drop),
                    false => family.iter_with(options).map(drop),
                }
            },
        },
        Wrong {
            name: "versions since a timestamp, without timestamps",
            kinds: INVALID,
            call: |w, chance| {
                let options = ReadOptions { iter_start_ts: Some(vec![0; 8]), ..ReadOptions::default() };
                w.family(chance).iter_with(options).map(drop)
            },
        },
        Wrong {
            name: "an iterator over durable data only",
            kinds: &[Kind::NotSupported],
            call: |w, chance| {
                let options = ReadOptions { read_tier: ReadTier::Persisted, ..ReadOptions::default() };
                w.family(chance).iter_with(options).map(drop)
            },
        },
        Wrong {
            name: "an option that cannot change, or a wrong value",
            kinds: &[Kind::InvalidArgument, Kind::NotSupported],
            call: |w, chance| {
                let wrong = [
                    ("num_levels", "3"),
                    ("write_buffer_size", "many"),
                    ("no_such_option", "1"),
                    ("memtable_protection_bytes_per_key", "3"),
                    ("comparator", "leveldb.BytewiseComparator"),
                ];
                w.family(chance).set_options(&[*chance.pick(&wrong)])
            },
        },
        Wrong {
            name: "an option of the database that cannot change, or a wrong value",
            kinds: &[Kind::InvalidArgument, Kind::NotFound],
            call: |w, chance| {
                let wrong = [("db_write_buffer_size", "1"), ("max_open_files", "x"), ("no_such_option", "1")];
                w.db().set_db_options(&[*chance.pick(&wrong)])
            },
        },
        Wrong {
            name: "the sizes of nothing",
            kinds: INVALID,
            call: |w, chance| {
                let options = SizeApproximationOptions {
                    include_memtables: false,
                    include_files: false,
                    include_blob_files: false,
                    ..SizeApproximationOptions::default()
                };
                w.family(chance).approximate_sizes(&[(b"a", b"b")], &options).map(drop)
            },
        },
        Wrong {
            name: "an ingestion of no file",
            kinds: INVALID,
            call: |w, chance| {
                let none: [&str; 0] = [];
                w.family(chance).ingest_external_files(none, &IngestExternalFileOptions::default())
            },
        },
        Wrong {
            name: "an ingestion of a file that does not exist",
            kinds: &[Kind::IoError, Kind::NotFound],
            call: |w, chance| {
                w.family(chance)
                    .ingest_external_files(["/no-such-file.sst"], &IngestExternalFileOptions::default())
            },
        },
        Wrong {
            name: "an ingestion of a file that is no SST file",
            kinds: &[Kind::Corruption],
            call: |w, chance| {
                w.family(chance).ingest_external_files(["/db/CURRENT"], &IngestExternalFileOptions::default())
            },
        },
        Wrong {
            name: "a read of an SST file with an option that needs a database",
            kinds: &[Kind::NotSupported],
            call: |w, chance| {
                let options = match chance.below(5) {
                    0 => ReadOptions { tailing: true, ..ReadOptions::default() },
                    1 => ReadOptions { auto_refresh_iterator_with_snapshot: true, ..ReadOptions::default() },
                    2 => ReadOptions {
                        table_filter: Some(TableFilter::new(|_| true)),
                        ..ReadOptions::default()
                    },
                    3 => ReadOptions { merge_operand_count_threshold: Some(1), ..ReadOptions::default() },
                    _ => {
                        let read_tier = *chance.pick(&[ReadTier::Memtable, ReadTier::Persisted]);
                        ReadOptions { read_tier, ..ReadOptions::default() }
                    }
                };
                w.read_file(options, chance)
            },
        },
        Wrong {
            name: "a read of an SST file without timestamps at a timestamp",
            kinds: INVALID,
            call: |w, chance| {
                let options = ReadOptions { timestamp: Some(vec![0; 8]), ..ReadOptions::default() };
                w.read_file(options, chance)
            },
        },
        Wrong {
            name: "versions of an SST file without timestamps since a timestamp",
            kinds: INVALID,
            call: |w, _| {
                let options = ReadOptions { iter_start_ts: Some(vec![0; 8]), ..ReadOptions::default() };
                SstFileReader::open(w.file(), &w.options)?.iter(options).map(drop)
            },
        },
        Wrong {
            name: "an SST file of another comparator",
            kinds: INVALID,
            call: |w, _| {
                let mut options = w.options.clone();
                options.update("comparator=rocksdb.ReverseBytewiseComparator")?;
                SstFileReader::open(w.file(), &options).map(drop)
            },
        },
        Wrong {
            name: "a second value of an SST file above the limit of bytes",
            kinds: &[Kind::Aborted],
            call: |w, _| {
                let options = ReadOptions { value_size_soft_limit: 1, ..ReadOptions::default() };
                let reader = SstFileReader::open(w.file(), &w.options)?;
                reader
                    .multi_get(&[b"key01", b"key01"], &options)
                    .pop()
                    .map_or(Ok(()), |found| found.map(drop))
            },
        },
        Wrong {
            name: "an open of a file that is no SST file",
            kinds: &[Kind::Corruption],
            call: |w, _| SstFileReader::open("/db/CURRENT", &w.options).map(drop),
        },
        Wrong {
            name: "a checkpoint in a directory that exists",
            kinds: INVALID,
            call: |w, _| Checkpoint::new(w.db()).create(OTHER).map(drop),
        },
        Wrong {
            name: "an export to a directory that exists",
            kinds: INVALID,
            call: |w, chance| {
                Checkpoint::new(w.db()).export_column_family(&w.family(chance), OTHER).map(drop)
            },
        },
        Wrong {
            name: "a second open of the directory",
            kinds: &[Kind::IoError],
            call: |w, _| Db::open("/db", w.options.clone()).map(drop),
        },
        Wrong {
            name: "an open of a database that exists, or that does not exist",
            kinds: INVALID,
            call: |w, chance| {
                let mut options = w.options.clone();
                if chance.percent(50) {
                    options.db.error_if_exists = true;
                    return Db::open(OTHER, options).map(drop);
                }
                options.db.create_if_missing = false;
                Db::open("/no-such-database", options).map(drop)
            },
        },
        Wrong {
            name: "a reader of a column family that the database does not have",
            kinds: INVALID,
            call: |w, _| {
                let names = ["default", "third"];
                let families = names.map(|name| FamilyDescriptor::new(name, w.options.family.clone()));
                Db::open_read_only_with_families(OTHER, w.options.clone(), families.into()).map(drop)
            },
        },
        Wrong {
            name: "a reader of a database that does not exist",
            kinds: &[Kind::IoError, Kind::NotFound, Kind::InvalidArgument],
            call: |w, _| Db::open_read_only("/no-such-database", w.options.clone()).map(drop),
        },
    ];
}

impl Rejected {
    /// Opens both databases.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Rejected, String> {
        let mut options = setting.options.clone();
        // No snapshot of this world reads an older value, so values may be updated in place.
        let in_place = (seed / super::WORLDS).is_multiple_of(2);
        options
            .update(match in_place {
                true => {
                    "inplace_update_support=true;allow_concurrent_memtable_write=false;memtable_factory=skip_list;\
                     enable_blob_direct_write=false;unordered_write=false"
                }
                false => "inplace_update_support=false",
            })
            .map_err(told("options"))?;
        // A reader of a single SST file reads no blob files.
        let mut apart = options.clone();
        apart.update("enable_blob_files=false;enable_blob_direct_write=false").map_err(told("options"))?;
        let other = Db::open(OTHER, apart).map_err(told("open of the other database"))?;
        other.put(b"key01", b"of the other database").map_err(told("put"))?;
        // Calls on a single SST file read this file.
        other.flush().map_err(told("flush"))?;
        let state = vec![Default::default(); FAMILIES.len()];
        let mut world = Rejected { options, db: None, families: Vec::new(), other, state };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let (db, families) = super::open(&self.options, super::families(&self.options))?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn family(&self, chance: &mut Chance) -> Family {
        self.families[chance.below(2) as usize].clone()
    }

    /// Returns the path of the SST file of the other database.
    fn file(&self) -> PathBuf {
        self.other.live_files().first().map(|file| file.path.clone()).unwrap_or_default()
    }

    /// Reads the SST file of the other database.
    fn read_file(&self, options: ReadOptions, chance: &mut Chance) -> Result<(), Error> {
        let reader = SstFileReader::open(self.file(), &self.options)?;
        match chance.percent(50) {
            true => reader.get_with(b"key01", &options).map(drop),
            false => reader.iter(options).map(drop),
        }
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let key = Key::draw(chance);
        let (family, model) = (&self.families[key.family], &mut self.state[key.family]);
        if chance.percent(75) {
            let value = value(chance);
            model.put(&key.bytes, &value);
            family.put(&key.bytes, &value).map_err(told("put"))
        } else {
            model.delete(&key.bytes);
            family.delete(&key.bytes).map_err(told("delete"))
        }
    }

    /// Makes one call that must fail.
    fn reject(&self, chance: &mut Chance) -> Result<(), String> {
        let all = [Wrong::ALL, files::FILES];
        let drawn = chance.below(all.iter().map(|rows| rows.len() as u64).sum()) as usize;
        let wrong = all.iter().copied().flatten().nth(drawn).expect("a drawn row");
        let before = self.db().latest_sequence();
        match (wrong.call)(self, chance) {
            Err(error) if wrong.kinds.contains(&error.kind()) => {}
            other => return Err(format!("{}: {other:?}", wrong.name)),
        }
        same(wrong.name, &self.db().latest_sequence(), &before)?;
        same(wrong.name, &self.db().background_error().map(|error| error.to_string()), &None)?;
        same(wrong.name, &self.db().families().len(), &FAMILIES.len())?;
        rows_equal(&self.families, &self.state).map_err(|words| format!("after {}: {words}", wrong.name))
    }

    /// Opens a database with options that no open accepts.
    fn wrong_options(&self, chance: &mut Chance) -> Result<(), String> {
        let text = chance.pick(OPTIONS);
        let mut options = Options::in_memory();
        let done = options.update(text).and_then(|()| Db::open("/refused", options.clone()).map(drop));
        match done {
            Err(error) if matches!(error.kind(), Kind::NotSupported | Kind::InvalidArgument) => {}
            other => return Err(format!("an open with {text}: {other:?}")),
        }
        let exists = options.db.env.fs.exists(Path::new("/refused/CURRENT"));
        same(text, &exists.ok(), &Some(false))
    }

    /// Opens the database for reading, and tries to change it.
    fn read_only(&mut self, chance: &mut Chance) -> Result<(), String> {
        if chance.percent(50) {
            self.families.iter().try_for_each(|family| family.flush().map_err(told("flush")))?;
        }
        self.families.clear();
        super::close(&mut self.db)?;
        let mut options = self.options.clone();
        options.db.max_open_files = *chance.pick(&[-1, 10]);
        let descriptors = super::families(&options);
        let reader = Db::open_read_only_with_families("/db", options, descriptors);
        let reader = reader.map_err(told("an open for reading"))?;
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| reader.family(name)).collect();
        let families = families.map_err(told("family"))?;
        rows_equal(&families, &self.state).map_err(|words| format!("a reader: {words}"))?;
        for _ in 0..6 {
            changes(&reader, &families, chance)?;
        }
        rows_equal(&families, &self.state).map_err(|words| format!("a reader: {words}"))?;
        drop(families);
        let options = WaitForCompactOptions { close_db: chance.percent(50), ..Default::default() };
        reader.wait_for_compact_with(&options).map_err(told("a wait of a reader"))?;
        drop(reader);
        self.open()
    }
}

/// Tries to change a database that is open for reading.
fn changes(reader: &Db, families: &[Family], chance: &mut Chance) -> Result<(), String> {
    let family = &families[chance.below(2) as usize];
    let has_files_below = family.live_files().iter().any(|file| file.level > Level::ZERO);
    let (name, done, may_succeed) = match chance.below(18) {
        0 => ("put", family.put(b"key", b"wrong"), false),
        1 => ("delete", family.delete(b"key"), false),
        2 => ("a batch", reader.write(WriteBatch::new()), true),
        3 => ("flush", family.flush(), false),
        4 => ("compact_range", family.compact_range(None, None, &Default::default()), false),
        5 => (
            "create_family",
            reader.create_family(FamilyDescriptor::new("new", Default::default())).map(drop),
            false,
        ),
        6 => ("drop_family", reader.drop_family(&families[1]), false),
        7 => ("sync_wal", reader.sync_wal(), false),
        8 => ("lock_wal", reader.lock_wal(), false),
        9 => {
            let include_end = chance.percent(50);
            let ranges = [(None, Some(&b"key20"[..])), (Some(&b"key10"[..]), None)];
            let range = *chance.pick(&[ranges[0], ranges[1], (None, None)]);
            let done = family.delete_files_in_ranges(&[range], include_end);
            ("delete_files_in_ranges", done, range != (None, None) || !has_files_below)
        }
        10 => ("promote_l0", family.promote_l0(Level::new(1)), false),
        11 => ("set_options", family.set_options(&[("disable_auto_compactions", "true")]), true),
        12 => {
            let paused = chance.percent(50);
            if paused {
                reader.pause_background_work().map_err(told("pause_background_work"))?;
            }
            let options = WaitForCompactOptions { abort_on_pause: true, ..Default::default() };
            let done = reader.wait_for_compact_with(&options).map_err(|error| error.kind());
            if paused {
                reader.continue_background_work().map_err(told("continue_background_work"))?;
            }
            let expected = if paused { Err(Kind::Aborted) } else { Ok(()) };
            return same("a wait of a reader that can be paused", &done, &expected);
        }
        13 => {
            let in_memory = families
                .iter()
                .any(|family| family.int_property("rocksdb.num-entries-active-mem-table").unwrap_or(0) > 0);
            let options = WaitForCompactOptions { flush: true, ..Default::default() };
            let done = reader.wait_for_compact_with(&options).map_err(|error| error.kind());
            let expected = if in_memory { Err(Kind::NotSupported) } else { Ok(()) };
            return same("a wait of a reader with a flush", &done, &expected);
        }
        14 => ("ingestion", family.ingest_external_files(["/x.sst"], &Default::default()), false),
        15 => ("suggest_compact_range", family.suggest_compact_range(None, None), true),
        16 => ("enable_auto_compaction", reader.enable_auto_compaction(families), true),
        _ => ("flush_wal", reader.flush_wal(chance.percent(50)), true),
    };
    match done {
        Ok(()) if may_succeed => Ok(()),
        Err(error) if error.kind() == Kind::NotSupported => Ok(()),
        other => Err(format!("{name} of a reader: {other:?}")),
    }
}

impl World for Rejected {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..30 => self.write(chance),
            30..70 => self.reject(chance),
            70..82 => self.wrong_options(chance),
            82..86 => self.read_only(chance),
            86..90 => self.family(chance).flush().map_err(told("flush")),
            90..93 => {
                let family = self.family(chance);
                family.compact_range(None, None, &Default::default()).map_err(told("compact_range"))
            }
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        let found = self.other.get(b"key01").map_err(told("get"))?;
        same("the other database", &found.as_deref(), &Some(&b"of the other database"[..]))?;
        rows_equal(&self.families, &self.state)
    }
}
