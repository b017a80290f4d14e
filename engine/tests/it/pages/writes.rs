//! Commands that write, flush and compact.

use base::Level;
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::db::Db;
use ironstone_engine::family::Family;
use ironstone_engine::options::{CompactRangeOptions, FlushOptions, WriteOptions};

use super::world::World;

/// Returns the bytes of a word; `%` is an empty text.
pub fn bytes(word: &str) -> &[u8] {
    if word == "%" { b"" } else { word.as_bytes() }
}

impl World {
    fn options(&self) -> WriteOptions {
        WriteOptions { sync: self.sync, disableWAL: !self.wal, ..WriteOptions::default() }
    }

    /// Adds one change, as `put K V`, to a batch.
    fn add(&self, family: &Family, batch: &mut WriteBatch, words: &[&str]) {
        let id = family.id();
        let time = self.at.map(u64::to_le_bytes);
        match (words, &time) {
            (["put", key, value], None) => batch.put_in(id, bytes(key), bytes(value)),
            (["put", key, value], Some(time)) => batch.put_at(id, bytes(key), time, bytes(value)),
            (["delete", key], None) => batch.delete_in(id, bytes(key)),
            (["delete", key], Some(time)) => batch.delete_at(id, bytes(key), time),
            (["single-delete", key], None) => batch.single_delete_in(id, bytes(key)),
            (["single-delete", key], Some(time)) => batch.single_delete_at(id, bytes(key), time),
            (["merge", key, operand], None) => batch.merge_in(id, bytes(key), bytes(operand)),
            (["merge", key, operand], Some(time)) => batch.merge_at(id, bytes(key), time, bytes(operand)),
            (["delete-range", a, b], None) => batch.delete_range_in(id, bytes(a), bytes(b)),
            (["delete-range", a, b], Some(time)) => batch.delete_range_at(id, bytes(a), bytes(b), time),
            (["log-data", text], _) => batch.put_log_data(bytes(text)),
            (other, _) => panic!("no change: {other:?}"),
        };
    }

    /// Runs a command that writes. Returns `None` if the command is another one.
    pub fn write(&mut self, db: &Db, words: &[&str]) -> base::Result<Option<String>> {
        match words {
            ["put" | "delete" | "single-delete" | "merge" | "delete-range", ..] => {
                let mut batch = WriteBatch::new();
                self.add(&*self.current(db)?, &mut batch, words);
                db.write(&mut batch, &self.options())?;
            }
            ["puts", pairs @ ..] => {
                for pair in pairs {
                    let (key, value) = pair.split_once('=').expect("a key and a value");
                    let mut batch = WriteBatch::new();
                    self.add(&*self.current(db)?, &mut batch, &["put", key, value]);
                    db.write(&mut batch, &self.options())?;
                }
            }
            ["batch", changes @ ..] => {
                let mut batch = WriteBatch::new();
                let family = self.current(db)?;
                for change in changes {
                    self.add(&family, &mut batch, &change.split(':').collect::<Vec<_>>());
                }
                db.write(&mut batch, &self.options())?;
            }
            ["protected", count, key, value] => {
                let count = count.parse().expect("a number of bytes");
                let options = WriteOptions { protection_bytes_per_key: count, ..self.options() };
                db.put(&*self.current(db)?, bytes(key), bytes(value), &options)?;
            }
            ["big", key, len] => {
                let value = "x".repeat(len.parse().expect("a length"));
                db.put(&*self.current(db)?, bytes(key), value.as_bytes(), &self.options())?;
            }
            ["fill", from, to, len] => {
                let (from, to): (usize, usize) =
                    (from.parse().expect("a number"), to.parse().expect("a number"));
                let value = "x".repeat(len.parse().expect("a length"));
                for i in from..to {
                    let key = format!("key{i:04}");
                    db.put(&*self.current(db)?, key.as_bytes(), value.as_bytes(), &self.options())?;
                }
            }
            ["put-in", family, key, value] => {
                db.put(&*self.named(db, family)?, bytes(key), bytes(value), &self.options())?;
            }
            ["flush"] => db.flush(&[self.current(db)?], &FlushOptions::default())?,
            ["flush", names @ ..] => {
                let families: base::Result<Vec<_>> = names.iter().map(|name| self.named(db, name)).collect();
                db.flush(&families?, &FlushOptions::default())?;
            }
            ["flush-wal", word] => db.wals().flush(*word == "sync")?,
            ["compact"] => db.compactions().compact_range(
                &self.current(db)?,
                None,
                None,
                &CompactRangeOptions::default(),
            )?,
            ["compact", a, b] => {
                let (a, b) = (Some(bytes(a)), Some(bytes(b)));
                db.compactions().compact_range(&self.current(db)?, a, b, &CompactRangeOptions::default())?;
            }
            ["suggest", a, b] => {
                db.compactions().suggest_compact_range(&self.current(db)?, Some(bytes(a)), Some(bytes(b)))?
            }
            ["promote", level] => db
                .compactions()
                .promote_l0(&self.current(db)?, Level::new(level.parse().expect("a level")))?,
            ["delete-files", a, b] => {
                let ranges = [(Some(bytes(a)), Some(bytes(b)))];
                db.files().delete_files_in_ranges(&self.current(db)?, &ranges, true)?;
            }
            ["wait"] => db.background().wait_for_compact()?,
            _ => return Ok(None),
        }
        Ok(Some(String::new()))
    }
}
