use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::clock::{Clock, ManualClock};

fn both() -> [Arc<dyn Executor>; 2] {
    [Arc::new(Threads::new()), Arc::new(Inline::new(1, Arc::new(ManualClock::new(0))))]
}

fn counting(count: &Arc<AtomicUsize>) -> Job {
    let count = count.clone();
    Box::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    })
}

#[test]
fn every_job_runs_once() {
    for ex in both() {
        for pool in Pool::ALL {
            ex.set_threads(pool, 3);
        }
        let count = Arc::new(AtomicUsize::new(0));
        for i in 0..400 {
            ex.spawn(Pool::ALL[i % 4], Tag(0), counting(&count));
        }
        ex.wait_for_all();
        assert_eq!(count.load(Ordering::SeqCst), 400);
    }
}

#[test]
fn jobs_may_queue_jobs_in_other_pools() {
    for ex in both() {
        let count = Arc::new(AtomicUsize::new(0));
        let (inner, job) = (ex.clone(), counting(&count));
        ex.spawn(Pool::Low, Tag(0), Box::new(move || inner.spawn(Pool::High, Tag(0), job)));
        ex.wait_for_all();
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn a_pool_without_threads_holds_its_jobs() {
    for ex in both() {
        ex.set_threads(Pool::Bottom, 0);
        let count = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            ex.spawn(Pool::Bottom, Tag(7), counting(&count));
        }
        ex.spawn(Pool::Bottom, Tag(8), counting(&count));
        ex.wait_for_all();
        assert_eq!((ex.queue_len(Pool::Bottom), count.load(Ordering::SeqCst)), (4, 0));
        assert_eq!(ex.unschedule(Pool::Bottom, Tag(7)), 3);
        assert_eq!(ex.unschedule(Pool::Bottom, Tag(7)), 0);
        ex.set_threads(Pool::Bottom, 1);
        ex.wait_for_all();
        assert_eq!((ex.queue_len(Pool::Bottom), count.load(Ordering::SeqCst)), (0, 1));
    }
}

#[test]
fn pools_grow_and_shrink() {
    for ex in both() {
        ex.grow_threads(Pool::User, 4);
        ex.grow_threads(Pool::User, 2);
        assert_eq!(ex.threads(Pool::User), 4);
        let count = Arc::new(AtomicUsize::new(0));
        for round in [1, 4, 2, 0, 3] {
            ex.set_threads(Pool::User, round);
            for _ in 0..20 {
                ex.spawn(Pool::User, Tag(0), counting(&count));
            }
        }
        ex.wait_for_all();
        assert_eq!(count.load(Ordering::SeqCst), 100);
    }
}

#[test]
fn a_panic_is_caught_and_reported() {
    for ex in both() {
        ex.spawn(Pool::Low, Tag(0), Box::new(|| std::panic::resume_unwind(Box::new("gone wrong"))));
        let count = Arc::new(AtomicUsize::new(0));
        ex.spawn(Pool::Low, Tag(0), counting(&count));
        ex.wait_for_all();
        assert_eq!(ex.panics(), (1, Some("gone wrong".to_owned())));
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn run_all_borrows_and_waits() {
    for ex in both() {
        let count = AtomicUsize::new(0);
        let add = || {
            count.fetch_add(1, Ordering::SeqCst);
        };
        let jobs = (0..5).map(|_| Box::new(add) as Box<dyn FnOnce() + Send>).collect();
        ex.run_all(jobs);
        assert_eq!(count.load(Ordering::SeqCst), 5);
    }
}

#[test]
fn one_seed_gives_one_order() {
    let run = |seed| {
        let ex = Inline::new(seed, Arc::new(ManualClock::new(0)));
        let order = Arc::new(Mutex::new(Vec::new()));
        for i in 0..40 {
            let order = order.clone();
            ex.spawn(Pool::ALL[i % 4], Tag(0), Box::new(move || order.lock().push(i)));
        }
        ex.wait_for_all();
        let order = order.lock().clone();
        for pool in 0..4 {
            assert!(order.iter().filter(|i| *i % 4 == pool).is_sorted(), "within a pool");
        }
        order
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_delayed_job_waits_for_the_clock() {
    let clock = Arc::new(ManualClock::new(0));
    let ex = Inline::new(1, clock.clone());
    let count = Arc::new(AtomicUsize::new(0));
    ex.spawn_after(100, Pool::Low, Tag(1), counting(&count));
    ex.spawn_after(200, Pool::Low, Tag(2), counting(&count));
    ex.spawn_after(300, Pool::Low, Tag(1), counting(&count));
    assert!(!ex.help());
    clock.advance(250);
    assert_eq!(ex.unschedule(Pool::Low, Tag(2)), 1);
    assert!(ex.help());
    assert!(!ex.help());
    clock.advance(100);
    ex.abandon();
    assert!(!ex.help());
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn time_passes_to_the_next_delayed_job() {
    let clock = Arc::new(ManualClock::new(0));
    let ex = Arc::new(Inline::new(1, clock.clone()));
    let count = Arc::new(AtomicUsize::new(0));
    assert!(!ex.pass_time(), "nothing to wait for");
    ex.spawn_after(300, Pool::Low, Tag(1), counting(&count));
    ex.spawn_after(100, Pool::Low, Tag(1), counting(&count));
    assert!(!ex.help() && ex.pass_time() && ex.help() && !ex.help());
    assert_eq!((Clock::now_nanos(&*clock), count.load(Ordering::SeqCst)), (100_000, 1));
    let inner = ex.clone();
    ex.spawn(
        Pool::High,
        Tag(1),
        Box::new(move || assert!(!inner.pass_time(), "a job runs: it is what to wait for")),
    );
    assert!(ex.help());
    assert_eq!(ex.panics().0, 0);
}

#[test]
fn threads_run_delayed_jobs_and_drop_cancels_the_rest() {
    let ex = Threads::new();
    let (send, receive) = std::sync::mpsc::channel();
    let late = send.clone();
    ex.spawn_after(3_600_000_000, Pool::Low, Tag(0), Box::new(move || late.send(2).unwrap()));
    ex.spawn_after(1000, Pool::Low, Tag(0), Box::new(move || send.send(1).unwrap()));
    assert_eq!(receive.recv(), Ok(1));
    drop(ex);
    assert!(receive.recv().is_err(), "the late job is dropped with its sender");
}

#[test]
fn waits_without_work_are_counted() {
    let inline = Inline::new(1, Arc::new(ManualClock::new(0)));
    assert!(!inline.pass_time(), "nobody asked");
    let told = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let tells = told.clone();
    inline.on_starved(3, move |times| tells.lock().push(times));
    assert!((0..7).all(|_| inline.pass_time()));
    assert_eq!(*told.lock(), [1, 2]);
    inline.fed();
    assert!(inline.pass_time() && inline.pass_time());
    assert_eq!(told.lock().len(), 2);
}

#[test]
fn idle_threads_part_and_the_next_job_starts_others() {
    let ex = Threads::new();
    let here = || {
        let (send, receive) = std::sync::mpsc::channel();
        let late = send.clone();
        ex.spawn(Pool::Low, Tag(0), Box::new(move || send.send(std::thread::current().id()).unwrap()));
        ex.spawn_after(
            1,
            Pool::High,
            Tag(0),
            Box::new(move || late.send(std::thread::current().id()).unwrap()),
        );
        receive.iter().collect::<std::collections::HashSet<_>>()
    };
    let first = here();
    ex.wait_for_all();
    ex.part();
    ex.part();
    let second = here();
    assert_eq!((first.len(), second.len()), (2, 2));
    assert!(first.is_disjoint(&second));
    assert_eq!((ex.threads(Pool::Low), ex.threads(Pool::High)), (1, 1));
}

#[test]
fn a_pool_with_work_keeps_its_threads_when_others_part() {
    let ex = Arc::new(Threads::new());
    ex.set_threads(Pool::Bottom, 0);
    let (send, receive) = std::sync::mpsc::channel();
    let held = send.clone();
    ex.spawn(Pool::Bottom, Tag(0), Box::new(move || held.send("held").unwrap()));
    let inner = ex.clone();
    // The job blocks its own pool. No thread that the job waits for also waits for the job.
    ex.spawn(
        Pool::Low,
        Tag(0),
        Box::new(move || {
            inner.part();
            send.send("parted").unwrap();
        }),
    );
    assert_eq!(receive.recv(), Ok("parted"));
    ex.set_threads(Pool::Bottom, 1);
    assert_eq!(receive.recv(), Ok("held"));
    assert_eq!(ex.panics().0, 0);
}

/// Makes an executor, a flag, and the count of thread starts. While the flag is set, the system rejects each start of
/// a thread.
fn refusing() -> (Arc<Threads>, Arc<AtomicBool>, Arc<AtomicUsize>) {
    let (refused, starts) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (flag, count) = (refused.clone(), starts.clone());
    let threads = Threads::asking(Arc::new(move || {
        if flag.load(Ordering::SeqCst) {
            return Err(std::io::Error::from_raw_os_error(libc::EAGAIN));
        }
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }));
    (Arc::new(threads), refused, starts)
}

#[test]
fn a_job_without_a_thread_starts_once_a_thread_can_be_started() {
    let (ex, refused, _) = refusing();
    let count = Arc::new(AtomicUsize::new(0));
    ex.spawn(Pool::High, Tag(0), counting(&count));
    assert!(ex.start_failure(Pool::High).unwrap().to_string().contains("pool high"));
    assert!(ex.start_failure(Pool::Low).is_none());
    refused.store(false, Ordering::SeqCst);
    assert!(!ex.help());
    ex.wait_for_all();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(ex.start_failure(Pool::High).is_none());
}

#[test]
fn the_timer_thread_starts_a_refused_thread_without_another_job() {
    let (ex, refused, _) = refusing();
    refused.store(false, Ordering::SeqCst);
    // The timer thread exists before the faults begin.
    ex.spawn_after(0, Pool::User, Tag(0), Box::new(|| {}));
    refused.store(true, Ordering::SeqCst);
    let (sender, receiver) = std::sync::mpsc::channel();
    ex.spawn(Pool::High, Tag(0), Box::new(move || sender.send(()).unwrap()));
    assert!(ex.start_failure(Pool::High).is_some());
    refused.store(false, Ordering::SeqCst);
    receiver.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
}

#[test]
fn jobs_that_get_no_thread_run_on_the_thread_of_the_caller() {
    let (ex, _, _) = refusing();
    let here = std::thread::current().id();
    let ran = parking_lot::Mutex::new(Vec::new());
    let job = || Box::new(|| ran.lock().push(std::thread::current().id())) as Box<dyn FnOnce() + Send + '_>;
    ex.run_all(vec![job(), job(), job()]);
    assert_eq!(*ran.lock(), [here; 3]);
}

#[test]
fn a_large_pool_starts_one_thread_for_each_queued_job() {
    let (ex, refused, starts) = refusing();
    refused.store(false, Ordering::SeqCst);
    ex.set_threads(Pool::Low, 1 << 30);
    let gate = Arc::new(std::sync::Barrier::new(4));
    for _ in 0..3 {
        let gate = gate.clone();
        ex.spawn(
            Pool::Low,
            Tag(0),
            Box::new(move || {
                gate.wait();
            }),
        );
    }
    gate.wait();
    ex.wait_for_all();
    assert_eq!(starts.load(Ordering::SeqCst), 3);
}
