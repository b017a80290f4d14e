//! Tells that a moment was let go of, and with it perhaps the last reason to keep some files.

use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering};

/// Rung when the last reader of a super version is gone. Costs one load while no file waits for it.
#[derive(Default)]
pub struct Bell {
    /// Files that are out of the current versions but were still held when last looked at.
    waiting: AtomicU64,
    rung: AtomicBool,
    wake: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

impl Bell {
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

    #[inline]
    pub fn ring(&self) {
        if self.waiting.load(Ordering::Acquire) > 0
            && !self.rung.swap(true, Ordering::AcqRel)
            && let Some(wake) = &*self.wake.lock()
        {
            wake();
        }
    }

    /// The waiting files are being looked at; later rings count anew.
    pub fn answered(&self) {
        self.rung.store(false, Ordering::Release);
    }
}
