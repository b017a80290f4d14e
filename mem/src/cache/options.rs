//! The options of a cache.

use base::{Error, Result};

/// How a cache finds and evicts entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Lookups without a lock, and eviction by a counting clock. RocksDB's default block cache.
    HyperClock {
        /// The expected average charge of an entry in bytes. Above 0, the hash table has a fixed size. 0
        /// (default): the table grows.
        estimated_entry_charge: usize,
    },
    /// Evicts the least recently used entry, from three pools.
    Lru {
        /// Share of the capacity for entries with high priority or with a hit. From 0 to 1; default 0.5.
        high_pri_pool_ratio: f64,
        /// Share of the capacity for entries with low priority. From 0 to 1, and both shares together at most
        /// 1; default 0.
        low_pri_pool_ratio: f64,
    },
}

/// Whether the memory that the cache uses for itself is charged to its capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum MetadataCharge {
    /// The own memory of the cache is not charged.
    None = 0,
    /// The own memory of the cache is charged to its capacity. The default.
    #[default]
    Full = 1,
}

/// The options of a cache. The defaults are RocksDB's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheOptions {
    /// Capacity in bytes; default 32 MiB.
    pub capacity: usize,
    /// Base-2 logarithm of the number of shards, at most 19. -1 (default) chooses by capacity: at least 32
    /// MiB for each shard of a clock cache, at least 512 KiB for each shard of an LRU cache, and at most 64
    /// shards.
    pub num_shard_bits: i32,
    /// True if an insertion fails if the cache is full of entries in use. Default false: the cache then
    /// exceeds its capacity.
    pub strict_capacity_limit: bool,
    /// Whether the memory that the cache uses for itself is charged to its capacity.
    pub metadata_charge: MetadataCharge,
    /// The kind of cache.
    pub kind: Kind,
}

impl CacheOptions {
    /// Makes the options of RocksDB's default block cache, with this capacity in bytes.
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
    /// Returns RocksDB's name of this kind of cache, for the info log and for properties.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Lru { .. } => "LRUCache",
            Kind::HyperClock { estimated_entry_charge: 0 } => "AutoHyperClockCache",
            Kind::HyperClock { .. } => "FixedHyperClockCache",
        }
    }

    /// Returns the number of shards that these options ask for.
    ///
    /// # Errors
    /// `InvalidArgument` if `num_shard_bits` is above 19, a pool ratio is not from 0 to 1, or both ratios
    /// together exceed 1.
    pub(super) fn num_shards(&self) -> Result<usize> {
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
