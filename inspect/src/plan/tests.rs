use super::merge::{Span, distinct, merge, split};
use super::tree::FIRST_LEVEL_FILES;
use super::*;

#[test]
fn sizes_are_read() {
    let sizes: Vec<u64> =
        ["500", "64MB", "1.5KiB", "2GB/s", "1tb"].iter().map(|t| parse_bytes(t).unwrap()).collect();
    assert_eq!(sizes, [500, 64 << 20, 1536, 2 << 30, 1 << 40]);
    for wrong in ["", "MB", "1X", "1e400TB", "-1"] {
        assert!(parse_bytes(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn merge_counts_each_key_once() {
    let whole = Span { low: 0, high: 100, entries: 100.0 };
    let half = Span { low: 0, high: 100, entries: 50.0 };
    let right = Span { low: 50, high: 150, entries: 100.0 };
    assert_eq!(merge(&[whole, half]), [whole]);
    assert_eq!(merge(&[half, half])[0].entries.round(), 75.0);
    let parts = merge(&[half, right]);
    let sum: f64 = parts.iter().map(|part| part.entries).sum();
    assert_eq!((parts.len(), sum.round()), (3, 125.0));
    assert_eq!(distinct(1e9, 1000.0).round(), 1000.0);
    assert_eq!(distinct(10.0, 1e12).round(), 10.0);
}

#[test]
fn spans_are_split_at_edges_inside_of_them() {
    let span = |low: u64, high: u64, entries: f64| Span { low, high, entries };
    let spans = [span(10, 20, 5.0), span(20, 30, 10.0)];
    assert_eq!(split(&spans, &[]), spans);
    assert_eq!(split(&spans, &[0, 10, 20, 30, 40]), spans);
    assert_eq!(
        split(&spans, &[12, 12, 28]),
        [span(10, 12, 1.0), span(12, 20, 4.0), span(20, 28, 8.0), span(28, 30, 2.0)]
    );
}

fn plan(text: &str, size: u64, written: u64) -> Forecast {
    let mut family = FamilyOptions::default();
    family.update(text).unwrap();
    predict(&workload(size, written), &DbOptions::default(), &family, &Default::default()).unwrap()
}

fn workload(size: u64, written: u64) -> Workload {
    Workload {
        size_bytes: size,
        entry_bytes: 116,
        written_bytes: written,
        write_rate: 20 << 20,
        job_rate: 100 << 20,
        compression: 1.0,
    }
}

/// Runs of `db_bench` that `docs/inspect.md` describes: the size in GiB, the rate of the writer and of the jobs in MiB per second, the
/// style, and the measured write amplification, space amplification at the end, and mean of the space amplification, if it was measured.
const MEASURED: [(u64, u64, u64, &str, f64, f64, Option<f64>); 5] = [
    (1, 12, 100, "Level", 3.07, 1.27, None),
    (1, 12, 100, "Universal", 2.84, 1.33, Some(1.36)),
    (5, 6, 100, "Level", 6.08, 1.42, None),
    (5, 6, 100, "Universal", 5.60, 1.45, Some(1.33)),
    (5, 14, 35, "Level", 3.96, 1.08, None),
];

#[test]
fn predictions_are_within_a_tenth_of_measured_runs() {
    for (gib, write_rate, job_rate, style, write, space, mean) in MEASURED {
        let mut family = FamilyOptions::default();
        let text = "compression=kNoCompression;level_compaction_dynamic_level_bytes=false;compaction_style";
        family.update(&format!("{text}=kCompactionStyle{style}")).unwrap();
        let workload = Workload {
            size_bytes: gib << 30,
            entry_bytes: 1024,
            written_bytes: gib << 31,
            write_rate: write_rate << 20,
            job_rate: job_rate << 20,
            compression: 1.0,
        };
        let found = predict(&workload, &DbOptions::default(), &family, &Default::default()).unwrap();
        let most = found.samples.iter().map(|sample| sample.space_amplification).fold(1.0, f64::max);
        assert!((1.0..most).contains(&found.space_amplification_mean), "{}", found.space_amplification_mean);
        let mean = mean.map(|mean| (found.space_amplification_mean, mean));
        let ends = [(found.write_amplification, write), (found.space_amplification, space)];
        for (predicted, measured) in ends.into_iter().chain(mean) {
            let difference = (predicted / measured - 1.0).abs();
            assert!(difference < 0.1, "{gib} GiB, {style}: {predicted:.2} predicted, {measured} measured");
        }
    }
}

const SMALL: &str =
    "write_buffer_size=4194304;target_file_size_base=4194304;max_bytes_for_level_base=16777216";

#[test]
fn more_levels_write_more_and_universal_writes_less() {
    let small = plan(SMALL, 64 << 20, 128 << 20);
    let large = plan(SMALL, 1 << 30, 2 << 30);
    let universal = plan(&format!("{SMALL};compaction_style=kCompactionStyleUniversal"), 1 << 30, 2 << 30);
    assert!(small.notes.is_empty() && large.notes.is_empty(), "{:?} {:?}", small.notes, large.notes);
    assert!(large.write_amplification > small.write_amplification, "{large:?}");
    assert!(universal.write_amplification < large.write_amplification, "{universal:?}");
    // Leveled compaction keeps the space below a third more than the data.
    assert!((1.0..1.35).contains(&large.space_amplification), "{}", large.space_amplification);
    let bytes: u64 = large.levels.iter().map(|(_, _, bytes)| bytes).sum();
    assert!(bytes > (1 << 30) * 8 / 10, "{:?}", large.levels);
}

#[test]
fn slow_jobs_delay_or_stop_writers() {
    let mut family = FamilyOptions::default();
    family.update(SMALL).unwrap();
    let mut workload = Workload {
        size_bytes: 512 << 20,
        entry_bytes: 116,
        written_bytes: 512 << 20,
        write_rate: 50 << 20,
        job_rate: 1000 << 20,
        compression: 1.0,
    };
    let fast = predict(&workload, &DbOptions::default(), &family, &Default::default()).unwrap();
    workload.job_rate = 20 << 20;
    let slow = predict(&workload, &DbOptions::default(), &family, &Default::default()).unwrap();
    let stalled = |forecast: &Forecast| forecast.delayed_seconds + forecast.stopped_seconds;
    assert!(
        stalled(&slow) > 1.0 && stalled(&slow) > 4.0 * stalled(&fast),
        "{} {}",
        stalled(&slow),
        stalled(&fast)
    );
    assert!(slow.seconds > fast.seconds);
}

#[test]
fn options_that_stop_the_database_are_named() {
    let stuck = plan(
        "compaction_style=kCompactionStyleNone;level0_stop_writes_trigger=4;level0_slowdown_writes_trigger=4;write_buffer_size=1048576",
        1 << 30,
        1 << 30,
    );
    assert!(stuck.notes.iter().any(|note| note.contains("writers are stopped")), "{stuck:?}");
}

#[test]
fn empty_workloads_are_refused() {
    let workload = Workload {
        size_bytes: 0,
        entry_bytes: 100,
        written_bytes: 1,
        write_rate: 1,
        job_rate: 1,
        compression: 1.0,
    };
    assert!(
        predict(&workload, &DbOptions::default(), &FamilyOptions::default(), &Default::default()).is_err()
    );
}

#[test]
fn compression_options_and_subcompactions_act_and_blobs_are_refused() {
    let of = |text: &str, compression: f64| {
        let mut family = FamilyOptions::default();
        family.update(&format!("{SMALL};{text}")).unwrap();
        let workload = Workload {
            size_bytes: 256 << 20,
            entry_bytes: 116,
            written_bytes: 512 << 20,
            write_rate: 200 << 20,
            job_rate: 20 << 20,
            compression,
        };
        (workload, family)
    };
    let predicted = |text: &str, compression: f64| {
        let (workload, family) = of(text, compression);
        predict(&workload, &DbOptions::default(), &family, &Default::default()).unwrap()
    };
    let flushed = |forecast: &Forecast| forecast.flushed_bytes as f64;
    let (plain, half) =
        (predicted("compression=kNoCompression", 0.5), predicted("compression=kLZ4Compression", 0.5));
    assert!((flushed(&plain) / flushed(&half) - 2.0).abs() < 0.05);
    let last = predicted("compression=kNoCompression;bottommost_compression=kLZ4Compression", 0.5);
    let bytes = |forecast: &Forecast| forecast.levels.iter().map(|(_, _, bytes)| *bytes).sum::<u64>();
    assert!(flushed(&last) == flushed(&plain) && bytes(&last) < bytes(&plain));
    let (workload, family) = of("", 1.0);
    let parallel = DbOptions { max_subcompactions: 4, ..DbOptions::default() };
    let (one, four) = (
        predict(&workload, &DbOptions::default(), &family, &Default::default()).unwrap(),
        predict(&workload, &parallel, &family, &Default::default()).unwrap(),
    );
    assert!(four.seconds < one.seconds, "{} {}", four.seconds, one.seconds);
    let (workload, family) = of("enable_blob_files=true", 1.0);
    let refused = predict(&workload, &DbOptions::default(), &family, &Default::default()).unwrap_err();
    assert!(refused.message().contains("enable_blob_files=true"), "{refused}");
    let (workload, mut family) = of("", 1.0);
    family.level0_slowdown_writes_trigger = 2;
    let mended = predict(&workload, &DbOptions::default(), &family, &Default::default()).unwrap();
    assert!(
        mended.notes.iter().any(|note| note.contains("level0")),
        "the open corrects the triggers: {:?}",
        mended.notes
    );
    family
        .update("compaction_options_universal={max_read_amp=-2};compaction_style=kCompactionStyleUniversal")
        .unwrap();
    assert!(
        predict(&workload, &DbOptions::default(), &family, &Default::default()).is_err(),
        "a database rejects the options"
    );
}

#[test]
fn limits_of_all_memtables_and_ages_act() {
    let workload = Workload {
        size_bytes: 256 << 20,
        entry_bytes: 116,
        written_bytes: 256 << 20,
        write_rate: 1 << 20,
        job_rate: 100 << 20,
        compression: 1.0,
    };
    let of = |db: &DbOptions, text: &str| {
        let mut family = FamilyOptions::default();
        family.update(text).unwrap();
        predict(&workload, db, &family, &Default::default()).unwrap()
    };
    let limited = DbOptions { db_write_buffer_size: 8 << 20, ..DbOptions::default() };
    let plain = DbOptions::default();
    let flushes = (of(&plain, "").flushes, of(&limited, "").flushes);
    assert!(flushes.1 > 7 * flushes.0, "{flushes:?}");
    // A minute after its oldest data, a file moves to the last level. The age counts over compactions.
    let ages = |ttl: &str| {
        of(&plain, &format!("{SMALL};level_compaction_dynamic_level_bytes=false;num_levels=4;ttl={ttl}"))
    };
    let in_last = |forecast: &Forecast| forecast.levels.last().map_or(0, |(_, _, bytes)| *bytes);
    let (kept, aged) = (ages("0"), ages("60"));
    assert!(in_last(&aged) > in_last(&kept), "{:?} {:?}", aged.levels, kept.levels);
    // In the off-peak time, the files are due that would be due before the next off-peak time. The plan takes 256 seconds from midnight
    // on.
    let daily = |hours: &str| {
        let db = DbOptions { daily_offpeak_time_utc: hours.to_string(), ..DbOptions::default() };
        of(&db, "periodic_compaction_seconds=86400;ttl=0").compactions
    };
    assert!(daily("00:02-00:10") > daily("12:00-13:00"));
}

#[test]
fn very_many_small_files_are_planned_as_larger_files() {
    for style in ["", ";compaction_style=kCompactionStyleUniversal"] {
        let sizes = "write_buffer_size=4194304;max_bytes_for_level_base=16777216;max_compaction_bytes=0";
        let of = |target: u64, first_level_files: u64| {
            let mut family = FamilyOptions::default();
            family.update(&format!("{sizes};target_file_size_base={target}{style}")).unwrap();
            let workload = workload(128 << 20, 256 << 20);
            predict_with(&workload, &DbOptions::default(), &family, first_level_files, &Default::default())
                .unwrap()
        };
        let (small, large) = (of(131_072, FIRST_LEVEL_FILES), of(1 << 20, FIRST_LEVEL_FILES));
        assert!(
            small.notes.iter().any(|note| note.contains("times as large as target_file_size_base")),
            "{small:?}"
        );
        assert!(large.notes.is_empty(), "{:?}", large.notes);
        // A simulation of all small files.
        let exact = of(131_072, u64::MAX);
        assert!(exact.notes.is_empty(), "{:?}", exact.notes);
        for (name, a, b) in [
            ("writes", small.write_amplification, exact.write_amplification),
            ("space", small.space_amplification_mean, exact.space_amplification_mean),
            ("reads", small.read_amplification, exact.read_amplification),
        ] {
            assert!((a / b - 1.0).abs() < 0.01, "{style} {name}: {a} {b}");
        }
        let (_, files, bytes) = small.levels[small.levels.len() - 1];
        let mean = bytes as f64 / files as f64;
        assert!((65_536.0..262_144.0).contains(&mean), "{style}: files of {mean} bytes");
    }
}

/// Two runs of `db_bench` of RocksDB 11.8.1 with a rate limiter that `docs/inspect.md` describes.
#[test]
fn jobs_share_the_rate_limiter_as_in_measured_runs() {
    let (mut db, mut family) = (DbOptions::default(), FamilyOptions::default());
    db.update("rate_limiter_bytes_per_sec=94371840").unwrap();
    let sizes = "write_buffer_size=4M;max_bytes_for_level_base=16M;target_file_size_base=4M";
    family
        .update(&format!("compression=kNoCompression;compaction_style=kCompactionStyleUniversal;{sizes}"))
        .unwrap();
    let workload = Workload {
        size_bytes: 1280 << 20,
        entry_bytes: 4096,
        written_bytes: 2560 << 20,
        write_rate: 8 << 20,
        job_rate: 1 << 30,
        compression: 1.0,
    };
    let found = predict(&workload, &db, &family, &Default::default()).unwrap();
    for (predicted, measured) in [
        (found.write_amplification, 8.80),
        (found.space_amplification, 1.31),
        (found.space_amplification_mean, 1.293),
        (found.read_amplification, 6.72),
    ] {
        assert!((predicted / measured - 1.0).abs() < 0.1, "{predicted:.2} predicted, {measured} measured");
    }
    let all = found.disk_bytes_per_second;
    assert!(all < 94_371_840.0, "{all} bytes per second with a limit");
}
