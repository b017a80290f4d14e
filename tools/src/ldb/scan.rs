//! Live keys in order: `scan` and `dump`.

use std::cmp::Ordering;

use base::stats::Histogram;
use engine::db::DbIterator;
use engine::options::ReadOptions;

use super::json::Object;
use super::session::Session;
use super::show::{self, Row};
use super::ttl::Buckets;
use super::{Failure, Io, Outcome, files};

pub(crate) fn scan(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let (from, to, max) = (s.bound("from")?, s.bound("to")?, s.max_keys()?);
    let no_value = s.args.has_flag("no_value");
    let (db, family) = s.open_family(io)?;
    let options = s.read_options(&family).map_err(|e| Failure::of("Scan failed", e.0))?;
    let mut iter = db.iter(&family, options)?;
    start(&mut iter, from.as_deref());
    let order = &family.order().user;
    let mut count = 0;
    if !s.json {
        s.ttl.head("Scanning", io)?;
    }
    while iter.valid() && !past(order, iter.key(), to.as_deref()) {
        let Some((value, time)) = s.ttl.row(iter.value())? else {
            iter.next();
            continue;
        };
        if s.json {
            let columns = if s.ttl.on { None } else { iter.columns() };
            let mut row = row_of(&iter, value, columns.as_deref());
            if no_value {
                (row.value, row.columns) = (b"", None);
            }
            writeln!(io.out, "{}", timed_row(&row, (s.key_hex, s.value_hex), &time))?;
        } else if no_value {
            io.out.write_all(time.as_bytes())?;
            io.out.write_all(&show::bytes(iter.key(), s.key_hex))?;
            io.out.write_all(b"\n")?;
        } else {
            io.out.write_all(time.as_bytes())?;
            print(s, io, &iter, value)?;
        }
        count += 1;
        // As in RocksDB, a limit of 0 prints one key.
        if max.is_some_and(|max| count >= max) {
            break;
        }
        iter.next();
    }
    Ok(iter.status()?)
}

fn start(iter: &mut DbIterator, from: Option<&[u8]>) {
    match from {
        Some(from) => iter.seek(from),
        None => iter.seek_to_first(),
    }
}

fn past(order: &base::Order, key: &[u8], to: Option<&[u8]>) -> bool {
    to.is_some_and(|to| order.compare_stripped(key, to) != Ordering::Less)
}

fn row_of<'a>(iter: &'a DbIterator, value: &'a [u8], columns: Option<&'a [(Vec<u8>, Vec<u8>)]>) -> Row<'a> {
    Row { key: iter.key(), timestamp: iter.timestamp(), value, columns }
}

fn print(s: &Session, io: &mut Io<'_>, iter: &DbIterator, value: &[u8]) -> Outcome {
    // In a database with a time to live, the columns would contain the time too.
    let columns = if s.ttl.on { None } else { iter.columns() };
    io.out.write_all(&row_of(iter, value, columns.as_deref()).line(s.key_hex, s.value_hex))?;
    Ok(io.out.write_all(b"\n")?)
}

/// Returns a row as an object, with `(key_hex, value_hex)`.
pub(crate) fn json_row(row: &Row<'_>, hex: (bool, bool)) -> String {
    timed_row(row, hex, "")
}

/// Returns a row as an object. `time` is the text of [`super::ttl::Ttl::row`]: the time of the write in a database with a time to
/// live, or nothing.
fn timed_row(row: &Row<'_>, (key_hex, value_hex): (bool, bool), time: &str) -> String {
    let mut object = Object::default();
    if !time.is_empty() {
        object.text("time", time.trim_end());
    }
    object.bytes("key", row.key, key_hex);
    if !row.timestamp.is_empty() {
        match row.timestamp.try_into() {
            Ok(eight) => object.raw("timestamp", u64::from_le_bytes(eight)),
            Err(_) => object.bytes("timestamp", row.timestamp, true),
        };
    }
    match row.columns {
        None => object.bytes("value", row.value, value_hex),
        Some(columns) => object.list(
            "columns",
            columns.iter().map(|(name, value)| {
                let mut column = Object::default();
                column.bytes("name", name, value_hex).bytes("value", value, value_hex);
                column
            }),
        ),
    };
    object.finish()
}

/// Prints a database. With `--path` and without `--db`, prints one file.
pub(crate) fn dump(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    if let (Some(path), None) = (s.args.path("path"), s.args.path("db")) {
        return files::dump_by_name(s, io, &path);
    }
    let (from, to, max) = (s.bound("from")?, s.bound("to")?, s.max_keys()?);
    let count_only = s.args.has_flag("count_only");
    let mut groups = Groups::asked(s);
    let (db, family) = s.open_family(io)?;
    if s.args.has_flag("stats") {
        print_stats(&db, &family, io)?;
    }
    let size = family.order().user.timestamp_size();
    // The newest timestamp that is possible.
    let timestamp = (size > 0).then(|| vec![0xff; size]);
    let mut iter =
        db.iter(&family, ReadOptions { timestamp, total_order_seek: true, ..ReadOptions::default() })?;
    start(&mut iter, from.as_deref());
    let order = &family.order().user;
    let (mut count, mut sizes) = (0u64, Histogram::new());
    let mut buckets = Buckets::asked(s.ttl, &s.args)?;
    if groups.is_none() && !count_only && !s.json {
        s.ttl.head("Dumping", io)?;
    }
    while iter.valid() && !past(order, iter.key(), to.as_deref()) && max.is_none_or(|max| count < max) {
        let Some((value, time)) = s.ttl.row(iter.value())? else {
            iter.next();
            continue;
        };
        count += 1;
        if let Some(buckets) = &mut buckets {
            buckets.add(iter.value())?;
        }
        let len = (iter.key().len() + value.len()) as u64;
        if let Some(groups) = &mut groups {
            groups.add(iter.key(), len, io)?;
        } else if count_only {
            sizes.add(value.len() as u64);
        } else if s.json {
            let columns = if s.ttl.on { None } else { iter.columns() };
            let row = row_of(&iter, value, columns.as_deref());
            writeln!(io.out, "{}", timed_row(&row, (s.key_hex, s.value_hex), &time))?;
        } else {
            io.out.write_all(time.as_bytes())?;
            print(s, io, &iter, value)?;
        }
        iter.next();
    }
    match (buckets, groups) {
        (Some(buckets), _) => buckets.finish(io)?,
        (None, Some(groups)) => groups.finish(io)?,
        (None, None) if s.json && !count_only => {}
        (None, None) => writeln!(io.out, "Keys in range: {count}")?,
    }
    if count_only {
        writeln!(io.out, "Value size distribution: \n{}", sizes)?;
    }
    iter.status().map_err(|e| Failure::of("Iterator error", crate::advice::with_advice(&e)))
}

/// Prints the statistics of `--stats`.
pub(crate) fn print_stats(
    db: &engine::db::Db,
    family: &std::sync::Arc<engine::family::Family>,
    io: &mut Io<'_>,
) -> Outcome {
    if let Some(stats) = db.properties().text(family, "rocksdb.stats") {
        writeln!(io.out, "{stats}")?;
    }
    Ok(())
}

/// Counts keys by the bytes before a delimiter: `--count_delim`.
pub(crate) struct Groups {
    delimiter: u8,
    group: Option<Vec<u8>>,
    count: u64,
    bytes: u64,
}

impl Groups {
    /// Returns the counter if the command line asks for it. The default delimiter is a dot.
    pub fn asked(s: &Session) -> Option<Groups> {
        let delimiter = match s.args.option("count_delim") {
            Some(given) => given.first().copied().unwrap_or(0),
            None if s.args.has_flag("count_delim") => b'.',
            None => return None,
        };
        Some(Groups { delimiter, group: None, count: 0, bytes: 0 })
    }

    /// Counts a key with its bytes. Prints the line of the previous group if the key starts a new group. Keys
    /// come in order.
    pub fn add(&mut self, key: &[u8], bytes: u64, io: &mut Io<'_>) -> Outcome {
        let end = key.iter().position(|&b| b == self.delimiter).unwrap_or(key.len());
        let group = &key[..end];
        match &self.group {
            Some(current) if current == group => {
                self.count += 1;
                self.bytes += bytes;
            }
            current => {
                if current.is_some() {
                    self.line(io)?;
                }
                (self.group, self.count, self.bytes) = (Some(group.to_vec()), 1, bytes);
            }
        }
        Ok(())
    }

    /// Prints the line of the last group.
    pub fn finish(self, io: &mut Io<'_>) -> Outcome {
        self.line(io)
    }

    fn line(&self, io: &mut Io<'_>) -> Outcome {
        io.out.write_all(self.group.as_deref().unwrap_or_default())?;
        Ok(writeln!(io.out, " => count:{}\tsize:{}", self.count, self.bytes)?)
    }
}
