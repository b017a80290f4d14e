//! Compaction filters with each decision, as a filter of the options and from a factory, also for flushes.
//!
//! ```text
//!  group       decision                          a key may have, until a compaction of everything
//!  keep        Keep                              its value
//!  change      ChangeValue                       its value, or the changed value; afterwards the changed value
//!  columns     ChangeColumns                     the same
//!  remove      Remove                            its value, or none; afterwards none
//!  once        Purge, for keys written once      the same
//!  until       RemoveAndSkipUntil                its value, an older value, or none; afterwards none
//!  operands    Remove of some merge operands     its operands with or without these operands
//! ```
//! Half of the keys decide by their key alone if their value is in a blob file (`filter_blob_by_key`). Snapshots see the keys of
//! `keep` only, because filters ignore snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionFilter, CompactionFilterFactory,
    CreationReason, Db, Decision, FilterContext, FilterInput, FilterKind, Options, ReadOptions, Snapshot,
};
use testkit::chance::Chance;

use super::{Setting, World, same, scan, told, value};

/// The groups of keys. Each is the prefix of its keys.
const GROUPS: [&str; 7] = ["change", "columns", "keep", "once", "operands", "remove", "until"];

/// A key after all keys of the group `until`.
const AFTER_UNTIL: &[u8] = b"until~";

/// The operand of the group `operands` that the filter removes.
const REMOVED: &[u8] = b"removed";

/// Returns the value that the filter gives to a key of `change` and of `columns`.
fn changed(key: &[u8]) -> Vec<u8> {
    [b"changed ", key].concat()
}

/// Decides by the group of the key.
fn decide(key: &[u8], kind: FilterKind, value: &[u8]) -> Decision {
    if key.starts_with(b"operands") {
        let is_removed = kind == FilterKind::MergeOperand && value == REMOVED;
        return if is_removed { Decision::Remove } else { Decision::Keep };
    }
    match key {
        _ if key.starts_with(b"change") => Decision::ChangeValue(changed(key)),
        _ if key.starts_with(b"columns") => {
            let columns = [(b"".to_vec(), changed(key)), (b"other".to_vec(), b"column".to_vec())];
            Decision::ChangeColumns(columns.to_vec())
        }
        _ if key.starts_with(b"once") => Decision::Purge,
        _ if key.starts_with(b"remove") => Decision::Remove,
        _ if key.starts_with(b"until") => Decision::RemoveAndSkipUntil(AFTER_UNTIL.to_vec()),
        _ => Decision::Keep,
    }
}

#[derive(Debug)]
struct Decides;

impl CompactionFilter for Decides {
    fn name(&self) -> &str {
        "decides"
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        decide(input.user_key, input.kind, input.value)
    }

    fn filter_blob_by_key(&self, input: &FilterInput<'_>) -> Decision {
        let needs_value = input.user_key.last().is_some_and(|byte| byte % 2 == 0);
        // An entity is no blob.
        match decide(input.user_key, input.kind, input.value) {
            _ if needs_value => Decision::Undetermined,
            Decision::ChangeColumns(_) => Decision::Undetermined,
            decision => decision,
        }
    }
}

/// Makes filters for compactions, and for flushes if `flushes` is true.
#[derive(Debug)]
struct Makes {
    flushes: bool,
}

impl CompactionFilterFactory for Makes {
    fn name(&self) -> &str {
        "makes"
    }

    fn should_filter(&self, reason: CreationReason) -> bool {
        reason == CreationReason::Compaction || self.flushes
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(Decides))
    }
}

/// A database with a compaction filter, and its model.
pub(super) struct Filtered {
    options: Options,
    db: Option<Db>,
    /// The newest value of each key without any filter.
    state: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The values of each key of `until`, the newest last.
    older: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// The keys of which a compaction of everything has seen the newest entry.
    decided: BTreeSet<Vec<u8>>,
    snapshots: Vec<(Snapshot, BTreeMap<Vec<u8>, Vec<u8>>)>,
    made: u64,
}

impl Filtered {
    /// Opens the database. The seed chooses the way in which the filter is set.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Filtered, String> {
        let mut options = setting.options.clone();
        options.update("inplace_update_support=false;max_successive_merges=0").map_err(told("options"))?;
        options.family.compaction_filter = None;
        options.family.compaction_filter_factory = None;
        match seed / super::WORLDS % 3 {
            0 => options.family.compaction_filter = Some(Arc::new(Decides)),
            way => options.family.compaction_filter_factory = Some(Arc::new(Makes { flushes: way == 1 })),
        }
        let (state, older, decided) = Default::default();
        let snapshots = Vec::new();
        let mut world = Filtered { options, db: None, state, older, decided, snapshots, made: 0 };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        self.db = Some(Db::open("/db", self.options.clone()).map_err(told("open"))?);
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.snapshots.clear();
        self.db.take().map_or(Ok(()), |db| db.close().map_err(told("close")))?;
        self.open()?;
        self.compare()
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let group = *chance.pick(&GROUPS);
        let number = if group == "once" { self.made } else { chance.below(12) };
        self.made += u64::from(group == "once");
        let key = format!("{group}{number:02}").into_bytes();
        self.decided.remove(&key);
        if group == "operands" {
            let removed = chance.percent(40);
            let operand = if removed { REMOVED.to_vec() } else { format!("o{}", self.made).into_bytes() };
            self.made += 1;
            self.db().merge(&key, &operand).map_err(told("merge"))?;
            let before = self.state.remove(&key).map(|value| [&value[..], b","].concat());
            self.state.insert(key, [before.unwrap_or_default(), operand].concat());
            return Ok(());
        }
        if group != "once" && chance.percent(20) {
            self.db().delete(&key).map_err(told("delete"))?;
            self.state.remove(&key);
            return Ok(());
        }
        let value = value(chance);
        if chance.percent(15) {
            self.db().put_entity(&key, &super::overlay::columns(&value)).map_err(told("put_entity"))?;
        } else {
            self.db().put(&key, &value).map_err(told("put"))?;
        }
        if group == "until" {
            self.older.entry(key.clone()).or_default().insert(value.clone());
        }
        self.state.insert(key, value);
        Ok(())
    }

    /// Compacts everything. The filter then has decided about each key that no snapshot keeps.
    fn compact(&mut self) -> Result<(), String> {
        self.snapshots.clear();
        self.db().flush().map_err(told("flush"))?;
        let force = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        self.db().compact_range(None, None, &force).map_err(told("compact"))?;
        self.decided = self.state.keys().cloned().collect();
        self.older.clear();
        self.compare()
    }

    /// Returns true if a key may have this value.
    fn may_have(&self, key: &[u8], found: Option<&[u8]>) -> bool {
        let newest = self.state.get(key).map(Vec::as_slice);
        let decided = self.decided.contains(key);
        let is_newest = found == newest && !decided;
        match decide(key, FilterKind::Value, b"") {
            Decision::Keep if key.starts_with(b"operands") => {
                let left = |value: Option<&[u8]>| -> Vec<Vec<u8>> {
                    let parts = value.unwrap_or_default().split(|byte| *byte == b',');
                    parts.filter(|part| !part.is_empty() && *part != REMOVED).map(<[u8]>::to_vec).collect()
                };
                // A filter adds nothing, and removes no other operand.
                left(found) == left(newest)
                    && found.is_none_or(|found| found.len() <= newest.map_or(0, <[u8]>::len))
            }
            Decision::Keep => found == newest,
            Decision::ChangeValue(_) | Decision::ChangeColumns(_) => {
                is_newest || (newest.is_some() && found == Some(&changed(key)[..]))
            }
            Decision::RemoveAndSkipUntil(_) => {
                let is_older = |found: &[u8]| self.older.get(key).is_some_and(|older| older.contains(found));
                is_newest || found.is_none() || found.is_some_and(is_older)
            }
            _ => is_newest || (found.is_none()),
        }
    }

    fn get(&self, chance: &mut Chance) -> Result<(), String> {
        let key = format!("{}{:02}", chance.pick(&GROUPS), chance.below(14)).into_bytes();
        let found = self.db().get(&key).map_err(told("get"))?.map(|value| value.to_vec());
        self.agree("get", &key, found.as_deref())
    }

    fn agree(&self, what: &str, key: &[u8], found: Option<&[u8]>) -> Result<(), String> {
        if self.may_have(key, found) {
            return Ok(());
        }
        let (name, state) = (key.escape_ascii(), self.state.get(key));
        let decided = self.decided.contains(key);
        Err(format!("{what} of {name}: {found:02x?}; newest {state:02x?}, decided {decided}"))
    }

    fn take_snapshot(&mut self) {
        if self.snapshots.len() == 2 {
            self.snapshots.remove(0);
        }
        self.snapshots.push((self.db().snapshot(), self.state.clone()));
    }

    fn compare_snapshots(&self) -> Result<(), String> {
        for (snapshot, state) in &self.snapshots {
            for (key, value) in state.iter().filter(|(key, _)| key.starts_with(b"keep")) {
                let found = snapshot.get(key).map_err(told("get of a snapshot"))?.map(|value| value.to_vec());
                same("a kept key in a snapshot", &found.as_ref(), &Some(value))?;
            }
        }
        Ok(())
    }
}

impl World for Filtered {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..62 => self.write(chance),
            62..74 => self.get(chance),
            74..82 => self.db().flush().map_err(told("flush")),
            82..85 => self.compact(),
            85..88 => self.db().compact_range(None, None, &Default::default()).map_err(told("compact")),
            88..91 => {
                self.take_snapshot();
                Ok(())
            }
            91 => self.reopen(),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        let rows = scan(self.db())?;
        let keys: BTreeSet<&Vec<u8>> = rows.keys().chain(self.state.keys()).collect();
        for key in keys {
            self.agree("scan", key, rows.get(key).map(Vec::as_slice))?;
            let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
            let found = self.db().get_with(key, &options).map_err(told("get"))?;
            same("get after a scan", &found.as_deref(), &rows.get(key).map(Vec::as_slice))?;
        }
        self.db().verify_checksum().map_err(told("verify_checksum"))?;
        self.compare_snapshots()
    }
}
