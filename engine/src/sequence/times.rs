//! Records when sequence numbers were reached, for column families that keep the write times of their entries.
//!
//! One list serves all column families of the database. Flushes and compactions store the samples of their sequence numbers in the
//! SST files. Source: RocksDB `db/db_impl/db_impl.cc` (`RecordSeqnoToTimeMapping`).

use base::SequenceNumber;
use lsm::seqno_time::{Cutoffs, SAMPLES_MAX, SAMPLES_PER_TABLE_MAX, Sample, SeqnoTimes};

use crate::sync::Mutex;

/// The sequence number up to which a new database that keeps write times has no entry. Imported entries can get these sequence
/// numbers later: each stands for a time before the creation.
pub const SEQNOS_BEFORE_CREATION: SequenceNumber = SequenceNumber::new(SAMPLES_PER_TABLE_MAX as u64);

/// The samples of one database.
#[derive(Default)]
pub struct WriteTimes {
    recorded: Mutex<Recorded>,
}

#[derive(Default)]
struct Recorded {
    times: SeqnoTimes,
    /// The longest and the shortest time, in seconds, for which a column family keeps write times. 0: no column family does.
    longest_s: u64,
    shortest_s: u64,
}

impl Recorded {
    fn limit(&mut self, now: u64) {
        let most = self.longest_s.saturating_mul(SAMPLES_PER_TABLE_MAX as u64) / self.shortest_s.max(1);
        let most = usize::try_from(most).unwrap_or(SAMPLES_MAX).min(SAMPLES_MAX);
        self.times.limit_span(self.longest_s, now);
        if self.times.samples().count() > most + most / 8 {
            self.times.limit_samples(most);
        }
    }
}

impl WriteTimes {
    /// Sets the times, in seconds, for which the column families keep write times. Without a time, the samples are removed.
    pub fn keep(&self, ages: impl IntoIterator<Item = u64>) {
        let (mut longest, mut shortest) = (0, u64::MAX);
        for age in ages.into_iter().filter(|age| *age > 0) {
            longest = longest.max(age);
            shortest = shortest.min(age);
        }
        let mut recorded = self.recorded.lock();
        if longest == 0 {
            *recorded = Recorded::default();
        } else {
            recorded.longest_s = longest;
            recorded.shortest_s = shortest;
        }
    }

    /// Returns the seconds between two samples. `None` if no column family keeps write times.
    pub fn cadence_s(&self) -> Option<u64> {
        let shortest = self.recorded.lock().shortest_s;
        (shortest > 0).then(|| shortest.div_ceil(SAMPLES_PER_TABLE_MAX as u64))
    }

    /// Adds a sample: `seq` was the visible sequence number before the clock showed `now`. Does nothing if no column family keeps
    /// write times.
    pub fn record(&self, seq: SequenceNumber, now: u64) {
        let mut recorded = self.recorded.lock();
        if recorded.longest_s > 0 {
            recorded.times.append(Sample { seq: seq.max(SequenceNumber::FIRST), time: now });
            recorded.limit(now);
        }
    }

    /// Spreads the sequence numbers of a new database over the time for which it keeps write times.
    pub fn spread(&self, now: u64) {
        let mut recorded = self.recorded.lock();
        if recorded.longest_s > 0 && now > recorded.longest_s {
            recorded.times = SeqnoTimes::spread(SEQNOS_BEFORE_CREATION, now - recorded.longest_s, now);
        }
    }

    /// Returns a copy of the samples.
    pub fn copy(&self) -> SeqnoTimes {
        self.recorded.lock().times.clone()
    }

    /// Returns the cutoffs of a column family: see [`SeqnoTimes::cutoffs`].
    pub fn cutoffs(&self, now: u64, preserve: u64, preclude: u64) -> Option<Cutoffs> {
        self.recorded.lock().times.cutoffs(now, preserve, preclude)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_age_sets_the_cadence() {
        let times = WriteTimes::default();
        assert_eq!(times.cadence_s(), None);
        times.keep([0, 1000, 250]);
        assert_eq!(times.cadence_s(), Some(3));
        times.record(SequenceNumber::new(7), 100);
        times.keep([0]);
        assert_eq!((times.cadence_s(), times.copy().is_empty()), (None, true));
        times.record(SequenceNumber::new(8), 200);
        assert!(times.copy().is_empty(), "no column family keeps write times");
    }

    #[test]
    fn the_samples_stay_within_their_limits() {
        let times = WriteTimes::default();
        times.keep([1000]);
        for at in 0..5000 {
            times.record(SequenceNumber::new(at + 1), 10_000 + at);
        }
        let samples: Vec<_> = times.copy().samples().collect();
        assert!(samples.len() <= 112, "{} samples", samples.len());
        assert!(samples[0].time <= 14_000, "one sample is older than the age: {:?}", samples[0]);
        assert_eq!(samples.last().map(|sample| sample.time), Some(14_999));
    }
}
