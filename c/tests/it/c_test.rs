//! RocksDB's own C test, `db/c_test.c`, phase by phase. `.ci/c-test` downloads the source and runs this test.
//!
//! The program ends at its first failed check. The runner compiles a copy that reports each phase and can skip phases. If a
//! phase fails, the runner adds the phase to the skipped phases and runs the program again from its start. [`FAILING`] lists
//! the phases that fail, with their reasons. The list is exact: a listed phase that passes fails this test.
//!
//! If `IRONSTONE_VALGRIND` is set, the program runs under `valgrind`: an invalid access or a lost block fails its phase.
//!
//! If `IRONSTONE_ASAN` is set, the program is compiled with AddressSanitizer, which also checks the memory that the library gets from
//! `malloc`, and finds lost blocks.
//!
//! Without `IRONSTONE_C_TEST`, the directory that holds `c_test.c`, the test prints a line and is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The phases that fail, and the reason of each phase.
const FAILING: [(&str, &str); 0] = [];

/// What the copy does at the start of a phase.
const ENTER: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int phase_running = -1;
static int phase_is_skipped(int phase) {
  char word[32];
  const char* skipped = getenv("SKIPPED_PHASES");
  if (phase_running >= 0) fprintf(stderr, "passed %d\n", phase_running);
  phase_running = -1;
  snprintf(word, sizeof word, ",%d,", phase);
  if (skipped && strstr(skipped, word)) return 1;
  fprintf(stderr, "begins %d\n", phase);
  phase_running = phase;
  return 0;
}
"#;

/// Returns the copy of the program and the names of its phases.
fn phased(source: &str) -> (String, Vec<String>) {
    let (mut copy, mut phases, mut in_main) = (ENTER.to_string(), Vec::new(), false);
    for line in source.lines() {
        in_main |= line.starts_with("int main(");
        let name = line.strip_prefix("  StartPhase(\"").and_then(|rest| rest.strip_suffix("\");"));
        if let Some(name) = name.filter(|_| in_main) {
            let at = phases.len();
            writeln!(copy, "phase_{at}: if (phase_is_skipped({at})) goto phase_{};", at + 1).unwrap();
            phases.push(name.to_string());
        }
        if in_main && line.starts_with("  fprintf(stderr, \"PASS\\n\")") {
            writeln!(copy, "phase_{0}: phase_is_skipped({0});", phases.len()).unwrap();
        }
        copy.push_str(line);
        copy.push('\n');
    }
    (copy, phases)
}

/// Makes a directory with the library under the names that the linker and the loader look for.
///
/// The library is the example `ironstone_c`. `cargo test` builds it; with `--test`, Cargo builds it only if the command names it.
pub fn library_in(dir: &Path) -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let built = deps.with_file_name("examples").join("libironstone_c.so");
    let time = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    // Cargo writes the names of all source files beside the library. A name with a space is skipped.
    let sources = std::fs::read_to_string(built.with_extension("d")).unwrap_or_default();
    let sources = sources.split_once(": ").map_or("", |(_, sources)| sources).split_whitespace();
    let newest = sources.filter_map(|source| time(Path::new(source))).max();
    assert!(
        time(&built).is_some() && time(&built) >= newest,
        "{} is absent or older than its source files: run `cargo build -p ironstone-c-calls --example ironstone_c`",
        built.display()
    );
    let lib = dir.join("lib");
    std::fs::create_dir_all(&lib).unwrap();
    for name in ["librocksdb.so", "librocksdb.so.11"] {
        std::os::unix::fs::symlink(&built, lib.join(name)).unwrap();
    }
    lib
}

/// Runs the program. Returns the phases that passed, and the phase that ended the program with the last line of its output.
fn run(program: &Path, lib: &Path, skipped: &BTreeSet<usize>) -> (BTreeSet<usize>, Option<(usize, String)>) {
    let scratch = tempfile::tempdir().unwrap();
    let mut list: String = skipped.iter().map(|phase| format!(",{phase}")).collect();
    list.push(',');
    // A phase that hangs ends after ten minutes; under valgrind the program ends after two hours.
    let mut command = Command::new("timeout");
    if std::env::var_os("IRONSTONE_VALGRIND").is_none() {
        command.arg("600");
    } else {
        command.args(["7200", "valgrind", "-q", "--leak-check=full", "--show-leak-kinds=definite"]);
        command.args(["--errors-for-leak-kinds=definite", "--error-exitcode=99"]);
    }
    command
        .arg(program)
        .env("SKIPPED_PHASES", list)
        .env("TEST_TMPDIR", scratch.path())
        .env("LD_LIBRARY_PATH", lib);
    let output = command.current_dir(scratch.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let numbers = |word: &str| -> Vec<usize> {
        text.lines().filter_map(|line| line.strip_prefix(word)?.trim().parse().ok()).collect()
    };
    let passed = numbers("passed ").into_iter().collect();
    let ended = numbers("begins ").last().copied().filter(|_| !output.status.success());
    let last = text.lines().rev().find(|line| line.contains("c_test")).unwrap_or_default();
    (passed, ended.map(|phase| (phase, format!("{}: {last}", output.status))))
}

#[test]
fn all_phases_pass_but_the_listed() {
    let Some(source) = std::env::var_os("IRONSTONE_C_TEST").map(PathBuf::from) else {
        println!("skipped: IRONSTONE_C_TEST does not name the directory of c_test.c");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let lib = library_in(dir.path());
    let (copy, phases) = phased(&std::fs::read_to_string(source.join("c_test.c")).unwrap());
    assert!(phases.len() > 90, "{} phases were found", phases.len());
    let (file, program) = (dir.path().join("phased.c"), dir.path().join("phased"));
    std::fs::write(&file, copy).unwrap();
    let mut compile = Command::new("cc");
    if std::env::var_os("IRONSTONE_ASAN").is_some() {
        compile.arg("-fsanitize=address");
    }
    compile.args(["-std=gnu11", "-O0", "-g", "-w", "-o"]).arg(&program).arg(&file).arg("-I");
    compile
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .arg("-I")
        .arg(&source)
        .arg("-L")
        .arg(&lib);
    let compiled = compile.args(["-lrocksdb", "-lpthread", "-lm"]).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));

    let (mut skipped, mut failed) = (BTreeSet::new(), BTreeMap::new());
    let passed = loop {
        let (passed, ended) = run(&program, &lib, &skipped);
        let Some((phase, why)) = ended else { break passed };
        println!("phase {} fails: {why}", phases[phase]);
        assert!(skipped.insert(phase), "the program ends in a phase that it skips");
        failed.insert(phases[phase].as_str(), why);
    };
    println!("passed {} of {}", passed.len(), phases.len());
    for (phase, reason) in FAILING {
        assert!(failed.remove(phase).is_some(), "phase {phase} passes, and the list says: {reason}");
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
