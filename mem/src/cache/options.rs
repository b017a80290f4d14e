//! What a cache is made with.

use base::{Error, Result};

/// How entries are found and evicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Lock-free look-ups, counting-clock eviction. RocksDB's default block cache.
    HyperClock {
        /// Expected average charge in bytes, for a table of fixed size; 0 for one that grows.
        estimated_entry_charge: usize,
    },
    /// Least recently used, in three pools.
    Lru {
        /// Share of the capacity kept for high-priority and hit entries; 0 to 1, 0.5.
        high_pri_pool_ratio: f64,
        /// Share kept for low-priority entries; 0 to 1, both together at most 1; 0.
        low_pri_pool_ratio: f64,
    },
}

/// Whether the cache's own memory counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum MetadataCharge {
    /// The own memory of the cache is not charged.
    None = 0,
    /// The own memory of the cache is charged to its capacity. The default.
    #[default]
    Full = 1,
}

/// A cache's settings, RocksDB's defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheOptions {
    /// Bytes; 32 MiB.
    pub capacity: usize,
    /// Two to this power shards; -1 chooses by capacity (at least 32 MiB a shard for the clock, 512 KiB
    /// for LRU, at most 64 shards). At most 19.
    pub num_shard_bits: i32,
    /// True if an insertion fails when the cache is full of entries in use. The default is false: the cache then exceeds its capacity.
    pub strict_capacity_limit: bool,
    /// Whether the own memory of the cache is charged to its capacity.
    pub metadata_charge: MetadataCharge,
    /// The kind of cache.
    pub kind: Kind,
}

impl CacheOptions {
    /// RocksDB's default block cache.
    pub fn hyper_clock(capacity: usize) -> Self {
        CacheOptions {
            capacity,
            num_shard_bits: -1,
            strict_capacity_limit: false,
            metadata_charge: MetadataCharge::Full,
            kind: Kind::HyperClock { estimated_entry_charge: 0 },
        }
    }

    /// Makes the options of an LRU cache with this capacity in bytes.
    pub fn lru(capacity: usize) -> Self {
        CacheOptions {
            kind: Kind::Lru { high_pri_pool_ratio: 0.5, low_pri_pool_ratio: 0.0 },
            ..CacheOptions::hyper_clock(capacity)
        }
    }
}

impl CacheOptions {
    /// RocksDB's name of such a cache, in the LOG and in properties.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Lru { .. } => "LRUCache",
            Kind::HyperClock { estimated_entry_charge: 0 } => "AutoHyperClockCache",
            Kind::HyperClock { .. } => "FixedHyperClockCache",
        }
    }

    /// How many shards these options ask for.
    ///
    /// # Errors
    /// `InvalidArgument` for shard bits above 19, or pool ratios that are not shares of one whole.
    pub(super) fn shard_count(&self) -> Result<usize> {
        if self.num_shard_bits > 19 {
            return Err(Error::invalid_argument("a cache has at most 2^19 shards"));
        }
        let smallest = match self.kind {
            Kind::HyperClock { .. } => 32 << 20,
            Kind::Lru { high_pri_pool_ratio: high, low_pri_pool_ratio: low } => {
                let share = |r: f64| (0.0..=1.0).contains(&r);
                if !share(high) || !share(low) || high + low > 1.0 {
                    return Err(Error::invalid_argument(
                        "the pool ratios of an LRU cache must be from 0 to 1, both together too",
                    ));
                }
                512 << 10
            }
        };
        let bits = match u32::try_from(self.num_shard_bits) {
            Ok(bits) => bits,
            Err(_) => (self.capacity / smallest).checked_ilog2().unwrap_or(0).min(6),
        };
        base::invariant!(bits <= 19, "a cache has 2^{bits} shards");
        Ok(1 << bits)
    }
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions::hyper_clock(32 << 20)
    }
}
