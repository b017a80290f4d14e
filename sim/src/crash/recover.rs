//! Stops the machine, recovers, and compares. More crashes may come during the recovery.

use ironstone::{Db, Kind};

use super::machine;
use super::{FORGETS, Leave, MODES, World, without_numbers};
use env::memory::Survivors;

/// Tells if the recovered rows may have holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holes {
    None,
    /// Replay may have skipped lost records of a WAL and continued with later records.
    Possible,
}

impl World {
    /// Stops the machine, with more crashes during the recovery, and compares.
    pub(super) fn stop(&mut self, mode: &str, left: Leave) -> Result<(), String> {
        // There are many forks. Most of them have no crash during the recovery.
        let mut depth =
            if self.is_branch { *self.chance.pick(&[0, 0, 0, 0, 0, 0, 1, 2]) } else { self.chance.below(3) };
        self.history.forget_past();
        self.ears.set(false);
        // A hole stays in the database, whatever the next crash keeps. So `in_order` never becomes true again.
        let mut in_order = !self.forgets;
        let mut survivors = self.crash();
        in_order &= machine::keeps_order(survivors);
        if left == Leave::Closed && survivors == Survivors::Everything {
            self.history.mark_durable();
        }
        loop {
            let harm = if depth > 0 { self.plan(60) } else { String::new() };
            depth = depth.saturating_sub(1);
            self.story.tell(format!("recovers by {mode} with {harm:?}"));
            let name = machine::name_of(survivors);
            self.shape.push_str(&format!(" {name} {mode} {}", without_numbers(&harm)));
            self.machine.set_plan(&harm)?;
            self.forgets = harm.ends_with(FORGETS);
            let fired = self.machine.fired();
            let opened = self.open(Some(mode));
            let struck = self.machine.fired() > fired;
            if !struck {
                self.machine.revive();
            }
            match opened {
                Ok(()) if !struck => {
                    self.compare(self.holes(in_order))?;
                    self.machine.revive();
                    if self.chance.percent(if self.is_branch { 15 } else { 30 }) {
                        self.second_open()?;
                    }
                    return Ok(());
                }
                Ok(()) => {}
                Err(error) if struck => self.story.tell(format!("recovery refused: {error}")),
                Err(error) => return self.refused(mode, &error, in_order),
            }
            in_order &= !self.forgets;
            survivors = self.crash();
            in_order &= machine::keeps_order(survivors);
        }
    }

    /// Judges an open that failed without a failing call. If the recovery mode requires the error, point-in-time recovery
    /// must succeed.
    fn refused(&mut self, mode: &str, error: &ironstone::Error, in_order: bool) -> Result<(), String> {
        self.story.tell(format!("refused: {error}"));
        let may = mode != MODES[2] && mode != MODES[3] && error.kind() == Kind::Corruption;
        if !may {
            return Err(format!("open by {mode} refused: {error}"));
        }
        self.machine.revive();
        self.open(Some(MODES[2])).map_err(|e| format!("open by point in time refused: {e}"))?;
        self.compare(self.holes(in_order))?;
        self.machine.revive();
        Ok(())
    }

    /// Tells if the recovered rows may have holes. By RocksDB's rules, some recovery modes skip lost records of a WAL
    /// and continue with the next WAL. There is no hole if all crashes kept the order of the writes, or if no recovery
    /// reported that it skipped data.
    fn holes(&self, in_order: bool) -> Holes {
        if self.ears.have_heard() && !in_order { Holes::Possible } else { Holes::None }
    }

    fn crash(&mut self) -> Survivors {
        self.machine.stop(self.db.take());
        let survivors = machine::draw_survivors(&mut self.chance);
        self.machine.restart(survivors, self.chance.next(), &self.story);
        self.story.tell(format!("the machine stops; left is {survivors:?}"));
        if self.story.at_length {
            self.story.tell(format!("{:?}", self.machine.names()));
        }
        survivors
    }

    /// Opens the database. With a recovery mode, the open follows a crash.
    pub(super) fn open(&mut self, mode: Option<&str>) -> Result<(), ironstone::Error> {
        self.db = None;
        if self.story.at_length {
            self.story.tell_files(&self.machine.env);
        }
        let mut options = self.setup.options(self.is_branch, &mut self.chance);
        if let Some(mode) = mode {
            // The rule of the option covers existing WALs. It does not cover WALs whose names were lost in
            // the crash.
            options.db.track_and_verify_wals = false;
            options.update(&format!("wal_recovery_mode={mode}"))?;
        }
        self.setup.paranoid = options.db.paranoid_checks;
        match self.story.at_length || self.seed.is_multiple_of(10) {
            // The info log is a file in this case, so `Ears` gets no lines. Assume that data was skipped.
            true => self.ears.set(true),
            false => options.db.info_log = Some(self.ears.clone()),
        }
        if self.story.at_length {
            self.story.tell(format!("  with {mode:?} {}", self.setup.text));
        }
        options.db.env = self.machine.env.clone();
        self.db = Some(Db::open("/db", options)?);
        Ok(())
    }
}
