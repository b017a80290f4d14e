//! The block cache of a handle of options.

use std::sync::{Arc, OnceLock};

use base::Result;
use engine::options::TableFactory;
use mem::cache::Cache;
use table::sst::BlockCache;

use crate::Options;

/// The block cache of the table options of a handle: the cache that the program gave, or a cache that the first use makes.
///
/// A clone shares the cache. So column families that are opened with one handle, or with copies of one handle, share a block cache,
/// in one database or in many. Two handles that are made with defaults have two block caches. In RocksDB the table factory has the
/// cache (`BlockBasedTableFactory::InitializeOptions`), and a copy of options shares the factory.
#[derive(Clone, Default)]
pub struct TableCache(Arc<OnceLock<Arc<BlockCache>>>);

impl TableCache {
    /// Returns a holder of the cache that the program gave. With `None`, the first [`Self::get`] makes a cache.
    pub fn of(given: Option<Arc<BlockCache>>) -> Self {
        TableCache(Arc::new(given.map_or_else(OnceLock::new, OnceLock::from)))
    }

    /// Returns the block cache for tables of this factory. Returns `None` for a factory without a block cache.
    ///
    /// # Errors
    /// InvalidArgument if no cache can have the settings of the table options.
    pub fn get(&self, factory: &TableFactory) -> Result<Option<Arc<BlockCache>>> {
        let table = match factory {
            TableFactory::BlockBased(table) => table,
            TableFactory::Adaptive(tables) => &tables.block_based,
            TableFactory::Plain(_) | TableFactory::Cuckoo(_) | TableFactory::Other { .. } => return Ok(None),
        };
        if table.no_block_cache {
            return Ok(None);
        }
        if let Some(cache) = self.0.get() {
            return Ok(Some(cache.clone()));
        }
        let made = Cache::new(table.block_cache.options)?;
        Ok(Some(self.0.get_or_init(|| made).clone()))
    }

    /// Sets options from text, as [`Options::update`] does. If the text names a block cache, the options no longer share the cache
    /// with their copies.
    ///
    /// # Errors
    /// The errors of [`Options::update`]. Then nothing is changed.
    pub fn update(&mut self, options: &mut Options, text: &str) -> Result<()> {
        let mut changed =
            Options { block_cache: self.get(&options.family.table_factory)?, ..options.clone() };
        changed.update(text)?;
        if changed.block_cache.take().is_none() {
            *self = TableCache::default();
        }
        *options = changed;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use engine::options::FamilyOptions;

    use super::*;

    #[test]
    fn copies_share_a_cache_and_two_handles_do_not() {
        let factory = FamilyOptions::default().table_factory;
        let (one, other) = (TableCache::default(), TableCache::default());
        let copy = one.clone();
        let cache = |holder: &TableCache| holder.get(&factory).unwrap().unwrap();
        assert!(Arc::ptr_eq(&cache(&one), &cache(&copy)));
        assert!(!Arc::ptr_eq(&cache(&one), &cache(&other)));
        assert_eq!(cache(&one).capacity(), 32 << 20);
    }

    #[test]
    fn text_with_a_block_cache_ends_the_sharing() {
        let mut options = Options::default();
        let (mut holder, before) = (TableCache::default(), TableCache::default());
        holder.clone_from(&before);
        let capacity = |holder: &TableCache, options: &Options| {
            holder.get(&options.family.table_factory).unwrap().unwrap().capacity()
        };
        holder.update(&mut options, "block_based_table_factory={block_size=8192}").unwrap();
        assert!(Arc::ptr_eq(&holder.0, &before.0));
        holder.update(&mut options, "block_based_table_factory={block_cache=1M}").unwrap();
        assert_eq!(
            (capacity(&holder, &options), capacity(&before, &Options::default())),
            (1 << 20, 32 << 20)
        );
        assert!(holder.update(&mut options, "no_such_option=1").is_err());
        assert_eq!(capacity(&holder, &options), 1 << 20);
    }

    #[test]
    fn factories_without_a_block_cache_make_none() {
        let plain = TableFactory::by_name("PlainTable").unwrap();
        assert!(TableCache::default().get(&plain).unwrap().is_none());
        let mut options = Options::default();
        options.update("block_based_table_factory={no_block_cache=true}").unwrap();
        assert!(TableCache::default().get(&options.family.table_factory).unwrap().is_none());
    }
}
