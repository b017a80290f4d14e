//! Options that are corrected, options that are rejected, features that are not built, and options for common aims.

use std::path::Path;

use base::option::{Release, Row, Value};

use super::opened;
use crate::*;

fn check(db: &str, family: &str) -> base::Result<Vec<String>> {
    let (mut d, mut f) = (DbOptions::default(), FamilyOptions::default());
    d.update(db).unwrap();
    f.update(family).unwrap();
    resolve(Path::new("/db"), false, &mut d, &mut [("default".to_string(), f)])
}

#[test]
fn contradictions_are_refused_in_rocksdbs_words() {
    for (db, family, why) in [
        ("keep_log_file_num=0", "", "keep_log_file_num must be greater than 0"),
        ("read_io_executor_threads=0", "", "read_io_executor_threads must be greater than zero"),
        (
            "allow_mmap_reads=true;use_direct_reads=true",
            "",
            "direct I/O reads (use_direct_reads) must be disabled",
        ),
        ("atomic_flush=true;enable_pipelined_write=true", "", "atomic_flush is incompatible"),
        ("unordered_write=true;enable_pipelined_write=true", "", "unordered_write is incompatible"),
        ("daily_offpeak_time_utc=1:00", "", "daily_offpeak_time_utc should be set"),
        ("daily_offpeak_time_utc={1:00-1:00}", "", "start_time and end_time"),
        ("write_dbid_to_manifest=false;write_identity_file=false", "", "cannot both be false"),
        ("open_files_async=true", "", "open_files_async requires"),
        (
            "max_open_files=100",
            "compaction_style=kCompactionStyleFIFO;ttl=1",
            "FIFO compaction only supported",
        ),
        ("", "inplace_update_support=true", "In-place memtable updates"),
        ("", "compression=kXpressCompression", "Compression type Xpress is not linked with the binary."),
        ("", "compression=kCustomCompression80", "kCustomCompression80"),
        ("", "compression_opts={zstd_max_train_bytes=100}", "should be nonzero"),
        ("", "memtable_protection_bytes_per_key=3", "only supports 0, 1, 2, 4 or 8"),
        ("", "disallow_memtable_writes=true", "Default column family cannot use"),
        ("", "enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=2", "age cutoff"),
        ("", "read_triggered_compaction_threshold=nan", "must be >= 0.0 and finite"),
        ("", "block_based_table_factory={format_version=99}", "format_version"),
        ("", "block_based_table_factory={index_type=kHashSearch}", "prefix_extractor is not given"),
        (
            "",
            "compaction_style=kCompactionStyleUniversal;compaction_options_universal={max_read_amp=-2}",
            "at least -1",
        ),
    ] {
        let said = check(db, family).unwrap_err().to_string();
        assert!(said.contains(why), "{db} {family}: {said}");
    }
}

/// Each text is the answer of RocksDB 11.8.1 to both contradictions.
#[test]
fn of_two_contradictions_the_one_that_rocksdb_finds_first_is_reported() {
    let table = "block_based_table_factory={format_version=99}";
    let cuckoo = "ttl=100;table_factory=CuckooTable";
    for (db, family, said) in [
        (
            "unordered_write=true",
            "max_successive_merges=2",
            "max_successive_merges larger than 0 is currently inconsistent with unordered_write",
        ),
        (
            "unordered_write=true",
            "max_successive_merges=2;table_factory=CuckooTable",
            "max_successive_merges > 0 is incompatible with unordered_write",
        ),
        (
            "keep_log_file_num=0",
            "inplace_update_support=true;block_based_table_factory={format_version=99}",
            "Unsupported BlockBasedTable format_version. Please check include/rocksdb/table.h for more info",
        ),
        ("keep_log_file_num=0", cuckoo, "TTL is only supported in Block-Based Table format. "),
        (
            "",
            "compression=kDisableCompressionOption",
            "kDisableCompressionOption not permitted for option: compression",
        ),
        (
            "open_files_async=true",
            "memtable_protection_bytes_per_key=3",
            "open_files_async requires skip_stats_update_on_db_open = true.",
        ),
        (
            "",
            "enable_blob_direct_write=true;read_triggered_compaction_threshold=-1",
            "Blob direct write v1 does not support concurrent memtable writes.",
        ),
        (
            "keep_log_file_num=0",
            "disallow_memtable_writes=true",
            "Default column family cannot use disallow_memtable_writes=true",
        ),
        (
            "",
            "block_based_table_factory={cache_index_and_filter_blocks=true;no_block_cache=true;format_version=99}",
            "Enable cache_index_and_filter_blocks, , but block cache is disabled",
        ),
    ] {
        assert_eq!(check(db, family).unwrap_err().message(), said, "{db} {family}");
    }
    let (mut db, mut first, mut second) = Default::default();
    DbOptions::update(&mut db, "keep_log_file_num=0").unwrap();
    FamilyOptions::update(&mut first, "inplace_update_support=true").unwrap();
    FamilyOptions::update(&mut second, table).unwrap();
    let families = [("default", &first), ("other", &second)];
    let error = validate(&db, families.into_iter()).unwrap_err();
    assert!(error.message().starts_with("Unsupported BlockBasedTable format_version"), "{error}");
}

#[test]
fn aligned_blocks_allow_no_compression_on_any_level() {
    for (compression, said) in [
        ("compression=kSnappyCompression", "compression"),
        ("compression=kNoCompression;bottommost_compression=kZSTD", "bottommost_compression"),
        ("compression=kNoCompression;compression_per_level=kNoCompression:kZSTD", "compression_per_level"),
        ("compression=kSnappyCompression;compression_per_level=kNoCompression:kNoCompression", "compression"),
    ] {
        let family = format!("{compression};block_based_table_factory={{block_align=true}}");
        let error = check("", &family).unwrap_err();
        assert_eq!(error.message(), format!("Enable block_align, but {said} enabled"), "{compression}");
    }
    check("", "compression=kNoCompression;block_based_table_factory={block_align=true}").unwrap();
}

#[test]
fn blob_direct_write_needs_other_options() {
    let family = "enable_blob_files=true;enable_blob_direct_write=true";
    check("allow_concurrent_memtable_write=false", family).unwrap();
    let error = check("", family).unwrap_err();
    assert_eq!(error.kind(), base::Kind::NotSupported);
    assert!(error.message().contains("does not support concurrent memtable writes"), "{error}");
    check("use_adaptive_mutex=true", "memtable_huge_page_size=2m").unwrap();
}

#[test]
fn what_rocksdb_opens_with_a_warning_opens_here() {
    let said = check("wal_compression=kLZ4Compression", "bottommost_compression=kXpressCompression").unwrap();
    assert!(said.iter().any(|line| line.starts_with("wal_compression is disabled")), "{said:?}");
    assert!(said.iter().any(|line| line.starts_with("bottommost_compression=Xpress")), "{said:?}");
}

#[test]
fn database_options_of_old_releases_are_accepted() {
    check("disable_data_sync=false;concurrent_prepare=false;disableDataSync=false", "").unwrap();
}

#[test]
fn values_out_of_range_are_mended() {
    let (mut db, mut o) = opened();
    db.update("max_open_files=3;recycle_log_file_num=4;wal_recovery_mode=kAbsoluteConsistency;wal_compression=kLZ4Compression")
        .unwrap();
    let mut said = Vec::new();
    db.sanitize(Path::new("/db"), &mut said);
    assert_eq!((db.max_open_files, db.recycle_log_file_num, db.delayed_write_rate), (20, 0, 16 << 20));
    assert_eq!(db.wal_compression, CompressionType::NONE);
    assert_eq!(said, ["wal_compression is disabled since only zstd is supported"]);
    o.update("write_buffer_size=1;arena_block_size=0;max_write_buffer_number=1;min_write_buffer_number_to_merge=5;num_levels=1")
        .unwrap();
    o.update(
        "level0_file_num_compaction_trigger=50;memtable_prefix_bloom_size_ratio=0.9;ttl=18446744073709551614",
    )
    .unwrap();
    o.update("soft_pending_compaction_bytes_limit=0;max_compaction_bytes=0;target_file_size_base=10")
        .unwrap();
    said.clear();
    o.sanitize(&db, false, &mut said);
    assert_eq!((o.write_buffer_size, o.arena_block_size), (64 << 10, 8192));
    assert_eq!((o.max_write_buffer_number, o.min_write_buffer_number_to_merge, o.num_levels), (2, 1, 2));
    assert_eq!((o.level0_slowdown_writes_trigger, o.level0_stop_writes_trigger), (50, 50));
    assert_eq!((o.memtable_prefix_bloom_size_ratio, o.ttl), (0.25, 2_592_000));
    assert_eq!(o.soft_pending_compaction_bytes_limit, o.hard_pending_compaction_bytes_limit);
    assert_eq!(o.max_compaction_bytes, 250);
    assert!(said[0].starts_with("This condition must be satisfied"));
}

#[test]
fn mending_twice_changes_nothing() {
    let (db, o) = opened();
    let (mut db2, mut o2) = (db.clone(), o.clone());
    db2.sanitize(Path::new("/db"), &mut Vec::new());
    o2.sanitize(&db2, false, &mut Vec::new());
    assert!(db.differences(&db2).is_empty() && o.differences(&o2).is_empty());
}

#[test]
fn universal_ages_are_one() {
    let (db, _) = opened();
    let age = |text: &str| {
        let mut o =
            FamilyOptions { compaction_style: CompactionStyle::Universal, ..FamilyOptions::default() };
        o.update(text).unwrap();
        o.sanitize(&db, false, &mut Vec::new());
        o.periodic_compaction_seconds
    };
    assert_eq!(age(""), 2_592_000);
    assert_eq!(age("ttl=10"), 10);
    assert_eq!(age("ttl=10;periodic_compaction_seconds=5"), 5);
    assert_eq!(age("ttl=0;periodic_compaction_seconds=5"), 5);
    assert_eq!(age("ttl=7;periodic_compaction_seconds=0"), 7);
}

#[test]
fn a_wal_directory_that_is_the_databases_is_none() {
    for (wal_dir, expected) in [("/db", ""), ("/db/", ""), ("/wal/", "/wal"), ("", "")] {
        let mut db = DbOptions { wal_dir: wal_dir.to_string(), ..DbOptions::default() };
        db.sanitize(Path::new("/db"), &mut Vec::new());
        assert_eq!(db.wal_dir, expected);
    }
    let path = DbPath { path: "/other".into(), target_size: 1 };
    let mut db = DbOptions { db_paths: vec![path], ..DbOptions::default() };
    db.sanitize(Path::new("/db"), &mut Vec::new());
    assert_eq!(db.wal_dir, "/db");
}

#[test]
fn background_limits_follow_the_older_options_if_set() {
    let limits = |jobs, flushes, compactions| {
        let options = DbOptions {
            max_background_jobs: jobs,
            max_background_flushes: flushes,
            max_background_compactions: compactions,
            ..DbOptions::default()
        };
        let limits = options.background_limits();
        (limits.flushes, limits.compactions)
    };
    assert_eq!(limits(2, -1, -1), (1, 1));
    assert_eq!(limits(16, -1, -1), (4, 12));
    assert_eq!(limits(16, 3, -1), (3, 1));
    assert_eq!(limits(0, -1, -1), (1, 1));
    assert_eq!(limits(i32::MIN, -5, i32::MAX), (1, i32::MAX as usize));
}

#[test]
fn options_for_common_aims_resolve() {
    let mut o = Options::default();
    o.prepare_for_bulk_load().disable_extra_checks();
    assert_eq!((o.family.num_levels, o.db.background_limits().flushes), (2, 4));
    o.family.optimize_for_point_lookup(64);
    assert_eq!(
        o.family.table_factory.block_based().unwrap().block_cache.options,
        mem::cache::CacheOptions::lru(64 << 20)
    );
    o.family.optimize_level_style_compaction(512 << 20);
    assert_eq!((o.family.write_buffer_size, o.family.compression_per_level.len()), (128 << 20, 2));
    o.family.optimize_universal_style_compaction(512 << 20);
    o.family.old_defaults(4, 6);
    o.db.increase_parallelism(16).old_defaults(4, 6);
    assert_eq!((o.db.max_background_jobs, o.db.delayed_write_rate), (16, 2 << 20));
    o.optimize_for_small_db();
    let mut families = [("default".to_string(), o.family)];
    resolve(Path::new("/db"), false, &mut o.db, &mut families).unwrap();
}

/// Collects the source code of all crates that use options, without tests.
fn sources(dir: &Path, out: &mut String) {
    for path in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["options", "tests"].contains(&name.as_str()) {
            sources(&path, out);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            out.push_str(&without_comments(&std::fs::read_to_string(path).unwrap()));
        }
    }
}

/// Returns the code without comments.
fn without_comments(code: &str) -> String {
    let line = |line: &str| line.split(" // ").next().unwrap_or_default().to_string() + "\n";
    code.lines().filter(|text| !text.trim_start().starts_with("//")).map(line).collect()
}

/// Returns true if the code, which has no comments, reads a field of this name. Two accesses are not reads: an assignment to the
/// field, and a copy into a field of the same name.
fn is_read(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(&format!(".{name}")).any(|(at, found)| {
        let after = &code[at + found.len()..];
        let next = after.trim_start();
        let is_assigned = next.starts_with('=') && !next.starts_with("==") && !next.starts_with("=>");
        let path =
            code[..at].trim_end_matches(|c: char| is_word(c) || ".&()*".contains(c) || c.is_whitespace());
        let label = path.strip_suffix(':').unwrap_or_default();
        let label_start = label.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
        let is_copied = &label[label_start..] == name && next.starts_with([',', '}']);
        !after.starts_with(is_word) && !is_assigned && !is_copied
    })
}

#[test]
fn comments_assignments_and_copies_are_no_reads() {
    for text in
        ["// o.size", "o.size = 1;", "Pick { size: o.size, other: 1 }", "o.size_limit", "/// See `.size`."]
    {
        assert!(!is_read(&without_comments(text), "size"), "{text}");
    }
    for text in ["if o.size == 1 {", "limit: o.size,", "Pick { size: o.size.max(1) }", "f(o.size)"] {
        assert!(is_read(&without_comments(text), "size"), "{text}");
    }
}

#[test]
fn every_option_is_read_refused_or_a_hint() {
    let mut code = String::new();
    for crate_above in ["../engine/src", "../ironstone/src", "../lsm/src", "../table/src", "../mem/src"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(crate_above), &mut code);
    }
    let refused: Vec<&str> = crate::unsupported::refused().collect();
    let names = DbOptions::ROWS.iter().map(|r| r.name).chain(FamilyOptions::ROWS.iter().map(|r| r.name));
    for name in names {
        let dependent = crate::unsupported::DEPENDENT.iter().any(|start| name.starts_with(start));
        let known = is_read(&code, name) || dependent || refused.contains(&name) || HINTS.contains(&name);
        assert!(known, "{name} is parsed and nobody reads it: refuse it or list it as a hint");
    }
}

#[test]
fn hints_away_from_their_defaults_are_named() {
    let (mut db, mut family) = opened();
    let changed = |db: &DbOptions, family: &FamilyOptions| changed_hints(db, [("default", family)]);
    assert_eq!(changed(&db, &family), [""; 0]);
    db.update("use_adaptive_mutex=true;max_open_files=100").unwrap();
    family
        .update("memtable_huge_page_size=1;ttl=7;block_based_table_factory={index_block_search_type=kAuto;block_size=99}")
        .unwrap();
    assert_eq!(
        changed(&db, &family),
        [
            "use_adaptive_mutex",
            "memtable_huge_page_size of column family default",
            "table_factory.index_block_search_type of column family default"
        ]
    );
}

/// A doc that says "Has no effect" belongs to a hint, and each hint says so.
#[test]
fn every_hint_says_that_it_has_no_effect() {
    let family = FamilyOptions::ROWS.iter().map(|row| (row.name, row.doc));
    for (name, doc) in DbOptions::ROWS.iter().map(|row| (row.name, row.doc)).chain(family) {
        assert_eq!(doc.contains("Has no effect:"), HINTS.contains(&name), "{name}: {doc}");
    }
    let block_based = table::options::OPTIONS.iter().map(|row| (row.name, row.doc));
    let plain = table::options::PLAIN_OPTIONS.iter().map(|row| (row.name, row.doc));
    let cuckoo = table::options::CUCKOO_OPTIONS.iter().map(|row| (row.name, row.doc));
    for (name, doc) in block_based.chain(plain).chain(cuckoo) {
        assert_eq!(doc.contains("Has no effect:"), TABLE_HINTS.contains(&name), "{name}: {doc}");
    }
}

/// A doc that says "Not built" with a refusal belongs to an option that the open refuses.
#[test]
fn every_refused_option_says_that_it_is_not_built() {
    let family = FamilyOptions::ROWS.iter().map(|row| (row.name, row.doc));
    for (name, doc) in DbOptions::ROWS.iter().map(|row| (row.name, row.doc)).chain(family) {
        let says = doc.contains("Not built:") && doc.contains("refused");
        let partly = ["table_factory", "wal_compression"].contains(&name);
        assert!(
            partly || says == crate::unsupported::refused().any(|refused| refused == name),
            "{name}: {doc}"
        );
    }
}

/// Options of tables are read by `table`, or they are hints.
#[test]
fn every_table_option_is_read_or_a_hint() {
    let mut code = String::new();
    for crate_dir in ["../table/src", "../engine/src", "../format/src"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(crate_dir), &mut code);
    }
    // These options have one legal value.
    let one_value = ["flush_block_policy_factory", "user_defined_index_factory", "use_udi_as_primary_index"];
    for row in table::options::OPTIONS {
        let known =
            is_read(&code, row.name) || one_value.contains(&row.name) || TABLE_HINTS.contains(&row.name);
        assert!(known, "no code reads the table option {}", row.name);
    }
}

/// The code that acts on the fields of a nested option: a field of another struct with the same name does not count.
const NESTED: [(fn() -> Vec<&'static str>, &[&str]); 3] = [
    (|| names(CompactionOptionsUniversal::ROWS), &["lsm/src/pick/universal.rs"]),
    (|| names(CompactionOptionsFifo::ROWS), &["lsm/src/pick/fifo.rs", "engine/src/compaction/copy.rs"]),
    (
        || names(CompressionOptions::ROWS),
        &["compress/src", "table/src/sst/writer", "engine/src/family/resolve.rs"],
    ),
];

fn names<T>(rows: &[Row<T>]) -> Vec<&'static str> {
    rows.iter().map(|row| row.name).collect()
}

/// The code reads each field of the option structs, or the table of hints has the field.
#[test]
fn every_field_of_a_struct_is_read_or_a_hint() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (fields, places) in NESTED {
        let mut code = String::new();
        for place in places.iter().map(|place| root.join(place)) {
            match place.is_dir() {
                true => sources(&place, &mut code),
                false => code.push_str(&without_comments(&std::fs::read_to_string(place).unwrap())),
            }
        }
        for field in fields() {
            let is_hint = crate::FIELD_HINTS.iter().any(|hint| hint.1 == field);
            assert_ne!(
                is_read(&code, field),
                is_hint,
                "{field}: the code reads the field, or the field is a hint"
            );
        }
    }
}

/// The hints of nested options exist, their docs say that they have no effect, and the info log names the changed hints.
#[test]
fn changed_hints_of_nested_options_are_named() {
    let (db, mut family) = opened();
    let changed = |family: &FamilyOptions| changed_hints(&db, [("default", family)]);
    assert_eq!(changed(&family), [""; 0]);
    family.update("compaction_options_universal={reduce_file_locking=false;size_ratio=3}").unwrap();
    family.update("compaction_options_fifo={age_for_warm=7;trivial_copy_buffer_size=8192}").unwrap();
    let names = changed(&family);
    assert_eq!(names.len(), crate::FIELD_HINTS.len());
    for ((option, field, _), name) in crate::FIELD_HINTS.iter().zip(names) {
        assert_eq!(name, format!("{option}.{field} of column family default"));
    }
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/styles.rs")).unwrap();
    assert_eq!(text.matches("Has no effect").count(), crate::FIELD_HINTS.len());
}

/// The text of a nested option has a field in the releases that the row of the field names.
#[test]
fn rows_of_nested_options_name_the_releases_of_their_texts() {
    fn check<T: Value + Default>(rows: &[Row<T>]) {
        let releases = || rows.iter().map(|row| row.since).chain([Release::OLDEST]);
        assert!(releases().any(|release| release > Release::OLDEST));
        for release in releases() {
            let text = T::default().print_for(release);
            for row in rows {
                let is_in_text =
                    text.contains(&format!("{{{}=", row.name)) || text.contains(&format!(";{}=", row.name));
                assert_eq!(is_in_text, row.since <= release, "{} in {release}: {text}", row.name);
            }
        }
    }
    check(crate::CompressionOptions::ROWS);
    check(crate::CompactionOptionsUniversal::ROWS);
    check(crate::CompactionOptionsFifo::ROWS);
    check(crate::FileTemperatureAge::ROWS);
    check(table::options::MetadataCacheOptions::ROWS);
    check(table::options::LruCacheOptions::ROWS);
}

/// A field out of its range is accepted, as in RocksDB, and the info log names it.
#[test]
fn fields_out_of_their_ranges_are_named() {
    let family = "compression_opts={window_bits=30;level=3};bottommost_compression_opts={max_compressed_bytes_per_kb=0};\
        compaction_options_universal={min_merge_width=1};compaction_options_fifo={trivial_copy_buffer_size=1}";
    let warnings = check("", family).unwrap();
    let named: Vec<&str> = warnings
        .iter()
        .filter_map(|line| line.split_once(", which is out of its range"))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(
        named,
        [
            "compression_opts.window_bits is 30",
            "bottommost_compression_opts.max_compressed_bytes_per_kb is 0",
            "compaction_options_universal.min_merge_width is 1",
            "compaction_options_fifo.trivial_copy_buffer_size is 1",
        ]
    );
    assert!(
        !check("", "compression_opts={window_bits=-9}").unwrap().iter().any(|line| line.contains("range"))
    );
}

/// The ranges of tables reject a value and name the option.
#[test]
fn options_of_tables_out_of_their_ranges_are_refused() {
    for (table, field, said) in [
        ("PlainTable", "hash_table_ratio=-1", "hash_table_ratio is -1.000000; the range is 0 and more"),
        ("PlainTable", "hash_table_ratio=nan", "hash_table_ratio is NaN; the range is 0 and more"),
        ("PlainTable", "bloom_bits_per_key=-7", "bloom_bits_per_key is -7; the range is 0 and more"),
        ("CuckooTable", "hash_table_ratio=0", "hash_table_ratio is 0.000000; the range is above 0"),
    ] {
        let error = check("", &format!("table_factory={{id={table};{field}}}")).unwrap_err();
        assert_eq!(error.message(), format!("{table}Options.{said}"));
    }
}

/// Names and text of a field are wrong: the error names the field.
#[test]
fn wrong_values_of_fields_name_the_field() {
    for (text, doing) in [
        ("compression_opts={level=x}", "setting field CompressionOptions.level"),
        (
            "compaction_options_fifo={file_temperature_age_thresholds={{age=q}}}",
            "setting field FileTemperatureAge.age",
        ),
        (
            "memtable_factory={id=HashSkipListRepFactory;bucket_count=q}",
            "setting field HashSkipListOptions.bucket_count",
        ),
        (
            "block_based_table_factory={metadata_cache_options={partition_pinning=q}}",
            "setting field MetadataCacheOptions.partition_pinning",
        ),
        ("block_based_table_factory={block_cache={capacity=q}}", "setting field LruCacheOptions.capacity"),
    ] {
        let error = FamilyOptions::default().update(text).unwrap_err();
        assert_eq!(error.activity(), Some(doing), "{text}: {error}");
    }
}

/// Files with structs of options that are passed to calls, or that configure a component in code.
const CALLS: [&str; 12] = [
    "engine/src/options/operations.rs",
    "engine/src/db/live_files.rs",
    "ironstone/src/txn/indexed/mod.rs",
    "ironstone/src/txn/options.rs",
    "ironstone/src/checkpoint.rs",
    "ironstone/src/backup/options.rs",
    "mem/src/cache/options.rs",
    "table/src/options/mod.rs",
    "env/src/rate.rs",
    "env/src/sst_files.rs",
    "env/src/logger/file.rs",
    "compress/src/options.rs",
];

/// One field of the options of a call.
struct CallField {
    owner: String,
    name: String,
    /// True if the doc of the field says that the field has no effect.
    is_hint: bool,
}

/// Returns the public fields of the structs in a source file whose names contain `Options`, and the rows of `base::options!`.
fn fields(text: &str) -> Vec<CallField> {
    let mut found = Vec::new();
    let (mut owner, mut in_rows, mut is_hint) = (None, false, false);
    for line in text.lines() {
        let name = |rest: &str| -> String {
            rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        if let Some(rest) = line.strip_prefix("pub struct ") {
            owner = Some(name(rest)).filter(|name| name.contains("Options"));
        } else if line == "base::options! {" {
            in_rows = true;
        } else if line.starts_with('}') {
            (owner, in_rows) = (None, false);
        } else if in_rows && owner.is_none() && line.ends_with("Options;") {
            owner = Some(name(line.trim()));
        } else if line.starts_with("    /// ") {
            is_hint |= line.contains("/// Has no effect:");
            continue;
        } else if let Some(owner) = &owner {
            let row = line.strip_prefix("    ").filter(|rest| in_rows && rest.contains(": "));
            let row = row.map(|rest| {
                ["call ", "mutable "].iter().find_map(|kind| rest.strip_prefix(kind)).unwrap_or(rest)
            });
            let field = line.strip_prefix("    pub ").filter(|rest| !in_rows && !rest.starts_with("fn "));
            if let Some(rest) = row.or(field).filter(|rest| !name(rest).is_empty()) {
                found.push(CallField { owner: owner.clone(), name: name(rest), is_hint });
            }
        }
        is_hint = false;
    }
    found
}

#[test]
fn fields_are_read_from_structs_and_from_rows() {
    let text = "pub struct AOptions {\n    pub one: u8,\n}\nbase::options! {\n    calls;\n    BOptions;\n    /// Has no effect: no.\n    call \
                two: u8 = 0;\n    components\n    three: u8 = 0;\n}\n";
    let found = fields(text).into_iter().map(|field| (field.owner, field.name, field.is_hint));
    let expected = [("AOptions", "one", false), ("BOptions", "two", true), ("BOptions", "three", false)];
    let expected = expected.map(|(owner, name, is_hint)| (owner.to_string(), name.to_string(), is_hint));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

/// A field of the options of a call is read by the code, or the doc of the field says that the field has no effect.
#[test]
fn every_field_of_the_options_of_calls_is_read_or_a_hint() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut code = String::new();
    for name in ["engine", "ironstone", "mem", "table", "env", "lsm", "compress"] {
        all_sources(&root.join(name).join("src"), &mut code);
    }
    let mut count = 0;
    for file in CALLS {
        for CallField { owner, name: field, is_hint } in
            fields(&std::fs::read_to_string(root.join(file)).unwrap())
        {
            count += 1;
            // A pattern that takes the struct apart reads the field too.
            let taken = code.match_indices(&format!("let {owner} {{")).any(|(at, _)| {
                let pattern = code[at..].split('}').next().unwrap_or_default();
                pattern.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == field)
            });
            assert!(is_read(&code, &field) || taken || is_hint, "no code reads {owner}::{field}");
        }
    }
    assert!(count > 150, "{count} fields");
}

/// Collects the sources as [`sources`] does, but includes the modules that are called `options`.
fn all_sources(dir: &Path, out: &mut String) {
    for path in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            all_sources(&path, out);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            out.push_str(&without_comments(&std::fs::read_to_string(path).unwrap()));
        }
    }
}

#[test]
fn the_readme_names_every_option_that_is_refused() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    for option in crate::unsupported::refused() {
        assert!(
            readme.contains(&format!("| `{option}")),
            "{option} is missing in the table of what is not built"
        );
    }
}
