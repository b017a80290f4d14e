//! Compactions that a worker runs for the database. The worker answers as a worker should, or its answer fails in a drawn way.
//!
//! ```text
//!  schedule   Success │ UseLocal │ Failure │ Aborted
//!  wait       a whole result │ a cut result │ a result whose files are gone or cut │ an error of the worker │ UseLocal │ Aborted
//! ```
//! No answer may change a row. After an answer that fails the compaction, writes may be rejected until the next open. A result that is
//! cut or damaged is never installed, and no file of a failed worker stays in the database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::db::{WorkerOptions, open_and_compact};
use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionService, Db, Family, JobInfo, JobStatus,
    Options, ScheduleResponse, Snapshot,
};
use parking_lot::Mutex;
use testkit::chance::Chance;

use super::indexed::{rows_equal, rows_equal_at};
use super::overlay::{Change, Key, State};
use super::{FAMILIES, Setting, World, key, same, told};

/// The directory of the results.
const RESULTS: &str = "/worker";

/// A job between its schedule and the installation of its result.
struct Job {
    input: Vec<u8>,
    family: usize,
    /// True if the wait returned a whole result.
    is_whole: bool,
}

/// What the service did.
#[derive(Default)]
struct Known {
    made: u64,
    jobs: BTreeMap<Vec<u8>, Job>,
    /// True if an answer can have failed a compaction.
    has_failed: bool,
    installed: u64,
    /// The first answer of the database that is wrong.
    wrong: Option<String>,
}

/// A service with a worker in this process.
struct Worker {
    chance: Mutex<Chance>,
    /// The options of the worker. They have no service.
    options: Options,
    known: Mutex<Known>,
}

impl Worker {
    fn output(job: &[u8]) -> PathBuf {
        Path::new(RESULTS).join(String::from_utf8_lossy(job).into_owned())
    }

    fn work(&self, job: &[u8], input: &[u8]) -> ironstone::Result<Vec<u8>> {
        let given = WorkerOptions {
            db: self.options.db.clone(),
            family: self.options.family.clone(),
            ..WorkerOptions::default()
        };
        open_and_compact(Path::new("/db"), &Worker::output(job), input, given, None)
    }

    /// Damages an output file of the worker. Returns false if there is none.
    fn damage_output(&self, job: &[u8], chance: &mut Chance) -> bool {
        let (dir, fs) = (Worker::output(job), &self.options.db.env.fs);
        let Ok(mut names) = fs.list(&dir) else { return false };
        names.retain(|name| name.ends_with(".sst"));
        if names.is_empty() {
            return false;
        }
        let path = dir.join(chance.pick(&names));
        match chance.percent(50) {
            true => fs.unlink(&path).is_ok(),
            false => {
                let Ok(bytes) = fs.read_all(&path, u64::MAX) else { return false };
                fs.write_all(&path, &bytes[..bytes.len() / 2], false).is_ok()
            }
        }
    }
}

impl CompactionService for Worker {
    fn name(&self) -> &str {
        "drawn"
    }

    fn schedule(&self, info: &JobInfo, input: &[u8]) -> ScheduleResponse {
        let statuses = [JobStatus::UseLocal, JobStatus::Failure, JobStatus::Aborted];
        let chance = &mut *self.chance.lock();
        let status = if chance.percent(80) { JobStatus::Success } else { *chance.pick(&statuses) };
        let known = &mut *self.known.lock();
        known.made += 1;
        let job = format!("job{}", known.made).into_bytes();
        match status {
            JobStatus::Success => {
                let family = FAMILIES.iter().position(|name| *name == info.family_name).unwrap_or(usize::MAX);
                known.jobs.insert(job.clone(), Job { input: input.to_vec(), family, is_whole: false });
                if family == usize::MAX || info.db_name != "/db" {
                    known.wrong.get_or_insert_with(|| format!("a job of {info:?}"));
                }
            }
            JobStatus::UseLocal => {}
            _ => known.has_failed = true,
        }
        ScheduleResponse { job, status }
    }

    fn wait(&self, job: &[u8]) -> (JobStatus, Vec<u8>) {
        let chance = &mut *self.chance.lock();
        let input = self.known.lock().jobs.get(job).map(|job| (job.input.clone(), job.family));
        let Some((input, _)) = input else {
            self.known.lock().wrong.get_or_insert_with(|| "a wait for an unknown job".to_string());
            return (JobStatus::Failure, Vec::new());
        };
        let result = match chance.below(100) {
            0..4 => return (JobStatus::UseLocal, Vec::new()),
            4..6 => {
                self.known.lock().has_failed = true;
                return (JobStatus::Aborted, Vec::new());
            }
            // A worker gets an input that lost its end.
            6..9 => {
                let done = self.work(job, &input[..chance.below(input.len() as u64) as usize]);
                if done.is_ok() {
                    let words = "a worker ran with an input that lost its end";
                    self.known.lock().wrong.get_or_insert_with(|| words.to_string());
                }
                done
            }
            _ => self.work(job, &input),
        };
        let known = || self.known.lock();
        let mut result = match result {
            Ok(result) => result,
            Err(_) => {
                known().has_failed = true;
                return (JobStatus::Failure, Vec::new());
            }
        };
        match chance.below(100) {
            0..6 => {
                // The database runs the compaction itself. It does not read the last field.
                let read = result.windows(15).position(|part| part == b"internal_stats=");
                result.truncate(chance.below(read.unwrap_or(result.len()) as u64) as usize);
            }
            6..12 if self.damage_output(job, chance) => known().has_failed = true,
            12..15 => {
                known().has_failed = true;
                return (JobStatus::Failure, result);
            }
            _ => {
                if let Some(job) = known().jobs.get_mut(job) {
                    job.is_whole = true;
                }
            }
        }
        (JobStatus::Success, result)
    }

    fn on_installation(&self, job: &[u8], status: JobStatus) {
        let known = &mut *self.known.lock();
        let waited = known.jobs.remove(job);
        let is_right = match (&waited, status) {
            (Some(job), JobStatus::Success) => job.is_whole,
            (Some(job), _) => !job.is_whole,
            (None, _) => false,
        };
        known.installed += u64::from(status == JobStatus::Success);
        if !is_right {
            known
                .wrong
                .get_or_insert_with(|| format!("{status:?} of the installation of {}", job.escape_ascii()));
        }
    }
}

/// A database with a compaction service, and its model.
pub(super) struct Delegated {
    options: Options,
    worker: Arc<Worker>,
    db: Option<Db>,
    families: Vec<Family>,
    state: State,
    snapshots: Vec<(Snapshot, State)>,
}

impl Delegated {
    /// Opens the database.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Delegated, String> {
        let mut options = setting.options.clone();
        // A compaction with blob files is never delegated.
        options
            .update("inplace_update_support=false;enable_blob_direct_write=false;enable_blob_files=false")
            .map_err(told("options"))?;
        let worker = Arc::new(Worker {
            chance: Mutex::new(Chance::new(seed ^ 0x776f_726b)),
            options: options.clone(),
            known: Mutex::default(),
        });
        options.compaction_service = Some(worker.clone());
        let (db, state) = (None, vec![Default::default(); FAMILIES.len()]);
        let mut world = Delegated { options, worker, db, families: Vec::new(), state, snapshots: Vec::new() };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let (db, families) = super::open(&self.options, super::families(&self.options))?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    /// Opens the database again. A failed compaction does not fail the close: no entry waits for it.
    fn reopen(&mut self) -> Result<(), String> {
        self.families.clear();
        self.snapshots.clear();
        let closed = self.db.take().map_or(Ok(()), |db| db.close());
        let has_failed = self.has_failed();
        closed.or_else(|error| if has_failed { Ok(()) } else { Err(format!("close: {error}")) })?;
        {
            let known = &mut *self.worker.known.lock();
            (known.has_failed, known.jobs) = Default::default();
        }
        self.open()?;
        self.compare()
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn has_failed(&self) -> bool {
        self.worker.known.lock().has_failed
    }

    /// Returns false if a failed compaction is the cause of the error. The database is then opened again.
    fn check(&mut self, what: &str, done: ironstone::Result<()>) -> Result<bool, String> {
        match done {
            Ok(()) => Ok(true),
            Err(error) if !self.has_failed() => Err(format!("{what}: {error}")),
            Err(_) => self.reopen().map(|()| false),
        }
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (key, change) = (Key::draw(chance), Change::draw(chance));
        let mut model = self.state[key.family].clone();
        let family = &self.families[key.family];
        let done = match &change {
            Change::Put(value) => family.put(&key.bytes, value),
            Change::Entity(value) => family.put_entity(&key.bytes, &super::overlay::columns(value)),
            Change::Delete => family.delete(&key.bytes),
            Change::Merge(operand) => family.merge(&key.bytes, operand),
        };
        match &change {
            Change::Put(value) | Change::Entity(value) => model.put(&key.bytes, value),
            Change::Delete => model.delete(&key.bytes),
            Change::Merge(operand) => model.append(&key.bytes, operand),
        }
        if self.check("write", done)? {
            self.state[key.family] = model;
        }
        Ok(())
    }

    fn delete_range(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, a, b) = (chance.below(2) as usize, key(chance), key(chance));
        let (begin, end) = if a <= b { (a, b) } else { (b, a) };
        let done = self.families[at].delete_range(&begin, &end);
        if self.check("delete_range", done)? {
            self.state[at].delete_range(&begin, &end);
        }
        Ok(())
    }

    fn compact(&mut self, chance: &mut Chance) -> Result<(), String> {
        let force = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        let done = self.families[chance.below(2) as usize].compact_range(None, None, &force);
        self.check("compact", done)?;
        self.look()
    }

    /// Checks the answers to the service, and the files of the database.
    fn look(&self) -> Result<(), String> {
        if let Some(wrong) = &self.worker.known.lock().wrong {
            return Err(wrong.clone());
        }
        for family in &self.families {
            for file in family.live_files() {
                let size = self.options.db.env.fs.file_size(&file.path).map_err(told("a live file"))?;
                same("size of a live file", &size, &file.size)?;
            }
        }
        Ok(())
    }
}

impl World for Delegated {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..60 => self.write(chance),
            60..63 => self.delete_range(chance),
            63..73 => {
                let done = self.families[chance.below(2) as usize].flush();
                self.check("flush", done).map(drop)
            }
            73..79 => self.compact(chance),
            79..81 => {
                if self.snapshots.len() == 2 {
                    self.snapshots.remove(0);
                }
                self.snapshots.push((self.db().snapshot(), self.state.clone()));
                Ok(())
            }
            81 => self.reopen(),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        self.look()?;
        rows_equal(&self.families, &self.state)?;
        for (snapshot, state) in &self.snapshots {
            rows_equal_at(&self.families, state, &snapshot.options())
                .map_err(|words| format!("in a snapshot: {words}"))?;
        }
        self.db().verify_checksum().map_err(told("verify_checksum"))
    }
}
