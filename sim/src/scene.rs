//! Scripted workloads as text. A reduced failure is kept in this form too.
//!
//! ```text
//! options NAME=VALUE;...        options of every open; several lines add up
//! put KEY VALUE                 KEY may be family:key; VALUE may be text*times; "sync" at the end syncs the write
//! delete KEY | single KEY | merge KEY VALUE | delete-range FROM TO
//! batch CHANGE ; CHANGE ...     one batch; "sync" before the first change
//! flush [FAMILY] | compact [FAMILY] | flush-wal [sync]
//! family NAME | drop NAME
//! set NAME=VALUE                changes an option of the default column family while the database is open
//! jobs N | settle               runs N queued jobs, or all jobs until none is due
//! close | reopen [NAME=VALUE;...]
//! snapshot                      holds a snapshot until the next close
//! ingest CHANGE ; CHANGE ...    the changes as external SST files, one for each family, keys ascending
//! ```
//! Lines that start with `#` are comments.

use crate::state::State;

/// One change of one key or range.
#[derive(Clone, Debug)]
pub enum Change {
    Put(Vec<u8>),
    Delete,
    Single,
    Merge(Vec<u8>),
    DeleteRange(Vec<u8>),
}

/// One change of one column family, given by its name. For a range deletion, `key` is the start of the range.
#[derive(Clone, Debug)]
pub struct Edit {
    pub family: String,
    pub key: Vec<u8>,
    pub change: Change,
}

/// One line of a scene. The module documents the form of each line.
#[derive(Clone, Debug)]
pub enum Step {
    Write { edits: Vec<Edit>, sync: bool },
    Flush(String),
    Compact(String),
    FlushWal { sync: bool },
    Create(String),
    Drop(String),
    Set(String, String),
    Jobs(usize),
    Settle,
    Close,
    Reopen(String),
    Snapshot,
    Ingest(Vec<Edit>),
}

/// A workload: its name, the options of every open, and its steps.
#[derive(Clone, Debug)]
pub struct Scene {
    pub name: String,
    pub options: String,
    /// The steps with their line numbers.
    pub steps: Vec<(usize, Step)>,
}

impl Edit {
    /// Applies the change to the model.
    pub fn apply(&self, state: &mut State) {
        let model = state.families.entry(self.family.clone()).or_default();
        match &self.change {
            Change::Put(value) => model.put(&self.key, value),
            Change::Delete | Change::Single => model.delete(&self.key),
            Change::Merge(operand) => model.append(&self.key, operand),
            Change::DeleteRange(to) => model.delete_range(&self.key, to),
        }
    }
}

impl Scene {
    /// Reads the text of a scene.
    ///
    /// # Errors
    /// The line that is not valid.
    pub fn parse(name: &str, text: &str) -> Result<Scene, String> {
        let mut scene = Scene { name: name.to_string(), options: String::new(), steps: Vec::new() };
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(options) = line.strip_prefix("options ") {
                scene.options.push_str(options.trim_end_matches(';'));
                scene.options.push(';');
                continue;
            }
            let step = step(line).ok_or_else(|| format!("{name}, line {}: not a step: {line}", at + 1))?;
            scene.steps.push((at + 1, step));
        }
        Ok(scene)
    }
}

fn step(line: &str) -> Option<Step> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let named = |s: &str| if s.is_empty() { "default".to_string() } else { s.to_string() };
    Some(match verb {
        "flush" => Step::Flush(named(rest)),
        "compact" => Step::Compact(named(rest)),
        "flush-wal" => Step::FlushWal { sync: rest == "sync" },
        "family" if !rest.is_empty() => Step::Create(rest.to_string()),
        "drop" if !rest.is_empty() => Step::Drop(rest.to_string()),
        "set" => {
            let (name, value) = rest.split_once('=')?;
            Step::Set(name.to_string(), value.to_string())
        }
        "jobs" => Step::Jobs(rest.parse().ok()?),
        "settle" => Step::Settle,
        "close" => Step::Close,
        "reopen" => Step::Reopen(rest.to_string()),
        "snapshot" => Step::Snapshot,
        "ingest" => Step::Ingest(rest.split(';').map(|e| edit(e.trim())).collect::<Option<_>>()?),
        "batch" => {
            let (sync, rest) = rest.strip_prefix("sync ").map_or((false, rest), |rest| (true, rest));
            Step::Write { edits: rest.split(';').map(|e| edit(e.trim())).collect::<Option<_>>()?, sync }
        }
        _ => {
            let (line, sync) = line.strip_suffix(" sync").map_or((line, false), |line| (line, true));
            Step::Write { edits: vec![edit(line)?], sync }
        }
    })
}

fn edit(text: &str) -> Option<Edit> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [verb, key, more @ ..] = words.as_slice() else { return None };
    let (family, key) = key.split_once(':').unwrap_or(("default", key));
    let change = match (*verb, more) {
        ("put", [v]) => Change::Put(value(v)),
        ("delete", []) => Change::Delete,
        ("single", []) => Change::Single,
        ("merge", [v]) => Change::Merge(value(v)),
        ("delete-range", [to]) => Change::DeleteRange(to.as_bytes().to_vec()),
        _ => return None,
    };
    Some(Edit { family: family.to_string(), key: key.as_bytes().to_vec(), change })
}

/// Expands a value: `ab*3` becomes `ababab`.
fn value(text: &str) -> Vec<u8> {
    match text.split_once('*').and_then(|(s, n)| Some((s, n.parse::<usize>().ok()?))) {
        Some((s, times)) => s.as_bytes().repeat(times),
        None => text.as_bytes().to_vec(),
    }
}
