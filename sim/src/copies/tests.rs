use ironstone::{Checkpoint, Db, FamilyDescriptor, Options, WriteOptions};

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

/// Two families, a table, and rows that only the WAL has.
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
