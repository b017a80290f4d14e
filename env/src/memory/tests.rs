use super::*;
use crate::clock::ManualClock;

fn disk() -> MemoryFs {
    let fs = MemoryFs::new(Arc::new(ManualClock::new(0)));
    fs.create_dir(Path::new("/db")).unwrap();
    sync(&fs, "/");
    fs
}

fn sync(fs: &MemoryFs, dir: &str) {
    fs.open_dir(Path::new(dir)).unwrap().sync().unwrap();
}

fn write(fs: &MemoryFs, path: &str, data: &[u8], synced: bool) {
    (fs as &dyn FileSystem).write_all(Path::new(path), data, synced).unwrap();
}

fn read(fs: &MemoryFs, path: &str) -> Option<Vec<u8>> {
    (fs as &dyn FileSystem).read_all(Path::new(path), 1 << 20).ok()
}

#[test]
fn only_synced_bytes_under_synced_names_survive() {
    let fs = disk();
    write(&fs, "/db/a", b"synced", true);
    sync(&fs, "/db");
    let mut f = fs.reopen(Path::new("/db/a"), &AppendHints::default()).unwrap();
    f.append(b" lost").unwrap();
    write(&fs, "/db/nameless", b"bytes", true);
    assert_eq!(fs.unsynced_bytes(Path::new("/db/a")), Some(5));
    assert_eq!(fs.unsynced_names(), 1);
    fs.crash(Survivors::Synced);
    assert_eq!(read(&fs, "/db/a").unwrap(), b"synced");
    assert_eq!(read(&fs, "/db/nameless"), None);
    assert!(f.append(b"x").is_err(), "handles die");
    assert!(f.syncer().sync().is_err());
}

#[test]
fn a_process_crash_loses_nothing_but_locks() {
    let fs = disk();
    let lock = fs.lock(Path::new("/db/LOCK")).unwrap();
    write(&fs, "/db/a", b"bytes", false);
    fs.rename(Path::new("/db/a"), Path::new("/db/b")).unwrap();
    fs.crash(Survivors::Everything);
    assert_eq!(read(&fs, "/db/b").unwrap(), b"bytes");
    assert_eq!(read(&fs, "/db/a"), None);
    let again = fs.lock(Path::new("/db/LOCK")).unwrap();
    drop(lock);
    assert!(fs.lock(Path::new("/db/LOCK")).is_err(), "a dead lock frees nobody else's");
    drop(again);
}

#[test]
fn names_may_outlive_their_data() {
    let world = || {
        let fs = disk();
        write(&fs, "/db/a", b"12345", false);
        fs
    };
    let fs = world();
    fs.crash(Survivors::NamesWithoutData);
    assert_eq!(read(&fs, "/db/a").unwrap(), b"");
    let fs = world();
    fs.crash(Survivors::ZerosForData);
    assert_eq!(read(&fs, "/db/a").unwrap(), [0; 5]);
}

#[test]
fn an_unsynced_rename_leaves_the_old_file() {
    let fs = disk();
    write(&fs, "/db/CURRENT", b"one", true);
    sync(&fs, "/db");
    write(&fs, "/db/tmp", b"two", true);
    fs.rename(Path::new("/db/tmp"), Path::new("/db/CURRENT")).unwrap();
    assert_eq!(read(&fs, "/db/CURRENT").unwrap(), b"two");
    fs.crash(Survivors::Synced);
    assert_eq!(read(&fs, "/db/CURRENT").unwrap(), b"one");
}

#[test]
fn syncing_one_end_of_a_move_settles_both() {
    let fs = disk();
    fs.create_dir(Path::new("/archive")).unwrap();
    sync(&fs, "/");
    write(&fs, "/db/1.log", b"log", true);
    write(&fs, "/db/2.log", b"log", true);
    fs.rename(Path::new("/db/1.log"), Path::new("/archive/1.log")).unwrap();
    sync(&fs, "/archive");
    fs.crash(Survivors::Synced);
    assert_eq!(fs.list(Path::new("/archive")).unwrap(), ["1.log"]);
    assert_eq!(fs.list(Path::new("/db")).unwrap(), [""; 0]);
}

#[test]
fn a_deleted_file_returns_after_a_crash_unless_the_directory_was_synced() {
    let fs = disk();
    write(&fs, "/db/a", b"a", true);
    write(&fs, "/db/b", b"b", true);
    fs.unlink(Path::new("/db/a")).unwrap();
    sync(&fs, "/db");
    fs.unlink(Path::new("/db/b")).unwrap();
    fs.crash(Survivors::Synced);
    assert_eq!(fs.list(Path::new("/db")).unwrap(), ["b"]);
}

#[test]
fn a_sync_that_forgot_is_not_made_good_by_the_next() {
    let fs = disk();
    let mut f = fs.create(Path::new("/db/a"), &AppendHints::default()).unwrap();
    sync(&fs, "/db");
    f.append(b"lost").unwrap();
    assert!(fs.forget_unsynced(Path::new("/db/a")));
    f.append(b"kept").unwrap();
    f.sync().unwrap();
    assert_eq!(read(&fs, "/db/a").unwrap(), b"lostkept");
    fs.crash(Survivors::Synced);
    assert_eq!(read(&fs, "/db/a").unwrap(), b"\0\0\0\0kept");
}

#[test]
fn damage_shows_at_once_and_after_a_crash() {
    let fs = disk();
    write(&fs, "/db/a", b"abc", true);
    sync(&fs, "/db");
    assert!(fs.damage(Path::new("/db/a"), |bytes| bytes[1] ^= 1));
    assert!(!fs.damage(Path::new("/db/none"), |_| {}));
    assert_eq!(read(&fs, "/db/a").unwrap(), b"acc");
    fs.crash(Survivors::Synced);
    assert_eq!(read(&fs, "/db/a").unwrap(), b"acc");
}

/// A random crash keeps every synced byte. Each sector of the other bytes survives or is lost.
#[test]
fn a_random_crash_keeps_synced_bytes_and_repeats_with_its_seed() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..300 {
        let run = || {
            let fs = disk();
            let mut f = fs.create(Path::new("/db/a"), &AppendHints::default()).unwrap();
            f.append(&[1; 700]).unwrap();
            f.sync().unwrap();
            sync(&fs, "/db");
            f.append(&[2; 1000]).unwrap();
            f.append(&[3; 1000]).unwrap();
            write(&fs, "/db/b", b"b", false);
            fs.rename(Path::new("/db/b"), Path::new("/db/c")).unwrap();
            fs.crash(Survivors::Random(seed));
            (read(&fs, "/db/a").unwrap(), fs.list(Path::new("/db")).unwrap())
        };
        let (bytes, names) = run();
        assert_eq!((&bytes, &names), (&run().0, &run().1));
        assert_eq!(bytes[..700], [1; 700]);
        for (i, b) in bytes.iter().enumerate().skip(700) {
            assert!(*b == 0 || *b == if i < 1700 { 2 } else { 3 }, "byte {i} is {b}");
        }
        assert!(["a", "a b", "a c"].contains(&names.join(" ").as_str()), "{names:?}");
        lengths.insert((bytes.len(), names.join(" ")));
    }
    assert!(lengths.len() > 20, "crashes differ: {}", lengths.len());
}

#[test]
fn a_fork_has_the_content_of_the_disk_and_is_independent() {
    let fs = disk();
    let mut f = fs.create(Path::new("/db/a"), &AppendHints::default()).unwrap();
    f.append(b"synced").unwrap();
    f.sync().unwrap();
    sync(&fs, "/db");
    f.append(b" lost").unwrap();
    fs.link(Path::new("/db/a"), Path::new("/db/b")).unwrap();
    let fork = fs.fork(Arc::new(ManualClock::new(0)));
    f.append(b" later").unwrap();
    assert_eq!(read(&fork, "/db/a").unwrap(), b"synced lost");
    assert_eq!(
        fork.link_count(Path::new("/db/a")).unwrap(),
        2,
        "two names of one file are that in the fork too"
    );
    fork.crash(Survivors::Synced);
    assert_eq!(read(&fork, "/db/a").unwrap(), b"synced");
    assert_eq!(read(&fork, "/db/b"), None);
    assert_eq!(read(&fs, "/db/a").unwrap(), b"synced lost later");
    f.append(b"!").unwrap();
    assert_eq!(fs.image().len(), 2);
}

/// Each way of crashing, for a file with six synced bytes and two later writes, of which the last is cut after its
/// first byte.
#[test]
fn a_crash_in_the_middle_of_a_write_leaves_its_first_bytes() {
    let left = |survivors| {
        let fs = disk();
        let mut f = fs.create(Path::new("/db/a"), &AppendHints::default()).unwrap();
        f.append(b"synced").unwrap();
        f.sync().unwrap();
        sync(&fs, "/db");
        f.append(b"-one").unwrap();
        f.append(b"-two").unwrap();
        assert!(fs.tear(Path::new("/db/a"), 1));
        write(&fs, "/db/new", b"name", true);
        fs.crash(survivors);
        (read(&fs, "/db/a").unwrap(), read(&fs, "/db/new").is_some())
    };
    assert_eq!(left(Survivors::Everything), (b"synced-one-".to_vec(), true));
    assert_eq!(left(Survivors::ZerosForData), (b"synced\0\0\0\0\0".to_vec(), true));
    let (bytes, named) = left(Survivors::SizeWithoutData(3));
    assert!(bytes.starts_with(b"synced") && bytes.len() == 11 && bytes[6..] != [0; 5] && named);
    let (bytes, named) = left(Survivors::TornLast(3));
    assert!(bytes.starts_with(b"synced-one") && bytes.len() <= 11 && named);
    let (bytes, _) = left(Survivors::Sectors(3));
    assert!(bytes.starts_with(b"synced"));
    assert!((0..20).any(|seed| !left(Survivors::NamesLost(seed)).1), "names may be lost");
    assert!((0..20).all(|seed| left(Survivors::NamesLost(seed)).0 == b"synced-one-"), "bytes are not");
}

#[test]
fn a_file_longer_than_it_may_be_is_refused_with_the_place() {
    let fs = MemoryFs::new(Arc::new(ManualClock::new(0)));
    let fs: &dyn FileSystem = &fs;
    fs.write_all(Path::new("/a"), b"abcdef", true).unwrap();
    let error = fs.read_all(Path::new("/a"), 5).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (base::Kind::Corruption, Some(5)), "{error}");
    assert_eq!(fs.read_all(Path::new("/a"), 6).unwrap(), b"abcdef");
}
