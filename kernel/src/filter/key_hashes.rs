//! The entries of a filter: hashes in the order of the keys. Repeated hashes in sorted input are dropped.
//!
//! ```text
//! add(k):                  push h(k) unless it is the last pushed
//! add_with_prefix(k, p):   pk = last pushed, pa = the prefix hash of the call before
//!                          push h(p) unless it is pk, pa or h(k);   push h(k) unless it is pk or pa
//! ```
//! These rules determine how many entries a filter counts. The number of entries determines the size and the
//! bytes of the filter.

/// The hashes for one filter, without repetitions.
#[derive(Debug, Clone, Default)]
pub struct KeyHashes {
    hashes: Vec<u64>,
    previous_prefix: Option<u64>,
}

impl KeyHashes {
    /// Creates an empty list.
    pub fn new() -> KeyHashes {
        KeyHashes::default()
    }

    /// Adds one hash, of a key alone or of a prefix alone.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        if self.hashes.last() != Some(&hash) {
            self.hashes.push(hash);
        }
    }

    /// Adds a key and its prefix.
    #[inline]
    pub fn add_with_prefix(&mut self, key: u64, prefix: u64) {
        let last = self.hashes.last().copied();
        let before = self.previous_prefix.replace(prefix);
        if before != Some(prefix) && key != prefix && last != Some(prefix) {
            self.hashes.push(prefix);
        }
        if last != Some(key) && before != Some(key) {
            self.hashes.push(key);
        }
    }

    /// Returns the number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Returns true if nothing was added.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns the entries in order.
    #[inline]
    pub fn as_slice(&self) -> &[u64] {
        &self.hashes
    }

    /// Removes all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.hashes.clear();
        self.previous_prefix = None;
    }

    /// Returns the memory usage in bytes.
    pub fn memory_usage_bytes(&self) -> usize {
        self.hashes.capacity() * size_of::<u64>()
    }
}
