//! Statistics, histograms, the perf context, file checksums.

use base::stats::{self, HistogramData, HistogramKind, PerfCounter, Ticker};
use engine::options::FileChecksumGen;

use crate::abi::{Buffer, Owned};
use crate::constants::PERF_METRICS;
use crate::options::rocksdb_options_t;

/// The data of a histogram.
#[derive(Default)]
pub struct rocksdb_statistics_histogram_data_t {
    data: HistogramData,
}

/// The perf context. Each call uses the counters of the calling thread.
pub struct rocksdb_perfcontext_t {
    _private: (),
}

/// A factory of checksums of whole files.
pub struct rocksdb_file_checksum_gen_factory_t {
    pub(crate) kind: FileChecksumGen,
}

lifetime!(
    rocksdb_statistics_histogram_data_t,
    rocksdb_statistics_histogram_data_create,
    rocksdb_statistics_histogram_data_destroy
);

facts! {
    rocksdb_statistics_histogram_data_t, "rocksdb_statistics_histogram_data_", |d|;
    get_median: f64 => d.data.median;
    get_p95: f64 => d.data.percentile95;
    get_p99: f64 => d.data.percentile99;
    get_average: f64 => d.data.average;
    get_std_dev: f64 => d.data.standard_deviation;
    get_max: f64 => d.data.max;
    get_count: u64 => d.data.count;
    get_sum: u64 => d.data.sum;
    get_min: f64 => d.data.min;
}

c_api! {
    /// Returns all statistics as text. Returns null without statistics.
    fn rocksdb_options_statistics_get_string(options: at rocksdb_options_t) -> Option<Buffer> {
        options.db.statistics.as_ref().map(|statistics| Buffer::string(statistics.to_string().as_bytes()))
    }

    /// Returns the count of a ticker. Returns 0 without statistics, and for an unknown ticker.
    fn rocksdb_options_statistics_get_ticker_count(options: at rocksdb_options_t, ticker_type: u32) -> u64 {
        let ticker = usize::try_from(ticker_type).ok().and_then(Ticker::from_number);
        match (&options.db.statistics, ticker) {
            (Some(statistics), Some(ticker)) => statistics.ticker(ticker),
            _ => 0,
        }
    }

    /// Copies the data of a histogram. All numbers are 0 without statistics, and for an unknown histogram.
    fn rocksdb_options_statistics_get_histogram_data(
        options: at rocksdb_options_t, histogram_type: u32, data: mut rocksdb_statistics_histogram_data_t
    ) {
        let kind = usize::try_from(histogram_type).ok().and_then(HistogramKind::from_number);
        data.data = match (&options.db.statistics, kind) {
            (Some(statistics), Some(kind)) => statistics.histogram_data(kind),
            _ => HistogramData::default(),
        };
    }

    /// Sets the perf level of this thread: 0 to 6 as in RocksDB's `PerfLevel`.
    fn rocksdb_set_perf_level(level: i32) {
        stats::set_perf_level_number(i64::from(level));
    }

    /// Returns a handle of the perf context. Each call with the handle uses the counters of the calling thread.
    fn rocksdb_perfcontext_create() -> Owned<rocksdb_perfcontext_t> {
        Owned(rocksdb_perfcontext_t { _private: () })
    }

    fn rocksdb_perfcontext_reset(context: at rocksdb_perfcontext_t) {
        let _ = context;
        stats::perf_context_reset();
    }

    /// Returns the counters of this thread as text.
    fn rocksdb_perfcontext_report(context: at rocksdb_perfcontext_t, exclude_zero_counters: flag) -> Buffer {
        let _ = context;
        let text = if exclude_zero_counters { stats::perf_context_text_nonzero() } else { stats::perf_context_text() };
        Buffer::string(text.as_bytes())
    }

    /// Returns a counter of this thread. Returns 0 for an unknown metric.
    fn rocksdb_perfcontext_metric(context: at rocksdb_perfcontext_t, metric: i32) -> u64 {
        let _ = context;
        let name = usize::try_from(metric).ok().and_then(|at| PERF_METRICS.get(at));
        name.and_then(|name| PerfCounter::by_name(name)).map_or(0, stats::perf_counter)
    }

    fn rocksdb_perfcontext_destroy(context: own rocksdb_perfcontext_t) {
        drop(context)
    }

    /// Creates a factory of CRC32C checksums.
    fn rocksdb_file_checksum_gen_crc32c_factory_create() -> Owned<rocksdb_file_checksum_gen_factory_t> {
        Owned(rocksdb_file_checksum_gen_factory_t { kind: FileChecksumGen::Crc32c })
    }

    fn rocksdb_file_checksum_gen_factory_destroy(factory: own rocksdb_file_checksum_gen_factory_t) {
        drop(factory)
    }
}
