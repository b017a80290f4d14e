//! A limit on the concurrent compactions of several column families.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use ironstone::{ConcurrentTaskLimiter, Db, Event, FamilyDescriptor, Listener, Options};

/// The largest number of running compactions that a start of a compaction saw.
struct Most {
    limiter: Arc<ConcurrentTaskLimiter>,
    most: AtomicI32,
}

impl Listener for Most {
    fn on_event(&self, event: &Event) {
        if let Event::CompactionStarted(_) = event {
            self.most.fetch_max(self.limiter.outstanding_task(), Ordering::SeqCst);
        }
    }
}

fn level_0(db: &Db) -> usize {
    db.families()
        .iter()
        .flat_map(|family| family.live_files())
        .filter(|file| file.level == ironstone::Level::ZERO)
        .count()
}

#[test]
fn automatic_compactions_wait_for_the_limiter_and_manual_compactions_do_not() {
    let limiter = ConcurrentTaskLimiter::new("test", 0);
    let most = Arc::new(Most { limiter: limiter.clone(), most: AtomicI32::new(0) });
    let mut options = Options::in_memory();
    options.update("level0_file_num_compaction_trigger=2;max_background_jobs=8").unwrap();
    options.family.compaction_thread_limiter = Some(limiter.clone());
    options.listeners.push(most.clone());
    let db = Db::open("data", options.clone()).unwrap();
    for name in ["one", "two", "three"] {
        let family = db.create_family(FamilyDescriptor::new(name, options.family.clone())).unwrap();
        for round in 0..4u8 {
            family.put(b"a", &[round]).unwrap();
            family.put(b"z", &[round]).unwrap();
            family.flush().unwrap();
        }
    }
    assert_eq!(level_0(&db), 12);
    db.family("one").unwrap().compact_range(None, None, &Default::default()).unwrap();
    assert_eq!((level_0(&db), limiter.outstanding_task()), (8, 0));
    assert_eq!(most.most.load(Ordering::SeqCst), 1);

    limiter.set_max_outstanding_task(1);
    db.wait_for_compact().unwrap();
    assert_eq!((level_0(&db), limiter.outstanding_task()), (0, 0));
    assert_eq!(most.most.load(Ordering::SeqCst), 1);
    assert_eq!(limiter.name(), "test");
}

#[test]
fn two_databases_share_a_limiter() {
    let limiter = ConcurrentTaskLimiter::new("shared", 1);
    let open = || {
        let mut options = Options::in_memory();
        options.update("level0_file_num_compaction_trigger=2").unwrap();
        options.family.compaction_thread_limiter = Some(limiter.clone());
        Db::open("data", options).unwrap()
    };
    let databases = [open(), open()];
    let held = limiter.start(false).unwrap();
    for db in &databases {
        for round in 0..4u8 {
            db.put(b"a", &[round]).unwrap();
            db.flush().unwrap();
        }
        assert_eq!(level_0(db), 4);
    }
    // This release notifies no database.
    drop(held);
    for db in &databases {
        db.wait_for_compact().unwrap();
        assert!(level_0(db) < 2);
    }
    assert!(limiter.start(false).is_some());
}
