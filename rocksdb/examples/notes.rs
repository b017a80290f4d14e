//! A notebook. The same source compiles with rust-rocksdb and with this package.
//!
//! `cargo run -p ironstone-rocksdb --example notes -- DIR` writes and reads a database at DIR.

#![allow(clippy::disallowed_methods, reason = "a program")]

use rocksdb::{ColumnFamilyDescriptor, DB, Direction, IteratorMode, MergeOperands, Options, WriteBatch};

fn append(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut lines = existing.unwrap_or_default().to_vec();
    for operand in operands {
        lines.extend_from_slice(operand);
        lines.push(b'\n');
    }
    Some(lines)
}

/// Writes and reads the database. Returns the text of the notebook.
///
/// # Errors
/// The errors of the database.
pub fn run(dir: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let mut notes = Options::default();
    notes.set_merge_operator("append", append, |_, _, _| None);
    let db = DB::open_cf_descriptors(&options, dir, [ColumnFamilyDescriptor::new("notes", notes)])?;
    let notes = db.cf_handle("notes").ok_or("no notes")?;

    let mut batch = WriteBatch::default();
    batch.put_cf(&notes, "2024-01-01", "new year\n");
    batch.merge_cf(&notes, "2024-01-01", "snow");
    batch.put_cf(&notes, "2024-02-29", "leap day\n");
    db.write(batch)?;
    let before = db.snapshot();
    db.delete_cf(&notes, "2024-01-01")?;

    let mut shown = Vec::new();
    for row in before.iterator_cf(&notes, IteratorMode::From(b"2024-01", Direction::Forward)) {
        let (day, text) = row?;
        let text = String::from_utf8_lossy(&text).replace('\n', "; ");
        shown.push(format!("{}: {text}", String::from_utf8_lossy(&day)));
    }
    shown.push(format!("now: {}", db.iterator_cf(&notes, IteratorMode::Start).count()));
    Ok(shown)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: notes DIR")?;
    for line in run(&dir)? {
        println!("{line}");
    }
    Ok(())
}
