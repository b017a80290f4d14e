//! Measures the cost of many column families: their creation, and the open of their database.
//!
//! ```text
//!  cargo run --profile rig -p ironstone --example families -- DIR FAMILIES
//!
//!  one call      create_families of all of them, into DIR/one-call
//!  one by one    create_family for each of them, into DIR/one-by-one
//! ```
//! Each row has the seconds of the creation, the close and the next open. Then follow the bytes of the info log and the
//! resident bytes that each column family adds.

#![allow(clippy::disallowed_methods, reason = "a program")]

use std::path::Path;
use std::time::Instant;

use ironstone::{Db, FamilyDescriptor, FamilyOptions, Options, Result};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, dir, families] = &arguments[..] else {
        eprintln!("usage: families DIR FAMILIES");
        std::process::exit(2);
    };
    let families = families.parse().unwrap_or(1000);
    for (name, together) in [("one-call", true), ("one-by-one", false)] {
        if let Err(error) = measure(&Path::new(dir).join(name), families, together) {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

fn measure(dir: &Path, families: usize, together: bool) -> Result<()> {
    let mut options = Options::default();
    options.db.create_if_missing = true;
    let db = Db::open(dir, options.clone())?;
    let before = resident_bytes();
    let named = |i: usize| FamilyDescriptor::new(format!("family-{i:06}"), FamilyOptions::default());
    let begun = Instant::now();
    let made = if together {
        db.create_families((0..families).map(named).collect())?
    } else {
        (0..families).map(|i| db.create_family(named(i))).collect::<Result<Vec<_>>>()?
    };
    let create = begun.elapsed();
    let resident = resident_bytes().saturating_sub(before);
    drop(made);
    let begun = Instant::now();
    db.close()?;
    drop(db);
    let close = begun.elapsed();
    let log_bytes = std::fs::metadata(dir.join("LOG")).map_or(0, |file| file.len());
    let begun = Instant::now();
    let db = Db::open(dir, options)?;
    let open = begun.elapsed();
    assert_eq!(db.families().len(), families + 1, "column families after the open");
    drop(db);
    let reopened_log_bytes = std::fs::metadata(dir.join("LOG")).map_or(0, |file| file.len());
    println!(
        "{:<12} {families} families: create {:.2} s, close {:.2} s, open {:.2} s; for each family {} bytes of LOG, \
         {} at the next open, {} resident bytes",
        dir.file_name().unwrap_or_default().to_string_lossy(),
        create.as_secs_f64(),
        close.as_secs_f64(),
        open.as_secs_f64(),
        log_bytes / families as u64,
        reopened_log_bytes / families as u64,
        resident / families as u64,
    );
    Ok(())
}

/// Returns the resident memory of this process in bytes; 0 if the system does not report it.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).map_or(0, |pages| pages * 4096)
}
