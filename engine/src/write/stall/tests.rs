use base::SequenceNumber;
use env::executor::{Pool, Tag};

use super::*;
use crate::sync::{Arc, Patience};

const RATE: u64 = 1 << 20;
const SECOND_US: u64 = 1_000_000;

fn delayed() -> Decision {
    Decision {
        stall: Stall::Delayed { rate: RATE },
        cause: Cause::L0FileCountLimit,
        speed_up_compaction: true,
    }
}

/// A delay that begins gives no credit for the time without a delay before it.
#[test]
fn a_delay_after_an_hour_at_full_speed_holds_the_rate_at_once() {
    let env = Env::memory(1);
    let controller = Controller::default();
    let mut waits = Vec::new();
    for _ in 0..2 {
        controller.set(FamilyId::DEFAULT, delayed(), None);
        waits.push(controller.delay_of(&env, RATE));
        controller.set(FamilyId::DEFAULT, Decision::NORMAL, None);
        env.clock.sleep_micros(3600 * SECOND_US);
    }
    assert_eq!(waits, [SECOND_US; 2]);
}

/// A new decision during a delay changes the rate, and keeps the wait that earlier writes have caused.
#[test]
fn a_new_rate_during_a_delay_keeps_the_wait_of_earlier_writes() {
    let env = Env::memory(1);
    let controller = Controller::default();
    controller.set(FamilyId::DEFAULT, delayed(), None);
    controller.delay_of(&env, RATE / 2);
    let slower = Decision { stall: Stall::Delayed { rate: RATE / 2 }, ..delayed() };
    controller.set(FamilyId::DEFAULT, slower, None);
    let wait = controller.delay_of(&env, RATE / 8);
    assert!(wait > SECOND_US * 7 / 10, "{wait} microseconds");
}

/// RocksDB sets this rate in `ColumnFamilyData::RecalculateWriteStallConditions`.
#[test]
fn writes_with_low_pri_get_a_quarter_of_the_rate_of_the_last_delay() {
    let controller = Controller::default();
    assert_eq!(controller.low_pri_rate(), LOW_PRI_RATE);
    controller.set(FamilyId::DEFAULT, delayed(), None);
    assert_eq!(controller.low_pri_rate(), LOW_PRI_RATE);
    controller.set(FamilyId::DEFAULT, Decision::NORMAL, None);
    assert_eq!(controller.low_pri_rate(), RATE / 4);
}

/// Returns a delay whose rate follows level 0.
fn fast() -> Decision {
    Decision { stall: Stall::Delayed { rate: 64 * RATE }, ..delayed() }
}

fn paced() -> Decision {
    Decision { stall: Stall::Paced { rate: RATE }, ..Decision::NORMAL }
}

/// Admits a group, and returns the length of its pause in milliseconds.
fn pause_ms(controller: &Controller, env: &Env, bytes: u64) -> u64 {
    controller.keep_pace(env, bytes, &|_, _| None) / 1000
}

#[test]
fn paced_writers_write_at_the_pace_in_few_pauses() {
    let env = Env::memory(1);
    let controller = Controller::default();
    controller.set(FamilyId::DEFAULT, paced(), None);
    let start = env.clock.now_nanos();
    let mut pauses = 0;
    for _ in 0..1024 {
        pauses += u64::from(pause_ms(&controller, &env, 1 << 10) > 0);
    }
    let passed_ms = (env.clock.now_nanos() - start) / 1_000_000;
    assert!((950..=1050).contains(&passed_ms), "{passed_ms} ms for a second of the pace");
    assert!(pauses <= 400, "{pauses} pauses in a second");
    // The delay of this group would be a second. The next group does not wait for the rest.
    assert!((50..=52).contains(&pause_ms(&controller, &env, RATE)));
    assert!(pause_ms(&controller, &env, 1) <= 3);
}

#[test]
fn a_group_above_the_saved_credit_passes_when_its_time_is_over() {
    for decision in [delayed(), fast(), paced()] {
        let env = Env::memory(1);
        let controller = Controller::default();
        controller.set(FamilyId::DEFAULT, decision, None);
        let (Stall::Delayed { rate } | Stall::Paced { rate }) = decision.stall else { unreachable!() };
        assert!(controller.delay_of(&env, rate) > 0);
        env.clock.sleep_micros(3 * SECOND_US);
        assert_eq!(controller.delay_of(&env, rate), 0, "{decision:?}");
    }
}

/// Writers whose rate follows level 0, or that are paced, cannot save the credit of seconds for many small writes. Other writers can.
#[test]
fn the_credit_of_fast_writers_is_that_of_a_tenth_of_a_second() {
    for (decision, saves) in [(delayed(), true), (fast(), false), (paced(), false)] {
        let env = Env::memory(1);
        let controller = Controller::default();
        controller.set(FamilyId::DEFAULT, decision, None);
        let (Stall::Delayed { rate } | Stall::Paced { rate }) = decision.stall else { unreachable!() };
        controller.delay_of(&env, 1);
        env.clock.sleep_micros(3 * SECOND_US);
        let passed = (0..64).take_while(|_| controller.delay_of(&env, rate / 32) == 0).count();
        assert_eq!(passed == 64, saves, "{passed} writes at once, {decision:?}");
    }
}

#[test]
fn a_paced_leader_runs_no_job() {
    let env = Env::memory(1);
    let controller = Controller::default();
    controller.set(FamilyId::DEFAULT, paced(), None);
    let ran = Arc::new(AtomicBool::new(false));
    let job = ran.clone();
    env.executor.spawn(Pool::Low, Tag::fresh(), Box::new(move || job.store(true, Ordering::Relaxed)));
    assert!(pause_ms(&controller, &env, RATE) > 0);
    assert!(!ran.load(Ordering::Relaxed));
    while env.executor.help() {}
    assert!(ran.load(Ordering::Relaxed));
}

#[test]
fn a_delay_after_a_pace_begins_without_credit() {
    let env = Env::memory(1);
    let controller = Controller::default();
    controller.set(FamilyId::DEFAULT, paced(), None);
    controller.delay_of(&env, 1);
    env.clock.sleep_micros(SECOND_US);
    assert_eq!(controller.delay_of(&env, 1), 0);
    controller.set(FamilyId::DEFAULT, delayed(), None);
    assert!(controller.delay_of(&env, RATE / 20) > 0);
}

#[test]
fn a_pace_is_no_stall() {
    let controller = Controller::default();
    controller.set(FamilyId::DEFAULT, paced(), None);
    // A write with `no_slowdown` takes no part in a pace. A delay would reject it.
    let env = Env::memory(1);
    let queue = Queue::new(1 << 20, SequenceNumber::ZERO, Arc::new(Patience::new(0, 0)));
    let mut leader_state = LeaderState::default();
    let mut admit = || controller.admit(&env, &queue, &mut leader_state, RATE, true, &|_, _| None);
    assert_eq!(admit().unwrap(), 0);
    controller.set(FamilyId::DEFAULT, delayed(), None);
    assert!(admit().is_err());
    controller.set(FamilyId::DEFAULT, paced(), None);
    assert_eq!(controller.delayed_rate(), 0);
    assert!(!controller.is_stopped() && !controller.needs_speedup() && !controller.waits_for_compaction());
    let other = Controller::default();
    other.set(FamilyId::DEFAULT, paced(), None);
    other.set(FamilyId::DEFAULT, Decision::NORMAL, None);
    assert_eq!(other.low_pri_rate(), LOW_PRI_RATE);
    // With a delayed column family, the lower rate holds.
    controller.set(FamilyId::DEFAULT, paced(), None);
    let slower = Decision { stall: Stall::Delayed { rate: RATE / 2 }, ..delayed() };
    controller.set(FamilyId::new(1), slower, None);
    assert_eq!(controller.delayed_rate(), RATE / 2);
}
