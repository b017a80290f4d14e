//! Properties under RocksDB's names, and their periodic dump in the info log.

use env::Env;
use env::logger::MemoryLogger;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, WriteOptions};

use crate::basic::{open, put};

fn filled(env: &Env) -> Db {
    let db = open(env, FamilyOptions::default());
    let family = db.default_family().unwrap();
    for round in 0..2 {
        for i in 0..100 {
            put(&db, &format!("key{i:03}"), &format!("value{round}"));
        }
        db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    }
    db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    db.background().wait_for_compact().unwrap();
    put(&db, "more", "1");
    db
}

/// As in a memtable of RocksDB. In an SST file, range tombstones count as deletions too, and each lowers the estimate
/// by two.
#[test]
fn range_tombstones_count_as_entries() {
    let env = Env::memory(9);
    let db = open(&env, FamilyOptions::default());
    let family = db.default_family().unwrap();
    put(&db, "a", "1");
    db.delete(&family, b"b", &WriteOptions::default()).unwrap();
    db.delete_range(&family, b"c", b"d", &WriteOptions::default()).unwrap();
    put(&db, "e", "1");
    let number = |name: &str| db.properties().number(&family, &format!("rocksdb.{name}")).unwrap();
    let names = ["num-entries-active-mem-table", "num-deletes-active-mem-table", "estimate-num-keys"];
    assert_eq!(names.map(number), [4, 1, 2]);
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    assert_eq!(names.map(number), [0, 0, 0]);
}

#[test]
fn properties_follow_the_content() {
    let db = filled(&Env::memory(1));
    let family = db.default_family().unwrap();
    let number = |name: &str| {
        db.properties().number(&family, &format!("rocksdb.{name}")).unwrap_or_else(|| panic!("{name}"))
    };
    for (name, expected) in [
        ("num-immutable-mem-table", 0),
        ("mem-table-flush-pending", 0),
        ("compaction-pending", 0),
        ("num-running-flushes", 0),
        ("num-running-compactions", 0),
        ("num-running-compaction-sorted-runs", 0),
        ("background-errors", 0),
        ("num-entries-active-mem-table", 1),
        ("num-deletes-active-mem-table", 0),
        ("estimate-num-keys", 101),
        ("is-file-deletions-enabled", 1),
        ("num-snapshots", 0),
        ("num-live-versions", 1),
        ("estimate-pending-compaction-bytes", 0),
        ("actual-delayed-write-rate", 0),
        ("is-write-stopped", 0),
        ("min-obsolete-sst-number-to-keep", u64::MAX),
        ("obsolete-sst-files-size", 0),
        ("num-blob-files", 0),
    ] {
        assert_eq!(number(name), expected, "{name}");
    }
    assert_eq!(number("total-sst-files-size"), number("live-sst-files-size"));
    assert_eq!(number("estimate-live-data-size"), number("live-sst-files-size"));
    assert!(number("base-level") > 0 && number("min-log-number-to-keep") > 0);
    assert!(number("block-cache-capacity") > 0);
    assert_eq!(db.properties().number(&family, "rocksdb.cfstats"), None);
    assert_eq!(db.properties().text(&family, "num-snapshots"), None);
    db.files().disable_deletions();
    assert_eq!(number("is-file-deletions-enabled"), 0);
    assert_eq!(db.properties().sum("rocksdb.estimate-num-keys"), Some(101));
    assert_eq!(db.properties().sum("rocksdb.is-file-deletions-enabled"), Some(0));
}

#[test]
fn only_leveled_compaction_has_a_base_level() {
    use ironstone_engine::options::CompactionStyle;
    for (style, level) in [
        (CompactionStyle::Level, 6),
        (CompactionStyle::Universal, u64::MAX),
        (CompactionStyle::Fifo, u64::MAX),
    ] {
        let db = open(&Env::memory(1), FamilyOptions { compaction_style: style, ..FamilyOptions::default() });
        let family = db.default_family().unwrap();
        assert_eq!(db.properties().number(&family, "rocksdb.base-level"), Some(level), "{style:?}");
    }
}

#[test]
fn a_version_that_is_read_counts_as_live() {
    let db = filled(&Env::memory(2));
    let family = db.default_family().unwrap();
    let mut iter = db.iter(&family, Default::default()).unwrap();
    iter.seek_to_first();
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    assert_eq!(db.properties().number(&family, "rocksdb.num-live-versions"), Some(2));
    drop(iter);
    assert_eq!(db.properties().number(&family, "rocksdb.num-live-versions"), Some(1));
}

#[test]
fn texts_have_rocksdbs_form() {
    let db = filled(&Env::memory(3));
    let family = db.default_family().unwrap();
    let text = |name: &str| {
        db.properties().text(&family, &format!("rocksdb.{name}")).unwrap_or_else(|| panic!("{name}"))
    };
    let stats = text("stats");
    for line in [
        "\n** Compaction Stats [default] **\nLevel    Files   Size     Score Read(GB)  Rn(GB)",
        "\n Sum      1/0  ",
        "\n** DB Stats **\nUptime(secs): ",
        "\nCumulative writes: 201 writes, 201 keys, 201 commit groups, 1.0 writes per commit group, ingest: 0.00 GB",
        "\nFlush(GB): cumulative 0.000, interval 0.000\n",
        "\nWrite Stall (count): write-buffer-manager-limit-stops: 0\n",
        "\n** File Read Latency Histogram By Level [default] **\n",
    ] {
        assert!(stats.contains(line), "{line}\n{stats}");
    }
    assert!(text("cfstats").contains("Block cache entry stats(count,size,portion):"));
    assert!(
        text("levelstats").starts_with("Level Files Size(MB)\n--------------------\n  0        0        0\n")
    );
    assert_eq!(text("num-files-at-level6"), "1");
    assert_eq!(text("compression-ratio-at-level0"), "-1.000000");
    assert!(text("aggregated-table-properties").contains("# entries=100; # deletions=0; "));
    assert!(text("aggregated-table-properties-at-level0").contains("# entries=0; "));
    assert_eq!(db.properties().text(&family, "rocksdb.num-files-at-level7"), None);
    assert_eq!(db.properties().text(&family, "rocksdb.options-statistics"), None);
    let map = |name: &str| {
        db.properties().map(&family, &format!("rocksdb.{name}")).unwrap_or_else(|| panic!("{name}"))
    };
    assert_eq!(map("cfstats")["compaction.L6.NumFiles"], "1.000000");
    assert_eq!(map("cfstats")["total-stops"], "0");
    assert_eq!(map("dbstats")["db.user_keys_written"], "201");
    assert_eq!(map("aggregated-table-properties")["num_entries"], "100");
    assert!(map("block-cache-entry-stats").contains_key("bytes.data-block"));
    db.properties().reset_stats();
    assert_eq!(map("dbstats")["db.user_keys_written"], "0");
}

#[test]
fn the_info_log_gets_a_dump_of_statistics_at_each_interval() {
    let env = Env::memory(4);
    let logger = MemoryLogger::new();
    let options = DbOptions {
        create_if_missing: true,
        env: env.clone(),
        info_log: Some(logger.clone()),
        stats_dump_period_sec: 60,
        ..DbOptions::default()
    };
    let db = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())).unwrap();
    let dumps = || logger.lines().iter().filter(|l| l.contains("------- DUMPING STATS -------")).count();
    let pass = |seconds: u64| {
        env.clock.sleep_micros(seconds * 1_000_000);
        while env.executor.help() {}
    };
    put(&db, "a", "1");
    pass(59);
    assert_eq!(dumps(), 0);
    pass(2);
    assert_eq!(dumps(), 1);
    assert!(logger.lines().iter().any(|l| l.contains("** Compaction Stats [default] **")));
    db.admin().set_db_options(&[("stats_dump_period_sec", "10")]).unwrap();
    pass(60);
    assert_eq!(dumps(), 2);
    pass(10);
    assert_eq!(dumps(), 3);
}

#[test]
fn the_list_of_tables_has_their_lines() {
    let db = filled(&Env::memory(12));
    let family = db.default_family().unwrap();
    let list = db.properties().text(&family, "rocksdb.sstables").unwrap();
    let line = list.lines().find(|line| line.starts_with(' ')).unwrap();
    let (_, rest) = line.split_once(':').unwrap();
    let size: u64 = rest.split_once('[').unwrap().0.parse().unwrap();
    assert_eq!(Some(size), db.properties().number(&family, "rocksdb.total-sst-files-size"));
    let keys = "['6B6579303030' seq:0, type:1 .. '6B6579303939' seq:0, type:1](0)";
    assert!(line.ends_with(&format!("[0 .. 0]{keys}")), "{line}");
}

#[test]
fn a_number_after_the_name_of_a_property_without_argument_is_ignored() {
    let db = filled(&Env::memory(13));
    let family = db.default_family().unwrap();
    let number = |name: &str| db.properties().number(&family, name);
    assert_eq!(number("rocksdb.estimate-num-keys7"), number("rocksdb.estimate-num-keys"));
    assert!(db.properties().text(&family, "rocksdb.levelstats1").is_some());
    assert_eq!(db.properties().text(&family, "rocksdb.num-files-at-level"), None);
    assert_eq!(db.properties().text(&family, "rocksdb.num-files-at-level7"), None);
}

#[test]
fn the_memory_of_open_tables_belongs_to_the_family_that_has_them() {
    let db = filled(&Env::memory(14));
    let of = |family| db.properties().number(family, "rocksdb.estimate-table-readers-mem").unwrap();
    let full = db.default_family().unwrap();
    let empty = db.admin().create_family(FamilyDescriptor::new("empty", FamilyOptions::default())).unwrap();
    assert!(of(&full) > 0);
    assert_eq!(of(&empty), 0);
    assert_eq!(db.properties().sum("rocksdb.estimate-table-readers-mem"), Some(of(&full)));
}

/// As in RocksDB, the sum has one value of the database for each column family.
#[test]
fn a_property_of_the_database_is_summed_over_families() {
    let db = filled(&Env::memory(15));
    let snapshot = db.snapshot();
    db.admin().create_family(FamilyDescriptor::new("second", FamilyOptions::default())).unwrap();
    assert_eq!(db.properties().sum("rocksdb.num-snapshots"), Some(2));
    drop(snapshot);
}

#[test]
fn only_fifo_without_compaction_knows_its_oldest_key() {
    let env = Env::memory(16);
    let mut fifo = FamilyOptions {
        compaction_style: ironstone_engine::options::CompactionStyle::Fifo,
        num_levels: 1,
        ..FamilyOptions::default()
    };
    let db = open(&env, fifo.clone());
    let family = db.default_family().unwrap();
    let oldest =
        |db: &Db| db.properties().number(&db.default_family().unwrap(), "rocksdb.estimate-oldest-key-time");
    assert_eq!(oldest(&db), None);
    put(&db, "a", "1");
    let first = env.clock.now_seconds();
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    env.clock.sleep_micros(60_000_000);
    put(&db, "b", "1");
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    assert_eq!(oldest(&db), Some(first));
    drop((family, db));
    fifo.compaction_options_fifo.allow_compaction = true;
    assert_eq!(oldest(&open(&env, fifo)), None);
}
