//! Times of sequence numbers: a list of samples that tells when data was written.
//!
//! A sample `(seq, time)` says that the sequence number `seq` was reached at or before `time`, in seconds since 1970. So every entry
//! with a larger sequence number was written at `time` or later.
//!
//! ```text
//! samples:            (10, 500)         (20, 600)
//! sequence numbers:   ..10   11 .. 20    21 ..
//! known lower time:    -      500         600
//! times:               ..499  500 .. 599  600 ..
//! last old number:      -     10          20         seqno_at
//! ```
//! Invariant: the samples ascend strictly in both numbers. The list has a largest time span and a largest number of samples. If it
//! has too many samples, the samples whose neighbours are nearest in time go first. Source: RocksDB `db/seqno_to_time_mapping.h`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use base::coding::{get_varint64, put_varint64};
use base::key::{MAX_SEQUENCE, SequenceNumber};
use base::{Arrange, Error, Result};

/// The largest number of samples in the properties of one SST file.
pub const SAMPLES_PER_TABLE_MAX: usize = 100;
/// The largest number of samples of a database.
pub const SAMPLES_MAX: usize = 10 * SAMPLES_PER_TABLE_MAX;

/// The sequence number `seq` was reached at or before `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// The sequence number; never 0.
    pub seq: SequenceNumber,
    /// In seconds since 1970.
    pub time: u64,
}

/// The samples, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeqnoTimes {
    samples: VecDeque<Sample>,
}

/// Returns the time of the first sample at `seq - 1` or later. `None` if all samples are older. If the sample is at `seq - 1`, an
/// entry with `seq` was written at this time or later. If the sample is newer, the entry was written at this time or before.
pub fn written_by(samples: impl IntoIterator<Item = Sample>, seq: SequenceNumber) -> Option<u64> {
    samples.into_iter().find(|sample| sample.seq >= seq.previous()).map(|sample| sample.time)
}

/// The sequence numbers above which a column family keeps write times, and keeps entries out of the last level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoffs {
    /// Entries from this sequence number on keep their sequence numbers.
    pub preserve_from: SequenceNumber,
    /// Entries from this sequence number on stay out of the last level. `None`: no entry does.
    pub preclude_from: Option<SequenceNumber>,
}

impl SeqnoTimes {
    /// Makes samples from `(1, from)` to `(last, to)`, one for each sequence number, at equal distances in time.
    pub fn spread(last: SequenceNumber, from: u64, to: u64) -> Self {
        base::invariant!(
            last > SequenceNumber::FIRST && from <= to,
            "samples from {from} to {to} for {last} sequence numbers"
        );
        let at = |seq: u64| from + (to - from) * (seq - 1) / (last - SequenceNumber::FIRST);
        let mut times = SeqnoTimes::default();
        for seq in 1..=last.get() {
            times.merge(Sample { seq: SequenceNumber::new(seq), time: at(seq) });
        }
        times
    }

    /// Returns true without samples.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Returns the samples, ascending.
    pub fn samples(&self) -> impl Iterator<Item = Sample> + '_ {
        self.samples.iter().copied()
    }

    /// Adds a sample that is newer than all samples. Ignores a sample of the sequence number 0, and a sample that goes back.
    pub fn append(&mut self, sample: Sample) {
        if sample.seq > SequenceNumber::ZERO && self.samples.back().is_none_or(|last| last.seq <= sample.seq)
        {
            self.merge(sample);
        }
    }

    /// Adds a sample that does not sort before the last sample. Of two samples with one sequence number, the earlier time is right; of
    /// two samples with one time, the larger sequence number. If the clock went back, the later sample replaces the earlier samples.
    fn merge(&mut self, mut sample: Sample) {
        while let Some(last) = self.samples.back() {
            if last.seq == sample.seq {
                sample.time = sample.time.min(last.time);
            } else if last.time < sample.time {
                break;
            }
            self.samples.pop_back();
        }
        self.samples.push_back(sample);
    }

    /// Adds the samples of other lists.
    pub fn add(&mut self, others: impl IntoIterator<Item = Sample>) {
        let mut all: Vec<Sample> =
            self.samples.drain(..).chain(others).filter(|s| s.seq > SequenceNumber::ZERO).collect();
        all.arrange();
        all.into_iter().for_each(|sample| self.merge(sample));
    }

    /// Removes samples that are older than `span` seconds before `now`. One older sample stays: it tells the last sequence number
    /// before the span.
    pub fn limit_span(&mut self, span: u64, now: u64) {
        let Some(cutoff) = now.checked_sub(span) else { return };
        while self.samples.len() >= 2 && self.samples[1].time <= cutoff {
            self.samples.pop_front();
        }
    }

    /// Removes samples until at most `most` remain, at least 2: the samples whose removal leaves the smallest gap in time.
    pub fn limit_samples(&mut self, most: usize) {
        let most = most.max(2);
        let Some(excess) = self.samples.len().checked_sub(most).filter(|n| *n > 0) else { return };
        let count = self.samples.len();
        let (mut before, mut after): (Vec<usize>, Vec<usize>) =
            // The first and the last sample are their own neighbours. They are never removed.
            (0..count).map(|i| (i.saturating_sub(1), (i + 1).min(count - 1))).unzip();
        let gap = |a: usize, b: usize| self.samples[b].time - self.samples[a].time;
        let mut heap: BinaryHeap<_> = (1..count - 1).map(|i| Reverse((gap(i - 1, i + 1), i))).collect();
        let mut removed = vec![false; count];
        for _ in 0..excess {
            // A gap in the heap is never larger than the present gap of the sample.
            while let Some(Reverse((known, i))) = heap.pop() {
                let present = gap(before[i], after[i]);
                if known < present {
                    heap.push(Reverse((present, i)));
                    continue;
                }
                removed[i] = true;
                after[before[i]] = after[i];
                before[after[i]] = before[i];
                break;
            }
        }
        let mut at = removed.into_iter();
        self.samples.retain(|_| !at.next().unwrap_or(false));
        base::invariant!(self.samples.len() == most, "{} samples of {most} remain", self.samples.len());
    }

    /// Returns the largest sequence number that was surely reached at `time`; 0 if no sample tells.
    pub fn seqno_at(&self, time: u64) -> SequenceNumber {
        match self.samples.partition_point(|sample| sample.time <= time) {
            0 => SequenceNumber::ZERO,
            at => self.samples[at - 1].seq,
        }
    }

    /// Returns the cutoffs at the time `now`. `preserve` is `preserve_internal_time_seconds` and `preclude` is
    /// `preclude_last_level_data_seconds`. Returns `None` if both are 0.
    pub fn cutoffs(&self, now: u64, preserve: u64, preclude: u64) -> Option<Cutoffs> {
        let longest = preserve.max(preclude);
        if longest == 0 {
            return None;
        }
        // If the time is longer than the time since 1970, all data is young.
        let from = |seconds: u64| self.seqno_at(now.saturating_sub(seconds)) + 1;
        Some(Cutoffs { preserve_from: from(longest), preclude_from: (preclude > 0).then(|| from(preclude)) })
    }

    /// Returns the samples that tell the times of the sequence numbers from `smallest` to `largest`.
    #[must_use]
    pub fn of_range(&self, smallest: SequenceNumber, largest: SequenceNumber) -> Self {
        // The sample before `smallest` tells its time, if there is such a sample.
        let from = self.samples.partition_point(|sample| sample.seq < smallest).saturating_sub(1);
        let to = self.samples.partition_point(|sample| sample.seq <= largest);
        SeqnoTimes { samples: self.samples.range(from..to.max(from)).copied().collect() }
    }

    /// Returns the samples as the property `rocksdb.seqno.time.map`: empty without samples, otherwise their number and the differences
    /// of both numbers as varints.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.samples.is_empty() {
            return out;
        }
        put_varint64(&mut out, self.samples.len() as u64);
        let mut last = Sample { seq: SequenceNumber::ZERO, time: 0 };
        for sample in &self.samples {
            put_varint64(&mut out, sample.seq - last.seq);
            put_varint64(&mut out, sample.time - last.time);
            last = *sample;
        }
        out
    }

    /// Reads a property that [`SeqnoTimes::encode`] or RocksDB wrote.
    ///
    /// # Errors
    /// Corruption if the bytes are no such property.
    pub fn decode(bytes: &[u8]) -> Result<Vec<Sample>> {
        let broken = || Error::corruption("the sequence-to-time map of an SST file is damaged");
        let mut samples = Vec::new();
        if bytes.is_empty() {
            return Ok(samples);
        }
        let mut rest = bytes;
        let mut number = || -> Result<u64> {
            let (number, len) = get_varint64(rest).ok_or_else(broken)?;
            rest = &rest[len..];
            Ok(number)
        };
        let mut last = Sample { seq: SequenceNumber::ZERO, time: 0 };
        for _ in 0..number()? {
            let seq =
                last.seq.checked_add(number()?).filter(|seq| *seq <= MAX_SEQUENCE).ok_or_else(broken)?;
            let time = last.time.checked_add(number()?).ok_or_else(broken)?;
            last = Sample { seq, time };
            samples.push(last);
        }
        if rest.is_empty() { Ok(samples) } else { Err(broken()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(list: &[(u64, u64)]) -> SeqnoTimes {
        let mut times = SeqnoTimes::default();
        times.add(list.iter().map(|&(seq, time)| Sample { seq: SequenceNumber::new(seq), time }));
        times
    }

    fn shown(times: &SeqnoTimes) -> Vec<(u64, u64)> {
        times.samples().map(|sample| (sample.seq.get(), sample.time)).collect()
    }

    #[test]
    fn a_time_is_that_of_the_last_sample_before() {
        let times = times(&[(10, 500), (20, 600), (30, 700)]);
        let at: Vec<u64> =
            [499, 500, 599, 600, 10_000].iter().map(|&time| times.seqno_at(time).get()).collect();
        assert_eq!(at, [0, 10, 10, 20, 30]);
    }

    #[test]
    fn samples_that_contradict_are_merged() {
        assert_eq!(shown(&times(&[(10, 500), (10, 400)])), [(10, 400)], "the earlier time");
        assert_eq!(shown(&times(&[(10, 500), (12, 500)])), [(12, 500)], "the larger sequence number");
        assert_eq!(shown(&times(&[(10, 500), (12, 300)])), [(12, 300)], "the clock went back");
        let mut appended = times(&[(10, 500)]);
        appended.append(Sample { seq: SequenceNumber::new(9), time: 700 });
        appended.append(Sample { seq: SequenceNumber::ZERO, time: 800 });
        assert_eq!(shown(&appended), [(10, 500)]);
    }

    #[test]
    fn the_span_keeps_one_older_sample() {
        let mut list = times(&[(10, 100), (20, 200), (30, 300), (40, 400)]);
        list.limit_span(150, 410);
        assert_eq!(shown(&list), [(20, 200), (30, 300), (40, 400)]);
        list.limit_span(500, 410);
        assert_eq!(shown(&list), [(20, 200), (30, 300), (40, 400)]);
        list.limit_span(0, 410);
        assert_eq!(shown(&list), [(40, 400)]);
    }

    #[test]
    fn the_limit_removes_the_samples_in_the_smallest_gaps() {
        let mut list = times(&[(1, 100), (2, 101), (3, 150), (4, 151), (5, 200)]);
        list.limit_samples(3);
        assert_eq!(shown(&list), [(1, 100), (3, 150), (5, 200)]);
        list.limit_samples(0);
        assert_eq!(shown(&list), [(1, 100), (5, 200)]);
    }

    #[test]
    fn cutoffs_keep_what_may_be_young_enough() {
        let list = times(&[(10, 100), (20, 200), (30, 300)]);
        assert_eq!(list.cutoffs(400, 0, 0), None);
        let both = list.cutoffs(400, 250, 150).unwrap();
        assert_eq!(
            (both.preserve_from, both.preclude_from),
            (SequenceNumber::new(11), Some(SequenceNumber::new(21)))
        );
        let only = list.cutoffs(400, 150, 0).unwrap();
        assert_eq!((only.preserve_from, only.preclude_from), (SequenceNumber::new(21), None));
        assert_eq!(
            SeqnoTimes::default().cutoffs(400, 0, 9).unwrap().preclude_from,
            Some(SequenceNumber::new(1))
        );
    }

    #[test]
    fn a_range_keeps_the_sample_before_it() {
        let list = times(&[(10, 100), (20, 200), (30, 300)]);
        assert_eq!(
            shown(&list.of_range(SequenceNumber::new(15), SequenceNumber::new(29))),
            [(10, 100), (20, 200)]
        );
        assert_eq!(shown(&list.of_range(SequenceNumber::new(1), SequenceNumber::new(9))), []);
        assert_eq!(shown(&list.of_range(SequenceNumber::new(31), SequenceNumber::new(40))), [(30, 300)]);
        assert_eq!(shown(&list.of_range(SequenceNumber::new(9), SequenceNumber::new(2))), []);
    }

    #[test]
    fn the_property_is_read_back() {
        for list in [times(&[]), times(&[(1, 1)]), times(&[(10, 500), (20, 600), (1 << 50, 1 << 33)])] {
            let mut read = SeqnoTimes::default();
            read.add(SeqnoTimes::decode(&list.encode()).unwrap());
            assert_eq!(read, list);
        }
        for damaged in [&[1][..], &[1, 2], &[1, 2, 3, 4], &[0x80], &[200, 1, 1]] {
            SeqnoTimes::decode(damaged).unwrap_err();
        }
    }

    #[test]
    fn spread_samples_end_at_both_ends() {
        let list = SeqnoTimes::spread(SequenceNumber::new(100), 1000, 2000);
        let samples: Vec<Sample> = list.samples().collect();
        let ends = [samples[0], samples[samples.len() - 1]].map(|sample| (sample.seq.get(), sample.time));
        assert_eq!((ends, samples.len()), ([(1, 1000), (100, 2000)], 100));
    }
}
