//! Runs one operation of a script on the database, and records it in the history.

use ironstone::{CompactRangeOptions, FamilyDescriptor, Kind, WriteBatch, WriteOptions};

use super::{Ended, World};
use crate::look;
use crate::script::{self, Op};
use crate::stamp::Stamp;

impl World {
    pub(super) fn op(&mut self, op: &Op) -> Result<Ended, String> {
        let db = self.db.clone().ok_or("not open")?;
        let families = db.families();
        let outcome = match op {
            Op::Write { changes, undone: _, sync, .. } => {
                let mut batch = WriteBatch::new();
                let before = self.history.last().cloned().unwrap_or_default();
                let mut after = before.clone();
                let stamp = Stamp::next(&db);
                for (i, state) in after.iter_mut().enumerate() {
                    // A toggle depends on the state of its key. If the state is uncertain, the toggle is left out.
                    let mut one = WriteBatch::new();
                    for change in changes {
                        if before.len() == 1 || !matches!(change, script::Change::Toggle(..)) {
                            state.change(change, &families, self.fixed.reverse, stamp, &mut one);
                        }
                    }
                    if i == 0 {
                        batch = one;
                    }
                }
                // Some writes wait for a disk that fails. The limit of waiting rounds ends them. Without
                // `paranoid_checks`, a failing compaction sets no background error, and the wait never ends, as in
                // RocksDB. So these writes must not wait.
                let no_slowdown = !self.paranoid || self.chance.percent(20);
                let options = WriteOptions { sync: *sync, no_slowdown, ..WriteOptions::default() };
                let made =
                    changes.iter().filter(|c| before.len() == 1 || !matches!(c, script::Change::Toggle(..)));
                let touched: Vec<_> =
                    made.map(|c| &families[(c.family() % families.len() as u64) as usize]).collect();
                let stopped = touched.iter().any(|family| look::is_stopped(family));
                let fired = self.faults.hook().fired();
                let written = db.write_with(batch, &options);
                self.executor.fed();
                let calm = self.faults.hook().fired() == fired && !self.faults.hook().crashed();
                if stopped && written.is_ok() {
                    return Err(format!("{op:?} was written though a family of it is stopped"));
                }
                if written.is_ok() && families.iter().any(look::is_stopped) {
                    self.ran.beside += 1;
                }
                match written {
                    Err(error) if error.kind() == Kind::Incomplete => {
                        self.clock.advance(100_000);
                        self.env.executor.help();
                        Ok(())
                    }
                    // No call failed. The write was rejected because of an earlier failure in one of its
                    // column families, and no reader may see the write.
                    Err(error) if calm => {
                        // A sync without changes concerns all column families.
                        let mut whose = if touched.is_empty() { families.iter().collect() } else { touched };
                        whose.retain(|family| look::is_stopped(family));
                        if !stopped && whose.is_empty() {
                            return Err(format!(
                                "{op:?} was refused for what is no failure of its families: {error}"
                            ));
                        }
                        Err(error)
                    }
                    Ok(()) => {
                        self.history.push(after);
                        if *sync {
                            self.durable();
                        }
                        Ok(())
                    }
                    Err(error) => {
                        let mut either = before;
                        for state in after {
                            if !either.contains(&state) {
                                either.push(state);
                            }
                        }
                        self.history.push(either);
                        Err(error)
                    }
                }
            }
            Op::Flush(n) => families[(*n % families.len() as u64) as usize].flush(),
            Op::Compact(n, _, _) => families[(*n % families.len() as u64) as usize].compact_range(
                None,
                None,
                &CompactRangeOptions::default(),
            ),
            Op::FlushWal { sync } => {
                let done = db.flush_wal(*sync);
                if done.is_ok() && *sync {
                    self.durable();
                }
                done
            }
            Op::CreateFamily if families.len() < 4 => {
                self.made += 1;
                let name = format!("family{}", self.made);
                let mut options = ironstone::Options::default();
                options.update(&self.text).map_err(|e| e.to_string())?;
                let made = db.create_family(FamilyDescriptor::new(&name, options.family));
                match &made {
                    Ok(_) => {
                        let mut states = self.history.last().cloned().unwrap_or_default();
                        for state in &mut states {
                            state.families.insert(name.clone(), Default::default());
                        }
                        self.history.push(states);
                    }
                    Err(_) => self.doubtful.push(name),
                }
                made.map(|_| ())
            }
            Op::DropFamily(n) => {
                let family = &families[(*n % families.len() as u64) as usize];
                if family.name() == "default" {
                    return Ok(Ended::Well);
                }
                let dropped = db.drop_family(family);
                match &dropped {
                    Ok(()) => {
                        let mut states = self.history.last().cloned().unwrap_or_default();
                        for state in &mut states {
                            state.families.remove(family.name());
                        }
                        self.history.push(states);
                    }
                    Err(_) => self.doubtful.push(family.name().to_string()),
                }
                dropped
            }
            Op::Reopen(_) => {
                let closed = db.close();
                drop((families, db));
                self.db = None;
                if let Err(error) = closed {
                    // The machine stops after a failed close.
                    self.tell(format!("close: {error}"));
                    self.faults.hook().crash();
                    return if self.faults.hook().fired() > 0 {
                        Ok(Ended::Well)
                    } else {
                        Err(format!("close: {error}"))
                    };
                }
                match self.open(None) {
                    Ok(()) => Ok(()),
                    Err(error) => {
                        self.tell(format!("reopen: {error}"));
                        if self.faults.hook().fired() == 0 {
                            return Err(format!("reopen: {error}"));
                        }
                        self.faults.hook().crash();
                        Ok(())
                    }
                }
            }
            Op::Help(n) => {
                self.clock.advance(*n * 400_000);
                for _ in 0..*n {
                    self.env.executor.help();
                }
                Ok(())
            }
            Op::Settle => db.wait_for_compact(),
            _ => Ok(()),
        };
        if self.at_length {
            self.tell(format!("  {op:?}: {outcome:?}; durable {} of {}", self.durable, self.history.len()));
        }
        let panics = self.env.executor.panics();
        if panics.0 > 0 {
            return Err(format!("a job panicked: {:?}", panics.1));
        }
        Ok(match outcome {
            Ok(()) => Ended::Well,
            Err(error) => Ended::Refused(error),
        })
    }

    /// Records that the newest state is durable.
    pub(super) fn durable(&mut self) {
        self.durable = self.history.len() - 1;
    }
}
