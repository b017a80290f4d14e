//! db_bench: every benchmark runs. Every benchmark of RocksDB exists here or is listed as missing.

use std::process::{Command, Output};

use crate::support::{ldb_on, oracle, theirs};

/// The names that `tools/db_bench_tool.cc` of RocksDB 11.8.1 knows.
const ROCKSDB: &[&str] = &[
    "acquireload",
    "appendrandom",
    "approximatememtablestats",
    "approximatesizerandom",
    "backup",
    "block_cache_entry_stats",
    "cache_report_problems",
    "compact",
    "compact0",
    "compact1",
    "compactall",
    "compress",
    "compressreject",
    "crc32c",
    "deleterandom",
    "deleteseq",
    "fill100K",
    "fillanddeleteuniquerandom",
    "fillbatch",
    "fillembeddedblob",
    "fillembeddedentity",
    "fillrandom",
    "fillseekseq",
    "fillseq",
    "fillseqdeterministic",
    "fillsync",
    "filluniquerandom",
    "filluniquerandomdeterministic",
    "flush",
    "getmergeoperands",
    "ingestexternalfile",
    "levelstats",
    "memstats",
    "mergerandom",
    "mixgraph",
    "multireadentity",
    "multireadrandom",
    "multireadrandomcoroutine",
    "multireadwhilewriting",
    "multiscan",
    "multiscanrandom",
    "newiterator",
    "newiteratorwhilewriting",
    "openandcompact",
    "overwrite",
    "randomreplacekeys",
    "randomtransaction",
    "randomwithverify",
    "readmissing",
    "readrandom",
    "readrandomcoroutine",
    "readrandomentity",
    "readrandomfast",
    "readrandommergerandom",
    "readrandomoperands",
    "readrandomsmall",
    "readrandomwriterandom",
    "readreverse",
    "readseq",
    "readtocache",
    "readtorowcache",
    "readwhilemerging",
    "readwhilescanning",
    "readwhilewriting",
    "replay",
    "resetstats",
    "restore",
    "seekrandom",
    "seekrandomwhilemerging",
    "seekrandomwhilewriting",
    "sstables",
    "stats",
    "stats_history",
    "timeseries",
    "uncompress",
    "updaterandom",
    "verify",
    "verifychecksum",
    "verifyfilechecksums",
    "waitforcompaction",
    "xorupdaterandom",
    "xxh3",
    "xxhash",
    "xxhash64",
];

fn run(db: &std::path::Path, args: &[&str]) -> Output {
    let db = format!("--db={}", db.display());
    Command::new(env!("CARGO_BIN_EXE_db_bench")).arg(db).args(args).output().unwrap()
}

fn ran(args: &[&str]) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let output = run(&scratch.path().join("db"), args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{args:?}\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Returns the names in the listing of an unknown benchmark: the benchmarks that exist, and the benchmarks that are
/// missing.
fn listed() -> (Vec<String>, Vec<String>) {
    let scratch = tempfile::tempdir().unwrap();
    let output = run(scratch.path(), &["--benchmarks=nosuch"]);
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("unknown benchmark 'nosuch'"), "{text}");
    let section =
        |from: &str, to: &str| text.split_once(from).unwrap().1.split_once(to).unwrap().0.to_string();
    let here = section("benchmarks:\n", "benchmarks of RocksDB that");
    let missing = section("what they need:\n", "flags:\n");
    let here = here.lines().filter_map(|line| line.split_whitespace().next()).map(String::from).collect();
    let missing =
        missing.lines().filter_map(|line| line.split_once(':')).flat_map(|(names, _)| names.split(", "));
    (here, missing.map(|name| name.trim().to_string()).collect())
}

#[test]
fn every_benchmark_of_rocksdb_is_here_or_said_to_be_missing() {
    let (here, missing) = listed();
    for name in ROCKSDB {
        let (is_here, is_missing) = (here.iter().any(|n| n == name), missing.iter().any(|n| n == name));
        assert!(is_here != is_missing, "{name}: here {is_here}, missing {is_missing}");
    }
    assert!(missing.iter().all(|name| ROCKSDB.contains(&name.as_str())), "{missing:?}");
}

#[test]
fn every_benchmark_runs() {
    // These benchmarks have tests of their own, or process gigabytes with every setting.
    let alone = [
        "fillseqdeterministic",
        "filluniquerandomdeterministic",
        "timeseries",
        "getmergeoperands",
        "acquireload",
        "crc32c",
        "xxhash",
        "xxhash64",
        "xxh3",
        "compress",
        "uncompress",
        "compressreject",
        "verify",
        "verifyfilechecksums",
        "readtorowcache",
        "replay",
    ];
    let (here, _) = listed();
    let merging = |name: &str| name.contains("merg");
    let all: Vec<_> = here.iter().filter(|name| !alone.contains(&name.as_str())).collect();
    let plain: Vec<&str> = all.iter().map(|n| n.as_str()).filter(|name| !merging(name)).collect();
    let merges: Vec<&str> = all.iter().map(|n| n.as_str()).filter(|name| merging(name)).collect();
    let small = ["--num=2000", "--reads=500", "--threads=2", "--numdistinct=50", "--value_size=40"];
    for (names, more) in [(plain, &[][..]), (merges, &["--merge_operator=stringappend"][..])] {
        let benchmarks = format!("--benchmarks={}", names.join(","));
        let text = ran(&[&[benchmarks.as_str()], &small[..], more].concat());
        for name in names {
            let acts = [
                "compact0",
                "compact1",
                "compactall",
                "waitforcompaction",
                "flush",
                "stats",
                "levelstats",
                "memstats",
                "sstables",
                "resetstats",
                "block_cache_entry_stats",
                "stats_history",
            ];
            let line = text
                .lines()
                .any(|line| line.starts_with(name) && line.contains(" : ") && line.contains("micros/op"));
            assert!(acts.contains(&name) || line, "no report of {name} in\n{text}");
        }
    }
}

#[test]
fn keys_are_read_into_the_row_cache_of_a_loaded_database() {
    let scratch = tempfile::tempdir().unwrap();
    let db = scratch.path().join("db");
    assert!(run(&db, &["--benchmarks=fillseq,flush", "--num=300"]).status.success());
    let read =
        ["--benchmarks=readtorowcache,readrandom", "--use_existing_db", "--use_existing_keys", "--num=300"];
    let cached = ["--row_cache_size=1000000", "--statistics"];
    let output = run(&db, &[&read[..], &cached].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("rocksdb.row.cache.hit COUNT : 300"), "{text}");
    let output = run(&db, &read);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("specify a row cache size"), "{text}");
}

#[test]
fn a_database_is_compared_with_another() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let fill = ["--benchmarks=fillseq", "--num=300", "--seed=7"];
    assert!(run(&at("truth"), &fill).status.success());
    assert!(run(&at("db"), &fill).status.success());
    let truth = format!("--truth_db={}", at("truth").display());
    let compare = ["--benchmarks=verify", "--use_existing_db", truth.as_str()];
    let output = run(&at("db"), &compare);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("...Verified"), "{text}");
    assert!(run(&at("db"), &["--benchmarks=deleteseq", "--use_existing_db", "--num=10"]).status.success());
    let output = run(&at("db"), &compare);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("differ at key"), "{text}");
}

#[test]
fn one_seed_loads_the_keys_and_values_of_rocksdb() {
    let Some(tool) = oracle("db_bench") else {
        eprintln!("SKIPPED: RocksDB loads the same: set IRONSTONE_ORACLE to the folder of its tools");
        return;
    };
    let loads: &[&[&str]] = &[
        &["--benchmarks=fillseq"],
        &["--benchmarks=fillrandom", "--compression_ratio=0.25", "--value_size=333"],
        &["--benchmarks=fillseq", "--threads=2", "--same_value_percentage=40"],
        &["--benchmarks=fillrandom,overwrite,deleterandom", "--batch_size=7", "--deletes=50"],
        &["--benchmarks=fillrandom,updaterandom,readrandomwriterandom", "--key_size=20"],
        &["--benchmarks=filluniquerandom", "--writes=900"],
        &["--benchmarks=filluniquerandom", "--overwrite_probability=0.3", "--overwrite_window_size=9"],
    ];
    for load in loads {
        let scratch = tempfile::tempdir().unwrap();
        let args: Vec<&str> = load.iter().copied().chain(["--num=2000", "--seed=7"]).collect();
        assert!(run(&scratch.path().join("ours"), &args).status.success(), "{args:?}");
        let db = format!("--db={}", scratch.path().join("theirs").display());
        assert_eq!(theirs(&tool, args.iter().copied().chain([db.as_str()])).status, 0, "{args:?}");
        let [ours, theirs] =
            ["ours", "theirs"].map(|name| ldb_on(&scratch.path().join(name), &["scan", "--hex"]).good());
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{args:?}");
        let differ = ours.lines().zip(theirs.lines()).find(|(a, b)| a != b);
        assert!(differ.is_none(), "{args:?}: {differ:?}");
    }
}

#[test]
fn files_are_verified_by_the_checksums_they_were_given() {
    let text = ran(&["--benchmarks=fillseq,flush,verifyfilechecksums", "--num=300", "--file_checksum"]);
    assert!(text.contains("verifyfilechecksums : "), "{text}");
    let scratch = tempfile::tempdir().unwrap();
    let output = run(&scratch.path().join("db"), &["--benchmarks=fillseq,verifyfilechecksums", "--num=300"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("file_checksum_gen_factory"), "{text}");
}

#[test]
fn flags_of_what_is_built_become_options() {
    let asked = [
        "max_write_buffer_size_to_maintain=1000000",
        "read_triggered_compaction_threshold=0.500000",
        "paranoid_memory_checks=true",
        "memtable_verify_per_key_checksum_on_seek=true",
        "min_tombstones_for_range_conversion=4",
        "strict_max_successive_merges=true",
        "stats_persist_period_sec=7",
        "persist_stats_to_disk=true",
        "stats_history_buffer_size=4096",
        "block_protection_bytes_per_key=8",
        "memtable_protection_bytes_per_key=8",
        "max_manifest_space_amp_pct=200",
        "verify_manifest_content_on_close=true",
        "max_compaction_trigger_wakeup_seconds=77",
        "use_direct_io_for_compaction_reads=true",
        "allow_data_in_errors=true",
        "memtable_op_scan_flush_trigger=9",
        "sample_for_compression=3",
        "uniform_cv_threshold=0.500000",
        "verify_compression=true",
        "enable_blob_files=true",
        "min_blob_size=99",
        "blob_file_size=1000000",
        "enable_blob_garbage_collection=true",
        "blob_garbage_collection_age_cutoff=0.500000",
        "blob_garbage_collection_force_threshold=0.750000",
        "blob_compaction_readahead_size=4096",
        "blob_file_starting_level=1",
        "write_thread_max_yield_usec=7",
        "write_thread_slow_yield_usec=2",
    ];
    let scratch = tempfile::tempdir().unwrap();
    let db = scratch.path().join("db");
    let flags: Vec<String> = asked.iter().map(|flag| format!("--{flag}")).collect();
    let mut args = vec!["--benchmarks=fillrandom,flush,readrandom,seekrandom", "--num=300", "--statistics"];
    args.extend(flags.iter().map(String::as_str));
    let output = run(&db, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = std::fs::read_dir(&db).unwrap().map(|file| file.unwrap().path());
    let path = files.filter(|path| path.to_string_lossy().contains("OPTIONS-")).max().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    for flag in asked {
        assert!(text.contains(&format!("  {flag}\n")), "{flag} is not in\n{text}");
    }
}

#[test]
fn mixgraph_counts_what_it_was_asked_to_mix() {
    let mix = ["--benchmarks=fillseq,mixgraph", "--num=5000", "--reads=4000"];
    let model = [
        "--key_dist_a=0.002312",
        "--key_dist_b=0.3467",
        "--keyrange_num=30",
        "--keyrange_dist_a=14.18",
        "--keyrange_dist_b=-2.917",
        "--keyrange_dist_c=0.0164",
        "--keyrange_dist_d=-0.08082",
    ];
    let shares = ["--mix_get_ratio=0.5", "--mix_put_ratio=0.3", "--mix_seek_ratio=0.2"];
    let number = |text: &str, name: &str| -> f64 {
        let rest = text.split_once(name).unwrap_or_else(|| panic!("{name} in {text}")).1;
        rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    for args in [[&mix[..], &shares].concat(), [&mix[..], &shares, &model].concat()] {
        let text = ran(&args);
        let [gets, puts, seeks] = ["Gets:", "Puts:", "Seek:"].map(|name| number(&text, name));
        assert_eq!(gets + puts + seeks, 4000.0);
        for (count, share) in [(gets, 0.5), (puts, 0.3), (seeks, 0.2)] {
            assert!((count / 4000.0 - share).abs() < 0.05, "{text}");
        }
    }
}

#[test]
fn timeseries_writes_on_its_own_and_deletes_what_is_old() {
    let common =
        ["--benchmarks=timeseries", "--num=20000", "--key_id_range=20", "--threads=3", "--time_range=100"];
    for style in ["none", "delete"] {
        let style = format!("--expire_style={style}");
        let text = ran(&[&common[..], &[style.as_str()]].concat());
        assert!(text.contains("timeseries write : ") && text.contains(" found)"), "{text}");
    }
}

#[test]
fn getmergeoperands_finds_the_number_both_ways() {
    let text = ran(&["--benchmarks=getmergeoperands", "--merge_operator=sortlist"]);
    assert_eq!(text.matches("Found key? 1").count(), 2, "{text}");
    assert!(text.contains("Sample data from Get API call: 1,2,3,4,5,"), "{text}");
}

#[test]
fn deterministic_fills_leave_one_run_on_each_level() {
    for benchmark in ["fillseqdeterministic", "filluniquerandomdeterministic"] {
        let text = ran(&[
            &format!("--benchmarks={benchmark}"),
            "--num=60000",
            "--num_levels=3",
            "--disable_auto_compactions=true",
            "--max_bytes_for_level_multiplier=4",
            "--write_buffer_size=262144",
            "--target_file_size_base=262144",
        ]);
        let bytes = |level: u32| -> u64 {
            let row = text.lines().find(|line| line.starts_with(&format!("Level[{level}]: "))).unwrap();
            row.split_once("total size: ").unwrap().1.split(' ').next().unwrap().parse().unwrap()
        };
        assert!(text.contains("Level[0]: /"), "{text}");
        assert!(bytes(1) > 0 && bytes(2) > 3 * bytes(1), "{text}");
    }
}

#[test]
fn fillanddeleteuniquerandom_deletes_each_batch_that_was_to_go() {
    let text = ran(&[
        "--benchmarks=fillanddeleteuniquerandom,readseq",
        "--num=4000",
        "--disposable_entries_batch_size=10",
        "--persistent_entries_batch_size=5",
    ]);
    let after = |name: &str| -> u64 {
        let rest = text.split_once(name).unwrap_or_else(|| panic!("{text}")).1;
        rest.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    let (kept, deleted) = (after("(disposable+persistent):"), after("'disposable entry delete':"));
    assert_eq!(kept + deleted, 4000);
    assert!(deleted > 1000, "{text}");
}
