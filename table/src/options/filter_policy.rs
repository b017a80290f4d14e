//! Chooses the filter of a table: RocksDB's policy strings, and its rules of choice.
//!
//! `bloomfilter:10:false` is a Bloom filter with ten bits for each key. `ribbonfilter:10:-1` is a Ribbon
//! filter with the same false-positive rate, which needs about 30 % less memory and more CPU time. Facts:
//! RocksDB `table/block_based/filter_policy.cc`.

use std::fmt;

use base::option::{Nullable, Value};
use base::{Error, Level, Result};

/// The name of the filters of all built-in policies in the metaindex of a table.
pub const COMPATIBILITY_NAME: &str = "rocksdb.BuiltinBloomFilter";

/// The kind of a filter policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// The legacy Bloom filter for format versions below 5, and the cache-local Bloom filter from version 5
    /// on.
    Bloom,
    /// Bloom filters for levels above `bloom_before_level`, and Ribbon filters from this level on. A flush
    /// counts as level -1. `i32::MAX` means always Bloom filters.
    Ribbon {
        /// The first level with Ribbon filters.
        bloom_before_level: i32,
    },
    /// Filters are read, but not written (`rocksdb.BuiltinBloomFilter`).
    ReadOnly,
    /// The legacy Bloom filter, in every format version. RocksDB's internal policy for tests and benchmarks.
    LegacyBloom,
    /// The cache-local Bloom filter, in every format version.
    FastLocalBloom,
    /// The Ribbon filter, in every format version.
    Standard128Ribbon,
}

/// The level of a new table, for the choice of a Ribbon policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterLevel {
    /// A memtable flush.
    Flush,
    /// A compaction output, leveled or universal.
    Level(Level),
    /// External files, FIFO compaction, or no compaction. They count as the last level.
    #[default]
    Unknown,
}

/// The filter to build.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FilterChoice {
    /// The Bloom filter of format versions below 5.
    LegacyBloom {
        /// Bits for each key.
        whole_bits_per_key: u32,
    },
    /// The cache-local Bloom filter.
    FastLocalBloom {
        /// Bits for each key, in thousandths.
        millibits_per_key: u32,
    },
    /// The Ribbon filter.
    Ribbon {
        /// Bits for each key, in thousandths.
        millibits_per_key: u32,
    },
}

/// The filter policy of tables.
#[derive(Clone, PartialEq)]
pub struct FilterPolicy {
    kind: PolicyKind,
    millibits_per_key: u32,
}

impl FilterPolicy {
    /// Makes a policy. As in RocksDB, `bits_per_key` below 0.5 means no filter. Other values are raised to at
    /// least 1, limited to 100, and rounded to thousandths.
    pub fn new(kind: PolicyKind, bits_per_key: f64) -> Self {
        let bits = if bits_per_key < 0.5 {
            0.0
        } else if bits_per_key < 1.0 {
            1.0
        } else if bits_per_key < 100.0 {
            bits_per_key
        } else {
            100.0
        };
        // The small addition makes numbers with three decimals exact on every platform.
        FilterPolicy { kind, millibits_per_key: (bits * 1000.0 + 0.500_001) as u32 }
    }

    /// Makes a Bloom policy with this number of bits for each key. 10 bits give about 1 % false positives.
    pub fn bloom(bits_per_key: f64) -> Self {
        FilterPolicy::new(PolicyKind::Bloom, bits_per_key)
    }

    /// Makes a Ribbon policy. A Ribbon filter needs about 30 % less memory than a Bloom filter of the same
    /// accuracy, and three to four times its CPU time to build.
    pub fn ribbon(bits_per_key: f64, bloom_before_level: i32) -> Self {
        FilterPolicy::new(PolicyKind::Ribbon { bloom_before_level }, bits_per_key)
    }

    /// Returns the kind of the policy.
    pub fn kind(&self) -> PolicyKind {
        self.kind
    }

    /// Returns the bits for each key in thousandths.
    pub fn millibits_per_key(&self) -> u32 {
        self.millibits_per_key
    }

    /// Returns the filter to build for a table, or `None` for no filter.
    pub fn choose(&self, format_version: u32, level: FilterLevel) -> Option<FilterChoice> {
        let millibits_per_key = self.millibits_per_key;
        if millibits_per_key == 0 {
            return None;
        }
        let legacy = FilterChoice::LegacyBloom { whole_bits_per_key: (millibits_per_key + 500) / 1000 };
        let local = FilterChoice::FastLocalBloom { millibits_per_key };
        let ribbon = FilterChoice::Ribbon { millibits_per_key };
        match self.kind {
            PolicyKind::ReadOnly => None,
            PolicyKind::Bloom => Some(if format_version < 5 { legacy } else { local }),
            PolicyKind::LegacyBloom => Some(legacy),
            PolicyKind::FastLocalBloom => Some(local),
            PolicyKind::Standard128Ribbon => Some(ribbon),
            PolicyKind::Ribbon { bloom_before_level } => {
                let levelish = match level {
                    FilterLevel::Flush => -1,
                    FilterLevel::Level(level) => i32::from(level.get()),
                    FilterLevel::Unknown => i32::MAX - 1,
                };
                let bloom = bloom_before_level == i32::MAX || levelish < bloom_before_level;
                Some(if bloom { local } else { ribbon })
            }
        }
    }

    /// Replaces Ribbon filters by Bloom filters, for readers older than release 6.15.
    pub(super) fn without_ribbon(&mut self) {
        if matches!(self.kind, PolicyKind::Ribbon { .. } | PolicyKind::Standard128Ribbon) {
            self.kind = PolicyKind::Bloom;
        }
    }

    /// Returns the name for the table property `rocksdb.filter.policy`.
    pub fn name(&self) -> &'static str {
        match self.kind {
            PolicyKind::Bloom => "bloomfilter",
            PolicyKind::Ribbon { .. } => "ribbonfilter",
            PolicyKind::ReadOnly => COMPATIBILITY_NAME,
            PolicyKind::LegacyBloom => "rocksdb.internal.LegacyBloomFilter",
            PolicyKind::FastLocalBloom => "rocksdb.internal.FastLocalBloomFilter",
            PolicyKind::Standard128Ribbon => "rocksdb.internal.Standard128RibbonFilter",
        }
    }

    /// Parses a policy string. `Option<FilterPolicy>` handles `nullptr` and the empty string.
    ///
    /// # Errors
    /// NotSupported for an unknown policy and for `bloomfilter` or `ribbonfilter` without bits per key; an OPTIONS file
    /// with such a name loads without a filter. InvalidArgument for malformed numbers.
    pub(crate) fn parse_policy(text: &str) -> Result<Self> {
        let text = text.trim();
        if text == COMPATIBILITY_NAME {
            return Ok(FilterPolicy::new(PolicyKind::ReadOnly, 0.0));
        }
        if let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            return Self::parse_braced(inner);
        }
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let second = parts.next();
        if second.is_none() {
            // RocksDB writes a name without numbers for a policy that was set in code. The name alone makes no policy.
            return Err(Error::not_supported(format!("filter policy {text:?} without bits per key")));
        }
        let bits = second.and_then(|bits| bits.parse::<f64>().ok());
        let third = parts.next();
        let malformed = || Error::invalid_argument(format!("malformed filter policy {text:?}"));
        let kind = match (name, third, parts.next()) {
            ("bloomfilter" | "rocksdb.BloomFilter", None | Some("true" | "false"), None) => PolicyKind::Bloom,
            ("ribbonfilter" | "rocksdb.RibbonFilter", level, None) => {
                let bloom_before_level = level.map_or(Ok(0), str::parse).map_err(|_| malformed())?;
                PolicyKind::Ribbon { bloom_before_level }
            }
            ("rocksdb.internal.LegacyBloomFilter", None, None) => PolicyKind::LegacyBloom,
            ("rocksdb.internal.FastLocalBloomFilter", None, None) => PolicyKind::FastLocalBloom,
            ("rocksdb.internal.Standard128RibbonFilter", None, None) => PolicyKind::Standard128Ribbon,
            _ => return Err(Error::not_supported(format!("filter policy {text:?}"))),
        };
        Ok(FilterPolicy::new(kind, bits.ok_or_else(malformed)?))
    }

    /// Parses `{id=ribbonfilter:10:0;bloom_before_level=2}`: the id, and then changes to it.
    fn parse_braced(text: &str) -> Result<Self> {
        let mut policy = None;
        let mut level = None;
        for field in text.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            match field.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
                Some(("id", id)) if !id.starts_with('{') => policy = Some(FilterPolicy::parse_policy(id)?),
                Some(("bloom_before_level", n)) => level = Some(i32::parse(n)?),
                // RocksDB uses the number in the id and ignores this field.
                Some(("bits_per_key", _)) => {}
                _ => return Err(Error::not_supported(format!("filter policy option {field:?}"))),
            }
        }
        let mut policy = policy.ok_or_else(|| Error::not_supported("filter policy options without an id"))?;
        match (&mut policy.kind, level) {
            (PolicyKind::Ribbon { bloom_before_level }, Some(level)) => *bloom_before_level = level,
            (_, None) => {}
            (_, Some(_)) => {
                return Err(Error::not_supported(
                    "filter policy option bloom_before_level needs ribbonfilter",
                ));
            }
        }
        Ok(policy)
    }
}

impl fmt::Display for FilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if self.kind == PolicyKind::ReadOnly {
            return Ok(());
        }
        write!(f, ":{}", self.millibits_per_key / 1000)?;
        let thousandths = self.millibits_per_key % 1000;
        if thousandths > 0 {
            write!(f, ".{}", format!("{thousandths:03}").trim_end_matches('0'))?;
        }
        match self.kind {
            // Releases up to 6.29 need a third part.
            PolicyKind::Bloom => f.write_str(":false"),
            PolicyKind::Ribbon { bloom_before_level } => write!(f, ":{bloom_before_level}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for FilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Nullable for FilterPolicy {
    fn parse_some(text: &str) -> Result<Self> {
        FilterPolicy::parse_policy(text)
    }

    fn print_some(&self) -> String {
        match self.kind {
            PolicyKind::Ribbon { bloom_before_level } => {
                format!("{{id={self};bloom_before_level={bloom_before_level};}}")
            }
            _ => self.to_string(),
        }
    }

    fn is_same_some(&self, other: &Self) -> bool {
        self == other
    }
}
