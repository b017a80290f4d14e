//! Hash maps that are walked in the same order in every run.
//!
//! The standard ones draw a key at the start of each process, so that whoever walks one does things in another order
//! each time, and a seed no longer repeats a run. These are the same maps without the draw: made with `default()`,
//! for keys that no stranger chooses (file numbers, family ids, paths of our own).

#![allow(clippy::disallowed_types, reason = "the replacement is made of them")]

use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;

/// `std::collections::HashMap` with a fixed key.
pub type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;
/// `std::collections::HashSet` with a fixed key.
pub type HashSet<K> = std::collections::HashSet<K, BuildHasherDefault<DefaultHasher>>;
