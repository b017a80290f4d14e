//! `Statistics` and histograms.
//!
//! Java has its own numbers for tickers and histograms; [`crate::numbers`] has the tables.

use std::sync::Arc;

use base::stats::{HistogramKind, Statistics, StatsLevel};

use crate::class::{Class, Method, Value};
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JBytes, JObject, JString};
use crate::native::{disposers, natives};
use crate::numbers::{histogram, ticker};

disposers! {
    Statistics: Arc<Statistics>;
}

static HISTOGRAM_DATA: Method = Class::new("org/rocksdb/HistogramData").method("<init>", "(DDDDDDJJD)V");

/// The library reads this histogram from new, empty statistics, if a program asks for a histogram that does not exist:
/// `HISTOGRAM_ENUM_MAX`, or a histogram of release 8.10.0 that RocksDB 11.8.1 no longer has.
const EMPTY: HistogramKind = HistogramKind::BytesPerRead;

/// Makes statistics. Ignored histograms are not collected.
fn create(ignored: JBytes<'_>, java: crate::java::Java<'_>) -> Outcome<Handle> {
    let numbers = if ignored.is_null() { Vec::new() } else { java.bytes(ignored)? };
    let ignored: Vec<_> = numbers.into_iter().filter_map(|number| histogram(number as i8)).collect();
    Ok(Handle::new(Arc::new(Statistics::without(&ignored))))
}

/// Returns the handle of the same statistics for a second Java object.
fn shared(other: Handle) -> Outcome<Handle> {
    let other = other.shared::<Arc<Statistics>>()?.clone();
    Ok(Handle::new(other))
}

natives! {
    fn Statistics_newStatistics__[java]() -> Handle {
        create(JBytes::NULL, java)?
    }

    fn Statistics_newStatistics___3B[java](ignored: JBytes) -> Handle {
        create(ignored, java)?
    }

    fn Statistics_newStatistics__J[_](other: Handle) -> Handle {
        shared(other)?
    }

    fn Statistics_newStatistics___3BJ[java](ignored: JBytes, other: Handle) -> Handle {
        if other.is_null() { create(ignored, java)? } else { shared(other)? }
    }

    fn Statistics_statsLevel[_](statistics: Handle) -> i8 {
        match statistics.shared::<Arc<Statistics>>()?.level() {
            StatsLevel::All => 2,
            StatsLevel::ExceptTimeForMutex => 1,
            _ => 0,
        }
    }

    fn Statistics_setStatsLevel[_](statistics: Handle, level: i8) {
        let level = match level {
            0 => StatsLevel::ExceptDetailedTimers,
            1 => StatsLevel::ExceptTimeForMutex,
            2 => StatsLevel::All,
            other => return Err(Fault::illegal_argument(format!("{other} is not a StatsLevel"))),
        };
        statistics.shared::<Arc<Statistics>>()?.set_level(level);
    }

    /// Returns 0 for a ticker that does not exist: `TICKER_ENUM_MAX`.
    fn Statistics_getTickerCount[_](statistics: Handle, number: i8) -> i64 {
        let statistics = statistics.shared::<Arc<Statistics>>()?;
        ticker(number).map_or(0, |ticker| statistics.ticker(ticker) as i64)
    }

    /// Returns 0 for a ticker that does not exist: `TICKER_ENUM_MAX`.
    fn Statistics_getAndResetTickerCount[_](statistics: Handle, number: i8) -> i64 {
        let statistics = statistics.shared::<Arc<Statistics>>()?;
        ticker(number).map_or(0, |ticker| statistics.take_ticker(ticker) as i64)
    }

    /// Returns empty data for a histogram that does not exist.
    fn Statistics_getHistogramData[java](statistics: Handle, number: i8) -> JObject<'j> {
        let statistics = statistics.shared::<Arc<Statistics>>()?;
        let data = match histogram(number) {
            Some(kind) => statistics.histogram_data(kind),
            None => Statistics::without(&[]).histogram_data(EMPTY),
        };
        let double = Value::double;
        HISTOGRAM_DATA.construct(java, &[
            double(data.median), double(data.percentile95), double(data.percentile99), double(data.average),
            double(data.standard_deviation), double(data.max), Value::long(data.count as i64),
            Value::long(data.sum as i64), double(data.min),
        ])?
    }

    /// Returns the text of an empty histogram for a histogram that does not exist.
    fn Statistics_getHistogramString[java](statistics: Handle, number: i8) -> JString<'j> {
        let statistics = statistics.shared::<Arc<Statistics>>()?;
        let text = match histogram(number) {
            Some(kind) => statistics.histogram(kind).to_string(),
            None => Statistics::without(&[]).histogram(EMPTY).to_string(),
        };
        java.new_text(&text)?
    }

    fn Statistics_reset[_](statistics: Handle) {
        statistics.shared::<Arc<Statistics>>()?.reset();
    }

    fn Statistics_toString[java](statistics: Handle) -> JString<'j> {
        let text = statistics.shared::<Arc<Statistics>>()?.to_string();
        java.new_text(&text)?
    }
}
