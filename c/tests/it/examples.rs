//! Compiles the programs in `examples/` and in `c/tests/programs/` and runs them on the library.
//!
//! If `IRONSTONE_PEER` names RocksDB's library, each program runs on both libraries, and each library opens the directory that
//! the program wrote with the other library. `bad_input.c`, `sequences.c` and `throws.cpp` run on this library only, because their calls crash
//! RocksDB. A program with a file `.out` must print the text of this file on both libraries.
//!
//! A program is skipped with a line if the tools of its language are missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::c_test::library_in;

/// A directory for programs, and the libraries that the programs run on.
struct Bench {
    dir: tempfile::TempDir,
    ours: PathBuf,
    peer: Option<PathBuf>,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let ours = library_in(dir.path());
        let peer = std::env::var_os("IRONSTONE_PEER").map(|library| {
            let lib = dir.path().join("peer");
            std::fs::create_dir(&lib).unwrap();
            std::os::unix::fs::symlink(library, lib.join("librocksdb.so.11")).unwrap();
            lib
        });
        Bench { dir, ours, peer }
    }

    /// Runs a program with each library, and with each library on the directory of the other.
    fn run(&self, program: &dyn Fn(&Path) -> Command, expected: &str) {
        let mut orders = vec![vec![&self.ours]];
        if let Some(peer) = &self.peer {
            orders = vec![vec![&self.ours, peer, &self.ours], vec![peer, &self.ours, peer]];
        }
        for (at, order) in orders.iter().enumerate() {
            let data = self.dir.path().join(format!("data-{at}"));
            for lib in order {
                let mut command = program(lib);
                command.env("LD_LIBRARY_PATH", lib).arg(&data);
                let output = command.output().unwrap();
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "on {}: {}: {errors}", lib.display(), output.status);
                assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "on {}", lib.display());
            }
        }
    }

    /// Compiles a program. `None`: there is no compiler.
    fn compile(&self, compiler: &str, standard: &str, source: &Path) -> Option<PathBuf> {
        let program = self.dir.path().join("program");
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra", "-Werror", standard, "-o"]).arg(&program).arg(source);
        command
            .arg("-I")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
            .arg("-L")
            .arg(&self.ours);
        let Ok(output) = command.arg("-lrocksdb").output() else {
            println!("skipped: no {compiler}");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(program)
    }
}

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(path)
}

fn hostile(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Runs a program that prints the same text on both libraries.
fn same_answers(name: &str) {
    let bench = Bench::new();
    let Some(program) = bench.compile("cc", "-std=gnu99", &hostile(&format!("{name}.c"))) else { return };
    let expected = std::fs::read_to_string(hostile(&format!("{name}.out"))).unwrap();
    bench.run(&|_| Command::new(&program), &expected);
}

#[test]
fn bad_input_gets_errors_and_never_ends_the_process() {
    let bench = Bench { peer: None, ..Bench::new() };
    if let Some(program) = bench.compile("cc", "-std=gnu99", &hostile("bad_input.c")) {
        bench.run(&|_| Command::new(&program), "PASS\n");
    }
}

#[test]
fn exception_of_a_function_fails_its_call_and_never_ends_the_process() {
    let bench = Bench { peer: None, ..Bench::new() };
    let Some(program) = bench.compile("c++", "-std=c++17", &hostile("throws.cpp")) else { return };
    let expected = std::fs::read_to_string(hostile("throws.out")).unwrap();
    bench.run(&|_| Command::new(&program), &expected);
}

#[test]
fn timestamps_agree_with_rocksdb() {
    same_answers("timestamps");
}

#[test]
fn secondary_instances_agree_with_rocksdb() {
    same_answers("secondary");
}

#[test]
fn answers_at_the_edges_of_calls_agree_with_rocksdb() {
    same_answers("edges");
}

#[test]
fn details_of_callbacks_agree_with_rocksdb() {
    same_answers("details");
}

#[test]
fn properties_of_files_and_details_of_jobs_agree_with_rocksdb() {
    same_answers("jobs");
}

#[test]
fn entries_of_batches_and_transactions_agree_with_rocksdb() {
    same_answers("batches");
}

#[test]
fn files_that_programs_write_and_damage_agree_with_rocksdb() {
    same_answers("files");
}

#[test]
fn read_tiers_agree_with_rocksdb() {
    same_answers("tiers");
}

#[test]
fn numbers_of_files_and_their_levels_agree_with_rocksdb() {
    same_answers("layout");
}

#[test]
fn worker_of_a_compaction_service_agrees_with_rocksdb() {
    same_answers("remote");
}

#[test]
fn random_sequences_of_calls_agree_with_a_model() {
    let bench = Bench { peer: None, ..Bench::new() };
    let Some(program) = bench.compile("cc", "-std=gnu99", &hostile("sequences.c")) else { return };
    for seed in ["1", "2", "3"] {
        let data = bench.dir.path().join(format!("sequences-{seed}"));
        std::fs::create_dir(&data).unwrap();
        let mut command = Command::new(&program);
        let output =
            command.env("LD_LIBRARY_PATH", &bench.ours).arg(&data).args([seed, "2000"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("PASS"), "seed {seed}: {text}");
    }
}

#[test]
fn c_program_runs() {
    let bench = Bench::new();
    if let Some(program) = bench.compile("cc", "-std=c99", &example("c/store.c")) {
        bench.run(&|_| Command::new(&program), "before: 10\nafter: sold out\nfound: 50\n");
    }
}

#[test]
fn cpp_program_runs() {
    let bench = Bench::new();
    if let Some(program) = bench.compile("c++", "-std=c++17", &example("cpp/transfer.cpp")) {
        bench.run(&|_| Command::new(&program), "ada: 37\ngrace: 63\n");
    }
}

#[test]
fn python_program_runs() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3");
        return;
    }
    let bench = Bench::new();
    let program = |lib: &Path| {
        let mut command = Command::new("python3");
        command.env("LIBROCKSDB", lib.join("librocksdb.so.11")).arg(example("python/count.py"));
        command
    };
    bench.run(&program, "a: 3\nis: 2\nrose: 3\n");
}

#[test]
fn go_program_runs() {
    // The module needs grocksdb, which is downloaded once.
    match Command::new("go").args(["mod", "download"]).current_dir(example("go")).output() {
        Err(_) => return println!("skipped: no go"),
        Ok(output) if !output.status.success() => {
            return println!("skipped: no grocksdb: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(_) => {}
    }
    let bench = Bench::new();
    let program = bench.dir.path().join("inventory");
    let mut build = Command::new("go");
    // Without the tag, grocksdb also links the compression libraries, which Ironstone's library does not need.
    build.args(["build", "-tags", "grocksdb_no_link", "-o"]).arg(&program).current_dir(example("go"));
    build.env("CGO_CFLAGS", format!("-I{}/include", env!("CARGO_MANIFEST_DIR")));
    build.env("CGO_LDFLAGS", format!("-L{} -lrocksdb", bench.ours.display()));
    let output = build.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    bench.run(&|_| Command::new(&program), "shelf-3: 9 boxes\nshelves: 9\n");
}
