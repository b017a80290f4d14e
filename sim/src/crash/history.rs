//! The states that a crash may leave.

use std::collections::BTreeSet;

use crate::state::State;

/// The states that the database may have after each write.
pub(super) struct History {
    /// The states after each write, oldest first. After a failed write there are two states.
    pub states: Vec<Vec<State>>,
    /// The index of the newest durable state. The next step drops the states before it.
    pub durable: usize,
    /// The number of column families that were created.
    pub made: u64,
    /// Column families whose creation or drop failed: they may exist or not.
    pub doubtful: Vec<String>,
}

impl History {
    /// Returns the history of a new database.
    pub fn new() -> History {
        History { states: vec![vec![State::new()]], durable: 0, made: 0, doubtful: Vec::new() }
    }

    /// Returns a history with the same states, for a machine that stops in the step that started after the state
    /// `begun`. The column families that the step creates or drops may exist or not.
    pub fn fork(&self, begun: usize) -> History {
        let names = |at: &Vec<State>| {
            at.first().map(|s| s.families.keys().cloned().collect::<BTreeSet<_>>()).unwrap_or_default()
        };
        let (before, after) = (names(&self.states[begun]), self.states.last().map(names).unwrap_or_default());
        let mut doubtful = self.doubtful.clone();
        doubtful.extend(before.symmetric_difference(&after).cloned());
        History { states: self.states.clone(), durable: 0, made: 0, doubtful }
    }

    /// Returns the states that the database may have now.
    pub fn newest(&self) -> Vec<State> {
        self.states.last().cloned().unwrap_or_default()
    }

    /// Adds the states after a write, a creation or a drop.
    pub fn push(&mut self, states: Vec<State>) {
        self.states.push(states);
    }

    /// Adds the newest states, each with a change.
    pub fn push_changed(&mut self, mut change: impl FnMut(&mut State)) {
        let mut states = self.newest();
        states.iter_mut().for_each(&mut change);
        self.push(states);
    }

    /// Records that the newest state is durable.
    pub fn mark_durable(&mut self) {
        self.durable = self.states.len() - 1;
    }

    /// Drops the states that no crash can leave any more.
    pub fn forget_past(&mut self) {
        self.states.drain(..self.durable);
        self.durable = 0;
    }

    /// Replaces all states. The first of `states` is durable.
    pub fn restart(&mut self, states: Vec<Vec<State>>) {
        (self.states, self.durable) = (states, 0);
    }
}
