use super::*;
use crate::pick::Triggers;
use crate::pick::WriteBuffers;

fn options() -> Options {
    Options {
        buffers: WriteBuffers { max_write_buffer_number: 4, ..WriteBuffers::default() },
        ..Options::default()
    }
}

fn l0(n: usize) -> Load {
    Load { num_l0_files: n, l0_bytes: (n as u64) << 26, pending_compaction_bytes: 100, ..Load::default() }
}

#[test]
fn triggers_are_rocksdbs() {
    let mut p = Pressure::new(0);
    let cases = [
        (Load { num_unflushed_memtables: 4, ..l0(0) }, Cause::MemtableLimit, "stop"),
        (Load { num_unflushed_memtables: 3, ..l0(0) }, Cause::MemtableLimit, "slow"),
        (l0(36), Cause::L0FileCountLimit, "stop"),
        (l0(20), Cause::L0FileCountLimit, "slow"),
        (l0(19), Cause::None, "go"),
        (Load { pending_compaction_bytes: 256 << 30, ..l0(0) }, Cause::PendingCompactionBytes, "stop"),
        (Load { pending_compaction_bytes: 64 << 30, ..l0(0) }, Cause::PendingCompactionBytes, "slow"),
    ];
    for (load, cause, what) in cases {
        let d = p.decide(&load, &options(), 0);
        let got = match d.stall {
            Stall::Normal => "go",
            Stall::Delayed { .. } => "slow",
            Stall::Paced { .. } => "pace",
            Stall::Stopped => "stop",
        };
        assert_eq!((d.cause, got), (cause, what), "{load:?}");
    }
}

#[test]
fn the_ceiling_falls_towards_the_stop_and_never_reaches_zero() {
    let mut last = u64::MAX;
    for n in 20..36 {
        let mut p = Pressure::new(16 << 20);
        let Stall::Delayed { rate } = p.decide(&l0(n), &options(), 0).stall else { panic!("{n}") };
        assert!(rate < last || n == 20 && rate == 16 << 20, "{n}: {rate}");
        assert!(rate >= 1 << 20, "{n}: {rate}");
        last = rate;
    }
}

#[test]
fn growing_debt_slows_and_shrinking_debt_speeds_up() {
    let mut p = Pressure::new(1 << 20);
    let at = |pending| Load { pending_compaction_bytes: pending, ..l0(20) };
    p.decide(&at(100), &options(), 0);
    p.decide(&at(200), &options(), 0);
    let slowed = p.rate();
    assert!(slowed < 1 << 20);
    p.decide(&at(100), &options(), 0);
    assert!(p.rate() > slowed);
    for _ in 0..100 {
        p.decide(&at(200), &options(), 0);
    }
    assert_eq!(p.rate(), MIN_RATE);
    // After the stop, the rate recovers step by step.
    p.decide(&l0(0), &options(), 0);
    assert!(p.rate() > MIN_RATE);
}

#[test]
fn without_automatic_compactions_only_memtables_stop() {
    let off = Options { disable_auto_compactions: true, ..options() };
    assert_eq!(Pressure::new(0).decide(&l0(100), &off, 0).stall, Stall::Normal);
}

#[test]
fn proximity_is_the_larger_part_of_a_trigger() {
    let near = |load: &Load, options: &Options| proximity_percent(load, options);
    assert_eq!(near(&l0(0), &options()), 0);
    assert_eq!(near(&l0(5), &options()), 25);
    assert_eq!(near(&l0(30), &options()), 150);
    let bytes = Load { pending_compaction_bytes: 32 << 30, ..l0(5) };
    assert_eq!(near(&bytes, &options()), 50);
    let stop_only = Options {
        triggers: Triggers {
            level0_slowdown_writes_trigger: 0,
            level0_stop_writes_trigger: 10,
            soft_pending_compaction_bytes_limit: 0,
            hard_pending_compaction_bytes_limit: 0,
            ..options().triggers
        },
        ..options()
    };
    assert_eq!(near(&bytes, &stop_only), 50);
}

#[test]
fn only_small_memtables_over_a_full_level_0_wait_for_a_second_memtable() {
    let small = Options {
        buffers: WriteBuffers {
            max_write_buffer_number: 2,
            write_buffer_size: 1 << 20,
            ..WriteBuffers::default()
        },
        ..Options::default()
    };
    assert_eq!(small.triggers.level0_file_num_compaction_trigger, 4);
    assert_eq!([7, 8, 40].map(|files| memtables_to_merge(&l0(files), &small)), [1, 2, 2]);
    let others = [
        Options {
            buffers: WriteBuffers { write_buffer_size: 4 << 20, ..small.buffers.clone() },
            ..small.clone()
        },
        Options {
            buffers: WriteBuffers { max_write_buffer_number: 1, ..small.buffers.clone() },
            ..small.clone()
        },
        Options { style: Style::Universal, ..small.clone() },
        Options { disable_auto_compactions: true, ..small.clone() },
    ];
    assert_eq!(others.each_ref().map(|other| memtables_to_merge(&l0(8), other)), [1; 4]);
    let three = Options {
        buffers: WriteBuffers {
            max_write_buffer_number: 4,
            min_write_buffer_number_to_merge: 3,
            ..small.buffers.clone()
        },
        ..small
    };
    assert_eq!(memtables_to_merge(&l0(8), &three), 3);
}

/// Returns the rate of delayed writers.
fn rate(decision: Decision) -> u64 {
    let Stall::Delayed { rate } = decision.stall else { panic!("{decision:?}") };
    rate
}

/// Level 0 reaches its trigger at 10 s, and a compaction of 10 SST files ends at 15 s: two SST files of 64 MiB each second.
fn drained(delayed_write_rate: u64, options: &Options) -> Pressure {
    let mut p = Pressure::new(delayed_write_rate);
    for (files, seconds) in [(0, 1), (4, 10), (18, 14), (8, 15)] {
        p.decide(&l0(files), options, seconds * 1_000_000);
    }
    p
}

#[test]
fn writers_slow_down_to_the_speed_of_the_compactions_of_level_0() {
    const MIB: u64 = 1 << 20;
    let at = |n| rate(drained(0, &options()).decide(&l0(n), &options(), 16_000_000)) / MIB;
    assert_eq!((at(20), at(28), at(35)), (128, 85, 19));
    // The mean of two measurements: six more SST files went in one second.
    let mut p = drained(0, &options());
    p.decide(&l0(14), &options(), 15_500_000);
    p.decide(&l0(8), &options(), 16_000_000);
    assert_eq!(rate(p.decide(&l0(20), &options(), 17_000_000)) / MIB, 256);
}

/// Returns the state of writers when level 0 of [`drained`] has 20 SST files, and then these numbers of SST files.
fn states(delayed_write_rate: u64, options: &Options, files: &[usize]) -> Vec<Stall> {
    let mut p = drained(delayed_write_rate, options);
    p.decide(&l0(20), options, 16_000_000);
    // The bytes of level 0 do not change, so no compaction ends.
    let at = |n| Load { num_l0_files: n, ..l0(20) };
    files.iter().map(|n| p.decide(&at(*n), options, 17_000_000).stall).collect()
}

#[test]
fn writers_stay_near_the_speed_of_the_compactions_until_level_0_needs_none() {
    let paced = |mib: u64| Stall::Paced { rate: mib << 20 };
    assert_eq!(
        states(0, &options(), &[19, 12, 4, 12, 20, 12, 3, 12]),
        [
            paced(132),
            paced(160),
            paced(192),
            paced(160),
            Stall::Delayed { rate: 128 << 20 },
            paced(160),
            Stall::Normal,
            Stall::Normal,
        ]
    );
    // Without a delay before it, there is no pace.
    assert_eq!(drained(0, &options()).decide(&l0(19), &options(), 16_000_000).stall, Stall::Normal);
}

/// Compactions that waited, or a slow disk, have a slow drain. Without the delay, writers are not slower than with the delay.
#[test]
fn a_drain_below_the_rate_of_delayed_writers_gives_no_pace() {
    let mut p = Pressure::new(0);
    for (files, seconds) in [(0, 1), (4, 10), (18, 200), (8, 1000)] {
        p.decide(&l0(files), &options(), seconds * 1_000_000);
    }
    let slow = rate(p.decide(&l0(20), &options(), 1_001_000_000));
    assert_eq!(slow, DEFAULT_RATE);
    assert_eq!(
        p.decide(&Load { num_l0_files: 12, ..l0(20) }, &options(), 1_002_000_000).stall,
        Stall::Normal
    );
}

#[test]
fn only_writers_that_follow_level_0_are_paced() {
    assert_eq!(states(32 << 20, &options(), &[12]), [Stall::Normal]);
    let universal = Options { style: Style::Universal, ..options() };
    assert_eq!(states(0, &universal, &[12]), [Stall::Normal]);
    let mut p = drained(0, &options());
    p.decide(&l0(20), &options(), 16_000_000);
    let off = Options { disable_auto_compactions: true, ..options() };
    assert_eq!(p.decide(&l0(12), &off, 17_000_000).stall, Stall::Normal);
    // The same SST files at a thousandth of the size fill level 0 within milliseconds.
    let small = |n: usize| Load { l0_bytes: (n as u64) << 16, ..l0(n) };
    let mut p = drained(0, &options());
    p.decide(&l0(20), &options(), 16_000_000);
    assert_eq!(p.decide(&small(12), &options(), 17_000_000).stall, Stall::Normal);
    // The decision for paced writers has no cause.
    let mut p = drained(0, &options());
    p.decide(&l0(20), &options(), 18_000_000);
    let decision = p.decide(&l0(16), &options(), 19_000_000);
    assert!(matches!(decision.stall, Stall::Paced { .. }), "{decision:?}");
    assert_eq!(decision.cause, Cause::None);
}

#[test]
fn a_rate_that_the_user_chose_is_the_rate_of_delayed_writers() {
    for chosen in [1 << 20, 8 << 20, 32 << 20] {
        assert_eq!(rate(drained(chosen, &options()).decide(&l0(20), &options(), 16_000_000)), chosen);
    }
}

#[test]
fn only_level_0_of_leveled_compaction_has_a_speed_of_its_own() {
    let universal = Options { style: Style::Universal, ..options() };
    assert_eq!(rate(drained(0, &universal).decide(&l0(20), &universal, 16_000_000)), DEFAULT_RATE);
    let memtables = Load { num_unflushed_memtables: 3, ..l0(0) };
    let pending = Load { pending_compaction_bytes: 64 << 30, ..l0(20) };
    for load in [memtables, pending] {
        assert!(
            rate(drained(0, &options()).decide(&load, &options(), 16_000_000)) <= DEFAULT_RATE,
            "{load:?}"
        );
    }
}

#[test]
fn a_compaction_within_level_0_does_not_empty_it() {
    // Nine of 18 SST files become one of the same size, a second before a compaction of ten SST files ends.
    let mut p = Pressure::new(0);
    for (files, sizes, seconds) in [(0, 0, 1), (4, 4, 10), (18, 18, 13), (10, 18, 14), (4, 8, 15)] {
        p.decide(&Load { l0_bytes: sizes << 26, ..l0(files) }, &options(), seconds * 1_000_000);
    }
    assert_eq!(rate(p.decide(&l0(20), &options(), 16_000_000)), 128 << 20);
}

#[test]
fn the_speed_of_level_0_is_unknown_without_a_measured_time() {
    let mut p = Pressure::new(0);
    for files in [4, 18, 8, 20] {
        p.decide(&l0(files), &options(), 5);
    }
    assert!(rate(p.decide(&l0(20), &options(), 5)) <= DEFAULT_RATE);
    // An hour without a compaction is no time of a compaction.
    let mut p = Pressure::new(0);
    for (files, seconds) in [(0, 0), (3, 1), (4, 3601), (20, 3605), (10, 3606)] {
        p.decide(&l0(files), &options(), seconds * 1_000_000);
    }
    assert_eq!(rate(p.decide(&l0(20), &options(), 3_607_000_000)), 128 << 20);
}
