//! The block cache: values under 16-byte keys, a budget in bytes, and handles that keep values alive.
//!
//! Two kinds share one face. [`Kind::HyperClock`], the default, finds an entry without a lock: two words
//! are read and one counter is raised. [`Kind::Lru`] has RocksDB's three priority pools and a mutex a
//! shard. Either is split into shards by key.
//!
//! Entries are charged what the caller says. Memory that is not a block (memtables, filters being built,
//! table readers) is charged by a [`Reservation`] under its [`Role`], so that one number bounds them all.
//! With `strict_capacity_limit` an insertion or reservation that cannot be made to fit is refused;
//! otherwise the cache grows past its capacity while entries are pinned.

use std::sync::Arc;

use base::Result;

mod handle;
mod options;
mod role;

pub use handle::Handle;
pub use options::{CacheOptions, Kind, MetadataCharge};
pub use role::{ROLES, Role, RoleUsage};

/// A cache key: 16 bytes, well spread (a block's are its file's unique id and offset, mixed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheKey(pub [u64; 2]);

impl CacheKey {
    #[inline]
    pub const fn new(high: u64, low: u64) -> CacheKey {
        CacheKey([high, low])
    }
}

/// How dear an entry without hits is; numbered as RocksDB's `Cache::Priority`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Priority {
    /// Index, filter and dictionary blocks.
    High = 0,
    /// Data blocks.
    #[default]
    Low = 1,
    /// Blob values.
    Bottom = 2,
}

/// A cache shared by tables and databases. Any thread.
pub struct Cache<V: Send + Sync + 'static> {
    _v: std::marker::PhantomData<V>,
}

impl<V: Send + Sync + 'static> Cache<V> {
    /// # Errors
    /// `InvalidArgument` for options out of range.
    pub fn new(_options: CacheOptions) -> Result<Arc<Cache<V>>> {
        todo!()
    }

    /// The entry under `key`, pinned while the handle lives.
    pub fn lookup(&self, _key: &CacheKey) -> Option<Handle<V>> {
        todo!()
    }

    /// Puts a value in and pins it. An entry already under the key is replaced; its handles keep it.
    ///
    /// # Errors
    /// `Aborted` with `Subcode::MemoryLimit`, value dropped, when it cannot fit under a strict limit.
    pub fn insert(
        &self,
        _key: &CacheKey,
        _value: V,
        _charge: usize,
        _priority: Priority,
        _role: Role,
    ) -> Result<Handle<V>> {
        todo!()
    }

    /// A handle to a value that is charged but cannot be found (`fill_cache` = false and the like).
    pub fn standalone(&self, _value: V, _charge: usize, _role: Role) -> Result<Handle<V>> {
        todo!()
    }

    /// Takes the entry out; its handles keep it. False if there was none.
    pub fn erase(&self, _key: &CacheKey) -> bool {
        todo!()
    }

    /// Lets go of a handle and takes its entry out (a block that turned out useless).
    pub fn erase_unref(&self, _handle: Handle<V>) {
        todo!()
    }

    /// Takes out every entry that nobody pins.
    pub fn erase_unreferenced(&self) {
        todo!()
    }

    /// In bytes.
    pub fn capacity(&self) -> usize {
        todo!()
    }

    /// Evicts down to it, as far as pins allow.
    pub fn set_capacity(&self, _bytes: usize) {
        todo!()
    }

    pub fn strict_capacity_limit(&self) -> bool {
        todo!()
    }

    pub fn set_strict_capacity_limit(&self, _strict: bool) {
        todo!()
    }

    /// Bytes charged, reservations included.
    pub fn usage(&self) -> usize {
        todo!()
    }

    /// Bytes charged to entries with handles out, and reservations. Walks the table.
    pub fn pinned_usage(&self) -> usize {
        todo!()
    }

    /// Entries charged, pinned or not.
    pub fn occupancy(&self) -> usize {
        todo!()
    }

    /// Count and bytes by role.
    pub fn role_usage(&self) -> [RoleUsage; ROLES] {
        todo!()
    }

    /// Charges memory held elsewhere; given back when the reservation is dropped.
    ///
    /// # Errors
    /// As [`Cache::insert`].
    pub fn reserve(self: &Arc<Self>, _role: Role, _bytes: usize) -> Result<Reservation> {
        todo!()
    }

    /// Calls `f` with every entry that can be found: key, value, charge, role. Entries that come or go
    /// meanwhile may be missed.
    pub fn apply_to_all(&self, _f: &mut dyn FnMut(&CacheKey, &V, usize, Role)) {
        todo!()
    }
}

/// Something that memory can be charged to: every [`Cache`], whatever it holds.
pub trait Ledger: Send + Sync {
    /// Adds bytes under a role. `force` never fails.
    fn charge(&self, role: Role, bytes: usize, force: bool) -> Result<()>;

    fn discharge(&self, role: Role, bytes: usize);
}

impl<V: Send + Sync + 'static> Ledger for Cache<V> {
    fn charge(&self, _role: Role, _bytes: usize, _force: bool) -> Result<()> {
        todo!()
    }

    fn discharge(&self, _role: Role, _bytes: usize) {
        todo!()
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
