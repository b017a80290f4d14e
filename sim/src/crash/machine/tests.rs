//! The end of a machine whose database has unfinished work.

use ironstone::{FlushOptions, Options, WriteOptions};

use super::*;

/// The drop of a database flushes entries without a WAL record, and waits for a flush that is queued. If the jobs were
/// dropped first, the drop would wait forever.
#[test]
fn stopped_machine_drops_a_database_whose_flush_is_queued() {
    let machine = Machine::new(1, 1, &Story::new());
    let mut options = Options::default();
    options.update("create_if_missing=true").unwrap();
    options.db.env = machine.env.clone();
    let db = Db::open("/db", options).unwrap();
    db.put_with(b"a", b"1", &WriteOptions { disableWAL: true, ..WriteOptions::default() }).unwrap();
    db.flush_with(&FlushOptions { wait: false, ..FlushOptions::default() }).unwrap();
    assert!(env::executor::Pool::ALL.iter().any(|pool| machine.env.executor.queue_len(*pool) > 0));
    machine.stop(Some(db));
    assert!(machine.crashed());
}
