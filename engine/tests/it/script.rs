//! Tests of options as pages: scripts of commands with the expected answers. `testdata/options` has one file for each
//! subject.
//!
//! ```text
//! > open NAME=VALUE ..     a fresh start on the same disk; options of the database and of the family alike
//! > put K V | protected BYTES K V | merge K V | delete K | get K | read K TIMES | scan | operands K | newest K
//! > flush | compact | wait | sleep SECONDS | set NAME=VALUE | set-db NAME=VALUE | families
//! > property NAME | ticker NAME | history
//! > create FAMILY NAME=VALUE | put-in FAMILY K V
//! > close | files SUFFIX-OR-START | remove NAME
//! ```
//! `IRONSTONE_REWRITE=1` rewrites the answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::stats::{Statistics, Ticker};
use env::Env;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{DbOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions};

use crate::basic::{get, options, put, scan};

pub struct World {
    pub env: Env,
    pub db: Option<Db>,
    pub statistics: Arc<Statistics>,
}

impl World {
    pub fn new() -> Self {
        World { env: Env::memory(1), db: None, statistics: Arc::new(Statistics::new()) }
    }

    fn open(&mut self, settings: &[&str]) -> base::Result<()> {
        self.db = None;
        let mut db = DbOptions { statistics: Some(self.statistics.clone()), ..options(&self.env) };
        let mut family =
            FamilyOptions { merge_operator: lsm::merge::by_name("stringappend"), ..FamilyOptions::default() };
        for setting in settings {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            if DbOptions::ROWS.iter().any(|row| row.name == name) {
                db.set(name, value)?;
            } else {
                family.set(name, value)?;
            }
        }
        self.db = Some(Db::open(OpenRequest::new("/db", db, family))?);
        Ok(())
    }

    /// Runs a command. Returns its answer; most commands have none.
    pub fn run(&mut self, words: &[&str]) -> base::Result<String> {
        match words {
            ["open", settings @ ..] => return self.open(settings).map(|()| String::new()),
            ["close"] => {
                self.db = None;
                return Ok(String::new());
            }
            ["files", suffix] => {
                let mut names = self.env.fs.list(Path::new("/db"))?;
                names.retain(|name| name.ends_with(suffix) || name.starts_with(suffix));
                names.sort();
                return Ok(names.join(" "));
            }
            ["remove", name] => {
                return self.env.fs.unlink(&Path::new("/db").join(name)).map(|()| String::new());
            }
            _ => {}
        }
        let Some(db) = &self.db else { return Ok("no database is open".into()) };
        let family = db.default_family()?;
        let write = WriteOptions::default();
        Ok(match words {
            ["put", key, value] => {
                put(db, key, value);
                String::new()
            }
            ["fill", key, bytes] => {
                put(db, key, &"x".repeat(bytes.parse().unwrap()));
                String::new()
            }
            ["merge", key, operand] => {
                db.merge(&family, key.as_bytes(), operand.as_bytes(), &write)?;
                String::new()
            }
            ["protected", bytes, key, value] => {
                let write = WriteOptions { protection_bytes_per_key: bytes.parse().unwrap(), ..write };
                db.put(&family, key.as_bytes(), value.as_bytes(), &write)?;
                String::new()
            }
            ["delete", key] => {
                db.delete(&family, key.as_bytes(), &write)?;
                String::new()
            }
            ["get", key] => get(db, key).unwrap_or("nothing".into()),
            ["read", key, times] => {
                (0..times.parse::<usize>().unwrap()).for_each(|_| drop(get(db, key)));
                String::new()
            }
            ["scan"] => {
                scan(db).iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
            }
            ["operands", key] => {
                let operands = db.reads().operands(&family, key.as_bytes(), &ReadOptions::default())?;
                let text = |o: &base::Pinned| String::from_utf8_lossy(o).into_owned();
                operands.iter().map(text).collect::<Vec<_>>().join(" | ")
            }
            ["newest", key] => {
                let (newest, since) = db.reads().newest_in_memory(&family, key.as_bytes())?;
                let newest = newest.map_or("nothing".into(), |seq| seq.to_string());
                format!("{newest}, all since {since}")
            }
            ["flush"] => {
                db.flush(&[family], &FlushOptions::default())?;
                String::new()
            }
            ["compact"] => {
                db.compact_range(&family, None, None, &Default::default())?;
                String::new()
            }
            ["wait"] => {
                db.wait_for_compact()?;
                String::new()
            }
            ["sleep", seconds] => {
                self.env.clock.sleep_micros(seconds.parse::<u64>().unwrap() * 1_000_000);
                while self.env.executor.help() {}
                String::new()
            }
            ["set", setting] => {
                let (name, value) = setting.split_once('=').unwrap();
                db.set_options(&family, &[(name, value)])?;
                String::new()
            }
            ["history"] => {
                let slices = db.stats_history(0, u64::MAX).collect::<base::Result<Vec<_>>>()?;
                let first = slices.first().map_or(0, |(second, _)| *second);
                let show = |(second, slice): &(u64, ironstone_engine::db::Slice)| {
                    format!(
                        "+{}s: {} of {}",
                        second - first,
                        slice["rocksdb.number.keys.written"],
                        slice.len()
                    )
                };
                slices.iter().map(show).collect::<Vec<_>>().join("\n")
            }
            ["set-db", setting] => {
                let (name, value) = setting.split_once('=').unwrap();
                db.set_db_options(&[(name, value)])?;
                String::new()
            }
            ["create", name, setting] => {
                let mut options = FamilyOptions::default();
                let (option, value) = setting.split_once('=').unwrap();
                options.set(option, value)?;
                db.create_family(FamilyDescriptor::new(*name, options))?;
                String::new()
            }
            ["put-in", name, key, value] => {
                let family = db.family(name).unwrap();
                db.put(&family, key.as_bytes(), value.as_bytes(), &write)?;
                String::new()
            }
            ["families"] => {
                db.families().iter().map(|family| family.name().to_string()).collect::<Vec<_>>().join(" ")
            }
            ["property", name] => db.property(&family, name).unwrap_or("none".into()),
            ["ticker", name] => {
                let ticker = Ticker::ALL.iter().find(|t| t.name() == *name).unwrap();
                self.statistics.ticker(*ticker).to_string()
            }
            other => panic!("no command: {other:?}"),
        })
    }
}

/// Returns the script with the present answers.
fn answered(script: &str) -> String {
    let mut world = World::new();
    let mut out = String::new();
    for line in script.lines().filter(|line| line.is_empty() || line.starts_with(['>', '#'])) {
        out += line;
        out.push('\n');
        let Some(command) = line.strip_prefix("> ") else { continue };
        let words: Vec<_> = command.split(' ').collect();
        let answer = world.run(&words).unwrap_or_else(|error| format!("error: {error}"));
        if !answer.is_empty() {
            out += answer.trim_end();
            out.push('\n');
        }
    }
    out
}

pub fn check(name: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/testdata/options").join(name);
    let script = std::fs::read_to_string(&path).unwrap();
    let now = answered(&script);
    if std::env::var_os("IRONSTONE_REWRITE").is_some() {
        std::fs::write(&path, now).unwrap();
        return;
    }
    for (number, (now, was)) in now.lines().zip(script.lines()).enumerate() {
        assert_eq!(now, was, "{name}, line {}", number + 1);
    }
    assert_eq!(now.lines().count(), script.lines().count(), "{name}");
}

#[test]
fn merges_at_write_go_as_far_as_they_are_told() {
    check("strict_max_successive_merges.txt");
}

#[test]
fn flushed_memtables_are_kept_as_long_as_there_is_room() {
    check("max_write_buffer_size_to_maintain.txt");
}

#[test]
fn entries_are_protected_on_their_way_and_where_they_rest() {
    check("protection_bytes_per_key.txt");
}

#[test]
fn what_files_are_left_makes_an_older_state() {
    check("best_efforts_recovery.txt");
}

#[test]
fn an_old_manifest_is_continued() {
    check("reuse_manifest_on_open.txt");
}

#[test]
fn statistics_have_a_history() {
    check("stats_history.txt");
}

#[test]
fn families_may_refuse_writes() {
    check("disallow_memtable_writes.txt");
}

#[test]
fn what_would_come_due_by_day_is_done_in_quiet_hours() {
    check("daily_offpeak_time_utc.txt");
}

#[test]
fn files_that_are_read_in_vain_are_compacted() {
    check("read_triggered_compaction_threshold.txt");
}

#[test]
fn replay_keeps_to_the_budget_of_memtables() {
    check("enforce_write_buffer_manager_during_recovery.txt");
}

#[test]
fn runs_of_tombstones_become_one() {
    check("min_tombstones_for_range_conversion.txt");
}
