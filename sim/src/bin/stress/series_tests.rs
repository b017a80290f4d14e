//! Tests of the rule for flat series, with an hour of data.

use super::{Point, Series};
use crate::gauge::Gauge;

/// Returns an hour of data: a point per second, every fourth at rest. The values vary by a few percent.
fn hour(change: impl Fn(u64, &mut Gauge)) -> Series {
    let point = |i: u64| {
        let wobble = i * 7919 % 97;
        let mut gauge = Gauge {
            heap_kb: 1500 + wobble / 2,
            rss_kb: 40_000 + 10 * wobble,
            handles: 7,
            threads: 6,
            disk_kb: 300 + wobble / 9,
        };
        let rest = i.is_multiple_of(4);
        if !rest {
            // After an epoch, the drawn options decide the use of disk and memory.
            gauge.disk_kb *= 1 + wobble / 10;
            gauge.heap_kb += 40 * wobble;
        }
        change(i, &mut gauge);
        Point { seconds: i as f64, operations: 10, rows: rest.then_some(600), aside_kb: 0, gauge }
    };
    Series { points: (1..=3600).map(point).collect() }
}

fn grown(series: &Series) -> String {
    series.flat(2.0).unwrap_err()
}

#[test]
fn noise_is_flat() {
    assert_eq!(hour(|_, _| ()).flat(2.0), Ok(()));
}

#[test]
fn memory_that_is_allocated_once_is_no_growth() {
    let early = hour(|i, g| {
        if i > 1000 {
            g.heap_kb += 500;
            g.rss_kb += 9000;
        }
    });
    assert_eq!(early.flat(2.0), Ok(()));
}

#[test]
fn a_hundred_bytes_lost_in_each_epoch_are_growth() {
    let words = grown(&hour(|i, g| g.heap_kb += i * 100 / 1024));
    assert!(words.starts_with("heap_kb: ") && !words.contains(';'), "{words}");
}

#[test]
fn a_small_file_that_each_epoch_leaves_is_growth() {
    let words = grown(&hour(|i, g| g.disk_kb += i * 100 / 1024));
    assert!(words.starts_with("disk_kb: "), "{words}");
}

#[test]
fn a_handle_or_a_thread_left_open_is_growth() {
    assert!(grown(&hour(|i, g| g.handles += i / 2800)).starts_with("handles: "));
    assert!(grown(&hour(|i, g| g.threads += i / 2800)).starts_with("threads: "));
}

#[test]
fn resident_memory_that_creeps_is_growth() {
    assert!(grown(&hour(|i, g| g.rss_kb += i)).starts_with("rss_kb: "));
}

#[test]
fn every_growth_is_reported() {
    let words = grown(&hour(|i, g| {
        g.heap_kb += i;
        g.disk_kb += i;
    }));
    assert!(words.contains("heap_kb: ") && words.contains("; disk_kb: "), "{words}");
}

#[test]
fn too_few_measurements_prove_nothing() {
    let mut short = hour(|_, _| ());
    short.points.truncate(40);
    assert_eq!(
        short.flat(2.0),
        Err("2 rests in a quarter of the run are too few to decide whether the series is flat".to_string())
    );
    assert!(Series::default().flat(2.0).is_err());
    let mut killed = hour(|_, _| ());
    killed.points.iter_mut().for_each(|p| p.rows = None);
    assert!(killed.flat(2.0).is_err());
}

#[test]
fn rests_with_other_rows_are_not_compared() {
    let mut series = hour(|_, _| ());
    series.points[799].rows = Some(599);
    assert!(grown(&series).contains("599"));
}

#[test]
fn a_row_a_minute_has_medians_at_rest_and_the_most_of_all() {
    let series = hour(|i, g| {
        g.heap_kb = if i.is_multiple_of(4) { i } else { i + 10_000 };
    });
    let rows = series.minutes();
    assert_eq!(rows.len(), 61);
    // Minute 1 has the seconds 60 to 119. The seconds 60, 64 .. 116 are rest points.
    assert_eq!(rows[1][..7], [1, 45, 600, 15, 600, 88, 10_119]);
    assert_eq!(rows[60][..4], [60, 0, 10, 1]);
}

#[test]
fn a_minute_without_a_rest_repeats_the_medians_before_it() {
    let mut series = hour(|_, _| ());
    series.points.retain(|p| p.rows.is_none() || p.seconds < 60.0);
    let rows = series.minutes();
    assert_eq!((rows[1][3], rows[1][4], rows[1][5]), (0, 600, rows[0][5]));
}
