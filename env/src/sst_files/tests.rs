use super::*;
use crate::clock::{Clock, ManualClock};
use crate::executor::Inline;
use crate::memory::MemoryFs;
use crate::rng::SeededRng;

fn world() -> (Arc<ManualClock>, Env) {
    let clock = Arc::new(ManualClock::new(0));
    let shared: Arc<dyn Clock> = clock.clone();
    let env = Env {
        fs: Arc::new(MemoryFs::new(shared.clone())),
        clock: shared.clone(),
        rng: Arc::new(SeededRng::new(1)),
        executor: Arc::new(Inline::new(1, shared)),
    };
    env.fs.create_dir_all(Path::new("/db")).unwrap();
    (clock, env)
}

fn put(env: &Env, m: &SstFileManager, name: &str, bytes: usize) -> PathBuf {
    let path = Path::new("/db").join(name);
    env.fs.write_all(&path, &vec![1; bytes], false).unwrap();
    m.on_add(&path, bytes as u64);
    path
}

fn limited(rate: i64, chunk: u64) -> SstFileOptions {
    SstFileOptions {
        rate_bytes_per_sec: rate,
        bytes_max_delete_chunk: chunk,
        max_trash_db_ratio: 100.0,
        ..SstFileOptions::default()
    }
}

#[test]
fn sizes_are_tracked() {
    let (_, env) = world();
    let m =
        SstFileManager::new(env.clone(), SstFileOptions { max_allowed_space: 1000, ..Default::default() });
    let a = put(&env, &m, "a", 300);
    put(&env, &m, "b", 400);
    m.on_add(&a, 350);
    m.on_move(&a, Path::new("/db/c"));
    assert_eq!((m.total_size(), m.tracked().len()), (750, 2));
    assert!(!m.is_space_reached(249) && m.is_space_reached(250));
    m.on_delete(Path::new("/db/c"));
    m.on_delete(Path::new("/db/unknown"));
    assert_eq!(m.total_size(), 400);
}

#[test]
fn files_are_deleted_at_once_without_a_rate() {
    let (_, env) = world();
    let m = SstFileManager::new(env.clone(), SstFileOptions::default());
    let a = put(&env, &m, "a", 300);
    m.delete(&a).unwrap();
    assert!(env.fs.list(Path::new("/db")).unwrap().is_empty());
    assert_eq!(m.total_size(), 0);
    assert!(m.delete(&a).is_err());
}

#[test]
fn files_are_deleted_in_parts_with_a_rate() {
    let (clock, env) = world();
    let m = SstFileManager::new(env.clone(), limited(1000, 400));
    let statistics = Arc::new(Statistics::new());
    m.set_statistics(Some(statistics.clone()));
    put(&env, &m, "keep", 5000);
    let a = put(&env, &m, "a", 1000);
    m.delete(&a).unwrap();
    let b = put(&env, &m, "a", 100);
    m.delete(&b).unwrap();
    assert_eq!((m.trash_size(), m.total_size()), (1100, 5000));
    let sizes = || -> Vec<u64> {
        let size = |n: &str| env.fs.file_size(&Path::new("/db").join(n)).unwrap_or(0);
        vec![size("a.trash"), size("a1.trash")]
    };
    assert_eq!(sizes(), [1000, 100]);
    let mut seen = vec![sizes()];
    for _ in 0..12 {
        while env.executor.help() {}
        if seen.last() != Some(&sizes()) {
            seen.push(sizes());
        }
        clock.advance(100_000);
    }
    assert_eq!(seen, [[1000, 100], [600, 100], [200, 100], [0, 100], [0, 0]]);
    m.wait_for_empty_trash();
    assert_eq!((m.trash_size(), m.errors().len()), (0, 0));
    assert_eq!(
        statistics.ticker(Ticker::FilesDeletedFromTrashQueue),
        2,
        "a file counts when its last piece goes"
    );
}

#[test]
fn leftover_trash_is_deleted_and_excess_trash_is_deleted_at_once() {
    let (clock, env) = world();
    let m = SstFileManager::new(env.clone(), limited(1000, 0));
    let path = put(&env, &m, "a", 100);
    m.delete(&path).unwrap();
    drop(m);
    assert_eq!(env.fs.list(Path::new("/db")).unwrap(), ["a.trash"]);
    let m = SstFileManager::new(env.clone(), limited(1000, 0));
    put(&env, &m, "keep", 1000);
    m.collect_trash(Path::new("/db")).unwrap();
    assert_eq!(m.trash_size(), 100);
    m.set_options(SstFileOptions { max_trash_db_ratio: 0.05, ..limited(1000, 0) });
    let path = put(&env, &m, "b", 10);
    m.delete(&path).unwrap();
    assert_eq!(m.trash_size(), 100, "the quota was full, so b went at once");
    clock.advance(1_000_000);
    m.wait_for_empty_trash();
    assert_eq!(env.fs.list(Path::new("/db")).unwrap(), ["keep"]);
}

/// A database that is closed and opened again collects the trash of its directory, and its manager still deletes this trash.
#[test]
fn trash_is_deleted_once_although_it_is_collected_again() {
    let (clock, env) = world();
    let m = SstFileManager::new(env.clone(), limited(1000, 0));
    for name in ["a", "b"] {
        let path = put(&env, &m, name, 300);
        assert_eq!(m.delete(&path).unwrap(), Deletion::Later);
    }
    m.collect_trash(Path::new("/db")).unwrap();
    assert_eq!(m.trash_size(), 600);
    m.set_options(SstFileOptions { rate_bytes_per_sec: 0, ..limited(0, 0) });
    m.collect_trash(Path::new("/db")).unwrap();
    for _ in 0..3 {
        clock.advance(1_000_000);
        while env.executor.help() {}
    }
    assert_eq!((m.trash_size(), m.errors().len()), (0, 0));
    assert!(env.fs.list(Path::new("/db")).unwrap().is_empty());
}

#[test]
fn a_negative_rate_deletes_files_at_once() {
    let (_, env) = world();
    let m = SstFileManager::new(env.clone(), limited(-1, 0));
    m.delete(&put(&env, &m, "a", 10)).unwrap();
    assert_eq!((m.trash_size(), m.options().rate_bytes_per_sec), (0, -1));
    assert!(env.fs.list(Path::new("/db")).unwrap().is_empty());
}

#[test]
fn trash_is_deleted_at_once_if_the_rate_is_removed() {
    for rate in [0, -1] {
        let (clock, env) = world();
        let m = SstFileManager::new(env.clone(), limited(1000, 0));
        put(&env, &m, "keep", 5000);
        for name in ["a", "b", "c"] {
            m.delete(&put(&env, &m, name, 1000)).unwrap();
        }
        assert_eq!(m.trash_size(), 3000);
        m.set_options(limited(rate, 0));
        for _ in 0..3 {
            while env.executor.help() {}
            clock.advance(1);
        }
        assert_eq!(m.trash_size(), 0, "rate {rate}");
    }
}

#[test]
fn the_info_log_gets_a_line_for_each_deletion() {
    let (_, env) = world();
    let m = SstFileManager::new(env.clone(), limited(0, 0));
    let log = Arc::new(Lines::default());
    m.set_info_log(Some(log.clone()));
    m.delete(&put(&env, &m, "a", 10)).unwrap();
    m.set_options(limited(1000, 0));
    m.delete(&put(&env, &m, "b", 10)).unwrap();
    m.wait_for_empty_trash();
    m.set_info_log(None);
    m.set_options(limited(0, 0));
    m.delete(&put(&env, &m, "c", 10)).unwrap();
    let expected = [
        "deleted the file /db/a at once",
        "moved the file /db/b to the trash",
        "deleted /db/b.trash from the trash",
    ];
    assert_eq!(*log.0.lock(), expected);
}

/// Keeps the lines.
#[derive(Debug, Default)]
struct Lines(Mutex<Vec<String>>);

impl Logger for Lines {
    fn level(&self) -> LogLevel {
        LogLevel::Debug
    }

    fn set_level(&self, _level: LogLevel) {}

    fn log(&self, _level: LogLevel, message: fmt::Arguments<'_>) {
        self.0.lock().push(message.to_string());
    }
}

#[test]
fn trash_that_cannot_be_deleted_stays_and_is_reported() {
    for rate in [0, 1000] {
        let (clock, env) = world();
        let m = SstFileManager::new(env.clone(), limited(rate, 0));
        let log = Arc::new(Lines::default());
        m.set_info_log(Some(log.clone()));
        env.fs.create_dir(Path::new("/db/notes.trash")).unwrap();
        env.fs.write_all(Path::new("/db/a.trash"), b"1234", false).unwrap();
        m.collect_trash(Path::new("/db")).unwrap();
        clock.advance(1_000_000);
        m.wait_for_empty_trash();
        assert_eq!(env.fs.list(Path::new("/db")).unwrap(), ["notes.trash"]);
        assert!(
            log.0.lock().iter().any(|line| line.contains("cannot delete /db/notes.trash")),
            "rate {rate}"
        );
    }
}
