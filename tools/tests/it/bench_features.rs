//! db_bench: the benchmarks and flags of backups, ingestion, blob files, timestamps, entities, and instances that
//! follow a writer.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{ldb_on, oracle, sst_dump};

fn run(db: &Path, args: &[&str]) -> Output {
    let db = format!("--db={}", db.display());
    Command::new(env!("CARGO_BIN_EXE_db_bench")).arg(db).args(args).output().unwrap()
}

fn good(db: &Path, args: &[&str]) -> String {
    let output = run(db, args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{args:?}\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn refused(args: &[&str], words: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let output = run(&scratch.path().join("db"), args);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains(words), "{args:?}: {text}");
}

fn rows(db: &Path) -> String {
    ldb_on(db, &["scan", "--hex"]).good()
}

#[test]
fn a_restored_backup_has_the_rows_of_the_database() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let (backups, restored) =
        (format!("--backup_dir={}", at("b").display()), format!("--restore_dir={}", at("r").display()));
    let text = good(
        &at("db"),
        &[
            "--benchmarks=fillrandom,backup,restore",
            "--num=500",
            "--backup_rate_limit=100000000",
            &backups,
            &restored,
        ],
    );
    assert!(text.contains(&format!("Restore path: [{}]", at("r").display())), "{text}");
    assert!(text.contains("backup       : ") && text.contains("restore      : "), "{text}");
    assert_eq!(rows(&at("r")), rows(&at("db")));
    assert!(rows(&at("r")).lines().count() > 200);
}

#[test]
fn ingested_files_hold_all_keys_and_leave_no_other_file() {
    let scratch = tempfile::tempdir().unwrap();
    let db = scratch.path().join("db");
    let args = [
        "--benchmarks=ingestexternalfile",
        "--num=300",
        "--ingest_external_file_batch_size=3",
        "--ingest_external_file_num_batches=2",
        "--ingest_external_file_file_opening_threads=2",
    ];
    let text = good(&db, &args);
    assert!(text.contains("(2 batches x 3 files, 300 keys/file, 2 threads)"), "{text}");
    assert_eq!(rows(&db).lines().count(), 300);
    assert_eq!(std::fs::read_dir(db.join("ingest_tmp")).unwrap().count(), 0);
}

#[test]
fn entities_of_plain_values_are_read_alone_and_in_batches() {
    let scratch = tempfile::tempdir().unwrap();
    let args = [
        "--benchmarks=fillseq,readrandomentity,multireadentity",
        "--num=500",
        "--batch_size=5",
        "--reads=400",
    ];
    let text = good(&scratch.path().join("db"), &args);
    assert_eq!(text.matches("(400 of 400 found)").count(), 2, "{text}");
}

#[test]
fn each_benchmark_with_timestamps_stamps_its_reads_and_writes() {
    let scratch = tempfile::tempdir().unwrap();
    let db = scratch.path().join("db");
    let names = "fillseq,overwrite,readrandom,readrandomfast,readseq,readreverse,multireadrandom,seekrandom,newiterator,\
                 readrandomwriterandom,updaterandom,xorupdaterandom,appendrandom,deleterandom,fillseekseq,\
                 readwhilewriting,randomreplacekeys";
    for latest in ["true", "false"] {
        let text = good(
            &db,
            &[
                &format!("--benchmarks={names}"),
                &format!("--read_with_latest_user_timestamp={latest}"),
                "--user_timestamp_size=8",
                "--num=400",
                "--reads=300",
                "--deletes=10",
                "--numdistinct=20",
            ],
        );
        assert!(text.contains("(+ 8 bytes user-defined timestamp)"), "{text}");
        for name in names.split(',') {
            assert!(
                text.lines().any(|line| line.starts_with(name) && line.contains(" micros/op ")),
                "{name}"
            );
        }
        if latest == "true" {
            assert!(text.contains("(300 of 300 found)"), "{text}");
        }
    }
    let newest = format!("--read_timestamp={}", u64::MAX);
    assert!(ldb_on(&db, &["scan", "--hex", &newest]).good().contains("|timestamp:"));
    for benchmark in ["readrandomentity", "multireadentity"] {
        let benchmarks = format!("--benchmarks=fillseq,{benchmark}");
        refused(&[&benchmarks, "--num=10", "--user_timestamp_size=8"], "does not support user timestamps");
    }
    refused(&["--benchmarks=fillseq", "--user_timestamp_size=4"], "Only 64 bits timestamps are supported.");
}

#[test]
fn flags_of_blob_files_write_and_read_blob_files() {
    let scratch = tempfile::tempdir().unwrap();
    let db = scratch.path().join("db");
    let blobs = [
        "--enable_blob_files=true",
        "--min_blob_size=512",
        "--blob_compression_type=lz4",
        "--enable_blob_garbage_collection=true",
        "--blob_garbage_collection_age_cutoff=0.5",
        "--use_blob_cache=true",
    ];
    let args =
        ["--benchmarks=fillrandom,flush,overwrite,compact,readrandom", "--num=300", "--value_size=1024"];
    for shared in ["true", "false"] {
        let shared_flag = format!("--use_shared_block_and_blob_cache={shared}");
        let text =
            good(&db, &[&args[..], &blobs[..], &[&shared_flag, "--prepopulate_blob_cache=1"]].concat());
        let word = format!("blob caches shared: {}", u8::from(shared == "true"));
        assert!(text.contains(&word) && text.contains("blob cache prepopulated: 1"), "{text}");
        let files = std::fs::read_dir(&db).unwrap();
        let blob_files =
            files.filter(|f| f.as_ref().unwrap().path().extension().is_some_and(|e| e == "blob"));
        assert!(blob_files.count() > 0);
    }
    refused(
        &[
            "--benchmarks=fillseq",
            "--use_blob_cache",
            "--use_shared_block_and_blob_cache=false",
            "--blob_cache_size=0",
        ],
        "blob_cache_size <= 0",
    );
}

#[test]
fn a_secondary_concurrent_with_the_writer_reads_its_writes() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    good(&at("db"), &["--benchmarks=fillseq", "--num=300"]);
    let own = format!("--secondary_path={}", at("second").display());
    let read = ["--benchmarks=readrandom", "--num=300", "--reads=200", "--use_existing_db"];
    let text = good(&at("db"), &[&read[..], &["--use_secondary_db", &own]].concat());
    assert!(text.contains("(200 of 200 found)") && text.contains("Secondary instance updated  "), "{text}");
    assert!(at("second").join("LOG").exists());

    good(&at("db"), &["--benchmarks=flush", "--use_existing_db"]);
    let leader = format!("--leader_path={}", at("db").display());
    let text = good(&at("follower"), &[&read[..], &["--open_as_follower", &leader]].concat());
    assert!(text.contains("(200 of 200 found)"), "{text}");

    refused(&["--benchmarks=readrandom", "--use_secondary_db"], "--use_existing_db");
    refused(
        &["--benchmarks=readrandom", "--use_secondary_db", "--use_existing_db", "--transaction_db"],
        "--transaction_db",
    );
}

/// Returns the newest OPTIONS file of a database.
fn options_of(db: &Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(db).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.to_string_lossy().contains("OPTIONS-")).max().unwrap()
}

#[test]
fn an_options_file_gives_the_options() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    good(&at("first"), &["--benchmarks=fillseq", "--num=10", "--write_buffer_size=7654321"]);
    let file = format!("--options_file={}", options_of(&at("first")).display());
    good(&at("second"), &["--benchmarks=fillseq", "--num=10", &file]);
    let text = std::fs::read_to_string(options_of(&at("second"))).unwrap();
    assert!(text.contains("  write_buffer_size=7654321\n"), "{text}");
    refused(&["--benchmarks=fillseq", "--options_file=/nonexistent/OPTIONS"], "/nonexistent/OPTIONS");
}

/// RocksDB's db_bench takes these objects from the flags too, except for the merge operator: its merges fail.
#[test]
fn flags_give_the_objects_that_an_options_file_does_not_name() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let file = |db: &str| format!("--options_file={}", options_of(&at(db)).display());
    good(&at("none"), &["--benchmarks=fillseq", "--num=10"]);
    let objects = ["--merge_operator=uint64add", "--bloom_bits=7", "--file_checksum"];
    let named = ["UInt64AddOperator", "bloomfilter:7", "FileChecksumGenCrc32cFactory"];
    let merges = ["--benchmarks=mergerandom", "--num=10", "--merge_keys=5"];
    good(&at("some"), &[&merges[..], &objects[..], &[&file("none")]].concat());
    let text = std::fs::read_to_string(options_of(&at("some"))).unwrap();
    for name in named {
        assert!(text.contains(name), "{name}\n{text}");
    }
    let others = ["--merge_operator=put", "--bloom_bits=9"];
    good(&at("kept"), &[&["--benchmarks=fillseq", "--num=10"][..], &others[..], &[&file("some")]].concat());
    let text = std::fs::read_to_string(options_of(&at("kept"))).unwrap();
    for name in named {
        assert!(text.contains(name), "{name}\n{text}");
    }
}

#[test]
fn flags_that_an_options_file_overrides_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    good(&at("first"), &["--benchmarks=fillseq", "--num=10", "--bloom_bits=5"]);
    let file = format!("--options_file={}", options_of(&at("first")).display());
    let flags = [
        "--write_buffer_size=7654321",
        "--compression_type=lz4",
        "--bloom_bits=7",
        "--value_size=9",
        "--seed=3",
        "--use_stderr_info_logger",
        "--cost_write_buffer_to_cache",
    ];
    let output = run(&at("second"), &[&["--benchmarks=fillseq", "--num=10", &file][..], &flags[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let errors = String::from_utf8_lossy(&output.stderr);
    let named: Vec<&str> = errors.lines().filter(|line| line.contains("sets no option")).collect();
    assert_eq!(
        named,
        [
            "bloom_bits",
            "compression_type",
            "cost_write_buffer_to_cache",
            "use_stderr_info_logger",
            "write_buffer_size"
        ]
        .map(|flag| format!("db_bench: --{flag} sets no option, because --options_file gives the options"))
    );
}

#[test]
fn existing_keys_are_the_keys_of_reads() {
    let scratch = tempfile::tempdir().unwrap();
    let db = scratch.path().join("db");
    ldb_on(&db, &["batchput", "apple", "1", "fig", "2", "watermelon", "3", "--create_if_missing"]).good();
    let text = good(
        &db,
        &["--benchmarks=readrandom", "--use_existing_db", "--use_existing_keys", "--reads=50", "--num=7"],
    );
    assert!(text.contains("(50 of 50 found)"), "{text}");
    refused(&["--benchmarks=readrandom", "--use_existing_keys"], "-use_existing_db");
}

#[test]
fn families_get_keys_by_their_shares() {
    let scratch = tempfile::tempdir().unwrap();
    let db = scratch.path().join("db");
    let shares = ["--num_column_families=3", "--column_family_distribution=80,15,5"];
    let text =
        good(&db, &[&["--benchmarks=fillseq,readrandom", "--num=1000", "--reads=300"][..], &shares].concat());
    assert!(text.contains("(300 of 300 found)"), "{text}");
    let count = |family: &str| {
        let family = format!("--column_family={family}");
        ldb_on(&db, &[&family, "scan", "--hex"]).good().lines().count()
    };
    // RocksDB gives a column family the remainders up to its share, with the remainder 0 included.
    let counts = ["default", "column_family_name_000001", "column_family_name_000002"].map(count);
    assert_eq!(counts, [810, 150, 40]);
    let wrong = ["--benchmarks=fillseq", "--num_column_families=3", "--column_family_distribution=80,15"];
    refused(&wrong, "must sum to 100");
}

#[test]
fn rates_follow_the_sine_wave_and_statistics_come_with_each_status_line() {
    let scratch = tempfile::tempdir().unwrap();
    let db = scratch.path().join("db");
    let sine = ["--sine_a=1000000000", "--sine_d=2000000000", "--sine_b=3"];
    let mix = ["--mix_get_ratio=0.5", "--mix_put_ratio=0.3", "--mix_seek_ratio=0.2"];
    let waves = [
        "--sine_write_rate",
        "--sine_write_rate_interval_milliseconds=1",
        "--sine_mix_rate",
        "--sine_mix_rate_interval_milliseconds=1",
        "--sine_mix_rate_noise=0.5",
    ];
    let args = ["--benchmarks=fillrandom,mixgraph", "--num=3000", "--reads=3000"];
    good(&db, &[&args[..], &sine, &mix, &waves].concat());

    let output = run(
        &db,
        &[
            "--benchmarks=fillseq,flush,overwrite",
            "--num=1000",
            "--stats_interval=500",
            "--stats_per_interval=1",
            "--show_table_properties",
        ],
    );
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    for words in
        ["** Compaction Stats [default] **", "num-running-flushes: 0", "Level[0]: ", "# entries=1000"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
}

/// One file holds all values. The large values and columns are embedded blobs, which the reads find.
#[test]
fn a_file_with_embedded_blobs_is_ingested_and_read() {
    let scratch = tempfile::tempdir().unwrap();
    let args = ["--num=200", "--value_size=4000", "--compression_type=none"];
    let db = scratch.path().join("blobs");
    let text = good(&db, &[&args[..], &["--benchmarks=fillembeddedblob,readrandom"]].concat());
    assert!(text.contains("(200 values, value_size=4000, embedded_blob_min_size=2048)"), "{text}");
    assert!(text.contains("(200 of 200 found)"), "{text}");
    assert!(!db.join("embedded_tmp").exists());
    let db = scratch.path().join("entities");
    let columns = ["--benchmarks=fillembeddedentity,readrandomentity", "--num_wide_columns=2"];
    let text = good(&db, &[&args[..], &columns[..]].concat());
    assert!(
        text.contains("(200 entities, 3 cols [1 inline + 2 embedded], embedded_blob_min_size=2048)"),
        "{text}"
    );
    assert!(text.contains("(200 of 200 found)"), "{text}");
    let text = sst_dump(&[&db.display().to_string(), "--command=none", "--show_properties"]).good();
    assert!(text.contains("# rocksdb.embedded.blob.stats: 0x9003"), "{text}");
    refused(&["--benchmarks=fillembeddedblob", "--format_version=6"], "format_version >= 7 (got 6)");
}

/// A benchmark writes its calls to a file, and `replay` makes them on another database.
#[test]
fn a_traced_benchmark_is_replayed() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let trace = format!("--trace_file={}", at("trace").display());
    let blocks = format!("--block_cache_trace_file={}", at("blocks").display());
    let text = good(&at("db"), &["--benchmarks=fillrandom", "--num=300", &trace, &blocks]);
    assert!(text.contains("Tracing the workload to: [") && text.contains("Tracing block cache"), "{text}");
    let fast = "--trace_replay_fast_forward=1000000";
    let text = good(&at("copy"), &["--benchmarks=replay", "--num=300", &trace, fast]);
    assert!(text.contains("Replay completed from trace_file: "), "{text}");
    assert_eq!(rows(&at("copy")), rows(&at("db")));
    assert!(std::fs::metadata(at("blocks")).unwrap().len() > 0);
    refused(&["--benchmarks=replay"], "Please set --trace_file to be replayed from");
    refused(&["--benchmarks=replay", "--threads=2"], "Multi-threaded replay is not yet supported");
}

/// Returns the rows of a column family.
fn family_rows(db: &Path, family: &str) -> String {
    ldb_on(db, &["scan", "--hex", &format!("--column_family={family}")]).good()
}

/// Loads two databases with the same flags: ours, and RocksDB's if its tools are here.
fn loaded(scratch: &Path, args: &[&str]) -> Vec<std::path::PathBuf> {
    let mut loaded = vec![scratch.join("ours")];
    good(&loaded[0], args);
    match oracle("db_bench") {
        Some(tool) => {
            let path = scratch.join("theirs");
            let db = format!("--db={}", path.display());
            let output = Command::new(tool).arg(db).args(args).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            loaded.push(path);
        }
        None => eprintln!("SKIPPED: RocksDB loads the same: set IRONSTONE_ORACLE to the folder of its tools"),
    }
    loaded
}

#[test]
fn each_of_several_databases_gets_its_share_of_the_keys() {
    for (benchmark, seed) in [("fillseq", "--seed=1"), ("fillrandom", "--seed=7")] {
        let scratch = tempfile::tempdir().unwrap();
        let fill = format!("--benchmarks={benchmark}");
        let all = loaded(scratch.path(), &[&fill, "--num=300", "--num_multi_db=3", seed]);
        let rows_of = |db: &Path| ["0", "1", "2"].map(|at| rows(&db.join(at)));
        let ours = rows_of(&all[0]);
        if benchmark == "fillseq" {
            assert!(ours.iter().all(|rows| rows.lines().count() == 300), "each database has all keys");
        }
        for theirs in &all[1..] {
            assert_eq!(ours, rows_of(theirs), "{benchmark}");
        }
    }
}

#[test]
fn benchmarks_read_and_report_all_databases() {
    let scratch = tempfile::tempdir().unwrap();
    let db = scratch.path().join("db");
    let benchmarks = "--benchmarks=fillseq,readseq,readrandom,seekrandom,overwrite,flush,compactall,waitforcompaction,levelstats";
    let text = good(&db, &[benchmarks, "--num=200", "--num_multi_db=2", "--statistics"]);
    assert!(text.contains(" 400 operations;") && text.contains("(200 of 200 found)"), "{text}");
    for at in ["0", "1"] {
        let path = db.join(at).display().to_string();
        assert!(text.contains(&format!("==== DB: {path} ===")), "{text}");
        assert!(text.contains(&format!("waitforcompaction({path}): finished")), "{text}");
        assert!(db.join(at).join("CURRENT").exists());
    }
    assert!(!db.join("CURRENT").exists());
    refused(&["--benchmarks=readwhilescanning", "--num_multi_db=2"], "does not support --num_multi_db");
}

#[test]
fn hot_column_families_are_created_in_stages() {
    let scratch = tempfile::tempdir().unwrap();
    let args = [
        "--benchmarks=fillseq",
        "--num=1000",
        "--num_column_families=4",
        "--num_hot_column_families=2",
        "--threads=1",
        "--seed=3",
    ];
    let all = loaded(scratch.path(), &args);
    let names =
        ["default", "column_family_name_000001", "column_family_name_000002", "column_family_name_000003"];
    let ours = names.map(|name| family_rows(&all[0], name));
    let counts = ours.each_ref().map(|rows| rows.lines().count());
    assert_eq!(counts.iter().sum::<usize>(), 1000);
    assert!(counts.iter().all(|count| (249..=251).contains(count)), "{counts:?}");
    for theirs in &all[1..] {
        assert_eq!(ours, names.map(|name| family_rows(theirs, name)));
    }
    let shares = [
        "--num_column_families=4",
        "--num_hot_column_families=2",
        "--column_family_distribution=25,25,25,25",
    ];
    refused(&[&["--benchmarks=fillseq", "--num=10"], &shares[..]].concat(), "expected 2");
}
