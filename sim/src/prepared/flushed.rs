//! A decision between the switch of a memtable and its flush.

use ironstone::{Error, FlushOptions, Kind};

use super::World;
use super::state::Rows;

impl World {
    /// Writes a row, and prepares a transaction that overwrites it. Then switches the memtable, commits without a sync, and flushes.
    /// The flush drops the first row, because the transaction hides it, so the commit must be durable before the flush is. Half of the
    /// machines stop then.
    pub(super) fn decide_before_flush(&mut self) -> Result<Result<(), Error>, String> {
        let written = self.write(false)?;
        let own = format!("{}/", self.names);
        let last = self.history.last().and_then(|states| states.first());
        let key = last.and_then(|state| state.rows.keys().find(|key| key.bytes.starts_with(own.as_bytes())));
        let (Ok(()), Some(key)) = (&written, key.cloned()) else { return Ok(written) };
        self.names += 1;
        let name = format!("t{:04}", self.names).into_bytes();
        let rows = Rows::from([(key.clone(), self.chance.bytes(20))]);
        let prepared = self.prepare_rows(rows, false)?;
        if prepared.is_err() {
            return Ok(prepared);
        }
        self.story.push(format!("  switch the memtable of {}", key.family));
        let flush = FlushOptions { wait: false, ..FlushOptions::default() };
        let decided = match self.family(&key.family)?.flush_with(&flush) {
            Ok(()) => self.decide_named(name, true, false)?,
            // While writes are stopped, a flush that does not wait is refused.
            Err(error) if error.kind() == Kind::TryAgain => Ok(()),
            Err(error) => Err(error),
        };
        while self.env.executor.help() {}
        self.ends_round = self.chance.percent(50);
        Ok(decided)
    }
}
