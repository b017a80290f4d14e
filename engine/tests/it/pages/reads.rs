//! Commands that read: single keys, scans, and an iterator that the page moves step by step.

use std::sync::Arc;

use base::Pinned;
use ironstone_engine::db::{Db, DbIterator};
use ironstone_engine::family::Family;
use ironstone_engine::options::{ReadOptions, ReadTier};

use super::world::World;
use super::writes::bytes;

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// Returns the entry of an iterator, `end`, or the error.
fn place(iter: &DbIterator) -> String {
    if !iter.valid() {
        return match iter.status() {
            Ok(()) => "end".to_string(),
            Err(error) => format!("error: {error}"),
        };
    }
    let time = match iter.timestamp() {
        [] => String::new(),
        bytes => format!("@{}", bytes.try_into().map_or(0, u64::from_le_bytes)),
    };
    format!("{}{time}={}", text(iter.key()), text(iter.value()))
}

impl World {
    fn reading(&self) -> ReadOptions {
        ReadOptions { timestamp: self.at.map(|at| at.to_le_bytes().to_vec()), ..ReadOptions::default() }
    }

    /// Sets one option of a read.
    fn set_read(&self, options: &mut ReadOptions, word: &str) {
        let (name, value) = word.split_once('=').unwrap_or((word, "true"));
        let is_set = value == "true";
        match name {
            "lower" => options.iterate_lower_bound = Some(bytes(value).to_vec()),
            "upper" => options.iterate_upper_bound = Some(bytes(value).to_vec()),
            "snapshot" => options.snapshot = Some(self.snapshots[value].clone()),
            "start-ts" => {
                options.iter_start_ts = Some(value.parse::<u64>().expect("a time").to_le_bytes().to_vec())
            }
            "tailing" => options.tailing = is_set,
            "total_order_seek" => options.total_order_seek = is_set,
            "auto_prefix_mode" => options.auto_prefix_mode = is_set,
            "prefix_same_as_start" => options.prefix_same_as_start = is_set,
            "pin_data" => options.pin_data = is_set,
            "ignore_range_deletions" => options.ignore_range_deletions = is_set,
            "max_skippable_internal_keys" => {
                options.max_skippable_internal_keys = value.parse().expect("a number")
            }
            "memory" => options.read_tier = ReadTier::Memtable,
            "cache" => options.read_tier = ReadTier::BlockCache,
            other => panic!("no option of a read: {other}"),
        }
    }

    /// Runs a command that reads. Returns `None` if the command is another one.
    pub fn read(&mut self, db: &Db, words: &[&str]) -> base::Result<Option<String>> {
        if let Some(answer) = self.step(words)? {
            return Ok(Some(answer));
        }
        let shown = |value: Option<Pinned>| value.map_or("nothing".to_string(), |value| text(&value));
        Ok(Some(match words {
            ["get", key, options @ ..] => {
                let mut reading = self.reading();
                options.iter().for_each(|word| self.set_read(&mut reading, word));
                shown(db.get(&*self.current(db)?, bytes(key), &reading)?)
            }
            ["mget", keys @ ..] => {
                let keys: Vec<&[u8]> = keys.iter().map(|key| bytes(key)).collect();
                let values = db.multi_get(&*self.current(db)?, &keys, &self.reading());
                let show = |value: base::Result<_>| value.map_or_else(|e| format!("error: {e}"), shown);
                values.into_iter().map(show).collect::<Vec<_>>().join(" ")
            }
            ["read", key, times] => {
                let family = self.current(db)?;
                for _ in 0..times.parse::<usize>().expect("a number") {
                    db.get(&family, bytes(key), &self.reading())?;
                }
                String::new()
            }
            ["scan", options @ ..] => self.scan(db, &self.current(db)?, options, false)?,
            ["scan-back", options @ ..] => self.scan(db, &self.current(db)?, options, true)?,
            ["operands", key] => {
                let operands = db.reads().operands(&*self.current(db)?, bytes(key), &self.reading())?;
                operands.iter().map(|operand| text(operand)).collect::<Vec<_>>().join(" | ")
            }
            ["newest", key] => {
                let (newest, since) = db.reads().newest_in_memory(&*self.current(db)?, bytes(key))?;
                let newest = newest.map_or("nothing".to_string(), |seq| seq.to_string());
                format!("{newest}, all since {since}")
            }
            ["tree"] => lsm::draw::version(&self.current(db)?.pin_owned().version),
            ["sequence"] => db.latest_sequence().to_string(),
            ["snapshot", name] => {
                self.snapshots.insert(name.to_string(), db.snapshot());
                String::new()
            }
            ["release", name] => {
                self.snapshots.remove(*name).expect("a snapshot");
                String::new()
            }
            ["iter", options @ ..] => {
                let mut reading = self.reading();
                options.iter().for_each(|word| self.set_read(&mut reading, word));
                self.iter = None;
                self.iter = Some(db.iter(&self.current(db)?, reading)?);
                String::new()
            }
            _ => return Ok(None),
        }))
    }

    /// Returns all entries of a column family in one line.
    pub fn scan(
        &self,
        db: &Db,
        family: &Arc<Family>,
        options: &[&str],
        backward: bool,
    ) -> base::Result<String> {
        let mut reading = self.reading();
        options.iter().for_each(|word| self.set_read(&mut reading, word));
        let mut iter = db.iter(family, reading)?;
        let mut out = Vec::new();
        if backward {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        while iter.valid() {
            out.push(place(&iter));
            if backward { iter.prev() } else { iter.next() }
        }
        iter.status()?;
        Ok(if out.is_empty() { "empty".to_string() } else { out.join(" ") })
    }

    /// Moves the iterator of the page.
    fn step(&mut self, words: &[&str]) -> base::Result<Option<String>> {
        let times = |words: &[&str]| words.first().map_or(1, |word| word.parse::<usize>().expect("a number"));
        let is_step = matches!(words[0], "first" | "last" | "seek" | "back" | "next" | "prev" | "refresh");
        let Some(iter) = self.iter.as_mut().filter(|_| is_step) else { return Ok(None) };
        let mut out = Vec::new();
        match words {
            ["first"] => iter.seek_to_first(),
            ["last"] => iter.seek_to_last(),
            ["seek", key] => iter.seek(bytes(key)),
            ["back", key] => iter.seek_for_prev(bytes(key)),
            ["refresh"] => {
                iter.refresh()?;
                return Ok(Some(String::new()));
            }
            ["next" | "prev", count @ ..] => {
                for _ in 0..times(count) {
                    if !iter.valid() {
                        break;
                    }
                    if words[0] == "next" {
                        iter.next()
                    } else {
                        iter.prev()
                    }
                    out.push(place(iter));
                }
                return Ok(Some(out.join(" ")));
            }
            _ => return Ok(None),
        }
        Ok(Some(place(iter)))
    }
}
