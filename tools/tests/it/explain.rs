//! The program `ironstone` as a process: facts, findings, bundles, plans, and the server of the pages.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ironstone"))
}

fn run(args: &[&str]) -> Output {
    program().args(args).output().unwrap()
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden").join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn facts_and_findings_of_a_directory_are_json() {
    let dir = golden("levels");
    let dir = dir.to_str().unwrap();
    let facts: serde_json::Value = serde_json::from_slice(&run(&["inspect", dir, "--json"]).stdout).unwrap();
    assert_eq!(facts["database"]["source"], "Directory");
    assert_eq!(facts["findings"].as_array().map(Vec::len), Some(0));
    let doctor = run(&["doctor", dir]);
    assert_eq!((doctor.status.code(), text(&doctor.stdout).contains("no findings")), (Some(0), true));
    let damaged = golden("corrupt").join("sst-missing");
    let doctor = run(&["doctor", damaged.to_str().unwrap()]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(text(&doctor.stdout).contains("CRITICAL"), "{}", text(&doctor.stdout));
}

#[test]
fn doctor_says_what_it_does_not_read() {
    let of = |name: &str| text(&run(&["doctor", golden(name).to_str().unwrap()]).stdout);
    let sound = of("levels");
    assert!(sound.contains("no findings. doctor does not read data blocks and WALs"), "{sound}");
    let headless = of("corrupt/manifest-missing");
    assert!(headless.contains("in 2 SST files on disk; without a readable MANIFEST"), "{headless}");
    let lost = of("corrupt/current-missing");
    assert!(lost.contains("CURRENT: the file is missing; the facts are those of"), "{lost}");
    let export = of("export-cf");
    assert!(export.contains("an export of a column family, or a part of a database"), "{export}");
}

#[test]
fn doctor_reads_every_byte_with_deep() {
    let of = |name: &str| run(&["doctor", golden(name).to_str().unwrap(), "--deep"]);
    let damaged = of("corrupt/wal-bit-middle");
    assert_eq!(damaged.status.code(), Some(1));
    let report = text(&damaged.stdout);
    assert!(report.contains("evidence: 000004.log at byte 8600: "), "{report}");
    let sound = of("levels");
    let report = text(&sound.stdout);
    assert_eq!(sound.status.code(), Some(0), "{report}");
    assert!(report.contains("read every byte: ") && report.ends_with("no findings\n"), "{report}");
    let torn = text(&of("corrupt/wal-torn-tail").stdout);
    assert!(torn.contains("note: 000004.log at byte 17562: "), "{torn}");
    let log = run(&["doctor", golden("levels").join("CURRENT").to_str().unwrap(), "--deep"]);
    assert_eq!(log.status.code(), Some(2));
    assert_eq!(run(&["inspect", golden("levels").to_str().unwrap(), "--deep"]).status.code(), Some(2));
}

#[test]
fn version_is_one_line() {
    let shown = text(&run(&["--version"]).stdout);
    assert_eq!(shown, format!("ironstone {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn flag_that_a_command_would_ignore_is_refused() {
    let dir = golden("levels");
    let dir = dir.to_str().unwrap();
    for args in [
        &["inspect", dir, "--json", "--write"][..],
        &["inspect", dir, "--json", "--secondary"],
        &["inspect", dir, "--json", "--with", dir],
        &["doctor", dir, "--out", "file"],
    ] {
        let refused = run(args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
        assert!(text(&refused.stderr).contains("--"), "{args:?}: {}", text(&refused.stderr));
    }
    assert!(!Path::new("file").exists());
}

#[test]
fn command_without_a_path_says_what_it_reads() {
    for (command, what) in [("plan", "--size and --options"), ("options", "ironstone inspect PATH")] {
        let output = run(&[command, golden("levels").to_str().unwrap()]);
        assert!(!output.status.success());
        assert!(text(&output.stderr).contains(what), "{command}: {}", text(&output.stderr));
    }
}

#[test]
fn bundle_is_a_new_file_that_the_program_reads() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.json");
    let (from, to) = (golden("cfs"), file.to_str().unwrap());
    let made = run(&["bundle", from.to_str().unwrap(), "--out", to]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let facts: serde_json::Value = serde_json::from_slice(&run(&["inspect", to, "--json"]).stdout).unwrap();
    assert_eq!(facts["database"]["source"], "Bundle");
    let lines = run(&["bundle", from.to_str().unwrap(), "--out", &format!("{to}.2"), "--json"]);
    assert_eq!(last_line(&lines.stderr)["progress"], "bundle");
    let again = run(&["bundle", from.to_str().unwrap(), "--out", to]);
    assert_eq!(again.status.code(), Some(2), "a file that exists is not replaced");
}

#[test]
fn plan_needs_a_size_and_predicts_amplifications() {
    assert_eq!(run(&["plan", "--size", "1GB"]).status.code(), Some(2));
    let plan = run(&["plan", "--size", "200MB", "--write-rate", "20MB/s", "--json"]);
    let forecast: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert!(forecast["write_amplification"].as_f64().unwrap() > 1.0, "{forecast}");
    let last = last_line(&plan.stderr);
    assert_eq!(
        (&last["progress"], &last["over"], &last["failed"]),
        (&"plan".into(), &true.into(), &false.into())
    );
    assert!(last["done_bytes"].as_u64().unwrap() > 300_000_000, "{last}");
}

/// Makes a database with the column families `default`, of 16 MiB memtables and universal compaction, and `blobs`.
fn database_with_options(dir: &Path) {
    use ironstone::{Db, FamilyDescriptor, FamilyOptions, Options};
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.db.create_missing_column_families = true;
    options.update("write_buffer_size=16777216;compaction_style=kCompactionStyleUniversal").unwrap();
    options.db.max_background_jobs = 3;
    let blobs = FamilyOptions { enable_blob_files: true, ..FamilyOptions::default() };
    let families = ["default", "blobs"].map(|name| match name {
        "default" => FamilyDescriptor::new(name, options.family.clone()),
        _ => FamilyDescriptor::new(name, blobs.clone()),
    });
    drop(Db::open_with_families(dir, options, families.into()).unwrap());
}

fn forecast(more: &[&str]) -> (Output, serde_json::Value) {
    let args = [&["plan", "--size", "400MB", "--write-rate", "20MB/s", "--json"], more].concat();
    let output = run(&args);
    let value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, value)
}

#[test]
fn plan_has_the_options_of_a_directory_and_of_an_options_file() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    database_with_options(&db);
    let by_text = forecast(&[
        "--options",
        "write_buffer_size=16777216;compaction_style=kCompactionStyleUniversal;max_background_jobs=3",
    ]);
    let names =
        std::fs::read_dir(&db).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let file = db.join(names.filter(|name| name.starts_with("OPTIONS-")).max().unwrap());
    for path in [&db, &file] {
        let (output, of_path) = forecast(&["--options", path.to_str().unwrap()]);
        for field in ["write_amplification", "flushes", "compactions", "levels", "seconds"] {
            assert_eq!(of_path[field], by_text.1[field], "{field}: {}", text(&output.stderr));
        }
        assert!(of_path["notes"].to_string().contains("the OPTIONS file has 1 more"), "{}", of_path["notes"]);
    }
    let path = db.to_str().unwrap();
    let leveled = forecast(&["--options", path, "--options", "compaction_style=kCompactionStyleLevel"]).1;
    assert_eq!(leveled["flushes"], by_text.1["flushes"]);
    assert!(leveled["write_amplification"] != by_text.1["write_amplification"]);
}

#[test]
fn plan_measures_the_job_rate_of_a_device() {
    let dir = tempfile::tempdir().unwrap();
    let device = dir.path().to_str().unwrap();
    let (output, measured) = forecast(&["--entry-size", "1MB", "--device", device]);
    assert!(measured["job_rate"].as_u64().is_some_and(|rate| rate > 1 << 20), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the files of the measurement are deleted");
    let notes =
        |value: &serde_json::Value| value["notes"].to_string().contains("the job rate is an assumption");
    assert!(!notes(&measured) && notes(&forecast(&[]).1));
    let both =
        run(&["plan", "--size", "1GB", "--write-rate", "1MB/s", "--device", device, "--job-rate", "1MB/s"]);
    assert!(text(&both.stderr).contains("--device measures the job rate"), "{}", text(&both.stderr));
    assert_eq!(forecast(&["--device", "/no/such/directory"]).0.status.code(), Some(2));
}

#[test]
fn plan_of_universal_compaction_states_the_range_of_job_rates() {
    let universal = ["--options", "compaction_style=kCompactionStyleUniversal;write_buffer_size=4M"];
    let (_, value) = forecast(&universal);
    let rates: Vec<f64> = serde_json::from_value(value["at_other_rates"].clone()).unwrap();
    assert!(rates[0] > 1.0 && rates[1] > 1.0, "{value}");
    assert!(forecast(&[]).1["at_other_rates"].is_null());
    let args = ["plan", "--size", "400MB", "--write-rate", "20MB/s"];
    let shown = text(&run(&[&args[..], &universal].concat()).stdout);
    assert!(shown.contains("with jobs half as fast"), "{shown}");
}

#[test]
fn plan_names_options_that_it_cannot_plan() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    database_with_options(&db);
    let db = db.to_str().unwrap();
    let refused = |more: &[&str]| {
        let (output, _) = forecast(more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        text(&output.stderr)
    };
    let blobs = refused(&["--options", db, "--family", "blobs"]);
    assert!(blobs.contains("enable_blob_files=true (") && blobs.contains("add --options TEXT"), "{blobs}");
    assert!(
        forecast(&["--options", db, "--family", "blobs", "--options", "enable_blob_files=false"])
            .0
            .status
            .success()
    );
    let unknown = refused(&["--options", db, "--family", "users"]);
    assert!(unknown.contains("no column family \"users\"; it has default, blobs"), "{unknown}");
    assert!(refused(&["--family", "users"]).contains("--family belongs to"));
    let nothing = refused(&["--options", "/no/such/path"]);
    assert!(nothing.contains("is no path that exists"), "{nothing}");
    let empty = refused(&["--options", dir.path().to_str().unwrap()]);
    assert!(empty.contains("No options files found"), "{empty}");
}

#[test]
fn plan_needs_objects_of_the_application_that_remove_entries() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("OPTIONS-000007");
    let of = |line: &str| {
        let head = "[Version]\n  rocksdb_version=11.8.1\n  options_file_version=1.1\n\n[DBOptions]\n\n[CFOptions \"default\"]\n";
        std::fs::write(&file, format!("{head}  {line}\n\n[TableOptions/BlockBasedTable \"default\"]\n"))
            .unwrap();
        file.to_str().unwrap().to_string()
    };
    let filtered = of("compaction_filter=ExpiryFilter");
    let (output, _) = forecast(&["--options", &filtered]);
    let message = text(&output.stderr);
    assert!(message.contains("cannot plan compaction_filter=ExpiryFilter"), "{message}");
    assert!(forecast(&["--options", &filtered, "--options", "compaction_filter=nullptr"]).0.status.success());
    let merged = of("merge_operator=Counters");
    let (_, value) = forecast(&["--options", &merged]);
    assert!(value["notes"].to_string().contains("merge_operator=Counters: only the application"), "{value}");
}

#[test]
fn plan_says_whether_the_jobs_keep_up_with_the_writer() {
    let plan = |rate: &str, jobs: &str| {
        let args = ["plan", "--size", "200MB", "--write-rate", rate, "--job-rate", jobs];
        text(&run(&args).stdout)
    };
    let slow = plan("1MB/s", "100MB/s");
    assert!(slow.contains("1.0 of 1.0 MiB/s: the jobs keep up with the writer"), "{slow}");
    assert!(slow.contains("stalls               none"), "{slow}");
    let fast = plan("200MB/s", "5MB/s");
    assert!(fast.contains("write stalls slow the writer"), "{fast}");
}

#[test]
fn option_text_of_a_budget_gives_the_options_of_for_budget() {
    use ironstone::{BudgetGoal, Options};
    let args = ["options", "--memory", "2GB", "--cores", "8", "--goal", "throughput"];
    let shown = text(&run(&args).stdout);
    assert!(shown.contains("max_background_jobs=8\n    One job for each core"), "{shown}");
    let option_text = text(&run(&[&args[..], &["--text"]].concat()).stdout);
    assert!(shown.ends_with(&format!("\n{option_text}")), "{shown}");
    let mut options = Options::default();
    options.update(option_text.trim()).unwrap();
    let expected = Options::for_budget(2 << 30, 8, BudgetGoal::Throughput).unwrap();
    let file = |options: &Options| engine::options::file::write(&options.db, [("default", &options.family)]);
    assert_eq!(file(&options), file(&expected));
    let json: serde_json::Value =
        serde_json::from_slice(&run(&[&args[..], &["--json"]].concat()).stdout).unwrap();
    assert_eq!(json["text"], option_text.trim());
    let cache = json["options"].as_array().unwrap().iter().find(|row| row["name"] == "block_cache").unwrap();
    let bytes = cache["value"].as_str().unwrap();
    assert!(option_text.contains(&format!("block_cache={bytes};")), "{option_text}");
    let plan = ["plan", "--size", "100MB", "--write-rate", "10MB/s", "--options", option_text.trim()];
    assert!(run(&plan).status.success());
}

#[test]
fn options_of_a_budget_are_written_as_an_options_file() {
    use ironstone::{BudgetGoal, Options};
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("OPTIONS-budget");
    let args = ["options", "--memory", "1GB", "--cores", "4", "--out", file.to_str().unwrap()];
    let output = run(&args);
    let message = text(&output.stdout);
    assert!(output.status.success() && message.contains("block cache"), "{message}{}", text(&output.stderr));
    let read = engine::options::file::load(&env::Env::posix(), &file, &Default::default()).unwrap();
    let expected = Options::for_budget(1 << 30, 4, BudgetGoal::Latency).unwrap();
    let write = |db, family| engine::options::file::write(db, [("default", family)]);
    assert_eq!(write(&read.db, &read.families[0].1), write(&expected.db, &expected.family));
    assert_eq!(run(&args).status.code(), Some(2), "the file of the first call stays");
}

#[test]
fn path_without_a_database_names_the_databases_below_it() {
    let dir = golden("multi-path");
    let output = run(&["doctor", dir.to_str().unwrap()]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    let below = format!("the directory has no file of a database; a database is in {}/db", dir.display());
    assert!(message.contains(&below), "{message}");
}

#[test]
fn pages_of_a_file_that_is_no_info_log_are_an_error_of_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let note = dir.path().join("note.txt");
    std::fs::write(&note, "no line of an info log\n").unwrap();
    let output = run(&["inspect", note.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("the file has no line of an info log"), "{message}");
}

#[test]
fn info_log_without_statistics_shows_no_sizes() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let flag = format!("--db={}", db.display());
    let put = Command::new(env!("CARGO_BIN_EXE_ldb"))
        .args([&flag, "put", "k", "v", "--create_if_missing"])
        .status()
        .unwrap();
    assert!(put.success());
    let output = text(&run(&["doctor", db.join("LOG").to_str().unwrap()]).stdout);
    assert!(output.contains("an info log without statistics"), "{output}");
    assert!(!output.contains("0 bytes"), "{output}");
}

/// Returns the last JSON object of the progress.
fn last_line(stderr: &[u8]) -> serde_json::Value {
    let text = text(stderr);
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn wrong_arguments_are_refused_with_a_reason() {
    let dir = golden("levels");
    let dir = dir.to_str().unwrap();
    for args in [
        &["no-such-command"][..],
        &["inspect"],
        &["inspect", "/no/such/directory"],
        &["inspect", dir, "--write", "--secondary"],
        &["inspect", dir, "--secondary", "--with", dir],
        &["doctor", dir, "--write"],
        &["options", "--memory", "1GB"],
        &["options", "--memory", "1GB", "--cores", "0"],
        &["options", "--memory", "1GB", "--cores", "2", "--goal", "speed"],
        &["options", "--memory", "1GB", "--cores", "2", "--text", "--json"],
        &["plan", dir, "--size", "1GB", "--write-rate", "1MB/s"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).starts_with("ironstone: "), "{args:?}");
    }
}

/// Starts the server, and returns the status and the body of a page that a browser opens.
fn page_of(args: &[&str], page: &str) -> (String, String) {
    let mut child = program().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines.by_ref().map_while(Result::ok).find(|line| line.trim().starts_with("http://"));
    let answer = url.map(|url| {
        let url = url.trim().to_string();
        let (root, token) = url.split_once("/?token=").unwrap();
        let host = root.trim_start_matches("http://").to_string();
        let ask = |request: String| {
            let mut stream = TcpStream::connect(&host).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        let first = ask(format!("GET /?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let cookie = first.split("Set-Cookie: ").nth(1).unwrap().split(';').next().unwrap().to_string();
        let answer = ask(format!("GET {page} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_string(), body.to_string())
    });
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    answer.unwrap_or_else(|| panic!("no address: {}", text(&output.stderr)))
}

#[test]
fn pages_are_served_from_files_from_a_secondary_and_from_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = path.to_str().unwrap();
    let put = Command::new(env!("CARGO_BIN_EXE_ldb"))
        .args([&format!("--db={db}"), "put", "k", "v", "--create_if_missing"])
        .output()
        .unwrap();
    assert!(put.status.success(), "{}", text(&put.stderr));
    for (args, origin, forms) in [
        (&["inspect", db][..], "directory, read", false),
        (&["inspect", db, "--secondary"], "running database, read", false),
        (&["inspect", db, "--write"], "running database, read", true),
    ] {
        let (status, body) = page_of(args, "/live");
        assert_eq!(status, "HTTP/1.1 200 OK", "{args:?}");
        assert!(body.contains(origin), "{args:?}: {body}");
        assert_eq!(body.contains("method=\"post\""), forms, "{args:?}: {body}");
    }
}
