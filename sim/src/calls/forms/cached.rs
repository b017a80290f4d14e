//! A database whose blocks are kept in the files of a persistent cache.

use ironstone::{BlockBasedTableOptions, Db, Kind, TableFactory};
use table::options::SharedPersistentCache;
use table::sst::PersistentCache;
use testkit::chance::Chance;

use super::super::indexed::rows_equal;
use super::super::{key, same, told, value};
use super::{Forms, families_of};

/// The smallest cache that the engine accepts, in bytes.
const SMALLEST: u64 = 64 << 10;

impl Forms {
    /// Reads a new database through a persistent cache: blocks that are not in the cache, blocks that are, and blocks after an
    /// eviction. A later open with an empty cache in the same directory reads the same rows.
    pub(super) fn keep_blocks(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (path, caches) = (self.path("blocks"), self.path("caches"));
        let fs = self.options.db.env.fs.clone();
        let few = PersistentCache::open(fs.clone(), &caches, SMALLEST - 1).map(drop).map_err(|e| e.kind());
        same("a cache that is too small", &few, &Err(Kind::InvalidArgument))?;
        let mut options = self.options.clone();
        options.update("create_if_missing=true;compression=kNoCompression").map_err(told("options"))?;
        // The cache is full after some reads, or holds all blocks.
        let capacity = *chance.pick(&[SMALLEST, 4 << 20]);
        let no_block_cache = chance.percent(70);
        let mut models = vec![testkit::model::Model::default()];
        for round in 0..2 {
            let cache = PersistentCache::open(fs.clone(), &caches, capacity).map_err(told("a cache"))?;
            let persistent_cache = SharedPersistentCache { cache: Some(cache) };
            let table = BlockBasedTableOptions {
                block_size: 400,
                no_block_cache,
                persistent_cache,
                ..BlockBasedTableOptions::default()
            };
            options.family.table_factory = TableFactory::BlockBased(table);
            let db = Db::open(&path, options.clone()).map_err(told("open with a persistent cache"))?;
            for _ in 0..chance.below(120) {
                let (key, value) = ([key(chance), vec![b'a' + round; 3]].concat(), value(chance));
                db.put(&key, &value).map_err(told("put"))?;
                models[0].put(&key, &value);
            }
            db.flush().map_err(told("flush"))?;
            for _ in 0..3 {
                rows_equal(&families_of(&db), &models)
                    .map_err(|words| format!("with a persistent cache: {words}"))?;
            }
            // A read of a range reads ahead, past the cache.
            for _ in 0..2 {
                for (key, value) in models[0].rows() {
                    let found = db.get(&key).map_err(told("get"))?.map(|found| found.to_vec());
                    same("a value with a persistent cache", &found, &Some(value))?;
                }
            }
            db.close().map_err(told("close"))?;
        }
        ironstone::destroy(&path, &options.db).map_err(told("destroy"))
    }
}
