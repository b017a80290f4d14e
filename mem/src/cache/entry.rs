//! One cached value, and the atomic word `meta` that decides which thread may access the value.
//!
//! ```text
//! meta   | refs 32 | clock 2 | state 2 | hit 1 |
//!
//! Empty ──fill, by the shard's lock──► Visible ──erase while pinned──► Invisible
//!   ▲                                    │ evict or erase at 0 refs       │ last ref lets go
//!   └────────────────────────────────────┴────────────────────────────────┘
//! ```
//!
//! * *Empty*: the entry is free, or one thread owns the entry. Other threads read only `meta` and the key
//!   words.
//! * *Visible*: the index leads to the entry. A lookup pins the entry: a compare-and-exchange raises `refs`,
//!   and fails if the entry is no longer visible. Only a visible entry gets a first pin.
//! * *Invisible*: lookups no longer find the entry, and its handles keep it alive. Only the clone of a
//!   handle adds a pin, so `refs` falls to 0 exactly once. The thread that brings `refs` to 0 owns the entry.
//!
//! Entries live in a [`super::pool::Pool`]. They are freed only together with the shard, so a lookup may
//! read an entry that was recycled meanwhile. The lookup compares the key again after the pin.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::{CacheKey, Priority, Role};
use crate::sync::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Cell, Ordering};
use crate::zeroed::Zeroed;

const REF: u64 = 1;
const REFS: u64 = 0xffff_ffff;
const CLOCK_ONE: u64 = 1 << 32;
const CLOCK: u64 = 3 << 32;
const STATE: u64 = 3 << 34;
const EMPTY: u64 = 0;
const VISIBLE: u64 = 1 << 34;
const INVISIBLE: u64 = 2 << 34;
const HIT: u64 = 1 << 36;

/// The largest number of references to one entry. So many handles are a leak, and more could overflow into
/// the state bits.
const REFS_MAX: u64 = 1 << 31;

/// The owner of entries. It gets an invisible entry back when the last reference to the entry is gone.
pub(super) trait Owner<V: Send + Sync + 'static>: Sized + 'static {
    /// # Safety
    /// The caller must own the entry. The entry must have been invisible and must hold its value.
    unsafe fn reclaim(entry: NonNull<Entry<V, Self>>);
}

#[repr(C, align(64))]
pub(super) struct Entry<V: Send + Sync + 'static, O: 'static> {
    meta: AtomicU64,
    key: [AtomicU64; 2],
    charge: AtomicUsize,
    owner: AtomicPtr<O>,
    number: AtomicU32,
    role: AtomicU8,
    priority: AtomicU8,
    /// True if the shard is an LRU shard.
    lru: AtomicBool,
    value: Cell<MaybeUninit<V>>,
}

/// With a value of two words, an entry is one cache line, and a hit needs one cache miss.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Entry<[usize; 2], ()>>() == 64);

// SAFETY: zero is a valid value of atomics and of a null pointer, and `MaybeUninit` may hold any bits. The
// value is the only part that needs a drop. The owner takes the value out before the memory is freed, see
// `Owner::reclaim`.
unsafe impl<V: Send + Sync + 'static, O: 'static> Zeroed for Entry<V, O> {
    #[cfg(loom)]
    fn zero() -> Self {
        Entry {
            meta: AtomicU64::new(0),
            key: std::array::from_fn(|_| AtomicU64::new(0)),
            charge: AtomicUsize::new(0),
            owner: AtomicPtr::new(std::ptr::null_mut()),
            number: AtomicU32::new(0),
            role: AtomicU8::new(0),
            priority: AtomicU8::new(0),
            lru: AtomicBool::new(false),
            value: Cell::new(MaybeUninit::uninit()),
        }
    }

    #[cfg(loom)]
    fn fade(&self) {
        unreachable!("entries are never given back");
    }
}

// SAFETY: only the one owner of an empty entry changes the value. Threads that pin the entry share the value,
// and `V` is `Send + Sync`. All other fields are atomic.
unsafe impl<V: Send + Sync + 'static, O: 'static> Sync for Entry<V, O> {}
// SAFETY: an entry owns its value, and `V` is `Send`. The pointer to the owner is only used while the owner is alive.
unsafe impl<V: Send + Sync + 'static, O: 'static> Send for Entry<V, O> {}

/// The result of the attempt to remove an entry.
pub(super) enum Detached {
    /// No thread pins the entry. The caller owns the entry now and must take the value out.
    Owned,
    /// Handles still pin the entry. The last handle will own it.
    Pinned,
    /// The entry was not visible.
    Gone,
}

impl<V: Send + Sync + 'static, O: Owner<V>> Entry<V, O> {
    /// Sets the fields that never change. The owner calls this before the first use of the entry.
    pub(super) fn place(&self, owner: *mut O, number: u32, lru: bool) {
        base::invariant!(!owner.is_null(), "the cache entry {number} has no owner");
        self.owner.store(owner, Ordering::Relaxed);
        self.lru.store(lru, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
    }

    /// Fills an entry that the caller owns. The caller gets one reference.
    ///
    /// # Safety
    /// The entry must be empty, and the caller must be its only owner: the caller took the entry from the
    /// free list under the lock of the shard.
    pub(super) unsafe fn fill(
        &self,
        key: &CacheKey,
        value: V,
        charge: usize,
        priority: Priority,
        role: Role,
        visible: bool,
    ) {
        base::invariant!(
            self.meta.load(Ordering::Relaxed) & (STATE | REFS) == EMPTY,
            "a cache entry that is in use is filled"
        );
        self.key[0].store(key.0[0], Ordering::Relaxed);
        self.key[1].store(key.0[1], Ordering::Relaxed);
        self.charge.store(charge, Ordering::Relaxed);
        self.role.store(role as u8, Ordering::Relaxed);
        self.priority.store(priority as u8, Ordering::Relaxed);
        // SAFETY: the caller is the only owner, so no thread reads the value. The entry is empty, so the
        // write overwrites no value that needs a drop.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        let clock = CLOCK_ONE * (3 - priority as u64);
        let state = if visible { VISIBLE } else { INVISIBLE };
        // Release: a thread that pins the entry sees the writes above.
        self.meta.store(state | clock | REF, Ordering::Release);
    }

    /// Pins the entry if it is visible under `key`.
    #[inline]
    pub(super) fn pin(&self, key: &CacheKey) -> bool {
        let mut meta = self.meta.load(Ordering::Acquire);
        loop {
            if meta & STATE != VISIBLE || !self.has_key(key) || meta & REFS >= REFS_MAX {
                return false;
            }
            let clock = if meta & CLOCK == CLOCK { 0 } else { CLOCK_ONE };
            let pinned = (meta + REF + clock) | HIT;
            match self.meta.compare_exchange_weak(meta, pinned, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => meta = now,
            }
        }
        // The entry may have been recycled between the first key check and the pin. The pin prevents that
        // from here on.
        if self.has_key(key) {
            return true;
        }
        // SAFETY: this thread took the reference above.
        unsafe { Self::unpin(NonNull::from(self)) };
        false
    }

    /// Pins the entry if it is visible, under any key. The pin does not count as a hit.
    pub(super) fn pin_any(&self) -> bool {
        let pin = |meta: u64| (meta & STATE == VISIBLE && meta & REFS < REFS_MAX).then_some(meta + REF);
        self.meta.fetch_update(Ordering::AcqRel, Ordering::Acquire, pin).is_ok()
    }

    /// Adds a reference. The caller must have a reference already.
    #[inline]
    pub(super) fn pin_again(&self) {
        let before = self.meta.fetch_add(REF, Ordering::Relaxed);
        if before & REFS >= REFS_MAX {
            // One more reference would overflow into the state bits and free a value that is in use.
            #[allow(clippy::disallowed_methods, reason = "as `Arc` does: there is no way on that is sound")]
            std::process::abort();
        }
    }

    /// Releases one reference by the rules of the clock cache. If it was the last reference to an invisible
    /// entry, the shard reclaims the entry.
    ///
    /// # Safety
    /// The caller must hold a reference, and gives it up.
    #[inline]
    pub(super) unsafe fn unpin(this: NonNull<Self>) {
        // SAFETY: the caller's reference keeps the memory of the entry alive until the subtraction. No
        // reference to the memory is used after that statement: another thread may then recycle the entry,
        // and may free the shard of a visible entry.
        let before = unsafe { this.as_ref().meta.fetch_sub(REF, Ordering::Release) };
        base::invariant!(before & REFS > 0, "a cache entry without readers is released");
        if before & (STATE | REFS) == INVISIBLE | REF {
            // Acquire: this thread sees all accesses of other handles to the value before the value is
            // dropped. A load is used instead of a fence, because ThreadSanitizer does not support fences.
            // SAFETY: the entry was invisible and this reference was the last reference, so this thread owns the entry, and no other
            // thread recycles the memory before `reclaim`.
            unsafe { this.as_ref().meta.load(Ordering::Acquire) };
            // SAFETY: the entry was invisible and this reference was the last reference. This thread owns the entry. An
            // owned entry counts as live, and a live entry keeps the memory of the shard alive.
            unsafe { O::reclaim(this) };
        }
    }

    /// Releases a reference if it is not the last reference. Returns false and changes nothing otherwise.
    pub(super) fn unpin_not_last(&self) -> bool {
        let less = |meta: u64| (meta & REFS > 1).then(|| meta - REF);
        self.meta.fetch_update(Ordering::Release, Ordering::Relaxed, less).is_ok()
    }

    /// Releases a reference. Returns how many references are left, and whether the entry is visible. Only for
    /// LRU shards, where the lock of the shard orders all first pins and last releases.
    pub(super) fn unpin_locked(&self) -> (u64, bool) {
        let before = self.meta.fetch_sub(REF, Ordering::AcqRel);
        base::invariant!(before & REFS > 0, "a cache entry without readers is released");
        ((before & REFS) - 1, before & STATE == VISIBLE)
    }

    /// Removes a visible entry. If no thread pins the entry, the caller owns it. Otherwise its handles keep
    /// it.
    pub(super) fn detach(&self) -> Detached {
        let mut meta = self.meta.load(Ordering::Acquire);
        loop {
            if meta & STATE != VISIBLE {
                return Detached::Gone;
            }
            let (to, outcome) = if meta & REFS == 0 {
                (EMPTY, Detached::Owned)
            } else {
                (meta & !STATE | INVISIBLE, Detached::Pinned)
            };
            match self.meta.compare_exchange_weak(meta, to, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return outcome,
                Err(now) => meta = now,
            }
        }
    }

    /// Ages the entry when the clock hand visits it, and evicts it if its clock is at 0 and no thread pins
    /// it.
    pub(super) fn tick(&self) -> Tick {
        let meta = self.meta.load(Ordering::Acquire);
        if meta & STATE != VISIBLE {
            return Tick::Nothing;
        }
        if meta & REFS != 0 {
            return Tick::Pinned;
        }
        let to = if meta & CLOCK == 0 { EMPTY } else { meta - CLOCK_ONE };
        let swapped = self.meta.compare_exchange(meta, to, Ordering::AcqRel, Ordering::Relaxed);
        match swapped {
            Ok(_) if to == EMPTY => Tick::Owned,
            // If the exchange failed, another thread has just used the entry, so the entry stays.
            _ => Tick::Aged,
        }
    }

    /// Marks an invisible entry without references as empty. The caller must own the entry.
    pub(super) fn mark_empty(&self) {
        self.meta.store(EMPTY, Ordering::Relaxed);
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// The caller must own the entry, see [`Detached::Owned`], [`Tick::Owned`] and [`Entry::unpin`]. The
    /// entry must hold a value, and the caller must not take the value twice.
    pub(super) unsafe fn take(&self) -> V {
        base::invariant!(
            self.refs() == 0,
            "the value of a cache entry is taken from {} readers",
            self.refs()
        );
        // SAFETY: the caller owns the entry, so no other thread accesses the value. The value is
        // initialised.
        self.value.with_mut(|place| unsafe { (*place).assume_init_read() })
    }

    /// # Safety
    /// The caller must hold a reference for as long as the result is used.
    #[inline]
    pub(super) unsafe fn value(&self) -> &V {
        // SAFETY: an entry with a reference holds a value, and no thread changes or takes the value.
        self.value.with(|place| unsafe { (*place).assume_init_ref() })
    }

    /// Prefetches the words and the value of the entry into the processor cache.
    #[inline]
    pub(super) fn prefetch(&self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let start = std::ptr::from_ref(self).cast::<i8>();
            for at in (0..size_of::<Self>()).step_by(64) {
                // SAFETY: the address is within self, and a prefetch has no architectural effect.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
            }
        }
    }

    #[inline]
    fn has_key(&self, key: &CacheKey) -> bool {
        self.key[0].load(Ordering::Relaxed) == key.0[0] && self.key[1].load(Ordering::Relaxed) == key.0[1]
    }

    /// Returns true if the entry is visible under this key, pinned or not. The caller holds the lock of the
    /// shard.
    pub(super) fn is_visible(&self, key: &CacheKey) -> bool {
        self.meta.load(Ordering::Acquire) & STATE == VISIBLE && self.has_key(key)
    }

    pub(super) fn refs(&self) -> u64 {
        self.meta.load(Ordering::Acquire) & REFS
    }

    pub(super) fn was_hit(&self) -> bool {
        self.meta.load(Ordering::Relaxed) & HIT != 0
    }

    pub(super) fn state_is_visible(&self) -> bool {
        self.meta.load(Ordering::Acquire) & STATE == VISIBLE
    }

    pub(super) fn key(&self) -> CacheKey {
        CacheKey([self.key[0].load(Ordering::Relaxed), self.key[1].load(Ordering::Relaxed)])
    }

    pub(super) fn charge(&self) -> usize {
        self.charge.load(Ordering::Relaxed)
    }

    pub(super) fn role(&self) -> Role {
        base::invariant!(
            usize::from(self.role.load(Ordering::Relaxed)) < super::ROLES,
            "a cache entry has an unknown role"
        );
        Role::ALL[usize::from(self.role.load(Ordering::Relaxed)) % super::ROLES]
    }

    pub(super) fn priority(&self) -> Priority {
        base::invariant!(
            self.priority.load(Ordering::Relaxed) <= Priority::Bottom as u8,
            "a cache entry has an unknown priority"
        );
        match self.priority.load(Ordering::Relaxed) {
            0 => Priority::High,
            1 => Priority::Low,
            _ => Priority::Bottom,
        }
    }

    pub(super) fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn is_lru(&self) -> bool {
        self.lru.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn owner(&self) -> *mut O {
        self.owner.load(Ordering::Relaxed)
    }
}

pub(super) enum Tick {
    /// The entry is empty or invisible.
    Nothing,
    Pinned,
    /// The clock of the entry was lowered by one, or another thread has just used the entry.
    Aged,
    /// The entry is evicted, and the caller owns it.
    Owned,
}
