use super::*;

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
