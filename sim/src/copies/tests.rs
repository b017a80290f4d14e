use std::path::Path;

use ironstone::{
    BackupEngine, BackupEngineOptions, Checkpoint, Db, FamilyDescriptor, ImportColumnFamilyOptions, Options,
    RestoreOptions, WriteOptions,
};

use super::*;
use crate::play::options;

fn synced() -> WriteOptions {
    WriteOptions { sync: true, ..WriteOptions::default() }
}

fn words(error: ironstone::Error) -> String {
    error.to_string()
}

fn settings(outside: &Outside) -> Options {
    let mut options = options("write_buffer_size=65536").unwrap();
    options.db.env = outside.env.clone();
    options
}

/// The rows of all families, one line each.
fn rows(db: &Db) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for family in db.families() {
        for row in family.range::<[u8], _>(..) {
            let (key, value) = row.map_err(words)?;
            lines.push(format!(
                "{}:{}={}",
                family.name(),
                key.escape_ascii(),
                value[..value.len().min(8)].escape_ascii()
            ));
        }
    }
    Ok(lines)
}

fn open(outside: &Outside, path: &str) -> Result<Db, String> {
    Db::open(path, settings(outside)).map_err(|error| format!("open {path}: {error}"))
}

/// Makes a database with two column families, an SST file, and rows that only the WAL has.
fn filled(outside: &Outside) -> Result<Db, String> {
    let db = open(outside, "/db")?;
    let other = db.create_family(FamilyDescriptor::new("other", settings(outside).family)).map_err(words)?;
    db.put(b"a", b"1").map_err(words)?;
    other.put(b"b", b"2").map_err(words)?;
    db.flush().map_err(words)?;
    db.put_with(b"c", b"3", &synced()).map_err(words)?;
    Ok(db)
}

const FILLED: [&str; 3] = ["default:a=1", "default:c=3", "other:b=2"];

#[test]
fn a_crash_leaves_a_whole_checkpoint_or_none() {
    for log_size_for_flush in [0, u64::MAX] {
        let run = |outside: &Outside, step: &dyn Fn(usize)| {
            let db = filled(outside)?;
            step(1);
            let options = ironstone::CheckpointOptions {
                log_size_for_flush,
                ..ironstone::CheckpointOptions::default()
            };
            Checkpoint::new(&db).create_with("/copy", &options).map_err(words)?;
            db.close().map_err(words)
        };
        let check = |outside: &Outside, step: usize, acknowledged: bool| {
            if step >= 1 {
                let found = rows(&open(outside, "/db")?)?;
                if found != FILLED {
                    return Err(format!("the database has {found:?}"));
                }
            }
            let exists = outside.env.fs.exists(std::path::Path::new("/copy")).map_err(words)?;
            if acknowledged && !exists {
                return Err("the checkpoint is gone".to_string());
            }
            if !exists {
                return Ok(());
            }
            let found = rows(&open(outside, "/copy")?)?;
            if found == FILLED { Ok(()) } else { Err(format!("the checkpoint has {found:?}")) }
        };
        let tried = every_crash(&Operation { run: &run, check: &check }).unwrap();
        assert!(tried.crashes > 500 && tried.faults > 100, "{tried:?}");
    }
}

fn backups(outside: &Outside) -> Result<BackupEngine, String> {
    BackupEngine::open(BackupEngineOptions::new("/backups"), &outside.env).map_err(words)
}

fn restored(outside: &Outside, id: u32) -> Result<Vec<String>, String> {
    let engine = backups(outside)?;
    engine
        .restore_db_from_backup(id, "/restored", "/restored", &RestoreOptions::default())
        .map_err(|error| format!("restore {id}: {error}"))?;
    rows(&open(outside, "/restored")?)
}

/// Makes two backups with a deletion between. Each step is acknowledged before the next step starts.
fn back_up(outside: &Outside, step: &dyn Fn(usize)) -> Result<(), String> {
    let db = filled(outside)?;
    let engine = backups(outside)?;
    step(1);
    engine.create_new_backup(&db).map_err(words)?;
    step(2);
    db.delete(b"a").map_err(words)?;
    db.flush().map_err(words)?;
    engine.create_new_backup(&db).map_err(words)?;
    step(3);
    engine.purge_old_backups(1).map_err(words)?;
    step(4);
    db.close().map_err(words)
}

#[test]
fn a_crash_leaves_every_acknowledged_backup() {
    let check = |outside: &Outside, step: usize, _: bool| {
        if step == 0 {
            return Ok(());
        }
        let engine = backups(outside)?;
        if let Some((id, error)) = engine.corrupted_backups().first() {
            return Err(format!("backup {id} is corrupt: {error}"));
        }
        let ids: Vec<_> = engine.backup_info().iter().map(|info| info.id).collect();
        let may: &[&[u32]] = match step {
            1 => &[&[], &[1]],
            2 => &[&[1], &[1, 2]],
            3 => &[&[1, 2], &[2]],
            _ => &[&[2]],
        };
        if !may.contains(&&ids[..]) {
            return Err(format!("backups {ids:?} in step {step}"));
        }
        for id in ids {
            let found = restored(outside, id)?;
            let expect: &[&str] = if id == 1 { &FILLED } else { &FILLED[1..] };
            if found != expect {
                return Err(format!("backup {id} has {found:?}"));
            }
        }
        Ok(())
    };
    let tried = every_crash(&Operation { run: &back_up, check: &check }).unwrap();
    assert!(tried.crashes > 1000 && tried.faults > 200, "{tried:?}");
}

#[test]
fn an_interrupted_restore_leaves_the_whole_database_or_none() {
    let run = |outside: &Outside, step: &dyn Fn(usize)| {
        let db = filled(outside)?;
        let engine = backups(outside)?;
        let id = engine.create_new_backup(&db).map_err(words)?;
        db.put(b"later", b"4").map_err(words)?;
        db.close().map_err(words)?;
        drop(db);
        step(1);
        engine.restore_db_from_backup(id, "/db", "/db", &RestoreOptions::default()).map_err(words)?;
        step(2);
        Ok(())
    };
    let check = |outside: &Outside, step: usize, _: bool| {
        let exists = outside.env.fs.exists(std::path::Path::new("/db/CURRENT")).map_err(words)?;
        if step == 0 || step == 1 && !exists {
            return Ok(());
        }
        let found = rows(&open(outside, "/db")?)?;
        let former = found.iter().any(|row| row.starts_with("default:later"));
        if found == FILLED || step == 1 && former && found.len() == FILLED.len() + 1 {
            return Ok(());
        }
        Err(format!("the database has {found:?}"))
    };
    let tried = every_crash(&Operation { run: &run, check: &check }).unwrap();
    assert!(tried.crashes > 500, "{tried:?}");
}

#[test]
fn a_crash_leaves_an_imported_family_with_all_of_its_files_or_none() {
    let run = |outside: &Outside, step: &dyn Fn(usize)| {
        let db = filled(outside)?;
        let export = Checkpoint::new(&db).export_column_family(&db, "/export").map_err(words)?;
        step(1);
        let copy = FamilyDescriptor::new("copy", settings(outside).family);
        db.create_family_with_import(copy, &ImportColumnFamilyOptions::default(), &[&export])
            .map_err(words)?;
        step(2);
        db.close().map_err(words)
    };
    let check = |outside: &Outside, step: usize, _: bool| {
        if step == 0 {
            return Ok(());
        }
        let found = rows(&open(outside, "/db")?)?;
        let copied: Vec<_> = found.iter().filter(|row| row.starts_with("copy")).collect();
        if copied.len() == 2 || copied.is_empty() && step == 1 {
            return if found.len() - copied.len() == FILLED.len() {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            };
        }
        Err(format!("the database has {found:?}"))
    };
    let tried = every_crash(&Operation { run: &run, check: &check }).unwrap();
    assert!(tried.crashes > 500, "{tried:?}");
}

#[test]
fn a_crash_leaves_a_whole_export_or_none() {
    let run = |outside: &Outside, step: &dyn Fn(usize)| {
        let db = filled(outside)?;
        step(1);
        Checkpoint::new(&db).export_column_family(&db, "/export").map_err(words)?;
        step(2);
        db.close().map_err(words)
    };
    let check = |outside: &Outside, step: usize, acknowledged: bool| {
        let fs = &outside.env.fs;
        let there = fs.list(Path::new("/export")).unwrap_or_default();
        if there.is_empty() {
            return if step == 2 { Err("the export is gone".to_string()) } else { Ok(()) };
        }
        if step == 0 {
            return Err(format!("an export before its call: {there:?}"));
        }
        let tables = there.iter().filter(|name| name.ends_with(".sst")).count();
        if tables != 2 {
            return Err(format!("the export has {there:?}"));
        }
        if step == 2 || acknowledged {
            let found = rows(&open(outside, "/db")?)?;
            if found != FILLED {
                return Err(format!("the database has {found:?}"));
            }
        }
        Ok(())
    };
    let tried = every_crash(&Operation { run: &run, check: &check }).unwrap();
    assert!(tried.crashes > 200, "{tried:?}");
}

#[test]
fn a_crash_in_a_clip_keeps_every_row_inside_of_the_range() {
    let run = |outside: &Outside, step: &dyn Fn(usize)| {
        let db = open(outside, "/db")?;
        for (at, keys) in [["a", "m", "z"], ["b", "m", "y"]].iter().enumerate() {
            for key in keys {
                db.put(key.as_bytes(), format!("{at}").as_bytes()).map_err(words)?;
            }
            db.flush().map_err(words)?;
        }
        db.put_with(b"n", b"2", &synced()).map_err(words)?;
        step(1);
        db.clip(b"c", b"p").map_err(words)?;
        step(2);
        db.close().map_err(words)
    };
    let check = |outside: &Outside, step: usize, _: bool| {
        if step == 0 {
            return Ok(());
        }
        let found = rows(&open(outside, "/db")?)?;
        let (inside, outside): (Vec<_>, Vec<_>) = found
            .iter()
            .map(String::as_str)
            .partition(|row| row.starts_with("default:m") || row.starts_with("default:n"));
        let known = ["default:a=0", "default:b=1", "default:y=1", "default:z=0"];
        let whole = inside == ["default:m=1", "default:n=2"];
        let no_older = outside.iter().all(|row| known.contains(row));
        match whole && no_older && (step == 1 || outside.is_empty()) {
            true => Ok(()),
            false => Err(format!("the database has {found:?} in step {step}")),
        }
    };
    let tried = every_crash(&Operation { run: &run, check: &check }).unwrap();
    assert!(tried.crashes > 200, "{tried:?}");
}
