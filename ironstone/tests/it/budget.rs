//! Options from a budget: their sums, their texts, and RocksDB's answer to their texts.
//!
//! `IRONSTONE_PEER` names RocksDB's library; without the variable the test prints that it was skipped.

use std::sync::Arc;

use ironstone::{
    BUDGET_MEMORY_MIN, BlockCache, BudgetGoal, CacheOptions, CompactRangeOptions, Db, FamilyDescriptor,
    IngestExternalFileOptions, Iter, MemoryBudget, Options, ReadOptions, Secondary, SstFileWriter,
    Statistics, explain_options,
};

const GOALS: [BudgetGoal; 2] = [BudgetGoal::Latency, BudgetGoal::Throughput];

fn budgets() -> impl Iterator<Item = (u64, u32, BudgetGoal)> {
    let sizes = [BUDGET_MEMORY_MIN, 32 << 20, 100_000_001, 1 << 30, 64 << 30, u64::MAX / 16];
    sizes.into_iter().flat_map(|memory| {
        [1, 2, 4, 7, 64, u32::MAX]
            .into_iter()
            .flat_map(move |cores| GOALS.into_iter().map(move |goal| (memory, cores, goal)))
    })
}

#[test]
fn memtables_and_block_cache_stay_below_the_budget() {
    for (memory, cores, goal) in budgets() {
        let options = explain_options(memory, cores, goal).unwrap();
        let number = |name: &str| -> u64 {
            options.iter().find(|option| option.name == name).unwrap().value.parse().unwrap()
        };
        let (memtables, cache) = (number("db_write_buffer_size"), number("block_cache"));
        assert!(memtables + cache <= memory - memory / 8, "{memory} {cores} {goal:?}");
        assert!(memtables + cache >= memory / 2, "{memory} {cores} {goal:?}");
        assert!(number("write_buffer_size") * number("max_write_buffer_number") <= memtables.max(3 << 19));
        assert!(number("level0_slowdown_writes_trigger") < number("level0_stop_writes_trigger"));
        assert!(options.iter().all(|option| option.reason.ends_with('.')));
    }
}

#[test]
fn options_have_the_explained_values() {
    for (memory, cores, goal) in budgets() {
        // A block cache of many gigabytes needs the memory of its hash table at once.
        if memory > 1 << 30 {
            continue;
        }
        let made = Options::for_budget(memory, cores, goal).unwrap();
        for option in explain_options(memory, cores, goal).unwrap() {
            let value = match option.name.strip_prefix("block_based_table_factory.") {
                Some(field) => made.family.table_factory.get(field),
                None if option.name == "block_cache" => {
                    made.block_cache.as_ref().map(|cache| cache.capacity().to_string())
                }
                None => made.db.get(option.name).or_else(|| made.family.get(option.name)),
            };
            assert_eq!(value.as_deref(), Some(option.value.as_str()), "{}", option.name);
        }
        let mut options = made;
        options.db.env = Options::in_memory().db.env;
        options.db.create_if_missing = true;
        let db = Db::open("data", options).unwrap();
        db.put(b"k", b"v").unwrap();
        db.flush().unwrap();
        assert!(db.get(b"k").unwrap().is_some());
    }
}

#[test]
fn budgets_without_memory_or_cores_are_refused() {
    for (memory, cores) in [(0, 4), (BUDGET_MEMORY_MIN - 1, 4), (1 << 30, 0)] {
        let error = Options::for_budget(memory, cores, BudgetGoal::Latency).err().unwrap();
        assert!(error.message().contains("a budget of"), "{error}");
    }
}

#[test]
fn rocksdb_accepts_the_texts() {
    let Some(library) = peer::Library::for_test(std::env::var_os(peer::VARIABLE)) else { return };
    assert!(library.options("no_such_option=1").is_err());
    for (memory, cores, goal) in budgets() {
        for option in explain_options(memory, cores, goal).unwrap() {
            if let Some(text) = option.text() {
                library.options(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            }
        }
    }
}

const KEYS: u64 = 500;

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Returns the value that generation `made` of a key has; `None` if the generation deleted the key.
fn value(number: u64, made: u64) -> Option<Vec<u8>> {
    let deleted = (number + made).is_multiple_of(5);
    (!deleted).then(|| format!("{number} {made} ").into_bytes().repeat(20))
}

/// Returns the entries of a generation, from `number` on.
fn entries(made: u64, number: u64) -> impl DoubleEndedIterator<Item = (u64, Vec<u8>)> {
    (number..KEYS).filter_map(move |number| Some((number, value(number, made)?)))
}

fn write_generation(db: &Db, made: u64) {
    for number in 0..KEYS {
        match value(number, made) {
            Some(value) => db.put(&key(number), &value).unwrap(),
            None => db.delete(&key(number)).unwrap(),
        }
    }
}

/// Makes iterators at many states of a database with a budget, moves all of them after each entry was overwritten and compacted,
/// and checks each answer. Returns the bytes of all memtables before the iterators are moved.
fn check_iterators(mut options: Options, budget: Option<Arc<MemoryBudget>>, generations: u64) -> u64 {
    options.db.memory_budget = budget.or(options.db.memory_budget);
    let db = Db::open("data", options).unwrap();
    let mut open = Vec::new();
    for made in 0..generations {
        write_generation(&db, made);
        for i in 0..10 {
            let from = (made * 37 + i * 51) % KEYS;
            let mut iter = db.iter().unwrap();
            iter.seek(&key(from));
            open.push((iter, made, from));
        }
        db.flush().unwrap();
    }
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    let memtables = db.int_property("rocksdb.size-all-mem-tables").unwrap();
    for (iter, made, from) in &mut open {
        let mut ahead = entries(*made, *from);
        for _ in 0..4 {
            let expected = ahead.next();
            assert_eq!(iter.valid(), expected.is_some());
            if let Some((number, value)) = expected {
                assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value[..]), "generation {made}");
            }
            iter.next();
            iter.status().unwrap();
        }
        iter.seek_for_prev(&key(*from));
        let behind: Vec<_> = entries(*made, 0).filter(|(number, _)| number <= from).collect();
        for (number, value) in behind.iter().rev().take(4) {
            assert_eq!((iter.key(), iter.value()), (&key(*number)[..], &value[..]), "generation {made}");
            iter.prev();
        }
        iter.seek_to_first();
        iter.next();
        iter.next();
        iter.prev();
        let second = entries(*made, 0).nth(1).unwrap();
        assert_eq!((iter.key(), iter.value()), (&key(second.0)[..], &second.1[..]));
        iter.refresh().unwrap();
        iter.seek_to_first();
        assert_eq!(iter.value(), entries(generations - 1, 0).next().unwrap().1);
    }
    memtables
}

#[test]
fn iterators_without_room_in_the_budget_keep_their_answers_and_no_memtable() {
    let cache = BlockCache::new(CacheOptions::lru(1 << 20)).unwrap();
    let none = check_iterators(Options::in_memory(), None, 40);
    assert!(none > 2_000_000, "iterators without a budget keep {none} bytes of memtables");
    for bytes in [1, 64 << 10, 4 << 20] {
        let kept = check_iterators(Options::in_memory(), Some(MemoryBudget::new(bytes, cache.clone())), 40);
        assert!(kept < bytes as u64 / 4 + 500_000, "a budget of {bytes} bytes: {kept} bytes of memtables");
    }
}

#[test]
fn iterators_with_a_small_memory_budget_keep_their_answers() {
    let none = check_iterators(Options::in_memory(), None, 60);
    let mut options = Options::in_memory();
    options.memory_budget(BUDGET_MEMORY_MIN).unwrap();
    let kept = check_iterators(options, None, 60);
    // A quarter of the budget, and the memtable whose flush exceeded the quarter.
    let most = BUDGET_MEMORY_MIN / 4 + 200_000;
    assert!(kept < most && most < none, "{kept} bytes of memtables; {none} bytes without a budget");
}

/// Writes an SST file with these keys.
fn sst_file(path: &str, options: &Options, numbers: &[u64]) {
    let mut file = SstFileWriter::create(path, &options.db, &options.family).unwrap();
    numbers.iter().for_each(|number| file.put(&key(*number), b"ingested").unwrap());
    file.finish().unwrap();
}

/// Returns options with a budget in which no iterator has room.
fn without_room() -> Options {
    let cache = BlockCache::new(CacheOptions::lru(1 << 20)).unwrap();
    let mut options = Options::in_memory();
    options.db.memory_budget = Some(MemoryBudget::new(1, cache));
    options
}

fn numbers(iter: &mut Iter) -> Vec<u64> {
    let mut found = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        found.push(u64::from_be_bytes(iter.key().try_into().unwrap()));
        iter.next();
    }
    iter.status().unwrap();
    found
}

#[test]
fn an_ingestion_that_snapshots_see_is_hidden_from_open_iterators() {
    let options = without_room();
    sst_file("5.sst", &options, &[5]);
    sst_file("6.sst", &options, &[6]);
    let db = Db::open("data", options).unwrap();
    [1, 9].iter().for_each(|number| db.put(&key(*number), b"v").unwrap());
    let mut before = db.iter().unwrap();
    before.seek(&key(1));
    let how = IngestExternalFileOptions {
        snapshot_consistency: false,
        allow_global_seqno: false,
        ..IngestExternalFileOptions::default()
    };
    // The file overlaps the range of the memtable, so the memtable is flushed, and the iterator has its entries from an SST file.
    db.ingest_external_files(["5.sst"], &how).unwrap();
    let mut between = db.iter().unwrap();
    db.ingest_external_files(["6.sst"], &how).unwrap();
    before.next();
    assert_eq!(before.key(), key(9));
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    assert_eq!(numbers(&mut before), [1, 9]);
    assert_eq!(numbers(&mut between), [1, 5, 9]);
    assert_eq!(numbers(&mut db.iter().unwrap()), [1, 5, 6, 9]);
    before.refresh().unwrap();
    assert_eq!(numbers(&mut before), [1, 5, 6, 9]);
}

#[test]
fn an_iterator_with_a_budget_is_no_snapshot_for_ingestions_and_properties() {
    let options = without_room();
    sst_file("5.sst", &options, &[5]);
    let db = Db::open("data", options).unwrap();
    [1, 9].iter().for_each(|number| db.put(&key(*number), b"v").unwrap());
    db.flush().unwrap();
    let mut iter = db.iter().unwrap();
    assert_eq!(db.int_property("rocksdb.num-snapshots"), Some(0));
    assert_eq!(db.int_property("rocksdb.oldest-snapshot-time"), Some(0));
    let how = IngestExternalFileOptions { allow_global_seqno: false, ..IngestExternalFileOptions::default() };
    db.ingest_external_files(["5.sst"], &how).unwrap();
    assert_eq!(numbers(&mut iter), [1, 9]);
}

#[test]
fn files_that_are_deleted_stay_visible_to_open_iterators_with_a_budget() {
    let db = Db::open("data", without_room()).unwrap();
    [1, 2].iter().for_each(|number| db.put(&key(*number), b"v").unwrap());
    db.flush().unwrap();
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    let files: Vec<_> = db.live_files().iter().map(|file| file.number).collect();
    db.compact_files(&files, ironstone::Level::new(6), None, &Default::default()).unwrap();
    let mut iter = db.iter().unwrap();
    db.delete_files_in_ranges(&[(None, None)], true).unwrap();
    assert!(db.live_files().is_empty());
    assert_eq!(numbers(&mut iter), [1, 2]);
    iter.refresh().unwrap();
    assert!(numbers(&mut iter).is_empty());
}

#[test]
fn iterators_of_several_families_with_a_budget_are_no_snapshot() {
    let db = Db::open("data", without_room()).unwrap();
    [1, 9].iter().for_each(|number| db.put(&key(*number), b"v").unwrap());
    let mut iters = db.iterators(&[db.default_family()], &ReadOptions::default()).unwrap();
    assert_eq!(db.int_property("rocksdb.num-snapshots"), Some(0));
    db.delete(&key(1)).unwrap();
    db.flush().unwrap();
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    assert_eq!(numbers(&mut iters[0]), [1, 9]);
}

/// Returns a function that reads how often iterators pinned a super version.
fn pins(options: &mut Options) -> impl Fn() -> u64 + use<> {
    let statistics = Arc::new(Statistics::new());
    options.db.statistics = Some(statistics.clone());
    move || {
        let mut tickers = statistics.tickers();
        tickers.find(|(name, _)| *name == "rocksdb.number.superversion_acquires").unwrap().1
    }
}

#[test]
fn an_iterator_with_auto_refresh_moves_once_to_the_end_of_its_era() {
    let mut options = Options::in_memory();
    options.memory_budget(BUDGET_MEMORY_MIN).unwrap();
    let pins = pins(&mut options);
    let db = Db::open("data", options).unwrap();
    (0..100).for_each(|number| db.put(&key(number), b"v").unwrap());
    db.flush().unwrap();
    let refreshes = ReadOptions {
        snapshot: Some(db.snapshot().held()),
        auto_refresh_iterator_with_snapshot: true,
        ..ReadOptions::default()
    };
    let mut iter = db.iter_with(refreshes).unwrap();
    iter.seek_to_first();
    db.put(&key(200), b"v").unwrap();
    db.flush().unwrap();
    db.delete_files_in_ranges(&[(None, None)], true).unwrap();
    iter.next();
    let before = pins();
    for number in 2..100 {
        iter.next();
        assert_eq!(iter.key(), key(number));
    }
    iter.next();
    assert!(!iter.valid());
    assert_eq!(pins(), before);
}

#[test]
fn an_ended_era_keeps_no_flushed_memtable() {
    let db = Db::open("data", without_room()).unwrap();
    let memtables = || db.int_property("rocksdb.size-all-mem-tables").unwrap();
    let empty = memtables();
    let mut iters = Vec::new();
    for made in 0..6 {
        write_generation(&db, made);
        let mut iter = db.iter().unwrap();
        iter.seek(&key(7));
        iters.push(iter);
        db.set_options(&[("prefix_extractor", if made % 2 == 0 { "fixed:3" } else { "fixed:4" })]).unwrap();
        db.put(&key(KEYS + made), b"newer than the iterator").unwrap();
        db.flush().unwrap();
    }
    assert!(memtables() < empty + 200_000, "{} bytes, and {empty} at the start", memtables());
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    for (made, iter) in (0..).zip(&mut iters) {
        iter.seek(&key(7));
        for (number, value) in entries(made, 7) {
            assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value[..]), "generation {made}");
            iter.next();
        }
    }
}

#[test]
fn iterators_that_convert_runs_of_tombstones_keep_no_memtable() {
    let mut options = Options::in_memory();
    options.family.min_tombstones_for_range_conversion = 2;
    let none = check_iterators(options.clone(), None, 40);
    assert!(none > 2_000_000, "iterators without a budget keep {none} bytes of memtables");
    let cache = BlockCache::new(CacheOptions::lru(1 << 20)).unwrap();
    let kept = check_iterators(options, Some(MemoryBudget::new(1, cache)), 40);
    assert!(kept < 500_000, "{kept} bytes of memtables");
}

#[test]
fn a_new_prefix_extractor_does_not_change_the_keys_of_an_open_iterator() {
    let db = Db::open("data", without_room()).unwrap();
    db.set_options(&[("prefix_extractor", "fixed:2")]).unwrap();
    ["aa1", "aa2", "ab1"].iter().for_each(|key| db.put(key.as_bytes(), b"v").unwrap());
    let same_prefix = || ReadOptions { prefix_same_as_start: true, ..ReadOptions::default() };
    let mut iter = db.iter_with(same_prefix()).unwrap();
    let keys = |iter: &mut Iter| {
        let mut found = Vec::new();
        iter.seek(b"aa1");
        while iter.valid() {
            found.push(String::from_utf8(iter.key().to_vec()).unwrap());
            iter.next();
        }
        found
    };
    assert_eq!(keys(&mut iter), ["aa1", "aa2"]);
    db.set_options(&[("prefix_extractor", "fixed:1")]).unwrap();
    assert_eq!(keys(&mut iter), ["aa1", "aa2"]);
    assert_eq!(keys(&mut db.iter_with(same_prefix()).unwrap()), ["aa1", "aa2", "ab1"]);
}

#[test]
fn all_views_of_a_secondary_draw_from_one_budget() {
    let mut options = Options::in_memory();
    let db = Db::open("data", options.clone()).unwrap();
    write_generation(&db, 0);
    db.flush().unwrap();
    options.update("memory_budget_bytes=16M").unwrap();
    let secondary = Secondary::open("data", options).unwrap();
    let iterators = |view: &Db| {
        let memory = view.memory();
        memory.parts.iter().find(|part| part.name.starts_with("iterators")).unwrap().bytes
    };
    let mut of_first = secondary.view().iter().unwrap();
    of_first.seek_to_first();
    let first = iterators(&secondary.view());
    assert!(first > 1000);
    // The next view has the families of the view before; the view after the flush is a new open.
    for (made, flushes) in [(1, false), (2, true)] {
        write_generation(&db, made);
        if flushes {
            db.flush().unwrap();
        }
        secondary.try_catch_up_with_primary().unwrap();
        let view = secondary.view();
        assert_eq!(view.default_family().int_property("rocksdb.block-cache-capacity"), Some(13 << 20));
        let mut iter = view.iter().unwrap();
        iter.seek_to_first();
        assert!(iterators(&view) > first + 1000, "{} bytes", iterators(&view));
        assert_eq!(iter.value(), entries(made, 0).next().unwrap().1);
    }
    assert_eq!(of_first.value(), entries(0, 0).next().unwrap().1);
}

/// Each step of a parked iterator pins a super version, so the number of pins shows whether an iterator is parked.
#[test]
fn iterators_of_many_families_with_large_buffers_have_room() {
    let mut options = Options::in_memory();
    options.memory_budget(BUDGET_MEMORY_MIN).unwrap();
    let acquires = pins(&mut options);
    let db = Db::open("data", options.clone()).unwrap();
    let mut family_options = options.family.clone();
    family_options.write_buffer_size = 64 << 20;
    let families: Vec<_> = (0..6)
        .map(|i| db.create_family(FamilyDescriptor::new(format!("f{i}"), family_options.clone())).unwrap())
        .collect();
    for family in &families {
        (0..100).for_each(|number| family.put(&key(number), b"v").unwrap());
    }
    let mut iters: Vec<_> = families.iter().map(|family| family.iter().unwrap()).collect();
    iters.iter_mut().for_each(|iter| iter.seek_to_first());
    let before = acquires();
    for iter in &mut iters {
        (0..50).for_each(|_| iter.next());
        assert_eq!(iter.key(), key(50));
    }
    assert_eq!(acquires(), before);
}

#[test]
fn a_memory_budget_names_the_memory_of_its_iterators() {
    let mut options = Options::in_memory();
    options.memory_budget(BUDGET_MEMORY_MIN).unwrap();
    let db = Db::open("data", options).unwrap();
    write_generation(&db, 0);
    let iterators = || {
        let memory = db.memory();
        memory.parts.iter().find(|part| part.name.starts_with("iterators")).unwrap().bytes
    };
    assert_eq!(iterators(), 0);
    let mut iter = db.iter().unwrap();
    iter.seek_to_first();
    assert!(iterators() > 1000, "{}", iterators());
    assert_eq!(db.property("ironstone.memory"), Some(db.memory().to_string()));
    drop(iter);
    assert_eq!(iterators(), 0);
    assert!(Options::in_memory().memory_budget(BUDGET_MEMORY_MIN - 1).is_err());
}

#[test]
fn a_memory_budget_from_text_holds_for_all_families() {
    let mut options = Options::in_memory();
    options.block_cache = Some(BlockCache::new(CacheOptions::lru(1 << 30)).unwrap());
    options.update("memory_budget_bytes=16M").unwrap();
    let db = Db::open("data", options.clone()).unwrap();
    let mut descriptor = FamilyDescriptor::new("more", options.family.clone());
    descriptor.block_cache = options.block_cache.clone();
    let more = db.create_family(descriptor).unwrap();
    for family in [&db.default_family(), &more] {
        assert_eq!(family.int_property("rocksdb.block-cache-capacity"), Some(13 << 20));
        assert_eq!(family.options().write_buffer_size, (4 << 20) / 3);
    }
    write_generation(&db, 0);
    let mut iter = db.iter().unwrap();
    iter.seek_to_first();
    let memory = db.memory();
    assert!(memory.parts.iter().any(|part| part.name.starts_with("iterators") && part.bytes > 1000));
    drop((iter, more, db));
    options.update("memory_budget_bytes=1000").unwrap();
    let error = Db::open("data", options).err().unwrap();
    assert!(error.message().contains("a memory budget of 1000 bytes"), "{error}");
}
