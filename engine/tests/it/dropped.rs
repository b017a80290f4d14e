//! Column families that are dropped while one of their jobs runs: the files of the job are deleted, and callers get
//! an error.

use std::path::Path;
use std::sync::Arc;

use base::{Kind, Result};
use env::Env;
use env::executor::Threads;
use ironstone_engine::components::{Components, FamilyDescriptor};
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, Listener};
use ironstone_engine::family::Family;
use ironstone_engine::options::{CompactRangeOptions, FamilyOptions, FlushOptions, WriteOptions};
use parking_lot::Mutex;

use crate::basic::options;

/// Drops the column family once, when a job creates an SST file.
#[derive(Default)]
struct Dropper(Mutex<Option<(Db, Arc<Family>)>>);

impl Listener for Dropper {
    fn on_event(&self, event: &Event) {
        if !matches!(event, Event::TableCreationStarted { .. }) {
            return;
        }
        let target = self.0.lock().take();
        if let Some((db, family)) = target {
            db.admin().drop_family(&family).unwrap();
        }
    }
}

fn tables(env: &Env) -> usize {
    let names = env.fs.list(Path::new("/db")).unwrap();
    names.iter().filter(|name| name.ends_with(".sst")).count()
}

fn flush(db: &Db, family: &Arc<Family>) -> Result<()> {
    db.flush(&[family.clone()], &FlushOptions::default())
}

/// Runs a job that the drop of its family interrupts; returns the result of the job and the SST files that are left.
fn dropped_during(job: impl FnOnce(&Db, &Arc<Family>) -> Result<()>, env: &Env) -> (Result<()>, usize) {
    let dropper = Arc::new(Dropper::default());
    let own = FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() };
    let mut request = OpenRequest::new("/db", options(env), own.clone());
    request.components = Components { listeners: vec![dropper.clone()], ..Components::default() };
    let db = Db::open(request).unwrap();
    let family = db.admin().create_family(FamilyDescriptor::new("f", own)).unwrap();
    let put = |value: &[u8]| {
        (0..100u32).for_each(|i| db.put(&family, &i.to_be_bytes(), value, &WriteOptions::default()).unwrap());
    };
    put(b"1");
    flush(&db, &family).unwrap();
    put(b"2");
    flush(&db, &family).unwrap();
    put(b"3");
    *dropper.0.lock() = Some((db.clone(), family.clone()));
    let outcome = job(&db, &family);
    drop(family);
    // The next commit and the purge after it leave no file of the dropped family.
    let default = db.default_family().unwrap();
    db.put(&default, b"a", b"1", &WriteOptions::default()).unwrap();
    flush(&db, &default).unwrap();
    db.background().wait_for_compact().unwrap();
    db.close().unwrap();
    (outcome, tables(env) - 1)
}

#[test]
fn no_file_of_a_dropped_family_stays() {
    let envs = || [Env::memory(1), Env { executor: Arc::new(Threads::new()), ..Env::memory(1) }];
    for env in envs() {
        let (outcome, left) = dropped_during(flush, &env);
        assert_eq!(left, 0, "files of a flush");
        assert_eq!(outcome.unwrap_err().kind(), Kind::ColumnFamilyDropped);
    }
    for env in envs() {
        let compact = |db: &Db, family: &Arc<Family>| {
            db.compactions().compact_range(family, None, None, &CompactRangeOptions::default()).map(|_| ())
        };
        let (outcome, left) = dropped_during(compact, &env);
        assert_eq!(left, 0, "files of a compaction");
        assert_eq!(outcome.unwrap_err().kind(), Kind::ColumnFamilyDropped);
    }
}
