use super::recipes::{all, growth};
use super::rows::{Row, Unit, parse};
use super::{every, median, named, sample};
use crate::bench::flags::Flags;

#[test]
fn a_report_line_of_db_bench_becomes_a_row() {
    let rows = parse(
        "fillseq      :       1.234 micros/op 810372 ops/sec 1.2 seconds 1000000 operations;   89.6 MB/s\n\
         compact      :  642000.000 micros/op 1 ops/sec 0.6 seconds 1 operations;\n\
         readseq      :       0.100 micros/op 9000000 ops/sec\nreadseq      :       0.100 micros/op 9500000 ops/sec\n",
    );
    let shown: Vec<(String, f64)> = rows.iter().map(|(row, figure)| (row.name.clone(), *figure)).collect();
    assert_eq!(
        shown,
        [
            ("fillseq".into(), 810_372.0),
            ("compact".into(), 1e6 / 642_000.0),
            ("readseq".into(), 9_000_000.0),
            ("readseq #2".into(), 9_500_000.0),
        ]
    );
}

#[test]
fn report_lines_of_filter_bench_have_their_units() {
    let rows = parse(
        "Build avg ns/key: 66.4\n  Bits/key stored: 7.025\nReported entry count stats (expected 1000):\n\
         Count: 9 Average: 1000.0  StdDev: 31.0\n",
    );
    assert_eq!(
        rows,
        [
            (Row { name: "Build avg ns/key".into(), unit: Unit::Nanoseconds }, 66.4),
            (Row { name: "Bits/key stored".into(), unit: Unit::Size }, 7.025),
            (Row { name: "relative std. deviation".into(), unit: Unit::Error }, 0.031),
        ]
    );
}

#[test]
fn the_deviation_of_a_histogram_of_times_is_no_row() {
    let rows =
        parse("fillseq : 2.0 micros/op 500000 ops/sec 0.1 seconds\nCount: 9 Average: 5.0  StdDev: 31.0\n");
    assert_eq!(rows, [(Row { name: "fillseq".into(), unit: Unit::OperationsPerSecond }, 500_000.0)]);
}

#[test]
fn a_ratio_above_one_means_that_ironstone_is_better() {
    assert_eq!(Unit::OperationsPerSecond.ratio(200.0, 100.0), 2.0);
    assert_eq!(Unit::Nanoseconds.ratio(100.0, 200.0), 2.0);
}

#[test]
fn a_median_of_an_even_number_is_the_mean_of_the_middle() {
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
}

#[test]
fn the_flags_of_filter_bench_follow_the_numbers_of_each_program() {
    let recipe = &named("seed1-ribbon").unwrap()[0];
    assert!(recipe.steps[0].flags.starts_with("-impl=3 "));
    assert!(recipe.steps[0].peer_flags().starts_with("-impl=2 "));
    assert!(named("seed1-bloom").unwrap()[0].steps[0].peer_flags().starts_with("-impl=1 "));
    assert!(named("nothing").is_err());
    assert_eq!(all().len(), 24);
}

#[test]
fn one_seed_draws_one_list() {
    let flags = |seed| -> Vec<String> {
        sample::draw(20, seed).iter().flat_map(|r| r.steps.iter().map(|s| s.flags.clone())).collect()
    };
    assert_eq!(flags(7), flags(7));
    assert_ne!(flags(7), flags(8));
}

#[test]
fn the_name_of_a_drawn_recipe_draws_the_recipe_again() {
    let drawn = &sample::draw(20, 7)[13];
    let again = &named("draw-7-13").unwrap()[0];
    assert_eq!((&again.name, &again.steps[0].flags), (&drawn.name, &drawn.steps[0].flags));
    for name in ["draw-7", "draw-x-1", "draw-7-13-2", "draw-7-*"] {
        assert!(named(name).is_err(), "{name}");
    }
}

#[test]
fn every_drawn_flag_is_a_flag_of_db_bench() {
    for step in sample::draw(200, 3).iter().flat_map(|recipe| &recipe.steps) {
        let args = step.flags.split_whitespace().map(str::to_string);
        assert!(Flags::parse(args).is_ok(), "{}", step.flags);
    }
}

#[test]
fn tickers_of_flush_and_compaction_become_the_write_amplification() {
    let report = "rocksdb.bytes.written COUNT : 200\nrocksdb.compact.write.bytes COUNT : 500\n\
                  rocksdb.flush.write.bytes COUNT : 100\n";
    let rows = parse(report);
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].0.name.as_str(), rows[0].0.unit, rows[0].1),
        ("bytes written / byte", Unit::Size, 3.0)
    );
    assert!(parse("rocksdb.bytes.written COUNT : 0\n").is_empty());
}

#[test]
fn recipes_of_growth_run_only_by_name() {
    for recipe in growth() {
        assert!(named(&recipe.name).is_ok());
        assert!(all().iter().all(|other| other.name != recipe.name));
    }
}

#[test]
fn a_star_matches_the_rest_of_a_name() {
    let untuned = named("untuned-*").unwrap();
    assert_eq!(untuned.len(), 25);
    assert!(untuned.iter().all(|recipe| recipe.name.starts_with("untuned-")));
    assert!(named("untuned-").is_err());
    let mut names: Vec<String> = every().into_iter().map(|recipe| recipe.name).collect();
    names.sort();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a name is used twice");
}

#[test]
fn percentiles_of_a_histogram_belong_to_the_benchmark_before() {
    let rows = parse(
        "readwhilewriting :       3.0 micros/op 300000 ops/sec\nMicroseconds per read:\n\
         Percentiles: P50: 2.5 P75: 3.0 P99: 9.5 P99.9: 21.0 P99.99: 80.0\n",
    );
    let shown: Vec<(&str, f64)> = rows.iter().map(|(row, figure)| (row.name.as_str(), *figure)).collect();
    assert_eq!(
        shown,
        [
            ("readwhilewriting", 300_000.0),
            ("readwhilewriting p99", 9_500.0),
            ("readwhilewriting p99.9", 21_000.0)
        ]
    );
}
