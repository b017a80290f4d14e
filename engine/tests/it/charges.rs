//! `cache_usage_options`: which memory outside of the block cache is charged to the block cache. Facts: RocksDB
//! `table/block_based/block_based_table_reader.cc`, `db/version_builder.cc`, `db/blob/blob_source.cc`.

use std::sync::Arc;

use base::{Error, Kind, Subcode};
use env::Env;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::family::Family;
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, FamilyOptions, FlushOptions, TableFactory,
    WaitForCompactOptions, WriteOptions,
};
use mem::cache::{CacheOptions, MetadataCharge, Role};
use table::options::{BlockBasedTableOptions, CacheUsageOptions, Charged};
use table::sst::BlockCache;

use crate::basic::{get, options, put};

const READERS: CacheUsageOptions = CacheUsageOptions { block_based_table_reader: Charged::Enabled, ..NONE };
const FILES: CacheUsageOptions = CacheUsageOptions { file_metadata: Charged::Enabled, ..NONE };
const BLOBS: CacheUsageOptions = CacheUsageOptions { blob_cache: Charged::Enabled, ..NONE };
const NONE: CacheUsageOptions = CacheUsageOptions {
    compression_dictionary_building_buffer: Charged::Disabled,
    filter_construction: Charged::Disabled,
    block_based_table_reader: Charged::Disabled,
    file_metadata: Charged::Disabled,
    blob_cache: Charged::Disabled,
};

/// Returns a cache whose usage is the charge of its entries and of its reservations.
fn cache(bytes: usize) -> Arc<BlockCache> {
    let metadata_charge = MetadataCharge::None;
    BlockCache::new(CacheOptions { num_shard_bits: 0, metadata_charge, ..CacheOptions::lru(bytes) }).unwrap()
}

fn family(usage: CacheUsageOptions, more: &str) -> FamilyOptions {
    let mut family = FamilyOptions::default();
    let table = BlockBasedTableOptions { cache_usage_options: usage, ..BlockBasedTableOptions::default() };
    family.table_factory = TableFactory::BlockBased(table);
    family.update("disable_auto_compactions=true;compression=kNoCompression").unwrap();
    family.update(more).unwrap();
    family
}

fn request(env: &Env, cache: &Arc<BlockCache>, usage: CacheUsageOptions) -> OpenRequest {
    let mut request = OpenRequest::new("/db", options(env), family(usage, ""));
    request.components.block_cache = Some(cache.clone());
    request
}

fn charged(cache: &BlockCache, role: Role) -> usize {
    cache.role_usage()[role as usize].bytes
}

fn flush(db: &Db) -> base::Result<()> {
    db.flush(&[db.default_family()?], &FlushOptions::default())
}

/// Adds an SST file with 1,000 entries.
fn add_file(db: &Db, at: usize) {
    for n in 0..1000 {
        put(db, &format!("key{:06}", n * 10 + at), &"v".repeat(50));
    }
    flush(db).unwrap();
}

fn compact(db: &Db) {
    let how = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compactions().compact_range(&db.default_family().unwrap(), None, None, &how).unwrap();
    let purged = WaitForCompactOptions { wait_for_purge: true, ..WaitForCompactOptions::default() };
    db.background().wait_for_compact_with(&purged).unwrap();
}

fn assert_memory_limit(error: &Error, words: &str) {
    assert_eq!((error.kind(), error.subcode()), (Kind::Aborted, Subcode::MemoryLimit), "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn open_table_readers_are_charged() {
    let (env, cache) = (Env::memory(1), cache(64 << 20));
    let db = Db::open(request(&env, &cache, READERS)).unwrap();
    let of_readers = |db: &Db| {
        let family = db.default_family().unwrap();
        db.properties().number(&family, "rocksdb.estimate-table-readers-mem").unwrap() as usize
    };
    let mut before = 0;
    for at in 0..4 {
        add_file(&db, at);
        let now = charged(&cache, Role::BlockBasedTableReader);
        assert!(now > before + 500, "{now} bytes with {} files", at + 1);
        assert_eq!(now, of_readers(&db));
        before = now;
    }
    compact(&db);
    let one = charged(&cache, Role::BlockBasedTableReader);
    assert_eq!(one, of_readers(&db), "the readers of the inputs are closed");
    assert_eq!(charged(&cache, Role::FileMetadata), 0);
    db.close().unwrap();
    drop(db);
    assert_eq!(charged(&cache, Role::BlockBasedTableReader), 0);
    let db = Db::open(request(&env, &cache, NONE)).unwrap();
    assert!(get(&db, "key000000").is_some());
    assert_eq!(charged(&cache, Role::BlockBasedTableReader), 0);
}

#[test]
fn a_table_reader_without_room_does_not_open() {
    const WORDS: &str = "Can't allocate BlockBasedTableReader due to memory limit based on cache capacity for memory allocation";
    let (env, small) = (Env::memory(1), cache(4 << 10));
    let db = Db::open(request(&env, &cache(64 << 20), READERS)).unwrap();
    (0..5).for_each(|at| add_file(&db, at));
    db.close().unwrap();
    drop(db);
    small.set_strict_capacity_limit(true);
    let error = Db::open(request(&env, &small, READERS)).err().unwrap();
    assert_memory_limit(&error, WORDS);
    assert!(error.path().is_some_and(|path| path.extension().is_some_and(|end| end == "sst")), "{error}");
    // Tables that the database opens later fail only their reads.
    let mut few = request(&env, &small, READERS);
    few.options.max_open_files = 20;
    few.options.skip_stats_update_on_db_open = true;
    few.options.paranoid_checks = false;
    let db = Db::open(few).unwrap();
    let keys = (0..5).map(|at| format!("key{at:06}"));
    let family = db.default_family().unwrap();
    let failed = keys.filter_map(|key| db.get(&family, key.as_bytes(), &Default::default()).err());
    let failed: Vec<_> = failed.collect();
    assert!(failed.iter().any(|error| error.to_string().contains(WORDS)), "{failed:?}");
    failed.iter().for_each(|error| assert_memory_limit(error, ""));
    small.set_capacity(64 << 20);
    assert!((0..5).all(|at| get(&db, &format!("key{at:06}")).is_some()));
}

#[test]
fn file_metadata_is_charged_while_a_version_has_the_file() {
    let (env, cache) = (Env::memory(1), cache(64 << 20));
    let db = Db::open(request(&env, &cache, FILES)).unwrap();
    add_file(&db, 0);
    let one = charged(&cache, Role::FileMetadata);
    assert!((100..2000).contains(&one), "{one} bytes for a file");
    (1..5).for_each(|at| add_file(&db, at));
    assert_eq!(charged(&cache, Role::FileMetadata), 5 * one, "the keys have the same length");
    assert_eq!(charged(&cache, Role::BlockBasedTableReader), 0);
    let mut iter = db.iter(&db.default_family().unwrap(), Default::default()).unwrap();
    iter.seek_to_first();
    compact(&db);
    assert_eq!(charged(&cache, Role::FileMetadata), 6 * one, "the iterator keeps the version before");
    drop(iter);
    compact(&db);
    assert_eq!(charged(&cache, Role::FileMetadata), one);
    db.close().unwrap();
    drop(db);
    assert_eq!(charged(&cache, Role::FileMetadata), 0);
    let db = Db::open(request(&env, &cache, FILES)).unwrap();
    assert_eq!(charged(&cache, Role::FileMetadata), one, "the open charges the files of the MANIFEST");
    drop(db);
    let db = Db::open(request(&env, &cache, NONE)).unwrap();
    add_file(&db, 5);
    assert_eq!(charged(&cache, Role::FileMetadata), 0);
}

#[test]
fn a_file_whose_metadata_has_no_room_fails_the_flush_and_loses_no_write() {
    const WORDS: &str =
        "Can't allocate FileMetadata due to exceeding the memory limit based on cache capacity";
    let (env, cache) = (Env::memory(1), cache(64 << 20));
    let db = Db::open(request(&env, &cache, FILES)).unwrap();
    add_file(&db, 0);
    let full = charged(&cache, Role::FileMetadata) + charged(&cache, Role::Misc);
    cache.set_strict_capacity_limit(true);
    cache.set_capacity(full);
    put(&db, "new", "value");
    assert_memory_limit(&flush(&db).unwrap_err(), WORDS);
    assert_eq!(get(&db, "new").as_deref(), Some("value"));
    cache.set_capacity(64 << 20);
    // As in RocksDB, a resume does not clear the error. The next open does.
    assert_memory_limit(&db.background().resume().unwrap_err(), WORDS);
    drop(db);
    cache.set_capacity(full - 1);
    let error = Db::open(request(&env, &cache, FILES)).err().unwrap();
    assert_memory_limit(&error, WORDS);
    cache.set_capacity(64 << 20);
    let db = Db::open(request(&env, &cache, FILES)).unwrap();
    assert_eq!(get(&db, "new").as_deref(), Some("value"));
}

/// Opens a database with two column families that share a blob cache.
fn with_blobs(
    block_cache: &Arc<BlockCache>,
    blob_cache: Option<&Arc<BlockCache>>,
) -> base::Result<(Db, Arc<Family>)> {
    let own = family(BLOBS, "enable_blob_files=true;prepopulate_blob_cache=kFlushOnly");
    let mut request = OpenRequest::new("/db", options(&Env::memory(1)), own.clone());
    request.options.create_missing_column_families = true;
    request.components.block_cache = Some(block_cache.clone());
    let descriptor = |name: &str| FamilyDescriptor {
        blob_cache: blob_cache.cloned(),
        ..FamilyDescriptor::new(name, own.clone())
    };
    request.families = ["default", "other"].map(descriptor).to_vec();
    let db = Db::open(request)?;
    let other = db.family("other").unwrap();
    Ok((db, other))
}

#[test]
fn the_usage_of_a_blob_cache_is_charged_once() {
    let (block_cache, blob_cache) = (cache(1 << 20), cache(1 << 20));
    let (db, other) = with_blobs(&block_cache, Some(&blob_cache)).unwrap();
    let of_blobs = || charged(&block_cache, Role::BlobCache);
    assert_eq!(of_blobs(), 0);
    for round in 1..4 {
        for key in 0..10 {
            let key = format!("key{round}{key}");
            put(&db, &key, &"v".repeat(1000));
            db.put(&other, key.as_bytes(), &[b'v'; 1000], &WriteOptions::default()).unwrap();
        }
        db.flush(&[db.default_family().unwrap(), other.clone()], &FlushOptions::default()).unwrap();
        assert!(of_blobs() >= round * 20 * 1000, "{} bytes", of_blobs());
        assert_eq!(of_blobs(), blob_cache.usage(), "both column families charge the cache once");
        assert!(block_cache.usage() >= of_blobs());
    }
    blob_cache.set_capacity(20_000);
    assert!(of_blobs() <= 20_000);
    assert_eq!(of_blobs(), blob_cache.usage());
    blob_cache.erase_unreferenced();
    assert_eq!(of_blobs(), 0);
    assert!(get(&db, "key10").is_some());
    assert_eq!(of_blobs(), blob_cache.usage(), "a read puts the value into the cache");
    assert!(of_blobs() > 1000);
    // A full block cache with a strict limit fails no flush.
    block_cache.set_strict_capacity_limit(true);
    block_cache.set_capacity(block_cache.usage());
    let before = of_blobs();
    put(&db, "full", &"v".repeat(1000));
    flush(&db).unwrap();
    assert!(blob_cache.usage() > before);
    assert_eq!(of_blobs(), before);
    block_cache.set_capacity(1 << 20);
    db.close().unwrap();
    drop((db, other));
    assert_eq!(of_blobs(), 0);
    assert!(blob_cache.usage() > 0);
}

#[test]
fn caches_that_cannot_be_charged_are_refused() {
    let refused = |result: base::Result<(Db, Arc<Family>)>, why: &str| {
        let error = result.err().unwrap();
        assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
        let words = format!("Enable CacheEntryRoleOptions::charged for CacheEntryRole BlobCache but {why}");
        assert!(error.to_string().contains(&words), "{error}");
    };
    let (small, large) = (cache(1 << 20), cache(2 << 20));
    refused(with_blobs(&small, None), "blob cache is not configured");
    refused(with_blobs(&small, Some(&small)), "blob cache is the same as block cache");
    refused(with_blobs(&small, Some(&large)), "blob cache capacity is larger than block cache capacity");
    assert!(with_blobs(&large, Some(&small)).is_ok());
    let roles = [("BlockBasedTableReader", READERS), ("FileMetadata", FILES), ("BlobCache", BLOBS)];
    for (role, usage) in roles {
        let table = BlockBasedTableOptions {
            no_block_cache: true,
            cache_usage_options: usage,
            ..BlockBasedTableOptions::default()
        };
        let own =
            FamilyOptions { table_factory: TableFactory::BlockBased(table), ..FamilyOptions::default() };
        let error = Db::open(OpenRequest::new("/db", options(&Env::memory(1)), own)).err().unwrap();
        assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
        let words = format!(
            "Enable CacheEntryRoleOptions::charged for CacheEntryRole {role} but block cache is disabled"
        );
        assert!(error.to_string().contains(&words), "{error}");
    }
}

/// A memory budget charges memtables and buffers to the same block cache. The roles add up to the usage.
#[test]
fn no_byte_of_a_memory_budget_is_charged_twice() {
    const BUDGET: u64 = 64 << 20;
    let env = Env::memory(1);
    let usage = CacheUsageOptions {
        block_based_table_reader: Charged::Enabled,
        file_metadata: Charged::Enabled,
        ..NONE
    };
    let mut options = options(&env);
    let cache = options.make_memory_budget(BUDGET).unwrap();
    options.memory_budget_bytes = BUDGET;
    let mut request = OpenRequest::new("/db", options, family(usage, ""));
    request.components.block_cache = Some(cache.clone());
    let db = Db::open(request).unwrap();
    (0..3).for_each(|at| add_file(&db, at));
    put(&db, "in the memtable", "v");
    let family = db.default_family().unwrap();
    let readers = db.properties().number(&family, "rocksdb.estimate-table-readers-mem").unwrap() as usize;
    assert_eq!(charged(&cache, Role::BlockBasedTableReader), readers);
    assert!(charged(&cache, Role::FileMetadata) > 0 && charged(&cache, Role::WriteBuffer) > 0);
    let sum: usize = cache.role_usage().iter().map(|role| role.bytes).sum();
    let own = cache.usage() - sum;
    assert!(own <= cache.table_bytes(), "{own} bytes are charged to no role");
}
