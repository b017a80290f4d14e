//! The behaviour of every `FileSystem`: one suite of tests, run over each implementation.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ironstone_env as env;

use env::clock::ManualClock;
use env::fault::FaultFs;
use env::fs::{AppendHints, FileSystem, Pattern, ReadHints, ReadRequest};
use env::memory::MemoryFs;
use env::meter::MeterFs;
use env::posix::PosixFs;

mod suite;

fn memory() -> Arc<dyn FileSystem> {
    Arc::new(MemoryFs::new(Arc::new(ManualClock::new(1_700_000_000_000_000))))
}

fn over(fs: Arc<dyn FileSystem>, run: fn(&dyn FileSystem, &Path)) {
    let dir = Path::new("/world/db");
    fs.create_dir_all(dir).unwrap();
    run(&*fs, dir);
}

fn over_posix(fs: Arc<dyn FileSystem>, run: fn(&dyn FileSystem, &Path)) {
    let dir = tempfile::tempdir().unwrap();
    run(&*fs, dir.path());
}

macro_rules! each_world {
    ($($fact:ident)*) => {$(
        mod $fact {
            use super::*;

            #[test]
            fn on_posix() {
                over_posix(Arc::new(PosixFs::new()), suite::$fact);
            }

            #[test]
            fn on_memory() {
                over(memory(), suite::$fact);
            }

            #[test]
            fn on_fault_over_memory() {
                over(FaultFs::wrap(memory()), suite::$fact);
            }

            #[test]
            fn on_meter_over_posix() {
                over_posix(MeterFs::wrap(Arc::new(PosixFs::new())), suite::$fact);
            }
        }
    )*};
}

each_world! {
    what_is_appended_is_read
    reads_past_the_end_are_short
    multi_read_answers_each_request
    create_empties_and_reopen_continues
    reuse_overwrites_and_keeps_the_tail
    truncate_cuts_and_appends_continue
    names_move_link_and_go
    directories_nest
    missing_things_say_path_not_found
    a_lock_excludes_a_second_in_the_process
    handles_outlive_their_name
    sync_from_another_handle
    random_appends_match_a_vector
    direct_writes_match_a_vector
    a_closed_file_refuses
    same_file_and_canonical_names
    advice_and_preallocation_change_nothing
}

/// The process that holds the lock in `another_process_is_excluded`, run as a child of the test.
#[test]
fn another_process_is_excluded() {
    let fs = PosixFs::new();
    if let Some(path) = std::env::var_os("IRONSTONE_LOCK_CHILD") {
        let refused = fs.lock(Path::new(&path)).is_err();
        std::process::exit(if refused { 42 } else { 0 });
    }
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("LOCK");
    let try_in_child = || {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["another_process_is_excluded", "--exact"])
            .env("IRONSTONE_LOCK_CHILD", &path)
            .output()
            .unwrap()
            .status
            .code()
    };
    let lock = fs.lock(&path).unwrap();
    assert_eq!(try_in_child(), Some(42), "while the lock is held");
    // A failed second attempt must not release the first lock.
    assert!(fs.lock(&path).is_err());
    assert_eq!(try_in_child(), Some(42), "after a failed second lock");
    drop(lock);
    assert_eq!(try_in_child(), Some(0), "after it was dropped");
}

#[test]
fn free_space_is_above_zero() {
    let dir = tempfile::tempdir().unwrap();
    assert!(PosixFs::new().free_space(dir.path()).unwrap() > 0);
}
