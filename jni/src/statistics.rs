//! `Statistics` and histograms.
//!
//! Java has its own numbers for tickers and histograms; [`crate::numbers`] has the tables.

use std::sync::Arc;

use base::stats::{HistogramKind, Statistics, StatsLevel, Ticker};

use crate::class::{Class, Method, Value};
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JBytes, JObject, JString};
use crate::native::{disposers, natives};
use crate::numbers::is_removed_histogram;

/// Statistics that databases share.
pub struct StatisticsObject(pub Arc<Statistics>);

disposers! {
    Statistics: StatisticsObject;
}

static HISTOGRAM_DATA: Method = Class::new("org/rocksdb/HistogramData").method("<init>", "(DDDDDDJJD)V");

fn ticker(number: i8) -> Outcome<Ticker> {
    crate::numbers::ticker(number)
        .ok_or_else(|| Fault::illegal_argument(format!("{number} is not a TickerType")))
}

fn histogram(number: i8) -> Outcome<HistogramKind> {
    crate::numbers::histogram(number)
        .ok_or_else(|| Fault::illegal_argument(format!("{number} is not a HistogramType")))
}

/// The library reads this histogram from new, empty statistics, if a program asks for a histogram that no longer exists.
const EMPTY: HistogramKind = HistogramKind::BytesPerRead;

/// Makes statistics. Ignored histograms are not collected.
fn create(ignored: JBytes<'_>, java: crate::java::Java<'_>) -> Outcome<Handle> {
    let numbers = if ignored.is_null() { Vec::new() } else { java.bytes(ignored)? };
    let numbers =
        numbers.into_iter().map(|number| number as i8).filter(|number| !is_removed_histogram(*number));
    let ignored = numbers.map(histogram).collect::<Outcome<Vec<_>>>()?;
    Ok(Handle::new(StatisticsObject(Arc::new(Statistics::without(&ignored)))))
}

/// Returns the handle of the same statistics for a second Java object.
fn shared(other: Handle) -> Outcome<Handle> {
    let other = other.shared::<StatisticsObject>()?.0.clone();
    Ok(Handle::new(StatisticsObject(other)))
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
        match statistics.shared::<StatisticsObject>()?.0.level() {
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
        statistics.shared::<StatisticsObject>()?.0.set_level(level);
    }

    fn Statistics_getTickerCount[_](statistics: Handle, number: i8) -> i64 {
        statistics.shared::<StatisticsObject>()?.0.ticker(ticker(number)?) as i64
    }

    fn Statistics_getAndResetTickerCount[_](statistics: Handle, number: i8) -> i64 {
        statistics.shared::<StatisticsObject>()?.0.take_ticker(ticker(number)?) as i64
    }

    /// Returns empty data for a histogram that RocksDB 11.8.1 no longer has.
    fn Statistics_getHistogramData[java](statistics: Handle, number: i8) -> JObject<'j> {
        let data = match is_removed_histogram(number) {
            true => Statistics::without(&[]).histogram_data(EMPTY),
            false => statistics.shared::<StatisticsObject>()?.0.histogram_data(histogram(number)?),
        };
        let double = Value::double;
        HISTOGRAM_DATA.construct(java, &[
            double(data.median), double(data.percentile95), double(data.percentile99), double(data.average),
            double(data.standard_deviation), double(data.max), Value::long(data.count as i64),
            Value::long(data.sum as i64), double(data.min),
        ])?
    }

    fn Statistics_getHistogramString[java](statistics: Handle, number: i8) -> JString<'j> {
        let text = match is_removed_histogram(number) {
            true => Statistics::without(&[]).histogram(EMPTY).to_string(),
            false => statistics.shared::<StatisticsObject>()?.0.histogram(histogram(number)?).to_string(),
        };
        java.new_text(&text)?
    }

    fn Statistics_reset[_](statistics: Handle) {
        statistics.shared::<StatisticsObject>()?.0.reset();
    }

    fn Statistics_toString[java](statistics: Handle) -> JString<'j> {
        let text = statistics.shared::<StatisticsObject>()?.0.to_string();
        java.new_text(&text)?
    }
}
