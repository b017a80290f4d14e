//! Databases with a time to live: `--ttl` for reads, writes and scans.
//!
//! A stored value ends with the time of its write in four bytes. No value expires in the tool, because the tool knows
//! no time to live. Times are printed in UTC. Facts: RocksDB `tools/ldb_cmd.cc`, `utilities/ttl/db_ttl_impl.h`.

use base::{Error, Result};
use env::Env;

use super::args::Args;
use super::{Failure, Io, Outcome};
use crate::bench::ctime_of;

const TIME_LEN: usize = 4;
/// The least and the largest time of a value, in seconds since 1970-01-01.
const TIME_MIN: i32 = 1_368_146_402;
const TIME_MAX: i32 = i32::MAX;

/// The flags of the command line for a time to live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ttl {
    /// True if the values of the database end with a time.
    pub on: bool,
    /// True if each row starts with its time.
    timestamp: bool,
    start: i32,
    end: i32,
}

impl Ttl {
    /// # Errors
    /// A time that is not a number, or an end before the start. An option of times without `--ttl`, which RocksDB ignores.
    pub fn asked(args: &Args) -> std::result::Result<Ttl, Failure> {
        let (on, timestamp) = (args.flag("ttl")?, args.flag("timestamp")?);
        let of_times = ["start_time", "end_time", "bucket"].into_iter().find(|name| args.has(name));
        let of_times = of_times.or(timestamp.then_some("timestamp"));
        if let Some(name) = of_times.filter(|_| !on) {
            return Err(Failure::new(format!(
                "--{name} needs --ttl: values have a time only in a database with a time to live"
            )));
        }
        let start = args.number::<i32>("start_time")?.unwrap_or(TIME_MIN);
        let end = args.number::<i32>("end_time")?.unwrap_or(TIME_MAX);
        if end < start {
            return Err(Failure::new("Error: End time can't be less than start time"));
        }
        Ok(Ttl { on, timestamp, start, end })
    }

    /// Returns the part of a stored value that the application wrote.
    ///
    /// # Errors
    /// Corruption if the stored value has no time.
    pub fn value<'a>(&self, stored: &'a [u8]) -> Result<&'a [u8]> {
        if self.on { split(stored).map(|(value, _)| value) } else { Ok(stored) }
    }

    /// Returns the stored value for a value of the application: the value and the time.
    pub fn stored(&self, value: &[u8], env: &Env) -> Vec<u8> {
        let mut stored = value.to_vec();
        if self.on {
            stored.extend_from_slice(&(env.clock.now_seconds() as i32).to_le_bytes());
        }
        stored
    }

    /// Returns the value of a row, and the text before the row. Returns `None` if the time of the row is outside the
    /// range of the command line.
    ///
    /// # Errors
    /// The errors of [`Ttl::value`].
    pub fn row<'a>(&self, stored: &'a [u8]) -> Result<Option<(&'a [u8], String)>> {
        if !self.on {
            return Ok(Some((stored, String::new())));
        }
        let (value, time) = split(stored)?;
        if !(self.start..self.end).contains(&time) {
            return Ok(None);
        }
        let shown = if self.timestamp { format!("{} ", ctime_of(i64::from(time))) } else { String::new() };
        Ok(Some((value, shown)))
    }

    /// Prints the line before the rows, if rows start with their time.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn head(&self, verb: &str, io: &mut Io<'_>) -> Outcome {
        if self.on && self.timestamp {
            writeln!(io.out, "{verb} key-values from {} to {}", shown(self.start), shown(self.end))?;
        }
        Ok(())
    }
}

/// Counts of keys by the time of their write: `--bucket`.
pub(crate) struct Buckets {
    ttl: Ttl,
    seconds: i32,
    counts: Vec<u64>,
}

impl Buckets {
    /// Returns the counters of `--bucket`. Returns `None` without `--ttl`, and if one bucket contains all times.
    ///
    /// # Errors
    /// A value that is not a number, or more than a million buckets.
    pub fn asked(ttl: Ttl, args: &Args) -> std::result::Result<Option<Buckets>, Failure> {
        const BUCKETS_MAX: i64 = 1_000_000;
        let range = i64::from(ttl.end) - i64::from(ttl.start);
        let seconds = args.number::<i32>("bucket")?.filter(|n| *n > 0 && i64::from(*n) < range);
        let Some(seconds) = seconds.filter(|_| ttl.on) else { return Ok(None) };
        let buckets = (range as u64).div_ceil(seconds as u64) as i64;
        if buckets > BUCKETS_MAX {
            return Err(Failure::new(format!(
                "bucket: {buckets} buckets, but at most {BUCKETS_MAX} are allowed"
            )));
        }
        Ok(Some(Buckets { ttl, seconds, counts: vec![0; buckets as usize] }))
    }

    /// Counts a stored value.
    ///
    /// # Errors
    /// The errors of [`Ttl::value`].
    pub fn add(&mut self, stored: &[u8]) -> Result<()> {
        let (_, time) = split(stored)?;
        let at = (i64::from(time) - i64::from(self.ttl.start)) / i64::from(self.seconds);
        if let Some(count) = usize::try_from(at).ok().and_then(|at| self.counts.get_mut(at)) {
            *count += 1;
        }
        Ok(())
    }

    /// Prints a line for each bucket.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(self, io: &mut Io<'_>) -> Outcome {
        let mut from = i64::from(self.ttl.start);
        let last = i64::from(self.ttl.end);
        for count in self.counts {
            let to = (from + i64::from(self.seconds)).min(last);
            writeln!(io.out, "Keys in range {} to {} : {count}", ctime_of(from), ctime_of(to))?;
            from = to;
        }
        Ok(())
    }
}

fn shown(time: i32) -> String {
    ctime_of(i64::from(time))
}

fn split(stored: &[u8]) -> Result<(&[u8], i32)> {
    match stored.split_last_chunk::<TIME_LEN>() {
        None => Err(Error::corruption("Error: value's length less than timestamp's")),
        Some((value, time)) => match i32::from_le_bytes(*time) {
            time if time < TIME_MIN => Err(Error::corruption("Error: Timestamp < ttl feature release time!")),
            time => Ok((value, time)),
        },
    }
}
