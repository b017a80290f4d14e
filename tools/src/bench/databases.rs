//! The open databases of the benchmarks, with the column families that the keys are spread over.
//!
//! ```text
//!  --num_multi_db=N            N databases in the directories 0 to N-1 of --db; each operation draws one
//!  --num_hot_column_families=H stage 0: families 0..H, stage 1: families H..2H, ...; operations use the newest H
//! ```
//! Invariant: the families below `created` exist, and `created` is at least `hot`. A fill creates the families of its next stage.
//!
//! Facts: RocksDB `tools/db_bench_tool.cc` (`DBWithColumnFamilies`, `Benchmark::OpenDb`, `Benchmark::DoWrite`).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base::{Error, Result};
use ironstone::{Db, Family, FamilyDescriptor};

use super::flags::Flags;

/// One open database.
pub struct Database {
    pub db: Db,
    /// A slot for each column family of `--num_column_families`.
    families: Vec<OnceLock<Family>>,
    /// The number of column families that operations use at one time.
    hot: usize,
    /// The number of column families that exist.
    created: AtomicUsize,
    /// Held while the families of a stage are created.
    creating: Mutex<()>,
    /// The descriptors of all column families.
    descriptors: Vec<FamilyDescriptor>,
    /// The shares of the hot column families in percent (`--column_family_distribution`). Empty: equal shares.
    shares: Vec<u64>,
}

/// Returns the number of column families that exist after the open, and that operations use at one time.
pub fn hot_families(flags: &Flags) -> usize {
    let all = flags.count("num_column_families").max(1);
    match flags.count("num_hot_column_families") {
        hot if hot > 0 && hot < all => hot as usize,
        _ => all as usize,
    }
}

/// Returns the directories of the databases of `--num_multi_db`.
pub fn directories(flags: &Flags, path: &Path) -> Vec<PathBuf> {
    match flags.count("num_multi_db") {
        0 | 1 => vec![path.to_path_buf()],
        count => (0..count).map(|at| path.join(at.to_string())).collect(),
    }
}

impl Database {
    /// Takes an open database whose first `hot` column families exist.
    ///
    /// # Errors
    /// InvalidArgument if a column family is missing.
    pub fn new(
        db: Db,
        descriptors: Vec<FamilyDescriptor>,
        hot: usize,
        shares: Vec<u64>,
    ) -> Result<Arc<Database>> {
        let families: Vec<OnceLock<Family>> = descriptors.iter().map(|_| OnceLock::new()).collect();
        for (slot, descriptor) in families.iter().zip(&descriptors).take(hot) {
            // The slot is empty, because it is new.
            let _ = slot.set(db.family(&descriptor.name)?);
        }
        let (created, creating) = (AtomicUsize::new(hot), Mutex::new(()));
        Ok(Arc::new(Database { db, families, hot, created, creating, descriptors, shares }))
    }

    /// Returns the same column families in another view of the database.
    ///
    /// # Errors
    /// InvalidArgument if the view has no such column family.
    pub fn in_view(&self, view: Db) -> Result<Arc<Database>> {
        Database::new(view, self.descriptors.clone(), self.hot, self.shares.clone())
    }

    /// Returns true if the keys are in the default column family only.
    #[inline]
    pub fn has_one_family(&self) -> bool {
        self.families.len() == 1
    }

    /// Returns the column families that exist, by number.
    pub fn existing(&self) -> impl Iterator<Item = &Family> {
        self.families.iter().filter_map(OnceLock::get)
    }

    /// Returns the column family that holds the key with the number `key` at present.
    #[inline]
    pub fn family(&self, key: u64) -> &Family {
        if self.has_one_family() {
            return &self.db;
        }
        let first = self.created.load(Ordering::Acquire) - self.hot;
        let at = if self.shares.is_empty() { key as usize % self.hot } else { self.by_share(key) };
        // The families below `created` exist. The default column family always exists.
        self.families[first + at].get().unwrap_or(&self.db)
    }

    fn by_share(&self, key: u64) -> usize {
        let mut sum = 0;
        let at = self.shares.iter().position(|share| {
            sum += share;
            sum >= key % 100
        });
        at.unwrap_or(self.hot - 1)
    }

    /// Creates the column families of a stage. Does nothing if they exist, because another thread may have begun the stage.
    ///
    /// # Errors
    /// The errors of [`Db::create_family`].
    pub fn begin_stage(&self, stage: u64) -> Result<()> {
        let _creating = self.creating.lock().unwrap_or_else(PoisonError::into_inner);
        let created = self.created.load(Ordering::Relaxed);
        let end = (created + self.hot).min(self.families.len());
        if (stage as usize + 1) * self.hot <= created || created == end {
            return Ok(());
        }
        // RocksDB creates the column families one by one. With the same calls, all files get the numbers of RocksDB.
        for (slot, descriptor) in self.families[created..end].iter().zip(&self.descriptors[created..end]) {
            let family = self
                .db
                .create_family(descriptor.clone())
                .map_err(|error| error.doing("creating the column families of the next stage"))?;
            // No other thread sets the slot, because this thread holds `creating`.
            let _ = slot.set(family);
        }
        self.created.store(end, Ordering::Release);
        Ok(())
    }
}

/// Returns the shares of `--column_family_distribution` in percent. Empty: the keys have equal shares.
///
/// # Errors
/// InvalidArgument if the shares do not sum to 100, or if their number is not the number of hot column families.
pub fn shares(flags: &Flags) -> Result<Vec<u64>> {
    let text = flags.text("column_family_distribution");
    if text.is_empty() || flags.int("num_column_families") <= 1 {
        return Ok(Vec::new());
    }
    let wrong = |why: String| Error::invalid_argument(format!("--column_family_distribution={text}: {why}"));
    let shares: Vec<u64> = text
        .split(',')
        .map(|share| share.trim().parse().map_err(|_| wrong(format!("{share} is no number"))))
        .collect::<Result<_>>()?;
    if shares.iter().sum::<u64>() != 100 {
        return Err(wrong("column_family_distribution items must sum to 100".to_string()));
    }
    let expected = hot_families(flags);
    if shares.len() != expected {
        return Err(wrong(format!(
            "got {} column_family_distribution items; expected {expected}",
            shares.len()
        )));
    }
    Ok(shares)
}

/// Checks that a benchmark supports several databases.
///
/// # Errors
/// InvalidArgument if the benchmark does not support `--num_multi_db` above 1.
pub fn check(flags: &Flags, name: &str) -> Result<()> {
    const SINGLE: [&str; 14] = [
        "readwhilescanning",
        "randomtransaction",
        "fillembeddedblob",
        "fillembeddedentity",
        "fillanddeleteuniquerandom",
        "fillseqdeterministic",
        "filluniquerandomdeterministic",
        "getmergeoperands",
        "ingestexternalfile",
        "replay",
        "verify",
        "backup",
        "restore",
        "timeseries",
    ];
    if flags.count("num_multi_db") > 1 && SINGLE.contains(&name) {
        return Err(Error::invalid_argument(format!("{name} does not support --num_multi_db above 1")));
    }
    Ok(())
}

/// Checks that the other flags allow several databases, and column families that are created later.
///
/// # Errors
/// InvalidArgument if a flag excludes `--num_multi_db` or `--num_hot_column_families`.
pub fn check_flags(flags: &Flags) -> Result<()> {
    let several = flags.count("num_multi_db") > 1;
    let staged = (hot_families(flags) as u64) < flags.count("num_column_families").max(1);
    let excludes = |other: &str, flag: &str| {
        Err(Error::invalid_argument(format!("--{other} does not work with --{flag}")))
    };
    for other in ["use_secondary_db", "open_as_follower", "use_existing_keys", "explicit_snapshot"] {
        if several && flags.bool(other) {
            return excludes(other, "num_multi_db above 1");
        }
    }
    for other in ["trace_file", "block_cache_trace_file"] {
        if several && !flags.text(other).is_empty() {
            return excludes(other, "num_multi_db above 1");
        }
    }
    for other in ["use_secondary_db", "open_as_follower"] {
        if staged && flags.bool(other) {
            return excludes(other, "num_hot_column_families");
        }
    }
    Ok(())
}
