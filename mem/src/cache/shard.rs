//! One shard of the cache: an index, a pool of entries, a limit in bytes, and a lock that orders all changes.
//!
//! Lookups in a clock shard take no lock. Each operation that changes the visible entries takes the lock:
//! insertion, erasure, eviction, growth, and the release of the last handle of an erased entry. Values are
//! moved out under the lock and dropped after the lock is released, because a value may itself hold handles
//! or reservations of this cache.
//!
//! Handles may outlive the cache. `live` counts the entries that hold a value. The drop of the cache sets the
//! bit `CLOSED` in `live`. Afterwards, the thread that removes the last entry finds no other bit than `CLOSED`, and frees the
//! shard.

use std::ptr::NonNull;

use base::{Error, Result, Subcode};

use super::entry::{self, Detached, Owner};
use super::index::Index;
use super::lru::Lru;
use super::pool::Pool;
use super::{CacheKey, CacheOptions, Kind, MetadataCharge, Priority, ROLES, Role, RoleUsage};
use crate::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Mutex, Ordering};

mod room;

/// The bit of `live` that is set when the cache is dropped.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// Number of entries that fit into the first index of a growing clock shard.
const FIRST_ENTRIES: usize = if cfg!(loom) { 1 } else { 256 };

/// An entry of a shard.
pub(super) type Entry<V> = entry::Entry<V, Shard<V>>;

#[repr(align(128))]
pub(super) struct Shard<V: Send + Sync + 'static> {
    index: AtomicPtr<Index>,
    pool: Pool<V, Shard<V>>,
    lru: bool,
    grows: bool,
    /// Bytes that are charged for each entry in addition to the charge of its value.
    overhead: usize,
    /// The address of this shard. Entries find the shard by this address, and the last entry frees the shard.
    me: AtomicPtr<Shard<V>>,
    limit: AtomicUsize,
    strict: AtomicBool,
    usage: AtomicUsize,
    /// Number of entries that hold a value, and the bit `CLOSED`.
    live: AtomicUsize,
    /// Number of entries that were ever used. The clock hand visits these entries.
    allocated: AtomicU32,
    state: Mutex<State>,
    /// True while a test lets the allocation of a larger index fail.
    #[cfg(test)]
    pub(super) lacks_memory: AtomicBool,
}

struct State {
    /// The last element is the current index. Older indexes stay, because a lookup may still read an older
    /// index. If such a lookup finds nothing, it continues in the current index. The memory of an older
    /// index is returned to the system where the system supports that.
    indices: Vec<NonNull<Index>>,
    /// Number of words in the index.
    indexed: usize,
    free: Vec<u32>,
    hand: u32,
    lists: Lru,
    roles: [RoleUsage; ROLES],
    evictions: u64,
}

// SAFETY: the pointers lead to indexes that the shard owns. An index is `Sync`, because it consists of
// atomics.
unsafe impl Send for State {}

/// Values that were taken out under the lock. They are dropped after the lock is released.
pub(super) struct Taken<V> {
    first: Option<V>,
    rest: Vec<V>,
}

impl<V> Taken<V> {
    pub(super) fn new() -> Self {
        Taken { first: None, rest: Vec::new() }
    }

    fn push(&mut self, value: V) {
        // Most insertions evict one value. One value needs no allocation.
        match self.first {
            None => self.first = Some(value),
            Some(_) => self.rest.push(value),
        }
    }
}

impl<V: Send + Sync + 'static> Shard<V> {
    /// Makes a shard with its share of the capacity. [`Shard::close`] ends the shard. Returns `None` if the system has no memory for
    /// the index.
    pub(super) fn new(options: &CacheOptions, limit: usize) -> Option<NonNull<Self>> {
        let overhead = match options.metadata_charge {
            MetadataCharge::None => 0,
            MetadataCharge::Full => {
                let links = if matches!(options.kind, Kind::Lru { .. }) { Lru::BYTES_AN_ENTRY } else { 0 };
                size_of::<Entry<V>>() + Index::BYTES_AN_ENTRY + links
            }
        };
        let (entries, lists, lru, grows) = match options.kind {
            Kind::HyperClock { estimated_entry_charge: 0 } => {
                (FIRST_ENTRIES, Lru::new(0.0, 0.0), false, true)
            }
            Kind::HyperClock { estimated_entry_charge } => {
                let each = estimated_entry_charge.saturating_add(overhead);
                (limit / each + 1, Lru::new(0.0, 0.0), false, false)
            }
            Kind::Lru { high_pri_pool_ratio, low_pri_pool_ratio } => {
                (FIRST_ENTRIES, Lru::new(high_pri_pool_ratio, low_pri_pool_ratio), true, true)
            }
        };
        let index = NonNull::from(Box::leak(Box::new(Index::try_for_entries(entries)?)));
        let me = NonNull::from(Box::leak(Box::new(Shard {
            index: AtomicPtr::new(index.as_ptr()),
            pool: Pool::new(),
            lru,
            grows,
            overhead,
            me: AtomicPtr::new(std::ptr::null_mut()),
            limit: AtomicUsize::new(limit),
            strict: AtomicBool::new(options.strict_capacity_limit),
            usage: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            allocated: AtomicU32::new(0),
            state: Mutex::new(State {
                indices: vec![index],
                indexed: 0,
                free: Vec::new(),
                hand: 0,
                lists,
                roles: [RoleUsage::default(); ROLES],
                evictions: 0,
            }),
            #[cfg(test)]
            lacks_memory: AtomicBool::new(false),
        })));
        // SAFETY: the shard was just allocated, and no other thread has the pointer yet.
        unsafe { me.as_ref() }.me.store(me.as_ptr(), Ordering::Relaxed);
        Some(me)
    }

    fn index(&self) -> &Index {
        // SAFETY: the pointer leads to an index in `State::indices`. All these indexes live as long as self.
        unsafe { &*self.index.load(Ordering::Acquire) }
    }

    /// Finds and pins an entry. The caller gets the reference.
    #[inline]
    pub(super) fn lookup(&self, key: &CacheKey, hash: u32) -> Option<NonNull<Entry<V>>> {
        if self.lru {
            return self.lookup_lru(key, hash);
        }
        let mut index = self.index();
        loop {
            let found = index.find(hash, |number| {
                let entry = self.pool.get(number)?;
                entry.pin(key).then(|| NonNull::from(entry))
            });
            // If the index was replaced during the search, its memory may have been returned to the system,
            // and the search may have missed the key. Search the new index.
            let now = self.index();
            if found.is_some() || std::ptr::eq(index, now) {
                return found;
            }
            index = now;
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, hash: u32) {
        self.index().prefetch(hash);
    }

    #[inline]
    pub(super) fn prefetch_entry(&self, hash: u32) {
        self.index().find(hash, |number| self.pool.get(number).map(Entry::prefetch));
    }

    #[cold]
    #[inline(never)]
    fn lookup_lru(&self, key: &CacheKey, hash: u32) -> Option<NonNull<Entry<V>>> {
        let mut s = self.state.lock();
        let entry = self.find(key, hash)?;
        base::invariant!(entry.is_lru(), "an entry of an LRU cache is released without its list");
        if entry.refs() == 0 {
            s.lists.remove(entry);
        }
        entry.pin(key).then(|| NonNull::from(entry))
    }

    /// Inserts a value and gives the caller a reference. Lookups do not find the value if `visible` is false
    /// or if a table of fixed size is full. Also returns true if the value replaces another.
    pub(super) fn insert(
        &self,
        key: &CacheKey,
        hash: u32,
        value: V,
        charge: usize,
        (priority, role): (Priority, Role),
        visible: bool,
    ) -> Result<(NonNull<Entry<V>>, bool)> {
        let charge = charge.saturating_add(self.overhead);
        // `taken` is declared before the lock guard, so its values are dropped after the lock is released.
        let mut taken = Taken::new();
        let mut s = self.state.lock();
        // A strict cache checks the limit first, so that a rejected insertion leaves the old entry of the
        // key.
        if self.strict.load(Ordering::Relaxed) {
            self.make_room(&mut s, charge, &mut taken);
            if self.usage().saturating_add(charge) > self.limit.load(Ordering::Relaxed) {
                drop(s);
                return Err(full(self.lru));
            }
        }
        let old = self.find(key, hash).filter(|_| visible);
        if let Some(old) = old {
            self.detach(&mut s, old, &mut taken);
        }
        let is_replaced = old.is_some();
        self.make_room(&mut s, charge, &mut taken);
        let visible = visible && self.index_has_room(&mut s, &mut taken);
        let Some(entry) = self.take_free(&mut s) else {
            drop(s);
            return Err(full(self.lru));
        };
        self.live.fetch_add(1, Ordering::Relaxed);
        self.account(&mut s, role, charge);
        // SAFETY: the entry was just taken from the free list under the lock. It is empty, and this thread is
        // its only owner.
        unsafe { entry.fill(key, value, charge, priority, role, visible) };
        base::invariant!(
            entry.charge() == charge && entry.role() == role,
            "a cache entry of {charge} bytes is stored with {} bytes",
            entry.charge()
        );
        if visible {
            base::invariant!(self.find(key, hash).is_none(), "a key is in the cache twice");
            self.index().insert(hash, entry.number());
            s.indexed += 1;
            base::invariant!(
                s.indexed <= self.occupancy(),
                "the index of a cache shard has {} entries, and the shard has {}",
                s.indexed,
                self.occupancy()
            );
        }
        Ok((NonNull::from(entry), is_replaced))
    }

    pub(super) fn erase(&self, key: &CacheKey, hash: u32) -> bool {
        let mut taken = Taken::new();
        let mut s = self.state.lock();
        let Some(entry) = self.find(key, hash) else { return false };
        self.detach(&mut s, entry, &mut taken);
        true
    }

    /// Removes exactly this entry, if it is still visible.
    pub(super) fn erase_entry(&self, entry: &Entry<V>) {
        let mut taken = Taken::new();
        self.detach(&mut self.state.lock(), entry, &mut taken);
    }

    pub(super) fn erase_unreferenced(&self) {
        let mut taken = Taken::new();
        let mut s = self.state.lock();
        for entry in self.entries().filter(|e| e.refs() == 0) {
            self.detach(&mut s, entry, &mut taken);
        }
    }

    pub(super) fn set_strict(&self, strict: bool) {
        self.strict.store(strict, Ordering::Relaxed);
    }

    /// Sets the limit and evicts entries until the shard fits, as far as pins allow. The caller drops the
    /// values in `taken` when it holds no lock.
    pub(super) fn set_limit(&self, bytes: usize, taken: &mut Taken<V>) {
        let mut s = self.state.lock();
        self.limit.store(bytes, Ordering::Relaxed);
        self.make_room(&mut s, 0, taken);
    }

    pub(super) fn usage(&self) -> usize {
        self.usage.load(Ordering::Relaxed)
    }

    pub(super) fn pinned_usage(&self) -> usize {
        self.entries().filter(|e| e.refs() > 0).map(Entry::charge).sum()
    }

    pub(super) fn occupancy(&self) -> usize {
        self.live.load(Ordering::Relaxed) & !CLOSED
    }

    pub(super) fn evictions(&self) -> u64 {
        self.state.lock().evictions
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.index().bytes()
    }

    pub(super) fn add_roles(&self, sum: &mut [RoleUsage; ROLES]) {
        for (to, from) in sum.iter_mut().zip(&self.state.lock().roles) {
            to.count += from.count;
            to.bytes += from.bytes;
        }
    }

    pub(super) fn for_each(&self, f: &mut dyn FnMut(&CacheKey, &V, usize, Role)) {
        // A pin would change the LRU order. In an LRU shard the lock keeps every visible entry in place
        // instead.
        let lock = self.lru.then(|| self.state.lock());
        for entry in self.entries() {
            if lock.is_some() {
                if entry.state_is_visible() {
                    // SAFETY: this thread holds the lock. In an LRU shard a visible entry is emptied only
                    // under the lock, so the value stays.
                    f(&entry.key(), unsafe { entry.value() }, entry.charge(), entry.role());
                }
            } else if entry.pin_any() {
                let pinned = Pinned(NonNull::from(entry));
                // SAFETY: the entry is pinned until the end of the block.
                f(&entry.key(), unsafe { pinned.0.as_ref().value() }, entry.charge(), entry.role());
            }
        }
    }

    /// Releases the reference of a handle.
    ///
    /// # Safety
    /// The caller must hold a reference to the entry, and gives it up.
    #[inline]
    pub(super) unsafe fn release(entry: NonNull<Entry<V>>) {
        // SAFETY: the reference of the caller keeps the entry alive during this read.
        if unsafe { entry.as_ref() }.is_lru() {
            // SAFETY: the caller holds a reference to the entry, and gives the reference to this call.
            unsafe { Self::release_lru(entry) }
        } else {
            // SAFETY: the caller holds a reference to the entry, and gives the reference to this call.
            unsafe { Entry::unpin(entry) }
        }
    }

    /// # Safety
    /// The contract of [`Shard::release`].
    #[cold]
    #[inline(never)]
    unsafe fn release_lru(entry: NonNull<Entry<V>>) {
        // SAFETY: the reference of the caller keeps the entry and the shard alive until the reference is
        // given up. The lock, taken before that, keeps them alive until the lock is released.
        let (e, shard) = unsafe { (entry.as_ref(), &*entry.as_ref().owner()) };
        if e.unpin_not_last() {
            return;
        }
        let mut taken = Taken::new();
        let mut s = shard.state.lock();
        let (left, visible) = e.unpin_locked();
        if left > 0 {
            return;
        }
        if visible {
            let limit = shard.limit.load(Ordering::Relaxed);
            if shard.usage() > limit {
                s.evictions += 1;
                shard.detach(&mut s, e, &mut taken);
            } else {
                s.lists.push(&shard.pool, e, limit);
            }
            return;
        }
        drop(s);
        // SAFETY: the entry is invisible and has no references, so this thread owns it.
        unsafe { Self::reclaim(entry) };
    }

    /// Subtracts one entry from `live`. Frees the shard if this was the last entry after the cache was
    /// dropped.
    ///
    /// # Safety
    /// The caller must own an entry that `live` counts, and must not use the shard afterwards.
    unsafe fn uncount(me: *mut Self) {
        // SAFETY: the counted entry keeps the shard alive until the subtraction.
        let before = unsafe { (*me).live.fetch_sub(1, Ordering::AcqRel) };
        base::invariant!(before & !CLOSED > 0, "more cache entries are released than a shard has");
        if before == CLOSED | 1 {
            // SAFETY: the cache is dropped and the last entry with handles is gone, so no thread can reach
            // the shard. The shard came from `Box::leak`.
            drop(unsafe { Box::from_raw(me) });
        }
    }

    /// Ends the shard. Drops the values without handles now. The last handle of each other value drops that
    /// value.
    ///
    /// # Safety
    /// Only the cache may call this, once. The cache must not use the shard afterwards, and no other thread
    /// may be in a call on the shard.
    pub(super) unsafe fn close(this: NonNull<Self>) {
        let mut taken = Taken::new();
        {
            // SAFETY: the shard is alive until `CLOSED` is set below.
            let shard = unsafe { this.as_ref() };
            let mut s = shard.state.lock();
            for entry in shard.entries() {
                shard.detach(&mut s, entry, &mut taken);
            }
        }
        drop(taken);
        // SAFETY: the shard is still alive. After this statement the last entry may free it.
        let before = unsafe { this.as_ref().live.fetch_or(CLOSED, Ordering::AcqRel) };
        if before == 0 {
            // SAFETY: no entry is left that could reach the shard. The shard came from `Box::leak`.
            drop(unsafe { Box::from_raw(this.as_ptr()) });
        }
    }

    /// Returns the visible entry under a key. The caller holds the lock.
    fn find(&self, key: &CacheKey, hash: u32) -> Option<&Entry<V>> {
        self.index().find(hash, |number| self.pool.get(number).filter(|e| e.is_visible(key)))
    }

    fn entries(&self) -> impl Iterator<Item = &Entry<V>> {
        (0..self.allocated.load(Ordering::Acquire)).filter_map(|n| self.pool.get(n))
    }

    /// Makes an entry invisible. If no thread pins the entry, takes its value.
    fn detach(&self, s: &mut State, entry: &Entry<V>, taken: &mut Taken<V>) {
        match entry.detach() {
            Detached::Gone => {}
            Detached::Pinned => self.unindex(s, entry),
            Detached::Owned => self.bury(s, entry, taken),
        }
    }

    fn unindex(&self, s: &mut State, entry: &Entry<V>) {
        let (_, hash) = entry.key().hash();
        if self.index().remove(hash, entry.number()) {
            base::invariant!(s.indexed > 0, "the index of a cache shard has an entry that is not counted");
            s.indexed -= 1;
        }
    }

    /// Takes the value of an entry that this thread has just evicted or detached, and frees the entry.
    fn bury(&self, s: &mut State, entry: &Entry<V>, taken: &mut Taken<V>) {
        self.unindex(s, entry);
        base::invariant!(entry.refs() == 0, "a cache entry with {} readers is evicted", entry.refs());
        s.lists.remove(entry);
        self.unaccount(s, entry);
        // SAFETY: `detach` or the clock hand made the entry empty and this thread its owner. The entry held a
        // value.
        taken.push(unsafe { entry.take() });
        s.free.push(entry.number());
        // This cannot be the last entry after the drop of the cache: the caller holds the lock of a shard
        // that is not closed.
        self.live.fetch_sub(1, Ordering::AcqRel);
    }

    fn account(&self, s: &mut State, role: Role, charge: usize) {
        base::invariant!(
            s.roles.iter().map(|role| role.bytes).sum::<usize>() == self.usage(),
            "the roles of the cache entries have not {} bytes, as the shard has",
            self.usage()
        );
        let r = &mut s.roles[role as usize];
        r.count += 1;
        r.bytes += charge;
        self.usage.store(self.usage() + charge, Ordering::Relaxed);
    }

    fn unaccount(&self, s: &mut State, entry: &Entry<V>) {
        let (r, charge) = (&mut s.roles[entry.role() as usize], entry.charge());
        base::invariant!(r.count > 0, "more cache entries of a role are removed than were inserted");
        base::invariant!(
            charge <= r.bytes,
            "a cache entry of {charge} bytes is removed from {} bytes",
            r.bytes
        );
        base::invariant!(
            charge <= self.usage(),
            "a cache entry of {charge} bytes is removed from a shard of {} bytes",
            self.usage()
        );
        r.count -= 1;
        r.bytes -= charge;
        self.usage.store(self.usage() - charge, Ordering::Relaxed);
    }

    fn take_free(&self, s: &mut State) -> Option<&Entry<V>> {
        if let Some(number) = s.free.pop() {
            base::invariant!(
                number < self.allocated.load(Ordering::Relaxed),
                "the free cache entry {number} was never made"
            );
            return self.pool.get(number);
        }
        let number = self.allocated.load(Ordering::Relaxed);
        let entry = self.pool.make(number)?;
        entry.place(self.me.load(Ordering::Relaxed), number, self.lru);
        self.allocated.store(number + 1, Ordering::Release);
        Some(entry)
    }

    #[cfg(test)]
    pub(super) fn lru_usages(&self) -> [usize; 3] {
        self.state.lock().lists.usages()
    }
}

impl<V: Send + Sync + 'static> Owner<V> for Shard<V> {
    /// Reclaims an erased entry whose last handle is gone.
    unsafe fn reclaim(entry: NonNull<Entry<V>>) {
        // SAFETY: `live` counts an owned entry. So the shard is alive until `uncount` subtracts the entry
        // below.
        let e = unsafe { entry.as_ref() };
        let me = e.owner();
        // SAFETY: `me` is the shard of the entry. The shard is alive until `uncount` subtracts the entry below.
        let shard = unsafe { &*me };
        // SAFETY: the caller owns the entry. The value is taken once, because the entry is marked empty
        // afterwards.
        let value = unsafe { e.take() };
        {
            let mut s = shard.state.lock();
            shard.unaccount(&mut s, e);
            e.mark_empty();
            base::invariant!(e.refs() == 0, "a cache entry is removed that has {} readers", e.refs());
            s.free.push(e.number());
        }
        drop(value);
        // SAFETY: `live` counts this entry until this call, so the shard is alive, and this is the last use of the shard by this thread.
        unsafe { Self::uncount(me) };
    }
}

/// A reference to an entry, held by a walk over the cache.
struct Pinned<V: Send + Sync + 'static>(NonNull<Entry<V>>);

impl<V: Send + Sync + 'static> Drop for Pinned<V> {
    fn drop(&mut self) {
        // SAFETY: the walk pinned the entry, and gives this reference up here.
        unsafe { Shard::release(self.0) }
    }
}

impl<V: Send + Sync + 'static> Drop for Shard<V> {
    fn drop(&mut self) {
        // `live` is 0, so all values are gone. Entries themselves need no drop.
        for index in self.state.get_mut().indices.drain(..) {
            // SAFETY: the index comes from `Box::leak` and is freed once. No lookup can run any more.
            drop(unsafe { Box::from_raw(index.as_ptr()) });
        }
    }
}

#[cold]
fn full(lru: bool) -> Error {
    let message = match lru {
        true => "insertion into a full LRU cache with a strict capacity limit",
        false => "insertion into a full clock cache with a strict capacity limit",
    };
    Error::aborted(message).with_subcode(Subcode::MemoryLimit)
}
