use super::courtesy::Courtesy;
use crate::sync::Mutex;

const MANY_ROWS: usize = 10_000;

fn turn_rows(courtesy: &Courtesy, first: bool) {
    let mut place = courtesy.enter(first);
    (0..MANY_ROWS).for_each(|_| place.row());
}

#[test]
fn a_compaction_lets_a_flush_go_first_where_processors_are_short() {
    let courtesy = Courtesy::new(2);
    let order = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let flush = courtesy.enter(true);
        scope.spawn(|| {
            turn_rows(&courtesy, false);
            order.lock().push("compaction");
        });
        turn_rows(&courtesy, true);
        order.lock().push("flush");
        drop(flush);
    });
    assert_eq!(*order.lock(), ["flush", "compaction"]);
}

#[test]
fn a_compaction_goes_on_beside_a_flush_where_there_are_processors_for_all() {
    let courtesy = Courtesy::new(3);
    let _flush = courtesy.enter(true);
    turn_rows(&courtesy, false);
}

#[test]
fn a_compaction_in_a_hurry_waits_for_nobody() {
    let courtesy = Courtesy::new(1);
    courtesy.set_hurry(true);
    let _flush = courtesy.enter(true);
    turn_rows(&courtesy, false);
}

#[test]
fn compactions_do_not_wait_for_each_other() {
    let courtesy = Courtesy::new(1);
    let _other = courtesy.enter(false);
    turn_rows(&courtesy, false);
}
