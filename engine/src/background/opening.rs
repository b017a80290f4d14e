//! Opening tables after the database is open (`open_files_async`). Follows RocksDB `DBImpl::BGWorkAsyncFileOpen`.

use env::executor::Pool;

use super::Background;
use crate::event::ErrorReason;
use crate::sync::Ordering;

impl Background {
    /// Opens every table in a job; reads open those they need first. The first that fails ends it, and is a
    /// background error by its kind and `paranoid_checks`.
    pub fn open_tables(&self) {
        let moments: Vec<_> =
            self.families.all().into_iter().map(|family| (family.pin_owned(), family)).collect();
        self.spawn(Pool::High, move |me| {
            me.opening.store(true, Ordering::Release);
            let tables = moments.iter().flat_map(|(moment, family)| {
                moment.version.files().map(move |(level, file)| (moment, family, level, file))
            });
            for (moment, family, level, file) in tables {
                if me.tools.shutting_down.load(Ordering::Acquire) {
                    break;
                }
                if family.is_dropped() {
                    continue;
                }
                if let Err(error) = me.tables.get_at_open(&moment.parts, level, file) {
                    me.failed(error, ErrorReason::AsyncFileOpen);
                    break;
                }
            }
            drop(moments);
            me.opening.store(false, Ordering::Release);
            me.changed.tell();
        });
    }
}
