//! Tells that a moment was let go of, and with it perhaps the last reason to keep some files.

use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, fence};

/// Rung when the last reader of a super version is gone. Costs a fence and a load while no file waits for it.
///
/// The releasing thread drops its pointers, and then asks whether files wait for deletion. The deleting
/// thread first states that files wait, and then counts pointers. Each thread has a fence between its two
/// steps, so at least one thread sees the step of the second thread. Without the fences, the two threads
/// could miss each other. A file without a reader would then stay.
#[derive(Default)]
pub struct ReleaseNotifier {
    /// Files that are out of the current versions but were still held when last looked at.
    waiting: AtomicU64,
    rung: AtomicBool,
    wake: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

impl ReleaseNotifier {
    /// What is to happen when files may be deleted: schedules a job; called on any thread.
    pub fn on_ring(&self, wake: Box<dyn Fn() + Send + Sync>) {
        *self.wake.lock() = Some(wake);
    }

    /// Forgets what `on_ring` was given.
    pub fn silence(&self) {
        *self.wake.lock() = None;
    }

    pub fn set_waiting(&self, files: u64) {
        self.waiting.store(files, Ordering::Release);
    }

    /// After what the caller held was let go of.
    #[inline]
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::Acquire) > 0
            && !self.rung.swap(true, Ordering::AcqRel)
            && let Some(wake) = &*self.wake.lock()
        {
            wake();
        }
    }

    /// The waiting files, of which `set_waiting` has told, are going to be looked at; later rings count anew.
    pub fn answered(&self) {
        self.rung.swap(false, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }
}
