//! The block cache: values under 16-byte keys, a budget in bytes, and handles that keep values alive.
//!
//! Two kinds share one face. [`Kind::HyperClock`], the default, finds an entry without a lock: two words
//! are read and one counter is raised. [`Kind::Lru`] has RocksDB's three priority pools and a mutex a
//! shard. Either is split into shards by key.
//!
//! The caller states the charge of each entry. Memory outside of blocks (memtables, filters under
//! construction, table readers) is charged by a [`Reservation`] under its [`Role`], so one number limits
//! the sum. With `strict_capacity_limit`, an insertion or reservation that does not fit is rejected.
//! Without it, the cache exceeds its capacity while its entries are pinned.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base::{Error, Result, Subcode};
use parking_lot::Mutex;

mod entry;
mod handle;
mod index;
mod key;
mod lru;
mod options;
mod pool;
mod role;
#[cfg(all(test, loom))]
mod schedules;
mod shard;
#[cfg(all(test, not(loom)))]
mod tests;

use shard::{Shard, Taken};

pub use handle::Handle;
pub use key::{CacheKey, Priority};
pub use options::{CacheOptions, Kind, MetadataCharge};
pub use role::{ROLES, Role, RoleUsage};

/// A cache shared by tables and databases. Any thread.
pub struct Cache<V: Send + Sync + 'static> {
    /// Alive until `drop`, which closes them.
    shards: Box<[NonNull<Shard<V>>]>,
    capacity: AtomicUsize,
    strict: AtomicBool,
    /// Charged by reservations, in all; `ledger` has the roles and orders the changes.
    reserved: AtomicUsize,
    ledger: Mutex<[usize; ROLES]>,
    options: CacheOptions,
}

// SAFETY: shards are shared by reference alone; all in them is atomic or behind a lock, and values are
// `Send + Sync`.
unsafe impl<V: Send + Sync + 'static> Send for Cache<V> {}
// SAFETY: as above.
unsafe impl<V: Send + Sync + 'static> Sync for Cache<V> {}

/// As RocksDB's dummy entries: budgets move in these steps, and reservations are counted in them.
const RESERVATION_STEP: usize = 256 << 10;

impl<V: Send + Sync + 'static> Cache<V> {
    /// # Errors
    /// `InvalidArgument` for options out of range.
    pub fn new(options: CacheOptions) -> Result<Arc<Cache<V>>> {
        let count = options.shard_count()?;
        let limit = options.capacity.div_ceil(count);
        base::invariant!(count.is_power_of_two(), "a cache has {count} shards");
        Ok(Arc::new(Cache {
            shards: (0..count).map(|_| Shard::new(&options, limit)).collect(),
            capacity: AtomicUsize::new(options.capacity),
            strict: AtomicBool::new(options.strict_capacity_limit),
            reserved: AtomicUsize::new(0),
            ledger: Mutex::new([0; ROLES]),
            options,
        }))
    }

    /// How many shards it has: a power of two.
    pub fn num_shards(&self) -> usize {
        self.shards.len()
    }

    /// What it was made with; capacity and strictness may have changed since.
    pub fn options(&self) -> &CacheOptions {
        &self.options
    }

    /// The entry under `key`, pinned while the handle lives.
    #[inline]
    pub fn lookup(&self, key: &CacheKey) -> Option<Handle<V>> {
        let (shard, hash) = self.route(key);
        // SAFETY: the shard passes its reference on.
        shard.lookup(key, hash).map(|entry| unsafe { Handle::new(entry) })
    }

    /// Brings what a look-up will read first towards the processor.
    #[inline]
    pub fn prefetch(&self, key: &CacheKey) {
        let (shard, hash) = self.route(key);
        shard.prefetch(hash);
    }

    /// The same for the entry itself, which looks into the hash table; for a look-up that comes soon.
    #[inline]
    pub fn prefetch_entry(&self, key: &CacheKey) {
        let (shard, hash) = self.route(key);
        shard.prefetch_entry(hash);
    }

    /// Puts a value in and pins it. An entry already under the key is replaced; its handles keep it.
    ///
    /// # Errors
    /// `Aborted` with `Subcode::MemoryLimit`, value dropped, when it cannot fit under a strict limit; what was under
    /// the key stays there.
    pub fn insert(
        &self,
        key: &CacheKey,
        value: V,
        charge: usize,
        priority: Priority,
        role: Role,
    ) -> Result<Handle<V>> {
        let (shard, hash) = self.route(key);
        let entry = shard.insert(key, hash, value, charge, (priority, role), true)?;
        // SAFETY: the shard passes its reference on.
        Ok(unsafe { Handle::new(entry) })
    }

    /// A handle to a value that is charged but cannot be found (`fill_cache` = false and the like).
    ///
    /// # Errors
    /// As [`Cache::insert`].
    pub fn standalone(&self, value: V, charge: usize, role: Role) -> Result<Handle<V>> {
        // Any key will do to spread them; the stack's address is at hand and differs by thread.
        let here = std::ptr::from_ref(&charge) as usize as u64;
        let key = CacheKey([here, role as u64]);
        let (shard, hash) = self.route(&key);
        let entry = shard.insert(&key, hash, value, charge, (Priority::Bottom, role), false)?;
        // SAFETY: the shard passes its reference on.
        Ok(unsafe { Handle::new(entry) })
    }

    /// Takes the entry out; its handles keep it. False if there was none.
    pub fn erase(&self, key: &CacheKey) -> bool {
        let (shard, hash) = self.route(key);
        shard.erase(key, hash)
    }

    /// Lets go of a handle and takes its entry out (a block that turned out useless).
    pub fn erase_unref(&self, handle: Handle<V>) {
        let (shard, _) = self.route(&handle.key());
        // A handle of another cache is not ours to erase.
        if std::ptr::eq(handle.entry().owner(), shard) {
            shard.erase_entry(handle.entry());
        }
    }

    /// Takes out every entry that nobody pins.
    pub fn erase_unreferenced(&self) {
        self.shards().for_each(Shard::erase_unreferenced);
    }

    /// In bytes.
    pub fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    /// Evicts down to it, as far as pins allow.
    pub fn set_capacity(&self, bytes: usize) {
        let mut taken = Taken::new();
        let _ledger = self.ledger.lock();
        self.capacity.store(bytes, Ordering::Relaxed);
        self.spread(&mut taken);
    }

    /// Returns true if an insertion fails when the cache is full of entries in use.
    pub fn strict_capacity_limit(&self) -> bool {
        self.strict.load(Ordering::Relaxed)
    }

    /// Sets whether an insertion fails when the cache is full of entries in use.
    pub fn set_strict_capacity_limit(&self, strict: bool) {
        self.strict.store(strict, Ordering::Relaxed);
        self.shards().for_each(|s| s.set_strict(strict));
    }

    /// Bytes charged, reservations included.
    pub fn usage(&self) -> usize {
        self.shards().map(Shard::usage).sum::<usize>() + self.reserved.load(Ordering::Relaxed)
    }

    /// Bytes charged to entries with handles out, and reservations. Walks the table.
    pub fn pinned_usage(&self) -> usize {
        let pinned: usize = self.shards().map(Shard::pinned_usage).sum();
        pinned + self.reserved.load(Ordering::Relaxed)
    }

    /// Entries charged, pinned or not.
    pub fn occupancy(&self) -> usize {
        self.shards().map(Shard::occupancy).sum()
    }

    /// Entries evicted for want of room, since the start.
    pub fn evictions(&self) -> u64 {
        self.shards().map(Shard::evictions).sum()
    }

    /// Number of shards.
    pub fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// Bytes of the hash tables.
    pub fn table_bytes(&self) -> usize {
        self.shards().map(Shard::table_bytes).sum()
    }

    /// Count and bytes by role.
    pub fn role_usage(&self) -> [RoleUsage; ROLES] {
        let mut sum = [RoleUsage::default(); ROLES];
        self.shards().for_each(|s| s.add_roles(&mut sum));
        for (to, bytes) in sum.iter_mut().zip(*self.ledger.lock()) {
            to.count += bytes.div_ceil(RESERVATION_STEP);
            to.bytes += bytes;
        }
        sum
    }

    /// Charges memory held elsewhere; given back when the reservation is dropped.
    ///
    /// # Errors
    /// As [`Cache::insert`].
    pub fn reserve(self: &Arc<Self>, role: Role, bytes: usize) -> Result<Reservation> {
        Reservation::new(self.clone(), role, bytes)
    }

    /// Calls `f` with every entry that can be found: key, value, charge, role. Entries that come or go
    /// meanwhile may be missed. `f` must not use the cache: the LRU kind holds a shard's lock.
    pub fn apply_to_all(&self, f: &mut dyn FnMut(&CacheKey, &V, usize, Role)) {
        self.shards().for_each(|s| s.for_each(f));
    }

    /// Leaves the memory to the end of the process, which frees it faster than anyone.
    pub fn disown(self: Arc<Self>) {
        std::mem::forget(self);
    }

    #[inline]
    fn route(&self, key: &CacheKey) -> (&Shard<V>, u32) {
        let (low, high) = key.hash();
        let at = (u64::from(low) * self.shards.len() as u64) >> 32;
        base::invariant!(
            (at as usize) < self.shards.len(),
            "a key belongs to shard {at}, and the cache has {}",
            self.shards.len()
        );
        // SAFETY: shards live until `drop`, which `&self` excludes.
        (unsafe { self.shards[at as usize].as_ref() }, high)
    }

    fn shards(&self) -> impl Iterator<Item = &Shard<V>> {
        // SAFETY: as in `route`.
        self.shards.iter().map(|s| unsafe { s.as_ref() })
    }

    /// Gives each shard its part of what reservations leave. The caller holds the ledger and drops what
    /// is taken afterwards.
    fn spread(&self, taken: &mut Taken<V>) {
        let reserved = self.reserved.load(Ordering::Relaxed);
        let left = self.capacity().saturating_sub(reserved).div_ceil(self.shards.len());
        self.shards().for_each(|s| s.set_limit(left, taken));
    }

    fn set_reserved(&self, bytes: usize, taken: &mut Taken<V>) {
        let before = self.reserved.swap(bytes, Ordering::Relaxed);
        if before.div_ceil(RESERVATION_STEP) != bytes.div_ceil(RESERVATION_STEP) {
            self.spread(taken);
        }
    }
}

impl<V: Send + Sync + 'static> Drop for Cache<V> {
    fn drop(&mut self) {
        for shard in &self.shards {
            // SAFETY: made by `Shard::new`, closed once; `&mut self` means that nobody is in a call.
            unsafe { Shard::close(*shard) };
        }
    }
}

impl<V: Send + Sync + 'static> fmt::Debug for Cache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} of {} bytes)", self.usage(), self.capacity())
    }
}

/// Something that memory can be charged to: every [`Cache`], whatever it holds.
pub trait Ledger: Send + Sync {
    /// Adds bytes under a role. `force` never fails.
    fn charge(&self, role: Role, bytes: usize, force: bool) -> Result<()>;

    /// Removes bytes that were added under this role.
    fn discharge(&self, role: Role, bytes: usize);
}

impl<V: Send + Sync + 'static> Ledger for Cache<V> {
    fn charge(&self, role: Role, bytes: usize, force: bool) -> Result<()> {
        // Declared before the guard, so dropped after it: a value may hold a reservation itself.
        let mut taken = Taken::new();
        let mut roles = self.ledger.lock();
        let before = self.reserved.load(Ordering::Relaxed);
        self.set_reserved(before.saturating_add(bytes), &mut taken);
        if !force && self.strict_capacity_limit() && self.usage() > self.capacity() {
            self.set_reserved(before, &mut taken);
            return Err(Error::aborted("a reservation in a full cache with a strict capacity limit")
                .with_subcode(Subcode::MemoryLimit));
        }
        roles[role as usize] += bytes;
        base::invariant!(
            roles.iter().sum::<usize>() == self.reserved.load(Ordering::Relaxed),
            "the roles do not add up to the reserved bytes of the cache"
        );
        Ok(())
    }

    fn discharge(&self, role: Role, bytes: usize) {
        let mut taken = Taken::new();
        let mut roles = self.ledger.lock();
        base::invariant!(
            bytes <= roles[role as usize],
            "{bytes} bytes are released, and {} are reserved for {role:?}",
            roles[role as usize]
        );
        let bytes = bytes.min(roles[role as usize]);
        roles[role as usize] -= bytes;
        self.set_reserved(self.reserved.load(Ordering::Relaxed) - bytes, &mut taken);
        base::invariant!(
            roles.iter().sum::<usize>() == self.reserved.load(Ordering::Relaxed),
            "the roles do not add up to the reserved bytes of the cache"
        );
    }
}

/// Memory held elsewhere and charged to a cache while this lives.
pub struct Reservation {
    ledger: Arc<dyn Ledger>,
    role: Role,
    bytes: usize,
}

impl Reservation {
    /// Charges `bytes` to `ledger`.
    ///
    /// # Errors
    /// `Aborted` with `Subcode::MemoryLimit` when they cannot fit under a strict limit.
    pub fn new(ledger: Arc<dyn Ledger>, role: Role, bytes: usize) -> Result<Reservation> {
        ledger.charge(role, bytes, false)?;
        Ok(Reservation { ledger, role, bytes })
    }

    /// Returns the bytes that the reservation holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Grows or shrinks to `bytes`; unchanged on error.
    pub fn set(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes {
            self.ledger.charge(self.role, bytes - self.bytes, false)?;
        } else {
            self.ledger.discharge(self.role, self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.ledger.discharge(self.role, self.bytes);
    }
}
