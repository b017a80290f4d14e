//! db_bench reads its command line as gflags does, finds its directory as RocksDB does, and prints RocksDB's lines.

use std::process::{Command, Output};

use crate::support::oracle;

/// Runs a db_bench with the directory of `TEST_TMPDIR`.
fn bench(program: &std::path::Path, tmp: &std::path::Path, args: &[&str]) -> Output {
    Command::new(program).env("TEST_TMPDIR", tmp).args(args).output().unwrap()
}

fn ours(tmp: &std::path::Path, args: &[&str]) -> Output {
    bench(env!("CARGO_BIN_EXE_db_bench").as_ref(), tmp, args)
}

#[track_caller]
fn ran(args: &[&str]) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let output = ours(scratch.path(), args);
    assert!(output.status.success(), "{args:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn refused(args: &[&str]) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let output = ours(scratch.path(), args);
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_database_is_in_test_tmpdir_by_default() {
    let scratch = tempfile::tempdir().unwrap();
    let tmp = scratch.path().join("made");
    let output = ours(&tmp, &["--benchmarks=fillseq", "--num=10"]);
    assert!(output.status.success());
    let expected = format!("DB path: [{}]\n", tmp.join("dbbench").display());
    assert!(String::from_utf8_lossy(&output.stdout).contains(&expected));
    assert!(tmp.join("dbbench/CURRENT").exists());

    let reads = ["--use_secondary_db", "--use_existing_db", "--benchmarks=readseq", "--num=10"];
    let output = ours(&tmp, &reads);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(tmp.join("dbbench_secondary/LOG").exists());
}

#[test]
fn flags_have_the_forms_of_gflags() {
    const FILL: &str = "--benchmarks=fillseq";
    assert!(ran(&[FILL, "--num=10", "--statistics=TRUE"]).contains("STATISTICS:"));
    assert!(ran(&[FILL, "--num=10", "-statistics", "-key-size=24"]).contains("Keys:       24 bytes each"));
    assert!(!ran(&[FILL, "--num=10", "--statistics=No"]).contains("STATISTICS:"));
    assert!(ran(&[FILL, "--num=0x10"]).contains("Entries:    16\n"));
    assert!(ran(&["--version"]).starts_with("db_bench version "));
    assert!(refused(&[FILL, "--NUM=10"]).contains("unknown command line flag 'NUM'"));
    assert!(refused(&[FILL, "--no-sync"]).contains("unknown command line flag 'no-sync'"));
    assert!(refused(&[FILL, "--num=5k"]).contains("illegal value '5k' specified for flag 'num'"));
    assert!(refused(&[FILL, "--num=0x-5"]).contains("illegal value '0x-5' specified for flag 'num'"));
}

#[test]
fn undefok_ignores_only_the_listed_flags() {
    let flags = ["--benchmarks=fillseq", "--num=10", "--future=3", "--noother"];
    let with = |list: &'static str| [&flags[..], &[list]].concat();
    assert!(ran(&with("--undefok=future,other")).contains("Entries:    10\n"));
    assert!(refused(&with("--undefok=future")).contains("unknown command line flag 'noother'"));
    // A known flag acts, although the list names the flag.
    assert!(ran(&["--undefok=num", "--benchmarks=fillseq", "--num=10"]).contains("Entries:    10\n"));
    // `--undefok` treats a flag whose feature is not built as an undefined flag.
    let missing = ["--benchmarks=fillseq", "--num=10", "--compressed_cache_size=1000"];
    assert!(refused(&missing).contains("not built"));
    ran(&[&missing[..], &["--undefok=compressed_cache_size"]].concat());
}

#[test]
fn a_flag_file_holds_a_flag_on_each_line() {
    let scratch = tempfile::tempdir().unwrap();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    std::fs::write(&second, "--num=12\n").unwrap();
    std::fs::write(&first, format!("# flags\n\n  --benchmarks=fillseq\n--flagfile={}\n", second.display()))
        .unwrap();
    assert!(ran(&[&format!("--flagfile={}", first.display())]).contains("Entries:    12\n"));
    std::fs::write(&second, format!("--flagfile={}\n", first.display())).unwrap();
    assert!(refused(&[&format!("--flagfile={}", first.display())]).contains("too deep"));
}

/// Returns the lines of standard output without figures.
fn shape(out: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(out);
    let lines = text.lines().filter(|line| !line.starts_with("WARNING: Optimization is disabled"));
    let head = |line: &str| {
        let cut = line.find(|c: char| c.is_ascii_digit()).unwrap_or(line.len());
        line[..cut].trim_end_matches(|c: char| c == '(' || c.is_whitespace()).to_string()
    };
    lines.map(head).collect()
}

#[test]
fn the_lines_on_standard_output_are_those_of_rocksdb() {
    let args = ["--benchmarks=fillseq,readseq[X2-W1],levelstats", "--num=10"];
    let scratch = tempfile::tempdir().unwrap();
    let lines = shape(&ours(scratch.path(), &args).stdout);
    for expected in [
        "Set seed to",
        "Initializing RocksDB Options from the specified file",
        "Initializing RocksDB Options from command-line flags",
        "Warming up benchmark by running",
        "Running benchmark for",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} is missing in {lines:#?}");
    }
    let Some(theirs) = oracle("db_bench") else {
        eprintln!("SKIPPED the comparison with RocksDB's lines: set IRONSTONE_ORACLE");
        return;
    };
    assert_eq!(lines, shape(&bench(&theirs, scratch.path(), &args).stdout));
}

#[test]
fn file_operations_are_reported_after_each_benchmark() {
    let args = ["--benchmarks=fillseq,readseq", "--num=2000", "--report_file_operations"];
    let text = ran(&args);
    let counts = |after: &str, name: &str| -> u64 {
        let (_, report) = text.split_once(after).unwrap();
        let line = report.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(": ").parse().unwrap()
    };
    // A WAL record has the key, the value, and at least the header of the record.
    assert!(counts("fillseq      : ", "Num bytes written") > 2000 * 116, "{text}");
    assert!(counts("fillseq      : ", "Num Append()") >= 2000, "{text}");
    assert!(counts("fillseq      : ", "Num Dir Open()") >= 1, "{text}");
    assert!(counts("readseq      : ", "Num bytes written") < 2000, "the counters start again: {text}");
    let Some(theirs) = oracle("db_bench") else {
        eprintln!("SKIPPED the comparison with RocksDB's lines: set IRONSTONE_ORACLE");
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let [ours, theirs] = [env!("CARGO_BIN_EXE_db_bench").as_ref(), theirs.as_path()]
        .map(|program| shape(&bench(program, scratch.path(), &args).stdout));
    assert_eq!(ours, theirs);
}

#[test]
fn the_state_of_the_threads_is_printed_at_each_status_line() {
    let scratch = tempfile::tempdir().unwrap();
    let args =
        ["--benchmarks=fillseq", "--num=2000", "--stats_interval=500", "--thread_status_per_interval=1"];
    let heads = |output: Output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        text.lines()
            .filter(|line| line.trim_start().starts_with("ThreadID"))
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let tables = heads(ours(scratch.path(), &args));
    assert_eq!(tables.len(), 4);
    assert!(heads(ours(scratch.path(), &args[..3])).is_empty());
    let Some(theirs) = oracle("db_bench") else {
        eprintln!("SKIPPED the comparison with RocksDB's lines: set IRONSTONE_ORACLE");
        return;
    };
    assert_eq!(tables, heads(bench(&theirs, scratch.path(), &args)));
}

/// The largest nice value, which the threads of jobs get.
#[cfg(target_os = "linux")]
const LOWEST_PRIORITY: i64 = 19;

/// Returns the nice value of the first thread of a process, and the nice values of its threads for jobs.
#[cfg(target_os = "linux")]
fn nice_values(process: &str) -> Option<(i64, Vec<i64>)> {
    let of = |stat: &std::path::Path| -> Option<(bool, i64)> {
        let text = std::fs::read_to_string(stat).ok()?;
        let (name, numbers) = text.rsplit_once(')')?;
        let is_of_jobs = name.contains("(rocksdb:");
        Some((is_of_jobs, numbers.split_whitespace().nth(16)?.parse().ok()?))
    };
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let all = tasks.filter_map(|task| of(&task.ok()?.path().join("stat")));
    let of_jobs = all.filter(|(is_of_jobs, _)| *is_of_jobs).map(|(_, nice)| nice).collect();
    Some((of(std::path::Path::new(&format!("/proc/{process}/stat")))?.1, of_jobs))
}

/// If this process has the lowest priority already, the program gets a higher one, as far as the system permits.
#[cfg(target_os = "linux")]
#[test]
fn the_threads_of_jobs_get_a_lower_priority() {
    let is_lowest = nice_values("self").unwrap().0 == LOWEST_PRIORITY;
    for (flag, lowered) in
        [("--enable_cpu_prio", true), ("--enable_io_prio", true), ("--noenable_cpu_prio", false)]
    {
        let scratch = tempfile::tempdir().unwrap();
        let program = env!("CARGO_BIN_EXE_db_bench");
        let mut command = Command::new(if is_lowest { "nice" } else { program });
        if is_lowest {
            command.args(["-n", "-1", program]);
        }
        let mut program = command
            .env("TEST_TMPDIR", scratch.path())
            .args(["--benchmarks=fillrandom", "--num=60000", "--write_buffer_size=200000", flag])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let (mut jobs, mut is_seen) = (0, false);
        while program.try_wait().unwrap().is_none() && !is_seen {
            let Some((first, of_jobs)) = nice_values(&program.id().to_string()) else { continue };
            jobs += of_jobs.len();
            is_seen = of_jobs.iter().any(|nice| match lowered {
                true => *nice == LOWEST_PRIORITY,
                false => *nice != first,
            });
        }
        let _ = program.kill();
        program.wait().unwrap();
        assert!(jobs > 0, "{flag}: no thread of a job was seen");
        assert_eq!(is_seen, lowered, "{flag}");
    }
}
