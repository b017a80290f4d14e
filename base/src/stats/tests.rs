use std::sync::Arc;

use super::*;

#[test]
fn numbers_and_names_are_rocksdbs() {
    assert_eq!(Ticker::COUNT, 263);
    assert_eq!(HistogramKind::COUNT, 80);
    assert_eq!(Ticker::BlockCacheMiss.number(), 0);
    assert_eq!(Ticker::BlockCacheMiss.name(), "rocksdb.block.cache.miss");
    assert_eq!(HistogramKind::DbWrite.number(), 1);
    for &ticker in Ticker::ALL {
        assert_eq!(Ticker::from_number(ticker.number()), Some(ticker));
        assert_eq!(Ticker::by_name(ticker.name()), Some(ticker));
    }
    assert_eq!(Ticker::from_number(Ticker::COUNT), None);
}

#[test]
fn buckets_start_and_end_where_rocksdbs_do() {
    let limits = [1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380];
    for pair in limits.windows(2) {
        assert_eq!(histogram::bucket(pair[0]) + 1, histogram::bucket(pair[0] + 1), "limit {}", pair[0]);
        assert_eq!(histogram::bucket(pair[0] + 1), histogram::bucket(pair[1]));
    }
    assert_eq!(histogram::bucket(0), 0);
    assert_eq!(histogram::bucket(u64::MAX), 108);
}

#[test]
fn every_value_falls_into_the_first_bucket_that_holds_it() {
    let mut value = 0u64;
    let mut last = 0;
    while value < u64::MAX / 3 {
        let bucket = histogram::bucket(value);
        assert!(bucket >= last);
        last = bucket;
        value = value + value / 7 + 1;
    }
}

#[test]
fn text_of_a_histogram() {
    let mut histogram = Histogram::new();
    for value in 1..=100 {
        histogram.add(value);
    }
    assert_eq!(
        histogram.to_string(),
        "Count: 100 Average: 50.5000  StdDev: 28.87\n\
         Min: 1  Median: 50.0000  Max: 100\n\
         Percentiles: P50: 50.00 P75: 75.00 P99: 100.00 P99.9: 100.00 P99.99: 100.00\n\
         ------------------------------------------------------\n\
         [       0,       1 ]        1   1.000%   1.000% \n\
         (       1,       2 ]        1   1.000%   2.000% \n\
         (       2,       3 ]        1   1.000%   3.000% \n\
         (       3,       4 ]        1   1.000%   4.000% \n\
         (       4,       6 ]        2   2.000%   6.000% \n\
         (       6,      10 ]        4   4.000%  10.000% #\n\
         (      10,      15 ]        5   5.000%  15.000% #\n\
         (      15,      22 ]        7   7.000%  22.000% #\n\
         (      22,      34 ]       12  12.000%  34.000% ##\n\
         (      34,      51 ]       17  17.000%  51.000% ###\n\
         (      51,      76 ]       25  25.000%  76.000% #####\n\
         (      76,     110 ]       24  24.000% 100.000% #####\n"
    );
    let empty = Histogram::new().to_string();
    assert!(empty.starts_with("Count: 0 Average: 0.0000  StdDev: 0.00\nMin: 0  Median: 0.0000  Max: 0\n"));
}

#[test]
fn threads_add_up_and_slots_are_used_again() {
    let statistics = Arc::new(Statistics::new());
    for _ in 0..3 {
        let threads: Vec<_> = (0..40)
            .map(|_| {
                let statistics = Arc::clone(&statistics);
                std::thread::spawn(move || {
                    for i in 0..1000 {
                        statistics.tick(Ticker::BytesRead);
                        statistics.measure(HistogramKind::BytesPerRead, i);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    assert_eq!(statistics.ticker(Ticker::BytesRead), 120_000);
    let histogram = statistics.histogram(HistogramKind::BytesPerRead);
    assert_eq!((histogram.count(), histogram.min(), histogram.max()), (120_000, 0, 999));
    assert_eq!(histogram.sum(), 120 * 499_500);
}

#[test]
fn tickers_can_be_set_taken_and_reset() {
    let statistics = Statistics::new();
    statistics.add(Ticker::BytesRead, 7);
    assert_eq!(statistics.take_ticker(Ticker::BytesRead), 7);
    statistics.add(Ticker::BytesRead, 2);
    assert_eq!(statistics.ticker(Ticker::BytesRead), 2);
    statistics.set_ticker(Ticker::BytesRead, 100);
    statistics.tick(Ticker::BytesRead);
    assert_eq!(statistics.ticker(Ticker::BytesRead), 101);
    statistics.measure(HistogramKind::DbGet, 5);
    statistics.reset();
    assert_eq!(statistics.ticker(Ticker::BytesRead), 0);
    assert_eq!(statistics.histogram(HistogramKind::DbGet).count(), 0);
}

#[test]
fn the_statistics_level_decides_which_values_are_collected() {
    let statistics = Statistics::new();
    let collect = || {
        statistics.reset();
        statistics.tick(Ticker::BytesRead);
        statistics.measure(HistogramKind::BytesPerRead, 1);
        statistics.measure_time(HistogramKind::DbGet, 1);
        (
            statistics.ticker(Ticker::BytesRead),
            statistics.histogram(HistogramKind::BytesPerRead).count(),
            statistics.histogram(HistogramKind::DbGet).count(),
        )
    };
    assert_eq!(collect(), (1, 1, 1));
    statistics.set_level(StatsLevel::ExceptTimers);
    assert_eq!(collect(), (1, 1, 0));
    statistics.set_level(StatsLevel::ExceptHistogramOrTimers);
    assert_eq!(collect(), (1, 0, 0));
    statistics.set_level(StatsLevel::DisableAll);
    assert_eq!(collect(), (0, 0, 0));
}

#[test]
fn text_of_statistics_has_a_line_for_each() {
    let statistics = Statistics::new();
    statistics.add(Ticker::BlockCacheHit, 3);
    statistics.measure(HistogramKind::DbGet, 10);
    let text = statistics.to_string();
    assert_eq!(text.lines().count(), Ticker::COUNT + HistogramKind::COUNT);
    assert!(text.contains("rocksdb.block.cache.hit COUNT : 3\n"));
    assert!(text.contains(
        "rocksdb.db.get.micros P50 : 10.000000 P95 : 10.000000 P99 : 10.000000 P100 : 10.000000 COUNT : 1 SUM : 10\n"
    ));
}

#[test]
fn perf_context_follows_the_threads_level() {
    std::thread::spawn(|| {
        perf_add(PerfCounter::BlockReadCount, 2);
        set_perf_level(PerfLevel::Disable);
        perf_add(PerfCounter::BlockReadCount, 2);
        assert_eq!(perf_counter(PerfCounter::BlockReadCount), 2);
        assert!(
            perf_context_text().starts_with("user_key_comparison_count = 0, block_cache_hit_count = 0, ")
        );
        assert_eq!(perf_context_text_nonzero(), "block_read_count = 2");
        PerfTimer::start(PerfCounter::BlockReadTime).stop();
        assert_eq!(perf_counter(PerfCounter::BlockReadTime), 0);
        set_perf_level_number(6);
        perf_per_level(true);
        perf_add_at_level(LevelCounter::BlockCacheHitCount, 5, 3);
        assert!(perf_context_text().contains("block_cache_hit_count = 5@level3, "));
        perf_context_reset();
        assert_eq!(perf_counter(PerfCounter::BlockReadCount), 0);
    })
    .join()
    .unwrap();
    io_add(IoCounter::BytesRead, 9);
    assert!(io_context_text(true).contains("bytes_read = 9"));
}
