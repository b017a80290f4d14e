//! One cached value and the word that says who may touch it.
//!
//! ```text
//! meta   | refs 32 | clock 2 | state 2 | hit 1 |
//!
//! Empty ──fill, by the shard's lock──► Visible ──erase while pinned──► Invisible
//!   ▲                                    │ evict or erase at 0 refs       │ last ref lets go
//!   └────────────────────────────────────┴────────────────────────────────┘
//! ```
//!
//! * *Empty*: free, or owned by the one thread that made it so. Nobody else touches more than `meta` and
//!   the key words.
//! * *Visible*: found through the index. A look-up pins it by raising `refs` in a compare-and-exchange
//!   that fails unless it is still visible; so only a visible entry is ever pinned anew.
//! * *Invisible*: no longer to be found, alive for its handles. As no new pin comes (cloning needs a
//!   handle), `refs` falls to 0 exactly once, and whoever takes it there owns the entry.
//!
//! Entries live in a [`super::pool::Pool`] and are never freed while the shard is, so looking at one that
//! has been recycled is harmless: its key is compared after it is pinned.

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

/// So many handles to one entry are a leak in a loop; counting on would overflow.
const REFS_MAX: u64 = 1 << 31;

/// What owns entries, and takes an invisible entry back after its last reference is gone.
pub(super) trait Owner<V: Send + Sync + 'static>: Sized + 'static {
    /// # Safety
    /// The caller must own the entry, which was invisible and holds its value.
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
    /// Whether the shard is of the LRU kind.
    lru: AtomicBool,
    value: Cell<MaybeUninit<V>>,
}

/// With a value of two words, an entry is one cache line: what a hit reads comes in one miss.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Entry<[usize; 2], ()>>() == 64);

// SAFETY: atomics and a null pointer are valid at zero, `MaybeUninit` at anything; what must be dropped,
// the value, is taken out before the memory is freed (the owner does, see `Owner::reclaim`).
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

// SAFETY: the value is reached mutably only by the one owner of an empty entry and shared by those who
// pin it, and `V` is `Send + Sync`; all else is atomic.
unsafe impl<V: Send + Sync + 'static, O: 'static> Sync for Entry<V, O> {}
// SAFETY: as above.
unsafe impl<V: Send + Sync + 'static, O: 'static> Send for Entry<V, O> {}

/// What a thread made of an entry it wanted out.
pub(super) enum Detached {
    /// Nobody pinned it: the caller owns it now and must take the value out.
    Owned,
    /// Handles keep it; the last of them will own it.
    Pinned,
    /// It was not visible.
    Gone,
}

impl<V: Send + Sync + 'static, O: Owner<V>> Entry<V, O> {
    /// Sets what never changes. By the owner, before the entry's first use.
    pub(super) fn place(&self, owner: *mut O, number: u32, lru: bool) {
        base::invariant!(!owner.is_null(), "the cache entry {number} has no owner");
        self.owner.store(owner, Ordering::Relaxed);
        self.lru.store(lru, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
    }

    /// Fills an entry that the caller owns, with one reference for the caller.
    ///
    /// # Safety
    /// The entry must be empty and the caller its only owner (just taken from the free list under the
    /// shard's lock).
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
        // SAFETY: the caller is the only owner, so nobody reads the value, and the place is empty, so
        // nothing is overwritten undropped.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        let clock = CLOCK_ONE * (3 - priority as u64);
        let state = if visible { VISIBLE } else { INVISIBLE };
        // Releases the writes above to whoever pins the entry.
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
        // Between the look at the key and the pin the entry may have been recycled; now it cannot be.
        if self.has_key(key) {
            return true;
        }
        // SAFETY: the reference taken above.
        unsafe { Self::unpin(NonNull::from(self)) };
        false
    }

    /// Pins whatever is visible, not counting as a hit.
    pub(super) fn pin_any(&self) -> bool {
        let pin = |meta: u64| (meta & STATE == VISIBLE && meta & REFS < REFS_MAX).then_some(meta + REF);
        self.meta.fetch_update(Ordering::AcqRel, Ordering::Acquire, pin).is_ok()
    }

    /// One more reference for someone who has one.
    #[inline]
    pub(super) fn pin_again(&self) {
        let before = self.meta.fetch_add(REF, Ordering::Relaxed);
        if before & REFS >= REFS_MAX {
            // Counting on would overflow into the state and free what is in use.
            #[allow(clippy::disallowed_methods, reason = "as `Arc` does: there is no way on that is sound")]
            std::process::abort();
        }
    }

    /// Gives one reference back, by the clock's rules. When it was the last of an invisible entry, its
    /// memory goes back to the shard.
    ///
    /// # Safety
    /// The caller must hold a reference, and passes it on.
    #[inline]
    pub(super) unsafe fn unpin(this: NonNull<Self>) {
        // SAFETY: the caller's reference keeps the entry's memory alive up to the subtraction; no
        // reference to it outlives that statement, as afterwards the entry may be recycled and, if it
        // was visible, its shard freed.
        let before = unsafe { this.as_ref().meta.fetch_sub(REF, Ordering::Release) };
        base::invariant!(before & REFS > 0, "a cache entry without readers is released");
        if before & (STATE | REFS) == INVISIBLE | REF {
            // Sees all that other handles did with the value before it is dropped. (A load rather than a
            // fence, because ThreadSanitizer does not know fences.)
            // SAFETY: owned by this thread now, see below.
            unsafe { this.as_ref().meta.load(Ordering::Acquire) };
            // SAFETY: the entry was invisible and this reference was the last reference. This thread owns the entry. An
            // owned entry counts as live, and a live entry keeps the memory of the shard alive.
            unsafe { O::reclaim(this) };
        }
    }

    /// Gives back a reference that is not the last; false, doing nothing, if it may be.
    pub(super) fn unpin_not_last(&self) -> bool {
        let less = |meta: u64| (meta & REFS > 1).then(|| meta - REF);
        self.meta.fetch_update(Ordering::Release, Ordering::Relaxed, less).is_ok()
    }

    /// Gives a reference back and returns how many are left and whether the entry is visible. Only
    /// where the shard's lock orders all first pins and last unpins (LRU).
    pub(super) fn unpin_locked(&self) -> (u64, bool) {
        let before = self.meta.fetch_sub(REF, Ordering::AcqRel);
        base::invariant!(before & REFS > 0, "a cache entry without readers is released");
        ((before & REFS) - 1, before & STATE == VISIBLE)
    }

    /// Takes a visible entry out: owned if nobody pins it, else left to its handles.
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

    /// One touch of the clock's hand.
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
            // Somebody has just used it; it deserves to stay.
            _ => Tick::Aged,
        }
    }

    /// Makes an invisible entry without references the caller's.
    pub(super) fn mark_empty(&self) {
        self.meta.store(EMPTY, Ordering::Relaxed);
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// The caller must own the entry (see [`Detached::Owned`], [`Tick::Owned`], [`Entry::unpin`]), which
    /// must hold a value, and not take it twice.
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
        // SAFETY: a referenced entry holds a value that nobody changes or takes.
        self.value.with(|place| unsafe { (*place).assume_init_ref() })
    }

    /// Brings the entry's words and its value towards the processor.
    #[inline]
    pub(super) fn prefetch(&self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let start = std::ptr::from_ref(self).cast::<i8>();
            for at in (0..size_of::<Self>()).step_by(64) {
                // SAFETY: the address is within self; prefetching reads nothing architecturally.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
            }
        }
    }

    #[inline]
    fn has_key(&self, key: &CacheKey) -> bool {
        self.key[0].load(Ordering::Relaxed) == key.0[0] && self.key[1].load(Ordering::Relaxed) == key.0[1]
    }

    /// Visible, whatever its references, under this key. For the shard, under its lock.
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
    /// Empty or invisible.
    Nothing,
    Pinned,
    /// Nearer to going, or just used.
    Aged,
    /// Out: the caller owns it.
    Owned,
}
