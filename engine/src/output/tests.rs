use super::flush_priority::FlushPriority;
use crate::sync::Mutex;

const MANY_ROWS: usize = 10_000;

fn turn_rows(flush_priority: &FlushPriority, first: bool) {
    let mut place = flush_priority.enter(first);
    (0..MANY_ROWS).for_each(|_| place.count_entry());
}

#[test]
fn a_compaction_yields_to_a_flush_on_few_processors() {
    let flush_priority = FlushPriority::new(2);
    let order = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let flush = flush_priority.enter(true);
        scope.spawn(|| {
            turn_rows(&flush_priority, false);
            order.lock().push("compaction");
        });
        turn_rows(&flush_priority, true);
        order.lock().push("flush");
        drop(flush);
    });
    assert_eq!(*order.lock(), ["flush", "compaction"]);
}

#[test]
fn a_compaction_continues_during_a_flush_if_all_jobs_have_processors() {
    let flush_priority = FlushPriority::new(3);
    let _flush = flush_priority.enter(true);
    turn_rows(&flush_priority, false);
}

#[test]
fn an_urgent_compaction_does_not_wait() {
    let flush_priority = FlushPriority::new(1);
    flush_priority.set_hurry(true);
    let _flush = flush_priority.enter(true);
    turn_rows(&flush_priority, false);
}

#[test]
fn compactions_do_not_wait_for_each_other() {
    let flush_priority = FlushPriority::new(1);
    let _other = flush_priority.enter(false);
    turn_rows(&flush_priority, false);
}
