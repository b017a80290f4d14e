//! OPTIONS files: files of RocksDB, files of Ironstone, and corrupt files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use format::options_ini;
use proptest::prelude::*;

use super::opened;
use crate::check;
use crate::file::{ReadConfig, load_latest, persist, read, verify, write};
use crate::*;

const SAMPLE: &str = include_str!("../../../fixtures/formats/OPTIONS.sample");

fn statements(text: &str) -> Vec<(String, BTreeSet<(String, String)>)> {
    let file = options_ini::parse(text).unwrap();
    file.sections.into_iter().map(|s| (s.title.to_string(), s.statements.into_iter().collect())).collect()
}

fn families(of: &[(String, FamilyOptions)]) -> impl Iterator<Item = (&str, &FamilyOptions)> + Clone {
    of.iter().map(|(name, options)| (name.as_str(), options))
}

#[test]
fn defaults_are_the_ones_rocksdb_writes() {
    let (db, family) = opened();
    let ours = write(&db, [("default", &family)]);
    assert_eq!(statements(&ours), statements(SAMPLE));
}

#[test]
fn the_sample_reads_as_the_defaults() {
    let (db, family) = opened();
    let file = read(SAMPLE, &ReadConfig::default()).unwrap();
    assert_eq!(file.db.differences(&db), [""; 0]);
    assert_eq!(file.families[0].1.differences(&family), [""; 0]);
    assert!(file.missing.is_empty() && file.ignored.is_empty());
    verify(SAMPLE, &db, [("default", &family)]).unwrap();
}

/// OPTIONS files of RocksDB's golden databases.
fn golden() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden");
    let mut all = Vec::new();
    for dir in std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()) {
        let files = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
        all.extend(files.filter(|p| p.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-")));
    }
    all.sort();
    all
}

#[test]
fn rocksdb_files_read_and_write_alike() {
    let files = golden();
    assert!(files.len() > 50);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = read(&text, &ReadConfig::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let ours = write(&file.db, families(&file.families));
        let missing: BTreeSet<&str> = file.missing.iter().map(|m| m.option.as_str()).collect();
        for ((title, ours), (_, theirs)) in statements(&ours).iter().zip(&statements(&text)) {
            let differ: Vec<_> = theirs
                .symmetric_difference(ours)
                .filter(|(name, _)| title != "[Version]" && !missing.contains(name.as_str()))
                .collect();
            assert!(differ.is_empty(), "{} {title}: {differ:?}", path.display());
        }
        verify(&ours, &file.db, families(&file.families)).unwrap();
        let has_tables_of_ours =
            file.families.iter().all(|(_, options)| options.table_factory.block_based().is_some());
        let quick = check::reads_back(&ours, &file.db, families(&file.families));
        assert_eq!(quick, has_tables_of_ours, "{}", path.display());
    }
}

#[test]
fn a_text_that_says_something_else_does_not_read_back() {
    let (mut db, mut family) = opened();
    (db.max_open_files, family.write_buffer_size) = (77, 12345);
    let both = [("default", &family), ("more\\#\n", &family)];
    let text = write(&db, both);
    assert!(check::reads_back(&text, &db, both) && verify(&text, &db, both).is_ok());
    assert!(!check::reads_back(&text, &db, [both[0]]) && !check::reads_back(&text, &db, [both[1], both[0]]));
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut differing = 0;
    for at in 0..lines.len() {
        let with = |line: &str| [&lines[..at], &[line], &lines[at + 1..]].concat().concat();
        let values =
            lines[at].split_once('=').map(|(name, _)| [format!("{name}=7\n"), format!("{name}=nothing\n")]);
        for changed in [with(""), with("  x=1\n"), with("  x\n")]
            .into_iter()
            .chain(values.into_iter().flatten().map(|v| with(&v)))
        {
            let reads_back = check::reads_back(&changed, &db, both);
            assert!(!reads_back || verify(&changed, &db, both).is_ok(), "{changed}");
            differing += usize::from(!reads_back);
        }
    }
    assert!(differing > lines.len() * 3, "{differing} of {} lines", lines.len());
}

#[test]
fn the_newest_file_is_loaded() {
    let env = env::Env::memory(1);
    let dir = Path::new("/db");
    env.fs.create_dir_all(dir).unwrap();
    assert!(load_latest(&env, dir, &ReadConfig::default()).err().unwrap().is_not_found());
    let absent = load_latest(&env, Path::new("/missing"), &ReadConfig::default()).err().unwrap();
    assert_eq!(
        (absent.kind(), absent.subcode()),
        (base::Kind::NotFound, base::Subcode::PathNotFound),
        "{absent}"
    );
    let (mut db, family) = opened();
    for number in [9, 1_000_007, 12] {
        db.max_open_files = number;
        let text = write(&db, [("default", &family)]);
        env.fs.write_all(&dir.join(format!("OPTIONS-{number:06}")), text.as_bytes(), true).unwrap();
    }
    env.fs.write_all(&dir.join("OPTIONS-9999999.dbtmp"), b"", true).unwrap();
    let (number, file) = load_latest(&env, dir, &ReadConfig::default()).unwrap();
    assert_eq!((number.get(), file.db.max_open_files), (1_000_007, 1_000_007));
}

#[test]
fn the_newest_two_files_stay_and_nothing_temporary() {
    let env = env::Env::memory(1);
    let dir = Path::new("/db");
    env.fs.create_dir_all(dir).unwrap();
    let (db, family) = opened();
    for n in [10, 20, 30] {
        let numbers = (base::FileNumber::new(n), base::FileNumber::new(n + 1));
        persist(&env, dir, numbers, &db, [("default", &family)]).unwrap();
    }
    let mut names = env.fs.list(dir).unwrap();
    names.sort();
    assert_eq!(names, ["OPTIONS-000021", "OPTIONS-000031"]);
}

const OK: &str = "[DBOptions]\n[CFOptions \"default\"]\n";

#[test]
fn unknown_options_are_refused_unless_they_are_from_the_future() {
    let lenient = ReadConfig { ignore_unknown_options: true, ..ReadConfig::default() };
    let with = |version: &str| format!("[Version]\nrocksdb_version={version}\n{OK}new_thing=1\n");
    assert!(read(&with("12.0.0"), &ReadConfig::default()).is_err());
    assert_eq!(read(&with("12.0.0"), &lenient).ok().unwrap().ignored, ["new_thing"]);
    let error = read(&with("11.8.1"), &lenient).err().unwrap();
    assert!(error.to_string().contains("Could not find option: ColumnFamilyOptions.new_thing"), "{error}");
}

#[test]
fn objects_that_cannot_be_made_are_reported() {
    let text = format!("{OK}merge_operator=MyMerge\ncomparator=my.Comparator\nwrite_buffer_size=1m\n");
    let file = read(&text, &ReadConfig::default()).unwrap();
    let told: Vec<_> = file.missing.iter().map(|m| (m.option.as_str(), m.object.as_str())).collect();
    assert_eq!(told, [("merge_operator", "MyMerge"), ("comparator", "my.Comparator")]);
    assert_eq!(file.families[0].1.write_buffer_size, 1 << 20);
    let strict = ReadConfig { ignore_unsupported_options: false, ..ReadConfig::default() };
    assert!(read(&text, &strict).is_err());
}

/// RocksDB writes a policy's name alone if the application set the policy in code, and loads no policy from the name.
#[test]
fn filter_policy_without_bits_loads_as_no_filter() {
    for policy in ["bloomfilter", "ribbonfilter", "{id=ribbonfilter;bits_per_key=10}", "rocksdb.BloomFilter"]
    {
        let text = format!(
            "{OK}[TableOptions/BlockBasedTable \"default\"]\n  filter_policy={policy}\n  block_size=1234\n"
        );
        let file = read(&text, &ReadConfig::default()).unwrap_or_else(|e| panic!("{policy}: {e}"));
        let table = file.families[0].1.table_factory.block_based().unwrap();
        assert_eq!((table.filter_policy.clone(), table.block_size), (None, 1234), "{policy}");
        assert_eq!(file.missing[0].object, policy);
        let strict = ReadConfig { ignore_unsupported_options: false, ..ReadConfig::default() };
        assert_eq!(read(&text, &strict).err().unwrap().kind(), base::Kind::NotSupported);
    }
}

#[test]
fn file_for_an_older_release_holds_what_the_release_knows() {
    let (mut db, mut family) = opened();
    db.compat = Compat::parse("8.2").unwrap();
    (db.track_and_verify_wals, db.max_open_files) = (true, 77);
    family.compression_opts.checksum = true;
    family.compaction_options_universal.size_ratio = 7;
    family.disallow_memtable_writes = true;
    family.table_factory.set("decouple_partitioned_filters", "false").unwrap();
    let text = write(&db, [("default", &family)]);
    let holds = |line: &str| text.contains(line);
    assert!(holds("rocksdb_version=8.2.0\n") && holds("max_open_files=77\n") && holds("size_ratio=7;"));
    for newer in ["track_and_verify_wals=", "checksum=true", "disallow_memtable", "decouple_", "reduce_file"]
    {
        assert!(!holds(newer), "{newer}");
    }
    verify(&text, &db, [("default", &family)]).unwrap();
    db.max_open_files = 78;
    assert!(verify(&text, &db, [("default", &family)]).is_err());
    db.max_open_files = 77;
    family.compaction_options_universal.size_ratio = 8;
    assert!(verify(&text, &db, [("default", &family)]).is_err());
}

#[test]
fn empty_db_host_id_is_written_as_no_line() {
    let (mut db, family) = opened();
    db.db_host_id.clear();
    let text = write(&db, [("default", &family)]);
    assert!(!text.contains("db_host_id"));
    assert!(check::reads_back(&text, &db, [("default", &family)]));
    verify(&text, &db, [("default", &family)]).unwrap();
}

/// The text is that of `db_bench`.
#[test]
fn listeners_that_a_file_names_are_reported_and_left_out() {
    let read_one = |value: &str| {
        read(&format!("[DBOptions]\nlisteners={value}\n[CFOptions \"default\"]\n"), &ReadConfig::default())
    };
    let told = read_one("{ErrorHandlerListener:{id=Mine;timeout=60}}").unwrap().missing;
    assert_eq!(
        told.iter().map(|m| (m.family.is_none(), m.option.as_str())).collect::<Vec<_>>(),
        [(true, "listeners")]
    );
    for nothing in ["", "{}", "nullptr"] {
        assert!(read_one(nothing).unwrap().missing.is_empty());
    }
    let error = DbOptions::default().update("listeners=Mine").unwrap_err();
    assert_eq!(error.kind(), base::Kind::NotSupported, "{error}");
}

/// The sections that RocksDB 11.8.1 writes for these options, and a format that RocksDB does not have.
#[test]
fn tables_of_other_kinds_have_their_own_sections() {
    let plain = "store_index_in_file=true
  encoding_type=kPrefix
  huge_page_tlb_size=0
  hash_table_ratio=0.500000
  full_scan_mode=false
  bloom_bits_per_key=3
  index_sparseness=8
  user_key_len=8
";
    let cuckoo = "use_module_hash=false
  identity_as_first_hash=true
  max_search_depth=9
  cuckoo_block_size=5
  hash_table_ratio=0.900000
";
    for (name, section, refused) in
        [("PlainTable", plain, false), ("CuckooTable", cuckoo, false), ("BeechTable", "leaves=7\n", true)]
    {
        let section = format!("[TableOptions/{name} \"default\"]\n  {section}");
        let file = read(&format!("{OK}table_factory={name}\n{section}"), &ReadConfig::default()).unwrap();
        assert_eq!(file.families[0].1.table_factory.name(), name);
        let text = write(&file.db, families(&file.families));
        assert!(text.contains(&section), "{text}");
        let said = unsupported(&file.db, families(&file.families));
        assert_eq!(said.iter().any(|line| line.contains("table_factory of column family default")), refused);
    }
    let unknown = format!("{OK}table_factory=PlainTable\n[TableOptions/PlainTable \"default\"]\nleaves=7\n");
    assert!(read(&unknown, &ReadConfig::default()).is_err());
}

#[test]
fn the_fields_of_a_plain_table_cannot_change_while_the_database_is_open() {
    let mut family = FamilyOptions::default();
    family.set("table_factory", "{id=PlainTable;user_key_len=8}").unwrap();
    assert!(family.set_live([("table_factory.user_key_len", "9")]).is_err());
    assert_eq!(family.get("table_factory.user_key_len").unwrap(), "8");
}

/// The texts are those of RocksDB 11.8.1.
#[test]
fn memtables_have_their_names_and_fields() {
    for (text, printed) in [
        (
            "prefix_hash",
            "{id=HashSkipListRepFactory;branching_factor=4;skiplist_height=4;bucket_count=1000000;}",
        ),
        (
            "prefix_hash:77",
            "{id=HashSkipListRepFactory;branching_factor=4;skiplist_height=4;bucket_count=77;}",
        ),
        (
            "hash_linkedlist:9",
            "{id=HashLinkListRepFactory;log_when_flash=true;logging_threshold=4096;huge_page_size=0;threshold=256;\
             bucket_count=9;}",
        ),
        (
            "{id=HashLinkListRepFactory;threshold=3;log_when_flash=false}",
            "{id=HashLinkListRepFactory;log_when_flash=false;logging_threshold=4096;huge_page_size=0;threshold=3;\
             bucket_count=50000;}",
        ),
        ("vector:12", "{id=VectorRepFactory;count=12;}"),
        ("skip_list:5", "SkipListFactory:5"),
        ("SkipListFactory", "SkipListFactory"),
    ] {
        let mut family = FamilyOptions::default();
        family.set("memtable_factory", text).unwrap();
        assert_eq!(family.get("memtable_factory").unwrap(), printed);
        let (read, first) = (family.memtable_factory.clone(), family.clone());
        family.set("memtable_factory", printed).unwrap();
        assert_eq!(family.memtable_factory, read, "{:?}", first.get("memtable_factory"));
    }
    let mut family = FamilyOptions::default();
    let error = family.set("memtable_factory", "cuckoo").unwrap_err();
    assert!(error.to_string().contains("cuckoo hash memtable is not supported anymore."), "{error}");
    assert!(family.set("memtable_factory", "{id=VectorRepFactory;bogus=1}").is_err());
}

#[test]
fn verify_names_what_differs() {
    let (mut db, mut family) = opened();
    let text = write(&db, [("default", &family)]);
    family.ttl = 7;
    assert!(verify(&text, &db, [("default", &family)]).unwrap_err().message().contains("default::ttl"));
    db.max_open_files = 7;
    assert!(verify(&text, &db, [("default", &family)]).unwrap_err().message().contains("max_open_files"));
}

/// RocksDB's `ldb` in the folder `IRONSTONE_ORACLE` opens a new database with an OPTIONS file that this test writes.
#[test]
fn rocksdb_loads_what_we_write() {
    let Some(oracle) = std::env::var_os("IRONSTONE_ORACLE").map(PathBuf::from) else {
        eprintln!("SKIPPED rocksdb_loads_what_we_write: set IRONSTONE_ORACLE to a folder with RocksDB's ldb");
        return;
    };
    let ldb = if oracle.is_dir() { oracle.join("ldb") } else { oracle.with_file_name("ldb") };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let run = |args: &[&str]| {
        let db = format!("--db={}", path.display());
        let out = std::process::Command::new(&ldb).arg(db).args(args).output().unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success() && text.contains("OK"), "{text}");
    };
    run(&["put", "a", "b", "--create_if_missing"]);
    let mut rng = 7u64;
    for round in 0..20 {
        let (mut db, mut family) = opened();
        change_some(&mut rng, &mut db, &mut family);
        let text = write(&db, [("default", &family)]);
        for old in std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()) {
            if old.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-") {
                std::fs::remove_file(old).unwrap();
            }
        }
        std::fs::write(path.join("OPTIONS-999999"), &text).unwrap();
        run(&["put", "a", &round.to_string(), "--try_load_options"]);
        let written = std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()).find(|p| {
            let name = p.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("OPTIONS-") && !name.ends_with("999999")
        });
        let theirs = std::fs::read_to_string(written.unwrap()).unwrap();
        let file = read(&theirs, &ReadConfig::default()).unwrap();
        for name in ["max_open_files", "bytes_per_sync", "max_background_jobs", "WAL_ttl_seconds"] {
            assert_eq!(file.db.get(name), db.get(name), "{name}");
        }
        for name in ["compression_opts", "max_bytes_for_level_base", "compaction_options_universal", "ttl"] {
            assert_eq!(file.families[0].1.get(name), family.get(name), "{name}");
        }
        let tables = |o: &FamilyOptions| o.table_factory.block_based().unwrap().clone();
        assert_eq!(tables(&file.families[0].1).filter_policy, tables(&family).filter_policy);
    }
}

/// Values that older releases read in another form, or not at all.
const NEWER: &str = "compression_opts={checksum=true;level=3};bottommost_compression_opts={enabled=true};\
    compaction_options_universal={size_ratio=7};memtable_factory=skip_list:5;last_level_temperature=kCold;\
    default_write_temperature=kIce;sst_partitioner_factory={id=SstPartitionerFixedPrefixFactory;length=3};\
    table_properties_collectors={id=CompactOnDeletionCollector;window_size=64;deletion_trigger=32};\
    compression_manager=BuiltinV2;verify_output_flags=3;prefix_extractor=rocksdb.FixedPrefix.3;\
    compaction_pri=kRoundRobin;block_based_table_factory={filter_policy=ribbonfilter:9.5:2;\
    prepopulate_block_cache=kFlushAndCompaction;metadata_cache_options={partition_pinning=kAll}}";

/// The libraries `librocksdb-X.Y.Z.so` in the folder `IRONSTONE_RELEASES` load the OPTIONS files that `compat` writes, and
/// reject unknown options. Two releases in one process share static objects, so each library gets a process.
#[test]
fn every_release_loads_strictly_what_compat_writes() {
    const LIBRARY: &str = "IRONSTONE_RELEASE_LIBRARY";
    const NAME: &str = "tests::files::every_release_loads_strictly_what_compat_writes";
    if let Some(library) = std::env::var_os(LIBRARY) {
        return load_what_compat_writes(Path::new(&library));
    }
    let Some(folder) = std::env::var_os("IRONSTONE_RELEASES").map(PathBuf::from) else {
        eprintln!("SKIPPED {NAME}: set IRONSTONE_RELEASES to a folder with libraries of RocksDB");
        return;
    };
    let mut tried = 0;
    for library in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        // Older C interfaces cannot load OPTIONS files.
        if library.extension().is_none_or(|e| e != "so") || !release_of(&library).reads((7, 5)) {
            continue;
        }
        let test = std::env::current_exe().unwrap();
        let child = std::process::Command::new(test).args(["--exact", NAME]).env(LIBRARY, &library).output();
        let child = child.unwrap();
        assert!(child.status.success(), "{library:?}\n{}", String::from_utf8_lossy(&child.stdout));
        tried += 1;
    }
    assert!(tried > 0, "no library of release 7.5 or newer");
    println!("{tried} releases loaded all files");
}

fn release_of(library: &Path) -> Compat {
    let name = library.file_stem().unwrap().to_string_lossy().into_owned();
    let numbers: Vec<&str> = name.trim_start_matches("librocksdb-").split('.').collect();
    Compat::parse(&numbers[..2].join(".")).unwrap()
}

fn load_what_compat_writes(library: &Path) {
    for changes in ["", NEWER] {
        let (mut db, mut family) = opened();
        db.compat = release_of(library);
        db.update("daily_offpeak_time_utc={01:00-02:00};lowest_used_cache_tier=kVolatileCompressedTier")
            .unwrap();
        family.update(changes).unwrap();
        db.compat.cap(&mut family).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let text = write(&db, [("default", &family), ("other", &family)]);
        verify(&text, &db, [("default", &family), ("other", &family)]).unwrap();
        std::fs::write(dir.path().join("OPTIONS-000007"), &text).unwrap();
        assert_eq!(peer::load_latest_options(library, dir.path()), Ok(2), "{changes}");
    }
}

/// Sets some options to values that are not defaults. RocksDB accepts all these values together.
fn change_some(rng: &mut u64, db: &mut DbOptions, family: &mut FamilyOptions) {
    let mut next = |n: u64| {
        *rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*rng >> 33) % n
    };
    db.max_open_files = 20 + next(1000) as i32;
    db.bytes_per_sync = next(1 << 30);
    db.max_background_jobs = 1 + next(8) as i32;
    db.WAL_ttl_seconds = next(100);
    db.use_fsync = next(2) == 0;
    db.db_host_id = ["a#b", "c:d\\e", "__hostname__"][next(3) as usize].to_string();
    family.compression_opts.level = next(10) as i32;
    family.compression_opts.max_dict_bytes = next(1 << 16) as u32;
    family.max_bytes_for_level_base = 1 + next(1 << 30);
    family.compaction_options_universal.size_ratio = next(100) as u32;
    family.ttl = next(1000);
    family.compression_per_level =
        [CompressionType::NONE, CompressionType::LZ4, CompressionType::ZSTD][..next(4) as usize].to_vec();
    family.max_bytes_for_level_multiplier_additional = vec![1 + next(3) as i32; 7];
    family.memtable_prefix_bloom_size_ratio = next(25) as f64 / 100.0;
    family
        .set(
            "prefix_extractor",
            ["nullptr", "rocksdb.FixedPrefix.4", "rocksdb.CappedPrefix.6"][next(3) as usize],
        )
        .unwrap();
    family.set("memtable_factory", ["skip_list", "skip_list:5"][next(2) as usize]).unwrap();
    let table = family.table_factory.block_based_mut().unwrap();
    table.block_size = 1024 << next(5);
    table
        .set("filter_policy", ["nullptr", "bloomfilter:10:false", "ribbonfilter:9.5:3"][next(3) as usize])
        .unwrap();
    table.format_version = 2 + next(6) as u32;
}

proptest! {
    #[test]
    fn changed_files_never_panic(at in 0..SAMPLE.len(), with in "[a-z0-9={};:\\[\\]\n.-]{0,6}", cut: bool) {
        let text = match cut {
            true => SAMPLE[..at].to_string(),
            false => format!("{}{with}{}", &SAMPLE[..at], &SAMPLE[(at + 1).min(SAMPLE.len())..]),
        };
        if let Ok(file) = read(&text, &ReadConfig::default()) {
            let again = write(&file.db, families(&file.families));
            let back = read(&again, &ReadConfig::default()).unwrap();
            prop_assert_eq!(back.db.differences(&file.db), [""; 0]);
        }
    }
}
