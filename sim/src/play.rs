//! Runs a scene on a database, and records the possible states after each step.
//!
//! ```text
//!  moments   the rows after each step that changes rows; several moments after a failed step
//!            0 ........ durable ........ now
//!  a crash during a step leaves a moment from `durable` to the moment after the step
//! ```

use std::sync::Arc;

use env::clock::ManualClock;
use env::executor::Inline;
use env::{Env, Executor};
use ironstone::{
    CompactRangeOptions, Db, Error, FamilyDescriptor, IngestExternalFileArg, IngestExternalFileOptions,
    Options, Snapshot, SstFileWriter, WriteBatch, WriteOptions,
};
use testkit::machine::environment;

use crate::scene::{Change, Edit, Scene, Step};
use crate::state::State;

/// The progress of a run, shared with the hook that watches the calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The index of the oldest state that a crash may leave.
    pub durable: usize,
    /// The current step.
    pub step: usize,
}

/// The record of a run.
#[derive(Clone, Debug)]
pub struct Past {
    /// The possible states after each change, oldest first. A failed change has several states.
    pub moments: Vec<Vec<State>>,
    /// For each started step, the index of the newest state that the step could make.
    pub reach: Vec<usize>,
    pub mark: Mark,
    /// Column families whose creation or drop failed.
    pub doubtful: Vec<String>,
    /// The steps that failed, with the errors.
    pub refused: Vec<(usize, String)>,
}

impl Past {
    fn new() -> Past {
        Past {
            moments: vec![vec![State::new()]],
            reach: Vec::new(),
            mark: Mark::default(),
            doubtful: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Returns the possible states after the last change. A failed change has several states.
    pub fn now(&self) -> &[State] {
        self.moments.last().map_or(&[], Vec::as_slice)
    }
}

/// The simulated environment of one database.
pub struct Outside {
    pub env: Env,
    pub clock: Arc<ManualClock>,
    pub executor: Arc<Inline>,
}

impl Outside {
    /// Makes an environment over this file system. The seed decides the random numbers and the order of jobs.
    pub fn new(fs: Arc<dyn env::FileSystem>, clock: Arc<ManualClock>, seed: u64) -> Outside {
        let (env, executor) = environment(fs, &clock, seed);
        Outside { env, clock, executor }
    }
}

/// Returns the options of a scene. The caller sets the environment.
///
/// # Errors
/// The error of the engine for the option text.
pub fn options(text: &str) -> Result<Options, Error> {
    let mut options = Options::default();
    options.update("merge_operator=stringappend;arena_block_size=4096;write_buffer_size=65536")?;
    options.update("block_based_table_factory={block_size=256;block_cache=64k}")?;
    options.update(text)?;
    options.db.create_if_missing = true;
    options.db.info_log = Some(Arc::new(env::logger::NullLogger));
    Ok(options)
}

/// One run of a scene.
pub struct Play<'a> {
    outside: &'a Outside,
    options: Options,
    db: Option<Db>,
    held: Vec<Snapshot>,
    pub past: Past,
    /// Called before each step and after each change of the mark.
    watch: &'a dyn Fn(Mark),
    /// Returns the number of calls that failed; `None` after the machine has stopped.
    failed: &'a dyn Fn() -> Option<u64>,
}

impl<'a> Play<'a> {
    /// Makes a run without an open database. Replaces the environment of the options by the simulated
    /// environment.
    pub fn new(
        outside: &'a Outside,
        mut options: Options,
        watch: &'a dyn Fn(Mark),
        failed: &'a dyn Fn() -> Option<u64>,
    ) -> Play<'a> {
        options.db.env = outside.env.clone();
        Play { outside, options, db: None, held: Vec::new(), past: Past::new(), watch, failed }
    }

    /// Runs the scene to its end.
    ///
    /// # Errors
    /// The first step that fails, unless `go_on` accepts the error. A panic of a job.
    pub fn run(&mut self, scene: &Scene, go_on: &dyn Fn(&Error) -> bool) -> Result<(), String> {
        for (at, (line, step)) in [(0, Step::Reopen(String::new()))].iter().chain(&scene.steps).enumerate() {
            self.past.mark.step = at;
            (self.watch)(self.past.mark);
            let before = self.past.moments.len();
            let done = self.step(step);
            // A step that makes no new state reaches only the newest existing state.
            self.past.reach.push(if self.past.moments.len() > before { before } else { before - 1 });
            (self.watch)(self.past.mark);
            if let Err(error) = done {
                self.past.refused.push((at, error.to_string()));
                if !go_on(&error) {
                    return Err(format!("{}, line {line}: {step:?}: {error}", scene.name));
                }
                if self.db.is_none() {
                    break;
                }
            }
            let (panics, first) = self.outside.executor.panics();
            if panics > 0 {
                return Err(format!("{}, line {line}: a job panicked: {first:?}", scene.name));
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Error> {
        if let Step::Reopen(text) = step {
            return self.reopen(text);
        }
        let Some(db) = self.db.clone() else { return Ok(()) };
        match step {
            Step::Write { edits, sync } => {
                self.write(&db, edits, &WriteOptions { sync: *sync, ..WriteOptions::default() })
            }
            Step::Flush(name) => {
                db.family(name)?.flush()?;
                self.flushed(name);
                Ok(())
            }
            Step::Compact(name) => {
                db.family(name)?.compact_range(None, None, &CompactRangeOptions::default())
            }
            Step::FlushWal { sync } => {
                db.flush_wal(*sync)?;
                if *sync {
                    self.durable();
                }
                Ok(())
            }
            Step::Create(name) => self.create_family(&db, name),
            Step::Drop(name) => self.drop_family(&db, name),
            Step::Set(name, value) => db.set_options(&[(name, value)]),
            Step::Jobs(n) => {
                for _ in 0..*n {
                    self.outside.env.executor.help();
                }
                Ok(())
            }
            Step::Settle => db.wait_for_compact(),
            Step::Ingest(edits) => self.ingest(&db, edits),
            Step::Snapshot => {
                self.held.push(db.snapshot());
                Ok(())
            }
            Step::Close | Step::Reopen(_) => {
                self.held.clear();
                self.db = None;
                db.close()
            }
        }
    }

    /// Writes the changes as one batch. After a failure, the database may have the state before or after the batch.
    fn write(&mut self, db: &Db, edits: &[Edit], options: &WriteOptions) -> Result<(), Error> {
        let mut batch = WriteBatch::new();
        let mut after = self.past.now().to_vec();
        for edit in edits {
            let family = db.family(&edit.family)?.id();
            match &edit.change {
                Change::Put(value) => drop(batch.put_in(family, &edit.key, value)),
                Change::Delete => drop(batch.delete_in(family, &edit.key)),
                Change::Single => drop(batch.single_delete_in(family, &edit.key)),
                Change::Merge(operand) => drop(batch.merge_in(family, &edit.key, operand)),
                Change::DeleteRange(to) => drop(batch.delete_range_in(family, &edit.key, to)),
            }
            after.iter_mut().for_each(|state| edit.apply(state));
        }
        let failed = (self.failed)();
        let written = db.write_with(batch, options);
        if written.is_err() && failed.is_some() && (self.failed)() == failed {
            // No call failed during this write. The write was rejected because of an earlier failure, and no
            // reader may see it.
            return written;
        }
        if written.is_err() {
            let before = self.past.now().to_vec();
            after.extend(before);
            after.dedup();
        }
        self.past.moments.push(after);
        if written.is_ok() && options.sync {
            self.durable();
        }
        written
    }

    fn create_family(&mut self, db: &Db, name: &str) -> Result<(), Error> {
        let was_there = db.family(name).is_ok();
        let made = db.create_family(FamilyDescriptor::new(name, self.options.family.clone()));
        if made.is_err() && db.family(name).is_err() {
            self.past.doubtful.push(name.to_string());
        } else if !was_there {
            self.families(|state| drop(state.families.insert(name.to_string(), Default::default())));
        }
        made.map(drop)
    }

    fn drop_family(&mut self, db: &Db, name: &str) -> Result<(), Error> {
        let family = db.family(name)?;
        let dropped = db.drop_family(&family);
        if dropped.is_err() && db.family(name).is_ok() {
            self.past.doubtful.push(name.to_string());
        } else {
            self.families(|state| drop(state.families.remove(name)));
        }
        dropped
    }

    fn reopen(&mut self, text: &str) -> Result<(), Error> {
        self.held.clear();
        if let Some(db) = self.db.take() {
            db.close()?;
        }
        if !text.is_empty() {
            self.options.update(text)?;
        }
        self.db = Some(Db::open("/db", self.options.clone())?);
        Ok(())
    }

    /// Writes the changes to external SST files and ingests the files. After a successful ingestion, the ingested
    /// data and all earlier writes are durable.
    fn ingest(&mut self, db: &Db, edits: &[Edit]) -> Result<(), Error> {
        let mut names: Vec<&String> = edits.iter().map(|edit| &edit.family).collect();
        names.sort();
        names.dedup();
        let mut args = Vec::new();
        for name in names {
            let path = format!("/ingest-{name}.sst");
            let mut file = SstFileWriter::create(&path, &self.options.db, &self.options.family)?;
            for edit in edits.iter().filter(|edit| edit.family == *name) {
                match &edit.change {
                    Change::Put(value) => file.put(&edit.key, value)?,
                    Change::Delete | Change::Single => file.delete(&edit.key)?,
                    Change::Merge(operand) => file.merge(&edit.key, operand)?,
                    Change::DeleteRange(to) => file.delete_range(&edit.key, to)?,
                }
            }
            file.finish()?;
            let how = IngestExternalFileOptions { move_files: true, ..IngestExternalFileOptions::default() };
            args.push(IngestExternalFileArg::new(&db.family(name)?, [path], &how));
        }
        let mut after = self.past.now().to_vec();
        edits.iter().for_each(|edit| after.iter_mut().for_each(|state| edit.apply(state)));
        let done = db.ingest_external_files_with(args);
        if done.is_err() {
            let before = self.past.now().to_vec();
            after.extend(before);
            after.dedup();
        }
        self.past.moments.push(after);
        if done.is_ok() {
            self.durable();
        }
        done
    }

    fn families(&mut self, change: impl Fn(&mut State)) {
        let mut after = self.past.now().to_vec();
        after.iter_mut().for_each(change);
        self.past.moments.push(after);
    }

    /// Records a flush of a column family. The last change of the column family is durable, and so are all writes
    /// before this change: they are in SST files or in WALs that were synced when they were closed.
    fn flushed(&mut self, family: &str) {
        let of =
            |moment: &[State]| moment.iter().map(|s| s.families.get(family).cloned()).collect::<Vec<_>>();
        let last = of(self.past.now());
        let newest = self.past.moments.len() - 1;
        let first_same =
            (0..newest).rev().take_while(|&i| of(&self.past.moments[i]) == last).last().unwrap_or(newest);
        self.past.mark.durable = self.past.mark.durable.max(first_same);
        (self.watch)(self.past.mark);
    }

    fn durable(&mut self) {
        self.past.mark.durable = self.past.moments.len() - 1;
        (self.watch)(self.past.mark);
    }

    /// Ends the run, as a stop of the machine does.
    pub fn stop(self) -> Past {
        self.outside.executor.abandon();
        self.past
    }
}
