//! Cases of MANIFESTs: edits that a crash cut or damage changed, and what proves that an edit was synced.

use super::*;

/// Returns the path of the MANIFEST and its length.
pub(super) fn manifest(world: &CrashingDisk) -> (std::path::PathBuf, u64) {
    let names = world.disk.list(Path::new("/db")).unwrap();
    let name = names.iter().filter(|n| n.starts_with("MANIFEST-")).max().unwrap();
    let path = Path::new("/db").join(name);
    let size = world.disk.file_size(&path).unwrap();
    (path, size)
}

/// Clears 12 bytes of an edit, as if a crash lost a sector. A repair cannot explain this damage by one flipped bit or
/// by a cut.
fn clear_within_the_edit_at(world: &CrashingDisk, (path, at): &(std::path::PathBuf, u64)) {
    let at = *at as usize + 12;
    assert!(world.disk.damage(path, |bytes| bytes[at..at + 12].fill(0)));
}

/// As in crash seed 54. A crash lost sectors of an edit whose sync never ended. The open failed because of the
/// checksum of the edit.
#[test]
fn a_partial_edit_that_was_never_synced_is_skipped() {
    let world = CrashingDisk::new();
    let db = world.open("");
    db.put(b"b", b"flushed before").unwrap();
    db.flush().unwrap();
    db.put_with(b"a", b"1", &synced()).unwrap();
    let edit = manifest(&world);
    world.faults.hook().set_plan("sync MANIFEST-* #1 crash").unwrap();
    db.flush().unwrap_err();
    world.crash(db, Survivors::Everything);
    clear_within_the_edit_at(&world, &edit);
    assert_eq!(world.open("").get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}

/// The counterpart: the same damage to an edit after which its WALs were deleted. The edit was synced, and the open
/// must fail.
#[test]
fn a_damaged_edit_whose_obsolete_wals_are_deleted_fails_the_open() {
    let world = CrashingDisk::new();
    let db = world.open("");
    db.put(b"b", b"flushed before").unwrap();
    db.flush().unwrap();
    db.put_with(b"a", b"1", &synced()).unwrap();
    let edit = manifest(&world);
    db.flush().unwrap();
    while world.outside.env.executor.help() {}
    world.crash(db, Survivors::Everything);
    clear_within_the_edit_at(&world, &edit);
    refused(&world);
}

/// The drop of a column family was acknowledged as the last edit. More than one bit of this edit was
/// damaged. The open took the edit for an edit that was never synced, and the column family was back.
#[test]
fn the_last_edit_is_known_to_be_durable_without_a_later_one() {
    let world = CrashingDisk::new();
    let db = world.open("");
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    db.put_with(b"a", b"1", &synced()).unwrap();
    let edit = manifest(&world);
    db.drop_family(&other).unwrap();
    drop(other);
    world.crash(db, Survivors::Everything);
    refused_once_damaged(&world, &edit);
}

/// The open took these crashes for damage: it did not see that the WAL which the edit would have made
/// obsolete still existed.
#[test]
fn edits_that_were_never_synced_are_skipped_with_any_set_of_wals() {
    let flush = |db: &Db| db.flush().unwrap_err();
    let add = |db: &Db| {
        db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).err().unwrap()
    };
    let first: (u32, &dyn Fn(&Db) -> ironstone::Error) = (1, &flush);
    for (openings, edit) in [first, (1, &add), (2, &flush), (2, &add), (3, &add)] {
        for text in ["", "wal_dir=/logs", "reuse_manifest_on_open=true", "avoid_flush_during_recovery=true"] {
            let world = CrashingDisk::new();
            for _ in 1..openings {
                world.open(text).close().unwrap();
            }
            let db = world.open(text);
            db.put_with(b"a", b"1", &synced()).unwrap();
            let at = manifest(&world);
            world.faults.hook().set_plan("sync MANIFEST-* #1 crash").unwrap();
            edit(&db);
            world.crash(db, Survivors::Everything);
            clear_within_the_edit_at(&world, &at);
            let db = world.open(text);
            assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]), "{openings} openings, {text}");
        }
    }
}

/// The second edit of an append was complete, but the first was not. The open took the second edit for an edit of
/// another writer.
#[test]
fn a_complete_edit_after_a_partial_edit_of_one_append_is_not_of_another_writer() {
    let world = CrashingDisk::new();
    let db = world.open("");
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    db.put_with(b"a", b"1", &synced()).unwrap();
    other.put_with(b"b", b"2", &synced()).unwrap();
    drop(other);
    db.close().unwrap();
    drop(db);
    let edit = manifest(&world);
    world.faults.hook().set_plan("sync MANIFEST-* #2 crash").unwrap();
    let mut all = options("reuse_manifest_on_open=true").unwrap();
    all.db.env = world.outside.env.clone();
    let families =
        || ["default", "other"].map(|name| FamilyDescriptor::new(name, options("").unwrap().family)).to_vec();
    Db::open_with_families("/db", all.clone(), families()).err().unwrap();
    world.outside.executor.abandon();
    world.disk.crash(Survivors::Everything);
    world.faults.hook().revive();
    assert!(manifest(&world).1 > edit.1, "the edits came");
    clear_within_the_edit_at(&world, &edit);
    let db = Db::open_with_families("/db", all, families()).unwrap();
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(db.family("other").unwrap().get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
}

/// Files that an unreadable last edit may have named stayed in the directory, and the second open deleted them. They
/// must move to `lost/`.
#[test]
fn files_that_an_unreadable_last_edit_may_name_survive_later_opens() {
    let world = CrashingDisk::new();
    let db = world.open("");
    db.put_with(b"a", b"1", &synced()).unwrap();
    let (edit, log) = (manifest(&world), newest_log(&world));
    world.faults.hook().set_plan("sync MANIFEST-* #1 crash").unwrap();
    db.flush().unwrap_err();
    world.crash(db, Survivors::Everything);
    clear_within_the_edit_at(&world, &edit);
    let table =
        world.disk.list(Path::new("/db")).unwrap().into_iter().find(|name| name.ends_with(".sst")).unwrap();
    for _ in 0..3 {
        world.open("").close().unwrap();
        while world.outside.env.executor.help() {}
        let lost = world.disk.list(Path::new("/db/lost")).unwrap();
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        for file in [name(&edit.0), name(&log), table.clone()] {
            assert!(
                lost.iter().any(|moved| moved.ends_with(&format!("-{file}"))),
                "{file} is not among {lost:?}"
            );
        }
    }
}

/// A session continued an old MANIFEST. Its edits had no marks about the earlier edits, so the open could
/// take an earlier edit for an edit that was never synced.
#[test]
fn edits_of_a_continued_manifest_prove_the_edits_before_them() {
    let world = CrashingDisk::new();
    let db = world.open("");
    db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    db.put(b"b", b"1").unwrap();
    db.close().unwrap();
    drop(db);
    let db = world.open("reuse_manifest_on_open=true");
    let other = db.families().into_iter().find(|f| f.name() == "other").unwrap();
    other.put(b"b", b"2").unwrap();
    other.flush().unwrap();
    db.put(b"b", b"2").unwrap();
    db.flush().unwrap();
    other.put(b"x", b"keeps its log").unwrap();
    db.put_with(b"w", b"in no log", &WriteOptions { disableWAL: true, ..WriteOptions::default() }).unwrap();
    let edit = manifest(&world);
    db.flush().unwrap();
    db.put(b"c", b"3").unwrap();
    db.flush().unwrap();
    drop(other);
    world.crash(db, Survivors::Everything);
    refused_once_damaged(&world, &edit);
}

/// A column family was created, and a synced write to it succeeded. Then the edit that created it was damaged, and
/// the column family and its data disappeared without an error.
#[test]
fn writes_in_a_wal_prove_the_edit_that_created_their_family() {
    let world = CrashingDisk::new();
    let db = world.open("");
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    let edit = manifest(&world);
    let other = db.create_family(FamilyDescriptor::new("other", options("").unwrap().family)).unwrap();
    let mut batch = WriteBatch::new();
    batch.put_in(other.id(), b"c", b"3");
    db.write_with(batch, &synced()).unwrap();
    drop(other);
    // The mark that proves the edit durable is in the MANIFEST, but the mark is not synced.
    world.crash(db, Survivors::Synced);
    clear_within_the_edit_at(&world, &edit);
    let error = refused(&world);
    assert!(error.to_string().contains("column family 1"), "{error}");
    let db = world.open("open_despite_lost_writes=true");
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"1"[..]));
}

/// Damages the edit at this offset, and checks that the open distinguishes a corrupt edit from a torn edit.
fn refused_once_damaged(world: &CrashingDisk, edit: &(std::path::PathBuf, u64)) {
    clear_within_the_edit_at(world, edit);
    let error = refused(world);
    assert!(error.to_string().contains("corrupt, not torn"), "{error}");
}
