use super::*;

fn options() -> Options {
    Options { max_write_buffer_number: 4, ..Options::default() }
}

fn l0(n: usize) -> Load {
    Load { num_l0_files: n, pending_compaction_bytes: 100, ..Load::default() }
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
        let d = p.decide(&load, &options());
        let got = match d.stall {
            Stall::Normal => "go",
            Stall::Delayed { .. } => "slow",
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
        let Stall::Delayed { rate } = p.decide(&l0(n), &options()).stall else { panic!("{n}") };
        assert!(rate < last || n == 20 && rate == 16 << 20, "{n}: {rate}");
        assert!(rate >= 1 << 20, "{n}: {rate}");
        last = rate;
    }
}

#[test]
fn growing_debt_slows_and_shrinking_debt_speeds_up() {
    let mut p = Pressure::new(1 << 20);
    let at = |pending| Load { pending_compaction_bytes: pending, ..l0(20) };
    p.decide(&at(100), &options());
    p.decide(&at(200), &options());
    let slowed = p.rate();
    assert!(slowed < 1 << 20);
    p.decide(&at(100), &options());
    assert!(p.rate() > slowed);
    for _ in 0..100 {
        p.decide(&at(200), &options());
    }
    assert_eq!(p.rate(), MIN_RATE);
    // After the stop, the rate recovers step by step.
    p.decide(&l0(0), &options());
    assert!(p.rate() > MIN_RATE);
}

#[test]
fn without_automatic_compactions_only_memtables_stop() {
    let off = Options { disable_auto_compactions: true, ..options() };
    assert_eq!(Pressure::new(0).decide(&l0(100), &off).stall, Stall::Normal);
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
        level0_slowdown_writes_trigger: 0,
        level0_stop_writes_trigger: 10,
        soft_pending_compaction_bytes_limit: 0,
        hard_pending_compaction_bytes_limit: 0,
        ..options()
    };
    assert_eq!(near(&bytes, &stop_only), 50);
}

#[test]
fn only_small_memtables_over_a_full_level_0_wait_for_a_second_memtable() {
    let small = Options { max_write_buffer_number: 2, write_buffer_size: 1 << 20, ..Options::default() };
    assert_eq!(small.level0_file_num_compaction_trigger, 4);
    assert_eq!([7, 8, 40].map(|files| memtables_to_merge(&l0(files), &small)), [1, 2, 2]);
    let others = [
        Options { write_buffer_size: 4 << 20, ..small.clone() },
        Options { max_write_buffer_number: 1, ..small.clone() },
        Options { style: Style::Universal, ..small.clone() },
        Options { disable_auto_compactions: true, ..small.clone() },
    ];
    assert_eq!(others.each_ref().map(|other| memtables_to_merge(&l0(8), other)), [1; 4]);
    let three = Options { max_write_buffer_number: 4, min_write_buffer_number_to_merge: 3, ..small };
    assert_eq!(memtables_to_merge(&l0(8), &three), 3);
}
