//! Notifies the purge when a super version is released, because the super version may have been the last user of a
//! file.

use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, fence};

/// Called when the last reader of a super version is gone. Costs a fence and a load if no file waits for deletion.
///
/// The releasing thread drops its pointers, and then asks whether files wait for deletion. The deleting
/// thread first states that files wait, and then counts pointers. Each thread has a fence between its two
/// steps, so at least one thread sees the step of the second thread. Without the fences, the two threads
/// could miss each other. A file without a reader would then stay.
#[derive(Default)]
pub struct ReleaseNotifier {
    /// The number of files that left the current versions and were in use at the last look.
    waiting: AtomicU64,
    notified: AtomicBool,
    wake: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

impl ReleaseNotifier {
    /// Sets the function that is called when files may be deleted. Any thread may call the function; it plans a
    /// purge.
    pub fn on_release(&self, wake: Box<dyn Fn() + Send + Sync>) {
        *self.wake.lock() = Some(wake);
    }

    /// Removes the function of `on_release`.
    pub fn remove_callback(&self) {
        *self.wake.lock() = None;
    }

    /// Sets the number of files that wait for deletion. With 0, [`ReleaseNotifier::notify`] calls no function.
    pub fn set_waiting(&self, files: u64) {
        self.waiting.store(files, Ordering::Release);
    }

    /// Calls the function of `on_release` if files wait for deletion. The caller has released its pointers before.
    #[inline]
    pub fn notify(&self) {
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::Acquire) > 0
            && !self.notified.swap(true, Ordering::AcqRel)
            && let Some(wake) = &*self.wake.lock()
        {
            wake();
        }
    }

    /// Allows a later `notify` to call the function again. The purge calls this before it looks at the waiting files.
    pub fn reset(&self) {
        self.notified.swap(false, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }
}

/// Calls [`ReleaseNotifier::notify`] at its drop. An owner of pointers to files has it as its last field: the pointers are
/// dropped before.
pub struct NotifyOnDrop {
    pub(crate) notifier: Arc<ReleaseNotifier>,
}

impl NotifyOnDrop {
    /// Makes the last field of an owner of files.
    pub fn new(notifier: Arc<ReleaseNotifier>) -> Self {
        NotifyOnDrop { notifier }
    }
}

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.notifier.notify();
    }
}
