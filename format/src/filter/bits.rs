//! Collects hashes and builds the payload of one filter.

use std::borrow::Cow;

use base::{Error, Result};
use kernel::filter::{Filter, KeyHashes, bloom_legacy, bloom_local, ribbon};
use kernel::hash::{bloom_hash, hash64};

use super::terms::{Algorithm, FilterConfig};

pub(super) struct Bits {
    config: FilterConfig,
    hashes: KeyHashes,
    /// Exclusive or of all hashes. Computed only if hashes are verified.
    sum: u64,
    ribbon: ribbon::Builder,
}

impl Bits {
    pub(super) fn new(config: FilterConfig) -> Self {
        Bits { config, hashes: KeyHashes::new(), sum: 0, ribbon: ribbon::Builder::new() }
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        match self.config.algorithm {
            Algorithm::LegacyBloom => u64::from(bloom_hash(key)),
            _ => hash64(key),
        }
    }

    /// Returns the prefix of a key, if prefixes are added to the filter.
    #[inline]
    pub(super) fn prefix<'a>(&self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        self.config.prefix.as_ref()?.prefix(key)
    }

    /// Adds the whole key, its prefix, or both.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8]) {
        match self.prefix(key) {
            None if self.config.whole_keys => self.add_alone(key),
            None => {}
            Some(prefix) if self.config.whole_keys => self.add_both(key, &prefix),
            Some(prefix) => self.add_alone(&prefix),
        }
    }

    /// Adds a key or a prefix.
    #[inline]
    pub(super) fn add_alone(&mut self, bytes: &[u8]) {
        let before = self.hashes.len();
        self.hashes.add(self.hash(bytes));
        self.sum_from(before);
    }

    fn add_both(&mut self, key: &[u8], prefix: &[u8]) {
        let before = self.hashes.len();
        self.hashes.add_with_prefix(self.hash(key), self.hash(prefix));
        self.sum_from(before);
    }

    /// Adds a prefix that also belongs to the next partition. The next key then does not count as its
    /// repetition.
    pub(super) fn add_last_prefix(&mut self, prefix: &[u8]) {
        if self.config.whole_keys { self.add_both(prefix, prefix) } else { self.add_alone(prefix) }
    }

    #[inline]
    fn sum_from(&mut self, before: usize) {
        if self.config.verify {
            self.sum = self.hashes.as_slice()[before..].iter().fold(self.sum, |sum, hash| sum ^ hash);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(super) fn has_prefixes(&self) -> bool {
        self.config.prefix.is_some()
    }

    pub(super) fn memory_usage_bytes(&self) -> usize {
        self.hashes.memory_usage_bytes() + self.ribbon.memory_usage_bytes()
    }

    pub(super) fn scratch_bytes(&self) -> usize {
        let ribbon = if self.config.algorithm == Algorithm::Ribbon { 28 * self.len() } else { 0 };
        ribbon + self.payload_len(self.len())
    }

    pub(super) fn refuse_ribbon(&mut self) {
        if self.config.algorithm == Algorithm::Ribbon {
            self.config.algorithm = Algorithm::LocalBloom;
        }
    }

    pub(super) fn payload_len(&self, entries: usize) -> usize {
        let bits = self.config.bits_per_key;
        match self.config.algorithm {
            _ if entries == 0 => 0,
            Algorithm::LegacyBloom => bloom_legacy::payload_len(entries, bits),
            Algorithm::LocalBloom => bloom_local::payload_len(entries, bits),
            Algorithm::Ribbon => {
                let rounding = self.hashes.as_slice().first().map_or(0, |hash| (hash >> 32) as u32);
                ribbon::payload_len(entries, bits, rounding)
            }
        }
    }

    /// Returns the number of entries of a filter with this payload size.
    pub(super) fn entries_in(&self, payload_len: usize) -> usize {
        let bits = self.config.bits_per_key;
        match self.config.algorithm {
            Algorithm::LegacyBloom => {
                let total = (payload_len as u64 * 8).min(0xffff_0000);
                let high = (total / u64::from(bits.whole())) as usize + 1;
                // The size grows with the number of entries, so a binary search finds the largest number that
                // fits.
                let (mut low, mut high) = (0, high + 1);
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    let fits = bloom_legacy::payload_len(middle, bits) <= payload_len;
                    if fits { low = middle } else { high = middle }
                }
                low
            }
            Algorithm::LocalBloom => bloom_local::approximate_num_entries(payload_len, bits),
            Algorithm::Ribbon => ribbon::approximate_num_entries(payload_len, bits),
        }
    }

    /// Builds the filter of all added hashes, and clears them.
    ///
    /// # Errors
    /// Corruption if verification was requested and finds that memory has changed.
    pub(super) fn build(&mut self, payload: &mut Vec<u8>) -> Result<()> {
        let hashes = self.hashes.as_slice();
        let bits = self.config.bits_per_key;
        match self.config.algorithm {
            Algorithm::LegacyBloom => *payload = bloom_legacy::build(hashes, bits),
            Algorithm::LocalBloom => {
                let bits =
                    if self.config.fit_probes { bloom_local::fitted(hashes.len(), bits) } else { bits };
                bloom_local::build_into(hashes, bits, payload);
            }
            Algorithm::Ribbon => {
                self.ribbon.build_into(hashes, bits, payload);
                // The Ribbon builder may have built a Bloom filter, whose number of probes can be fitted.
                let fitted = bloom_local::fitted(hashes.len(), bits);
                if self.config.fit_probes
                    && fitted != bits
                    && matches!(Filter::parse(payload), Filter::BloomLocal(_))
                {
                    bloom_local::build_into(hashes, fitted, payload);
                }
            }
        }
        let checked = if self.config.verify { self.check(payload) } else { Ok(()) };
        self.hashes.clear();
        self.sum = 0;
        checked
    }

    fn check(&self, payload: &[u8]) -> Result<()> {
        let hashes = self.hashes.as_slice();
        if hashes.iter().fold(0, |sum, hash| sum ^ hash) != self.sum {
            return Err(Error::corruption("Filter's hash entries checksum mismatched"));
        }
        let filter = Filter::parse(payload);
        if hashes.iter().any(|&hash| !filter.may_match(payload, hash)) {
            return Err(Error::corruption("Corrupted filter content"));
        }
        Ok(())
    }
}
