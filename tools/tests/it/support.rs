//! Runs the tools in this process, and makes directories for them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use ironstone_tools::ldb::{self, Io};
use ironstone_tools::sst;

/// The result of a run.
pub struct Ran {
    pub status: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Returns the output of a run that must succeed.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{}", self.text());
        self.text()
    }
}

fn run(program: fn(&[Vec<u8>], &mut Io<'_>) -> i32, args: &[&str], mut input: &[u8]) -> Ran {
    let args: Vec<_> = args.iter().map(|a| a.as_bytes().to_vec()).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status =
        program(&args, &mut Io { input: &mut input, out: &mut out, err: &mut err, err_is_terminal: false });
    Ran { status, out, err: String::from_utf8_lossy(&err).into_owned() }
}

/// Runs `ldb --db=DIR args...`.
pub fn ldb_on(dir: &Path, args: &[&str]) -> Ran {
    let db = format!("--db={}", dir.display());
    let args: Vec<_> = std::iter::once(db.as_str()).chain(args.iter().copied()).collect();
    run(ldb::run, &args, b"")
}

pub fn ldb(args: &[&str], input: &[u8]) -> Ran {
    run(ldb::run, args, input)
}

pub fn sst_dump(args: &[&str]) -> Ran {
    run(sst::run, args, b"")
}

/// Returns the path of RocksDB's tool with this name, if the oracle exists.
pub fn oracle(tool: &str) -> Option<PathBuf> {
    let place = PathBuf::from(std::env::var_os("IRONSTONE_ORACLE")?);
    let tool = if place.is_dir() { place.join(tool) } else { place.with_file_name(tool) };
    assert!(tool.exists(), "{} does not exist", tool.display());
    Some(tool)
}

/// Runs RocksDB's tool.
pub fn theirs(tool: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ran {
    let ran = Command::new(tool).args(args).output().expect("the oracle runs");
    Ran {
        status: ran.status.code().unwrap_or(-1),
        out: ran.stdout,
        err: String::from_utf8_lossy(&ran.stderr).into_owned(),
    }
}

/// Returns every file of a directory, with its bytes.
pub fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let bytes = std::fs::read(&path).expect("a file");
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// Copies a directory of fixtures. Returns the scratch directory, and the directory of the file CURRENT in it.
pub fn copy_of(name: &str) -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    testkit::golden::copy_dir(&testkit::golden::root().join(name), scratch.path());
    let below = scratch.path().join("db");
    let dir = if below.join("CURRENT").exists() { below } else { scratch.path().to_path_buf() };
    (scratch, dir)
}
