//! The block cache: values under 16-byte keys, a capacity in bytes, and handles that keep values alive.
//!
//! The cache has two kinds with one interface. [`Kind::HyperClock`], the default, finds an entry without a
//! lock: a lookup reads two words and raises one counter. [`Kind::Lru`] has RocksDB's three priority pools
//! and one mutex for each shard. Both kinds are split into shards by key.
//!
//! The caller states the charge of each entry. Memory outside of blocks (memtables, filters under
//! construction, table readers) is charged by a [`Reservation`] under its [`Role`], so one number limits
//! the sum. With `strict_capacity_limit`, an insertion or reservation that does not fit is rejected.
//! Without it, the cache exceeds its capacity while its entries are pinned.

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use base::{Error, Result, Subcode};
use parking_lot::Mutex;

mod charge;
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

pub use charge::UsageCharge;
pub use handle::Handle;
pub use key::{CacheKey, Priority};
pub use options::{CacheOptions, Kind, MetadataCharge};
pub use role::{ROLES, Role, RoleUsage};

/// A cache that tables and databases share. All methods may be called from any thread.
pub struct Cache<V: Send + Sync + 'static> {
    /// The shards. They are alive until `drop` closes them.
    shards: Box<[NonNull<Shard<V>>]>,
    capacity: AtomicUsize,
    strict: AtomicBool,
    /// The bytes that all reservations charge. `ledger` holds the bytes of each role, and its lock orders all
    /// changes.
    reserved: AtomicUsize,
    ledger: Mutex<[usize; ROLES]>,
    /// True after [`Cache::charge_statistics`].
    charges_statistics: AtomicBool,
    /// The charges of [`Cache::charge_usage_to`] that are in use.
    usage_charges: Mutex<Vec<Weak<UsageCharge>>>,
    options: CacheOptions,
}

// SAFETY: shards are reached by shared reference only. All their fields are atomic or protected by a lock,
// and values are `Send + Sync`.
unsafe impl<V: Send + Sync + 'static> Send for Cache<V> {}
// SAFETY: threads share the shards by shared reference only. All fields of a shard are atomic or protected by a lock,
// and values are `Send + Sync`.
unsafe impl<V: Send + Sync + 'static> Sync for Cache<V> {}

/// Reservations change the capacity of the shards in steps of 256 KiB, and each step counts as one entry,
/// like RocksDB's dummy entries.
const RESERVATION_STEP: usize = 256 << 10;

impl<V: Send + Sync + 'static> Cache<V> {
    /// Makes an empty cache. Each shard gets an equal part of the capacity, rounded up.
    ///
    /// # Errors
    /// `InvalidArgument` for options out of range. `Aborted` with `Subcode::MemoryLimit` if the system has no memory for the hash
    /// tables: a clock cache with an `estimated_entry_charge` makes them as large as its capacity needs.
    pub fn new(options: CacheOptions) -> Result<Arc<Cache<V>>> {
        let count = options.num_shards()?;
        let limit = options.capacity.div_ceil(count);
        base::invariant!(count.is_power_of_two(), "a cache has {count} shards");
        Ok(Arc::new(Cache {
            shards: make_shards(&options, count, limit)?,
            capacity: AtomicUsize::new(options.capacity),
            strict: AtomicBool::new(options.strict_capacity_limit),
            reserved: AtomicUsize::new(0),
            ledger: Mutex::new([0; ROLES]),
            charges_statistics: AtomicBool::new(false),
            usage_charges: Mutex::new(Vec::new()),
            options,
        }))
    }

    /// Returns the number of shards, a power of two.
    pub fn num_shards(&self) -> usize {
        self.shards.len()
    }

    /// Returns the options that the cache was made with. The capacity and the strictness may have changed
    /// since.
    pub fn options(&self) -> &CacheOptions {
        &self.options
    }

    /// Returns the entry under `key`. The entry is pinned while the handle exists.
    #[inline]
    pub fn lookup(&self, key: &CacheKey) -> Option<Handle<V>> {
        let (shard, hash) = self.route(key);
        // SAFETY: the call returned an entry with a reference for its caller. The handle takes this reference.
        shard.lookup(key, hash).map(|entry| unsafe { Handle::new(entry) })
    }

    /// Prefetches the first memory that a lookup of `key` will read.
    #[inline]
    pub fn prefetch(&self, key: &CacheKey) {
        let (shard, hash) = self.route(key);
        shard.prefetch(hash);
    }

    /// Prefetches the entry of `key` itself, for a lookup that follows soon. This call reads the hash table.
    #[inline]
    pub fn prefetch_entry(&self, key: &CacheKey) {
        let (shard, hash) = self.route(key);
        shard.prefetch_entry(hash);
    }

    /// Inserts a value and pins it. If the key has an entry, the new entry replaces it. Handles to the old
    /// entry keep the old value.
    ///
    /// # Errors
    /// `Aborted` with `Subcode::MemoryLimit` if the value does not fit under a strict limit. The value is
    /// then dropped, and the old entry of the key stays.
    pub fn insert(
        &self,
        key: &CacheKey,
        value: V,
        charge: usize,
        priority: Priority,
        role: Role,
    ) -> Result<Handle<V>> {
        self.insert_or_replace(key, value, charge, priority, role).map(|(handle, _)| handle)
    }

    /// Inserts a value as [`Cache::insert`] does. Also returns true if the key had an entry.
    ///
    /// # Errors
    /// The errors of [`Cache::insert`].
    pub fn insert_or_replace(
        &self,
        key: &CacheKey,
        value: V,
        charge: usize,
        priority: Priority,
        role: Role,
    ) -> Result<(Handle<V>, bool)> {
        let (shard, hash) = self.route(key);
        let (entry, is_replaced) = shard.insert(key, hash, value, charge, (priority, role), true)?;
        // SAFETY: the call returned an entry with a reference for its caller. The handle takes this reference.
        Ok((unsafe { Handle::new(entry) }, is_replaced))
    }

    /// Returns a handle to a value that is charged, but that no lookup finds. For reads with `fill_cache` =
    /// false.
    ///
    /// # Errors
    /// The errors of [`Cache::insert`].
    pub fn standalone(&self, value: V, charge: usize, role: Role) -> Result<Handle<V>> {
        // The key only spreads the values over the shards. The address of a local variable is cheap and
        // differs by thread.
        let here = std::ptr::from_ref(&charge) as usize as u64;
        let key = CacheKey([here, role as u64]);
        let (shard, hash) = self.route(&key);
        let (entry, _) = shard.insert(&key, hash, value, charge, (Priority::Bottom, role), false)?;
        // SAFETY: the call returned an entry with a reference for its caller. The handle takes this reference.
        Ok(unsafe { Handle::new(entry) })
    }

    /// Removes the entry of `key`. Handles keep its value. Returns false if there was no entry.
    pub fn erase(&self, key: &CacheKey) -> bool {
        let (shard, hash) = self.route(key);
        shard.erase(key, hash)
    }

    /// Releases a handle and removes its entry, for a block that is of no further use.
    pub fn erase_unref(&self, handle: Handle<V>) {
        let (shard, _) = self.route(&handle.key());
        // A handle of another cache is only released.
        if std::ptr::eq(handle.entry().owner(), shard) {
            shard.erase_entry(handle.entry());
        }
    }

    /// Removes every entry that no handle pins.
    pub fn erase_unreferenced(&self) {
        self.shards().for_each(Shard::erase_unreferenced);
        self.follow_usage();
    }

    /// Returns the capacity in bytes.
    pub fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    /// Sets the capacity in bytes and evicts entries until the cache fits, as far as pinned entries allow.
    pub fn set_capacity(&self, bytes: usize) {
        let mut taken = Taken::new();
        let ledger = self.ledger.lock();
        self.capacity.store(bytes, Ordering::Relaxed);
        self.spread(&mut taken);
        drop(ledger);
        drop(taken);
        self.follow_usage();
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

    /// Returns the charged bytes, reservations included.
    pub fn usage(&self) -> usize {
        self.shards().map(Shard::usage).sum::<usize>() + self.reserved.load(Ordering::Relaxed)
    }

    /// Returns the bytes of pinned entries and of reservations. Walks over all entries.
    pub fn pinned_usage(&self) -> usize {
        let pinned: usize = self.shards().map(Shard::pinned_usage).sum();
        pinned + self.reserved.load(Ordering::Relaxed)
    }

    /// Returns the number of charged entries, pinned or not.
    pub fn occupancy(&self) -> usize {
        self.shards().map(Shard::occupancy).sum()
    }

    /// Returns the number of entries that were evicted to make room.
    pub fn evictions(&self) -> u64 {
        self.shards().map(Shard::evictions).sum()
    }

    /// Returns the bytes of the hash tables.
    pub fn table_bytes(&self) -> usize {
        self.shards().map(Shard::table_bytes).sum()
    }

    /// Returns the number of entries and the bytes of each role.
    pub fn role_usage(&self) -> [RoleUsage; ROLES] {
        let mut sum = [RoleUsage::default(); ROLES];
        self.shards().for_each(|s| s.add_roles(&mut sum));
        for (to, bytes) in sum.iter_mut().zip(*self.ledger.lock()) {
            to.count += bytes.div_ceil(RESERVATION_STEP);
            to.bytes += bytes;
        }
        sum
    }

    /// Returns the bytes of the entries of each role, without reservations: memory that the cache itself holds.
    pub fn entry_bytes(&self) -> [usize; ROLES] {
        let mut sum = [RoleUsage::default(); ROLES];
        self.shards().for_each(|s| s.add_roles(&mut sum));
        sum.map(|usage| usage.bytes)
    }

    /// Charges memory outside of the cache. The drop of the reservation releases the charge.
    ///
    /// # Errors
    /// The errors of [`Cache::insert`].
    pub fn reserve(self: &Arc<Self>, role: Role, bytes: usize) -> Result<Reservation> {
        Reservation::new(self.clone(), role, bytes)
    }

    /// Charges the table of [`Cache::role_usage`] under [`Role::Misc`], once for the life of the cache. A database
    /// calls this when it starts to use the cache, so the cache of an open database is never empty. RocksDB charges
    /// its `CacheEntryStatsCollector` at the same moment (`cache/cache_entry_stats.h`).
    pub fn charge_statistics(&self) {
        if self.charges_statistics.swap(true, Ordering::Relaxed) {
            return;
        }
        let forced = self.charge(Role::Misc, size_of::<[RoleUsage; ROLES]>(), true);
        base::invariant!(forced.is_ok(), "a forced charge failed");
    }

    /// Calls `f` with the key, value, charge and role of every visible entry. Entries that are inserted or
    /// removed during the walk may be missed. `f` must not use the cache, because the LRU kind holds the lock
    /// of a shard.
    pub fn apply_to_all(&self, f: &mut dyn FnMut(&CacheKey, &V, usize, Role)) {
        self.shards().for_each(|s| s.for_each(f));
    }

    /// Leaks the cache. At the end of the process the system frees all memory faster than a drop of each
    /// value.
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
        // SAFETY: shards live until `drop`. `drop` cannot run while `&self` exists.
        (unsafe { self.shards[at as usize].as_ref() }, high)
    }

    fn shards(&self) -> impl Iterator<Item = &Shard<V>> {
        // SAFETY: shards live until `drop`. `drop` cannot run while `&self` exists.
        self.shards.iter().map(|s| unsafe { s.as_ref() })
    }

    /// Divides the capacity that reservations leave among the shards. The caller holds `ledger`, and drops
    /// the evicted values after it released `ledger`.
    fn spread(&self, taken: &mut Taken<V>) {
        let reserved = self.reserved.load(Ordering::Relaxed);
        // Without a strict limit, reservations may exceed the capacity.
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

/// Makes the shards of a cache. If the system has no memory for one of them, no shard is left.
fn make_shards<V: Send + Sync + 'static>(
    options: &CacheOptions,
    count: usize,
    limit: usize,
) -> Result<Box<[NonNull<Shard<V>>]>> {
    let mut shards = Vec::with_capacity(count);
    for _ in 0..count {
        match Shard::new(options, limit) {
            Some(shard) => shards.push(shard),
            None => {
                // SAFETY: each shard comes from `Shard::new`, is closed once, and no other thread has it.
                shards.drain(..).for_each(|shard| unsafe { Shard::close(shard) });
                return Err(Error::aborted(format!(
                    "the system has no memory for the hash tables of a cache of {} bytes; choose a smaller capacity or a \
                     larger estimated entry charge",
                    options.capacity
                ))
                .with_subcode(Subcode::MemoryLimit));
            }
        }
    }
    Ok(shards.into_boxed_slice())
}

impl<V: Send + Sync + 'static> Drop for Cache<V> {
    fn drop(&mut self) {
        for shard in &self.shards {
            // SAFETY: the shard comes from `Shard::new` and is closed once. `&mut self` excludes concurrent
            // calls.
            unsafe { Shard::close(*shard) };
        }
    }
}

impl<V: Send + Sync + 'static> fmt::Debug for Cache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} of {} bytes)", self.usage(), self.capacity())
    }
}

/// An account that memory is charged to. Every [`Cache`] is a ledger, whatever its values are.
pub trait Ledger: Send + Sync {
    /// Adds bytes under a role. With `force`, the call never fails.
    fn charge(&self, role: Role, bytes: usize, force: bool) -> Result<()>;

    /// Removes bytes that were added under this role.
    fn discharge(&self, role: Role, bytes: usize);
}

impl<V: Send + Sync + 'static> Ledger for Cache<V> {
    fn charge(&self, role: Role, bytes: usize, force: bool) -> Result<()> {
        // `taken` is declared before the lock guard and so dropped after it: an evicted value may itself hold
        // a reservation.
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

/// Memory outside of the cache that is charged to the cache until the reservation is dropped.
pub struct Reservation {
    ledger: Arc<dyn Ledger>,
    role: Role,
    bytes: usize,
}

impl Reservation {
    /// Charges `bytes` to `ledger`.
    ///
    /// # Errors
    /// `Aborted` with `Subcode::MemoryLimit` if the bytes do not fit under a strict limit.
    pub fn new(ledger: Arc<dyn Ledger>, role: Role, bytes: usize) -> Result<Reservation> {
        ledger.charge(role, bytes, false)?;
        Ok(Reservation { ledger, role, bytes })
    }

    /// Returns the bytes that the reservation holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the reservation to `bytes`. If the call fails, the reservation is unchanged.
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
