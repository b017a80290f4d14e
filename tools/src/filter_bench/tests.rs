use super::flags::Impl;
use super::general::general;
use super::keys::KeyMaker;
use super::twister::Twister;
use super::*;

fn parse(line: &str) -> Result<Flags, String> {
    Flags::parse(line.split_whitespace().map(String::from))
}

#[test]
fn flags_read_as_gflags_reads_them() {
    let flags =
        parse("-impl=3 --m_queries 5.5 -quick -novary_key_alignment --new_builder=yes -seed=0x10").unwrap();
    assert_eq!(flags.filter(), Ok(Impl::Ribbon));
    assert_eq!((flags.m_queries, flags.quick, flags.vary_key_alignment), (5.5, true, false));
    assert_eq!((flags.new_builder, flags.seed), (true, 16));
    assert_eq!(parse("-impl=bloom").unwrap().filter(), parse("-impl=2").unwrap().filter());
    for wrong in [
        "-impl=1",
        "-bogus=1",
        "word",
        "-seed",
        "-seed=x",
        "-bogus",
        "-bits_per_key=nan",
        "-use_plain_table_bloom -impl=2",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn numbers_look_as_streams_write_them() {
    let cases = [
        (0.0, "0"),
        (1.5, "1.5"),
        (92.80664, "92.8066"),
        (167.0, "167"),
        (0.000123456789, "0.000123457"),
        (1234567.0, "1.23457e+06"),
        (0.00001234, "1.234e-05"),
        (100000.0, "100000"),
    ];
    for (value, text) in cases {
        assert_eq!(general(value), text);
    }
}

#[test]
fn twister_is_the_standard_one() {
    // The C++ standard requires this of mt19937 with its default seed.
    let mut twister = Twister::new(5489);
    let last = (0..10_000).map(|_| twister.next()).last();
    assert_eq!(last, Some(4_123_659_995));
}

#[test]
fn keys_are_unique_and_stable() {
    let mut maker = KeyMaker::new(&parse("").unwrap(), 1);
    let mut seen: Vec<Vec<u8>> = (0..1000).map(|i| maker.get(7, i).to_vec()).collect();
    assert!(seen.iter().all(|key| (24..=28).contains(&key.len())));
    assert_eq!(maker.get(7, 5), seen[5]);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 1000);
}

#[test]
fn small_runs_of_every_filter_end_well() {
    let common = "-m_keys_total_max=0.01 -average_keys_per_filter=1000 -m_queries=0.002 -allow_bad_fp_rate";
    for more in [
        "-impl=0",
        "-impl=2",
        "-impl=3",
        "-impl=3 -quick -new_builder",
        "-impl=2 -best_case",
        "-impl=2 -optimize_filters_for_memory",
        "-impl=3 -use_full_block_reader",
        "-use_plain_table_bloom -impl=0",
        "-use_plain_table_bloom -impl=1",
        "-impl=3 -detect_filter_construct_corruption -charge_filter_construction -strict_capacity_limit -runs=2",
    ] {
        assert_eq!(main(format!("{common} {more}").split_whitespace().map(String::from)), 0, "{more}");
    }
}
