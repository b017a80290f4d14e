//! A block cache without a database: entries, handles, priorities, limits, charges and reservations.
//!
//! ```text
//!  lookup       the newest value of the key, or nothing; nothing after `erase`
//!  handle        its value stays the same, whatever happens to the entry
//!  usage         with a strict limit and without forced charges, at most one step of the reservations above the capacity
//!  reservations  each role has the sum of its reservations
//! ```
//! The entries are raw bytes. The keys are few, so that entries are replaced, and the cache is small, so that entries are evicted.

use std::collections::BTreeMap;
use std::sync::Arc;

use ironstone::{BlockCache, CacheKind, CacheOptions, CacheRole, Kind, Ledger, MetadataCharge, Subcode};
use mem::cache::{CacheKey, Handle, Priority, Reservation, UsageCharge};
use table::sst::{CachedBlock, Other};
use testkit::chance::Chance;

use super::{World, same, told};

/// The roles of the drawn entries and reservations.
const ROLES: [CacheRole; 3] = [CacheRole::DataBlock, CacheRole::FilterBlock, CacheRole::WriteBuffer];

/// The number of different keys.
const KEYS: u64 = 300;

/// The steps in which reservations lower the limit of the entries.
const STEP: usize = 256 << 10;

/// A cache, and its model.
pub(super) struct Kept {
    cache: Arc<BlockCache>,
    /// The cache that the usage is charged to.
    account: Arc<BlockCache>,
    charges: Vec<Arc<UsageCharge>>,
    /// The newest value of each key that was not erased. An eviction can remove the entry from the cache.
    newest: BTreeMap<u64, u64>,
    handles: Vec<(Handle<CachedBlock>, u64)>,
    reservations: Vec<(Reservation, CacheRole)>,
    /// True if a strict limit has held since the cache was empty.
    is_bounded: bool,
    written: u64,
}

impl Kept {
    /// Makes the cache. Options of no cache are refused.
    ///
    /// # Errors
    /// An option of no cache that was accepted, or an option that was refused.
    pub fn new(chance: &mut Chance) -> Result<Kept, String> {
        let lru = |high, low| CacheKind::Lru { high_pri_pool_ratio: high, low_pri_pool_ratio: low };
        let wrong = [
            CacheOptions { num_shard_bits: 20, ..CacheOptions::lru(1000) },
            CacheOptions { kind: lru(-0.1, 0.0), ..CacheOptions::lru(1000) },
            CacheOptions { kind: lru(0.5, 1.5), ..CacheOptions::lru(1000) },
            CacheOptions { kind: lru(0.6, 0.6), ..CacheOptions::lru(1000) },
        ];
        for options in wrong {
            let made = BlockCache::new(options).map(drop).map_err(|error| error.kind());
            same(&format!("a cache of {options:?}"), &made, &Err(Kind::InvalidArgument))?;
        }
        let kinds = [
            CacheKind::HyperClock { estimated_entry_charge: 0 },
            CacheKind::HyperClock { estimated_entry_charge: 100 },
            CacheKind::HyperClock { estimated_entry_charge: 8000 },
            lru(0.5, 0.0),
            lru(0.3, 0.3),
            lru(0.0, 0.5),
        ];
        let options = CacheOptions {
            capacity: *chance.pick(&[0, 5000, 40_000, 1 << 20]),
            num_shard_bits: *chance.pick(&[-1, 0, 0, 2]),
            strict_capacity_limit: chance.percent(40),
            metadata_charge: *chance.pick(&[MetadataCharge::Full, MetadataCharge::None]),
            kind: *chance.pick(&kinds),
        };
        let cache = BlockCache::new(options).map_err(told("cache"))?;
        let strict_capacity_limit = chance.percent(30);
        let account = CacheOptions { strict_capacity_limit, ..CacheOptions::lru(30_000) };
        let account = BlockCache::new(account).map_err(told("account"))?;
        Ok(Kept {
            cache,
            account,
            charges: Vec::new(),
            newest: BTreeMap::new(),
            handles: Vec::new(),
            reservations: Vec::new(),
            is_bounded: options.strict_capacity_limit,
            written: 0,
        })
    }

    fn insert(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (n, value) = (chance.below(KEYS), self.written);
        self.written += 1;
        let charge = *chance.pick(&[10, 100, 100, 900, 6000]);
        let priority = *chance.pick(&[Priority::High, Priority::Low, Priority::Bottom]);
        let role = *chance.pick(&ROLES);
        let is_alone = chance.percent(10);
        let made = match is_alone {
            true => self.cache.standalone(block(value), charge, role).map(|handle| (handle, false)),
            false => self.cache.insert_or_replace(&key(n), block(value), charge, priority, role),
        };
        match made {
            Ok((handle, is_replaced)) => {
                same("an entry before", &(is_replaced && !self.newest.contains_key(&n)), &false)?;
                same("a new handle", &(number(&handle), handle.role()), &(value, role))?;
                if !is_alone {
                    self.newest.insert(n, value);
                }
                if chance.percent(30) {
                    self.handles.push((handle, value));
                }
                Ok(())
            }
            Err(error) => {
                let is_full = error.subcode() == Subcode::MemoryLimit && self.cache.strict_capacity_limit();
                same(&format!("an insertion: {error}"), &is_full, &true)
            }
        }
    }

    fn look_up(&mut self, chance: &mut Chance) -> Result<(), String> {
        let n = chance.below(KEYS);
        if chance.percent(10) {
            self.cache.prefetch(&key(n));
            self.cache.prefetch_entry(&key(n));
        }
        let Some(handle) = self.cache.lookup(&key(n)) else { return Ok(()) };
        let value = number(&handle);
        same("a value", &Some(value), &self.newest.get(&n).copied())?;
        match chance.below(10) {
            0 => {
                self.cache.erase_unref(handle);
                self.newest.remove(&n);
                same("an erased entry", &self.cache.lookup(&key(n)).is_none(), &true)
            }
            // A handle of another cache is only released.
            1 => {
                self.account.erase_unref(handle);
                same("an entry of another cache", &self.cache.lookup(&key(n)).is_some(), &true)
            }
            2 | 3 => {
                self.handles.push((handle.clone(), value));
                self.handles.push((handle, value));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn erase(&mut self, chance: &mut Chance) -> Result<(), String> {
        let n = chance.below(KEYS);
        let is_erased = self.cache.erase(&key(n));
        same("an entry to erase", &(is_erased && !self.newest.contains_key(&n)), &false)?;
        self.newest.remove(&n);
        same("an erased entry", &self.cache.lookup(&key(n)).is_none(), &true)
    }

    fn reserve(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (role, bytes) =
            (*chance.pick(&ROLES), chance.below(*chance.clone().pick(&[4000, 400_000])) as usize);
        let done = match chance.below(4) {
            0 if !self.reservations.is_empty() => {
                self.reservations.swap_remove(chance.below(self.reservations.len() as u64) as usize);
                Ok(())
            }
            1 if !self.reservations.is_empty() => {
                let at = chance.below(self.reservations.len() as u64) as usize;
                self.reservations[at].0.set(bytes)
            }
            2 => {
                let forced = self.cache.charge(role, bytes, true);
                self.cache.discharge(role, bytes);
                self.is_bounded &= bytes == 0;
                forced
            }
            _ => {
                self.cache.reserve(role, bytes).map(|reservation| self.reservations.push((reservation, role)))
            }
        };
        match done {
            Err(error) if !self.cache.strict_capacity_limit() => Err(format!("a reservation: {error}")),
            Err(error) => same("a full cache", &error.subcode(), &Subcode::MemoryLimit),
            Ok(()) => Ok(()),
        }
    }

    /// Changes the limits.
    fn limit(&mut self, chance: &mut Chance) {
        match chance.below(5) {
            0 => {
                self.cache.set_capacity(*chance.pick(&[0, 5000, 40_000, 1 << 20]));
                self.is_bounded = false;
            }
            1 => {
                self.cache.set_strict_capacity_limit(chance.percent(50));
                self.is_bounded = false;
            }
            2 => self.cache.erase_unreferenced(),
            3 => {
                let ledger: Arc<dyn Ledger> = self.account.clone();
                self.charges.push(self.cache.charge_usage_to(ledger));
                self.cache.follow_usage();
            }
            _ => self.charges.clear(),
        }
    }

    fn release(&mut self, chance: &mut Chance) {
        let left = chance.below(self.handles.len() as u64 + 1) as usize;
        self.handles.truncate(left);
    }
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n)
}

fn block(value: u64) -> CachedBlock {
    CachedBlock::from(Other::Raw(Arc::from(&value.to_le_bytes()[..])))
}

fn number(block: &CachedBlock) -> u64 {
    let CachedBlock::Other(other) = block else { return u64::MAX };
    let Other::Raw(bytes) = &**other else { return u64::MAX };
    bytes.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes))
}

impl World for Kept {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        // A database makes many calls of a cache for one call of the user.
        for _ in 0..20 {
            match chance.below(100) {
                0..45 => self.insert(chance)?,
                45..75 => self.look_up(chance)?,
                75..80 => self.erase(chance)?,
                80..88 => self.reserve(chance)?,
                88..90 => self.limit(chance),
                _ => self.release(chance),
            }
            let spare = if self.reservations.is_empty() { self.cache.num_shards() } else { STEP };
            let (usage, most) = (self.cache.usage(), self.cache.capacity() + spare);
            let what = || format!("{usage} bytes with the strict limit {most}: {:?}", self.cache.options());
            same(&what(), &(self.is_bounded && usage > most), &false)?;
        }
        Ok(())
    }

    fn compare(&mut self) -> Result<(), String> {
        for (handle, value) in &self.handles {
            same("the value of a handle", &number(handle), value)?;
        }
        let (mut wrong, mut entries) = (None, 0);
        self.cache.apply_to_all(&mut |found, block, _, role| {
            let n = found.0[1];
            entries += 1;
            if found != &key(n) || self.newest.get(&n) != Some(&number(block)) || !ROLES.contains(&role) {
                wrong = Some(n);
            }
        });
        same("an entry of the walk that is not the newest", &wrong, &None)?;
        same("entries of the walk", &(entries <= self.cache.occupancy()), &true)?;
        let usage = self.cache.role_usage();
        let entries = self.cache.entry_bytes();
        for role in ROLES {
            let own = self.reservations.iter().filter(|(_, of)| *of == role).map(|(r, _)| r.bytes());
            let found = usage[role as usize].bytes - entries[role as usize];
            same(&format!("reserved for {role:?}"), &found, &own.sum())?;
        }
        if self.handles.is_empty() {
            same(
                "pinned bytes without a handle",
                &self.cache.pinned_usage().checked_sub(reserved(self)),
                &Some(0),
            )?;
        }
        Ok(())
    }
}

/// Returns the bytes of all reservations.
fn reserved(kept: &Kept) -> usize {
    kept.reservations.iter().map(|(reservation, _)| reservation.bytes()).sum()
}
