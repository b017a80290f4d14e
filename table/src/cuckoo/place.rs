//! Chooses the bucket of each key of a new cuckoo table.
//!
//! A key goes to the first empty bucket of its hashes. If there is none, a breadth-first search looks for
//! keys that can move. The key in a bucket of the new key moves to another bucket of its own; the key there
//! moves to another bucket too; the last key moves to an empty bucket. If the search fails, the table gets
//! one more hash.
//!
//! The order of the search decides the bytes of the file, so the order is RocksDB's (`MakeSpaceForKey`).

use base::{Error, Result};

use super::Hashing;

/// Maximum number of hashes of a table.
const HASHES_MAX: u32 = 64;
const EMPTY: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Bucket {
    key: u32,
    /// The last search that saw the bucket.
    seen_by: u32,
}

/// A bucket in a search. It is reached if the key in the bucket at `parent` moves.
struct Node {
    bucket: u64,
    depth: u32,
    parent: usize,
}

/// The placement of all keys.
pub(super) struct Placed {
    /// The number of a key for each bucket.
    pub(super) buckets: Vec<Option<u32>>,
    /// The number of hashes that a lookup uses.
    pub(super) hashes: u32,
}

pub(super) struct Placing<'a> {
    pub(super) hashing: Hashing,
    pub(super) block: u32,
    pub(super) search_depth_max: u32,
    /// Returns the user key of a number.
    pub(super) key: &'a dyn Fn(u32) -> &'a [u8],
    pub(super) same: &'a dyn Fn(&[u8], &[u8]) -> bool,
}

impl Placing<'_> {
    /// Places the keys with the numbers below `count`.
    ///
    /// # Errors
    /// NotSupported if two keys are equal, or if the keys have too many collisions.
    pub(super) fn place(&self, count: u32) -> Result<Placed> {
        base::invariant!(self.hashing.size > 0 && self.block > 0, "a cuckoo table without buckets");
        let len = self.hashing.size + u64::from(self.block) - 1;
        let mut buckets = vec![Bucket { key: EMPTY, seen_by: 0 }; len as usize];
        let (mut hashes, mut searches) = (2, 0);
        let mut tried = Vec::new();
        for number in 0..count {
            tried.clear();
            let key = (self.key)(number);
            let mut found = None;
            for hash in 0..hashes {
                found = self.first_empty(&buckets, key, hash, &mut tried, true)?;
                if found.is_some() {
                    break;
                }
            }
            while found.is_none() {
                searches += 1;
                found = self.make_space(&mut buckets, &tried, hashes, searches);
                if found.is_some() {
                    break;
                }
                if hashes >= HASHES_MAX {
                    return Err(Error::not_supported("Too many collisions. Unable to hash."));
                }
                // The old hashes stay valid: lookups use one more hash.
                found = self.first_empty(&buckets, key, hashes, &mut tried, false)?;
                hashes += 1;
            }
            if let Some(bucket) = found {
                base::invariant!(
                    tried.contains(&bucket) || buckets[bucket as usize].key == EMPTY,
                    "the bucket {bucket} holds a key that did not move"
                );
                buckets[bucket as usize].key = number;
            }
        }
        let buckets = buckets.iter().map(|b| (b.key != EMPTY).then_some(b.key)).collect();
        Ok(Placed { buckets, hashes })
    }

    /// Returns the first empty bucket of one hash. Appends the full buckets to `tried`.
    fn first_empty(
        &self,
        buckets: &[Bucket],
        key: &[u8],
        hash: u32,
        tried: &mut Vec<u64>,
        check: bool,
    ) -> Result<Option<u64>> {
        let first = self.hashing.bucket(key, hash);
        base::invariant!(
            first + u64::from(self.block) <= buckets.len() as u64,
            "the cuckoo block of bucket {first} ends after the last of {} buckets",
            buckets.len()
        );
        for bucket in first..first + u64::from(self.block) {
            let there = buckets[bucket as usize].key;
            if there == EMPTY {
                return Ok(Some(bucket));
            }
            if check && (self.same)(key, (self.key)(there)) {
                return Err(Error::not_supported("Same key is being inserted again."));
            }
            tried.push(bucket);
        }
        Ok(None)
    }

    /// Moves keys so that one of the first `hashes` buckets of `tried` is free. Returns this bucket.
    fn make_space(&self, buckets: &mut [Bucket], tried: &[u64], hashes: u32, search: u32) -> Option<u64> {
        let roots = (hashes as usize).min(tried.len());
        base::invariant!(
            tried[..roots].iter().all(|bucket| (*bucket as usize) < buckets.len()),
            "a key was tried in a bucket that does not exist"
        );
        let mut tree: Vec<Node> = Vec::new();
        for bucket in &tried[..roots] {
            buckets[*bucket as usize].seen_by = search;
            tree.push(Node { bucket: *bucket, depth: 0, parent: 0 });
        }
        let mut at = 0;
        let last = 'search: loop {
            let node = tree.get(at).filter(|node| node.depth < self.search_depth_max)?;
            let (bucket, depth) = (node.bucket, node.depth + 1);
            let key = (self.key)(buckets[bucket as usize].key);
            for hash in 0..hashes {
                let first = self.hashing.bucket(key, hash);
                for bucket in first..first + u64::from(self.block) {
                    if buckets[bucket as usize].seen_by == search {
                        continue;
                    }
                    buckets[bucket as usize].seen_by = search;
                    tree.push(Node { bucket, depth, parent: at });
                    if buckets[bucket as usize].key == EMPTY {
                        break 'search tree.len() - 1;
                    }
                }
            }
            at += 1;
        };
        base::invariant!(last >= roots, "a bucket that holds a key of the search is empty");
        let mut at = last;
        while at >= roots {
            let (to, parent) = (tree[at].bucket as usize, tree[at].parent);
            base::invariant!(parent < at, "the search for a bucket has a circle");
            buckets[to] = buckets[tree[parent].bucket as usize];
            at = parent;
        }
        Some(tree[at].bucket)
    }
}
