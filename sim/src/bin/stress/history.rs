//! The resources of a process in each epoch, and a check of their bounds.
//!
//! The history has a fixed size, because the program looks for growth. If the history is full, each two
//! neighbours become one point with the larger values. (A list of all epochs, 40 bytes each, was the last
//! allocation that grew.)

use crate::gauge::Gauge;

/// The largest growth of allocated memory from the first to the last third of the epochs, in KiB, with the database
/// closed.
const GROWTH_KB: u64 = 16 * 1024;
/// The largest growth of resident memory from the first to the last third of the epochs, in KiB, in addition to half
/// of the first value.
const RSS_GROWTH_KB: u64 = 96 * 1024;
/// The largest resident memory.
const RSS_MAX_KB: u64 = 1024 * 1024;
const DISK_MAX_KB: u64 = 512 * 1024;
const THREADS_MAX: u64 = 96;

/// The epochs of a process.
pub struct History {
    handles_first: Option<u64>,
    /// Each point has the largest values of `stride` epochs. The last point may have fewer epochs.
    points: Vec<Gauge>,
    stride: usize,
    epochs: usize,
}

const HISTORY_MAX: usize = 192;

impl Default for History {
    fn default() -> History {
        History { handles_first: None, points: Vec::with_capacity(HISTORY_MAX), stride: 1, epochs: 0 }
    }
}

impl History {
    /// Adds an epoch.
    pub fn push(&mut self, gauge: Gauge) {
        self.handles_first.get_or_insert(gauge.handles);
        if self.points.len() == HISTORY_MAX && self.epochs.is_multiple_of(self.stride) {
            for at in 0..HISTORY_MAX / 2 {
                self.points[at] = self.points[2 * at].most(self.points[2 * at + 1]);
            }
            self.points.truncate(HISTORY_MAX / 2);
            self.stride *= 2;
        }
        match self.points.last_mut() {
            Some(last) if !self.epochs.is_multiple_of(self.stride) => *last = last.most(gauge),
            _ => self.points.push(gauge),
        }
        self.epochs += 1;
    }

    /// Checks that the resources of the process are bounded, with the database closed. `last` is the last epoch.
    ///
    /// # Errors
    /// The resource that is not bounded.
    pub fn bounded(&self, last: &Gauge) -> Result<(), String> {
        let first = self.handles_first.unwrap_or(last.handles);
        if last.handles > first {
            return Err(format!("{} handles open after closing, {first} after the first", last.handles));
        }
        if last.threads > THREADS_MAX {
            return Err(format!("{} threads", last.threads));
        }
        if last.disk_kb > DISK_MAX_KB {
            return Err(format!("{} KiB on disk", last.disk_kb));
        }
        if last.rss_kb > RSS_MAX_KB {
            return Err(format!("{} KiB of memory", last.rss_kb));
        }
        let third = self.points.len() / 3;
        if third >= 3 {
            let peak = |of: &[Gauge], what: fn(&Gauge) -> u64| of.iter().map(what).max().unwrap_or(0);
            let (first, last) = (&self.points[..third], &self.points[self.points.len() - third..]);
            let (early, late) = (peak(first, |g| g.rss_kb), peak(last, |g| g.rss_kb));
            if late > early + early / 2 + RSS_GROWTH_KB {
                return Err(format!("{late} KiB of memory, {early} KiB in the first third"));
            }
            let (early, late) = (peak(first, |g| g.heap_kb), peak(last, |g| g.heap_kb));
            if late > early + GROWTH_KB {
                return Err(format!("{late} KiB allocated, {early} KiB in the first third"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(epochs: u64, heap_kb: impl Fn(u64) -> u64) -> (History, Gauge) {
        let mut history = History::default();
        let mut last = Gauge::default();
        for epoch in 0..epochs {
            last = Gauge { heap_kb: heap_kb(epoch), handles: 7, ..Gauge::default() };
            history.push(last);
        }
        (history, last)
    }

    #[test]
    fn a_long_history_takes_no_more_room_and_loses_no_peak() {
        for epochs in [1, 191, 192, 193, 1000, 100_000] {
            let peak = epochs * 2 / 3;
            let (history, _) = run(epochs, |epoch| if epoch == peak { 77 } else { epoch % 5 });
            assert!(history.points.len() <= HISTORY_MAX && history.points.capacity() == HISTORY_MAX);
            let at = history.points.iter().position(|g| g.heap_kb == 77).unwrap() as u64;
            assert_eq!(at, peak / history.stride as u64, "{epochs} epochs");
        }
    }

    #[test]
    fn growth_and_a_handle_more_are_found() {
        let (history, last) = run(5000, |epoch| epoch * 10);
        assert!(history.bounded(&last).unwrap_err().contains("allocated"));
        let (history, last) = run(5000, |epoch| 1000 + epoch % 900);
        assert_eq!(history.bounded(&last), Ok(()));
        assert!(history.bounded(&Gauge { handles: 8, ..last }).unwrap_err().contains("handles"));
    }
}
