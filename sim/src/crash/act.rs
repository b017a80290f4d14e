//! Runs one operation of a script on the database, and records it in the history.

use ironstone::{CompactRangeOptions, Db, Family, FamilyDescriptor, Kind, WriteBatch, WriteOptions};

use super::{Ended, World};
use crate::look;
use crate::script::{Change, Op};
use crate::stamp::Stamp;
use crate::state::State;

/// The result of a call of the database.
type Outcome = ironstone::Result<()>;

impl World {
    /// Runs an operation.
    ///
    /// # Errors
    /// The fault of the engine that the operation showed. An error that a failing call explains is an `Ended`.
    pub(super) fn op(&mut self, op: &Op) -> Result<Ended, String> {
        let db = self.db.clone().ok_or("not open")?;
        let families = db.families();
        let family = |n: u64| &families[(n % families.len() as u64) as usize];
        let outcome = match op {
            Op::Write { changes, sync, .. } => {
                let options = WriteOptions { sync: *sync, ..WriteOptions::default() };
                self.write(changes, options, &db, &families).map_err(|fault| format!("{op:?} {fault}"))?
            }
            Op::Flush(n) => family(*n).flush(),
            Op::Compact(n, _, _) => family(*n).compact_range(None, None, &CompactRangeOptions::default()),
            Op::FlushWal { sync } => {
                let done = db.flush_wal(*sync);
                if done.is_ok() && *sync {
                    self.history.mark_durable();
                }
                done
            }
            Op::CreateFamily if families.len() < 4 => self.create_family(&db)?,
            Op::DropFamily(n) if family(*n).name() == "default" => return Ok(Ended::Well),
            Op::DropFamily(n) => self.drop_family(&db, family(*n)),
            Op::Reopen(_) => {
                drop(families);
                match self.reopen(db)? {
                    Some(outcome) => outcome,
                    None => return Ok(Ended::Well),
                }
            }
            Op::Help(n) => {
                self.machine.clock.advance(*n * 400_000);
                for _ in 0..*n {
                    self.machine.env.executor.help();
                }
                Ok(())
            }
            Op::Settle => db.wait_for_compact(),
            _ => Ok(()),
        };
        if self.story.at_length {
            let (durable, len) = (self.history.durable, self.history.states.len());
            self.story.tell(format!("  {op:?}: {outcome:?}; durable {durable} of {len}"));
        }
        let (panics, first) = self.machine.env.executor.panics();
        if panics > 0 {
            return Err(format!("a job panicked: {first:?}"));
        }
        Ok(match outcome {
            Ok(()) => Ended::Well,
            Err(error) => Ended::Refused(error),
        })
    }

    /// Writes a batch of the changes.
    fn write(
        &mut self,
        changes: &[Change],
        mut options: WriteOptions,
        db: &Db,
        families: &[Family],
    ) -> Result<Outcome, String> {
        let before = self.history.newest();
        // A toggle depends on the state of its key. If the state is uncertain, the toggle is left out.
        let made = changes.iter().filter(|c| before.len() == 1 || !matches!(c, Change::Toggle(..)));
        let made: Vec<&Change> = made.collect();
        let (batch, after) = self.batch(&made, &before, Stamp::next(db), families);
        // Some writes wait for a disk that fails. The limit of waiting rounds ends them. Without `paranoid_checks`, a
        // failing compaction sets no background error, and the wait never ends, as in RocksDB. So these writes must not
        // wait.
        options.no_slowdown = !self.setup.paranoid || self.chance.percent(20);
        let touched: Vec<&Family> =
            made.iter().map(|c| &families[(c.family() % families.len() as u64) as usize]).collect();
        let touches_stopped = touched.iter().any(|family| look::is_stopped(family));
        let fired = self.machine.fired();
        let written = db.write_with(batch, &options);
        self.machine.executor.fed();
        let calm = self.machine.fired() == fired && !self.machine.crashed();
        if touches_stopped && written.is_ok() {
            return Err("was written though a family of it is stopped".to_string());
        }
        if written.is_ok() && families.iter().any(look::is_stopped) {
            self.ran.beside += 1;
        }
        match &written {
            Ok(()) => {
                self.history.push(after);
                if options.sync {
                    self.history.mark_durable();
                }
            }
            Err(error) if error.kind() == Kind::Incomplete => {
                self.machine.clock.advance(100_000);
                self.machine.env.executor.help();
                return Ok(Ok(()));
            }
            // No call failed. The write was rejected because of an earlier failure in one of its column families, and no
            // reader may see the write.
            Err(error) if calm => {
                // A sync without changes concerns all column families.
                let mut whose = if touched.is_empty() { families.iter().collect() } else { touched };
                whose.retain(|family| look::is_stopped(family));
                if !touches_stopped && whose.is_empty() {
                    return Err(format!("was refused for what is no failure of its families: {error}"));
                }
            }
            Err(_) => {
                let mut either = before;
                for state in after {
                    if !either.contains(&state) {
                        either.push(state);
                    }
                }
                self.history.push(either);
            }
        }
        Ok(written)
    }

    /// Makes the batch of the changes, and the states after the batch.
    fn batch(
        &self,
        changes: &[&Change],
        before: &[State],
        stamp: Stamp,
        families: &[Family],
    ) -> (WriteBatch, Vec<State>) {
        let mut batch = WriteBatch::new();
        let mut after = before.to_vec();
        for (i, state) in after.iter_mut().enumerate() {
            let mut one = WriteBatch::new();
            for change in changes {
                state.change(change, families, self.setup.fixed.reverse, stamp, &mut one);
            }
            if i == 0 {
                batch = one;
            }
        }
        (batch, after)
    }

    fn create_family(&mut self, db: &Db) -> Result<Outcome, String> {
        self.history.made += 1;
        let name = format!("family{}", self.history.made);
        let mut options = ironstone::Options::default();
        options.update(&self.setup.text).map_err(|e| e.to_string())?;
        let made = db.create_family(FamilyDescriptor::new(&name, options.family));
        match &made {
            Ok(_) => self.history.push_changed(|state| {
                state.families.insert(name.clone(), Default::default());
            }),
            Err(_) => self.history.doubtful.push(name),
        }
        Ok(made.map(|_| ()))
    }

    fn drop_family(&mut self, db: &Db, family: &Family) -> Outcome {
        let dropped = db.drop_family(family);
        match &dropped {
            Ok(()) => self.history.push_changed(|state| {
                state.families.remove(family.name());
            }),
            Err(_) => self.history.doubtful.push(family.name().to_string()),
        }
        dropped
    }

    /// Closes the database and opens it again. Returns `None` if a failing call made the close fail: then the machine
    /// stops.
    fn reopen(&mut self, db: Db) -> Result<Option<Outcome>, String> {
        let closed = db.close();
        drop(db);
        self.db = None;
        if let Err(error) = closed {
            self.story.tell(format!("close: {error}"));
            self.machine.faults.hook().crash();
            return if self.machine.fired() > 0 { Ok(None) } else { Err(format!("close: {error}")) };
        }
        if let Err(error) = self.open(None) {
            self.story.tell(format!("reopen: {error}"));
            if self.machine.fired() == 0 {
                return Err(format!("reopen: {error}"));
            }
            self.machine.faults.hook().crash();
        }
        Ok(Some(Ok(())))
    }
}
