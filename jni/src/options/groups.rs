//! Setters that change several options for a purpose, options as text, lists, and options from Java properties.

use std::path::PathBuf;
use std::sync::Arc;

use engine::options::{CompressionType, DbOptions, DbPath, FamilyOptions};
use format::options_ini::parse_map;
use ironstone::binding::TableCache;
use table::sst::BlockCache;

use super::OptionSet;
use crate::fault::{Fault, Outcome};
use crate::field::Field;
use crate::handle::Handle;
use crate::java::{JBytes, JInts, JLongs, JObjects, JString, Java};
use crate::native::{natives, rows};

rows! {
    OptionSet [Options ColumnFamilyOptions] |o|;
    setMaxTableFilesSizeFIFO maxTableFilesSizeFIFO: i64 => o.family.compaction_options_fifo.max_table_files_size;
}

/// Reads options of the form `name=value;...` into a copy. Unknown names are skipped if `skip` says so.
fn parsed(text: &str, set: impl Fn(&mut OptionSet, &str, &str) -> base::Result<()>) -> Outcome<Handle> {
    let mut options = OptionSet::default();
    for (name, value) in parse_map(text)? {
        // RocksDB returns the handle 0 for a wrong option; the Java class returns null.
        if set(&mut options, &name, &value).is_err() {
            return Ok(Handle::NULL);
        }
    }
    Ok(Handle::new(options))
}

fn paths(java: Java<'_>, names: JObjects<'_>, sizes: JLongs<'_>) -> Outcome<Vec<DbPath>> {
    let (names, sizes) = (java.texts(names)?, java.longs(sizes)?);
    if names.len() != sizes.len() {
        return Err(Fault::illegal_argument(format!("{} paths have {} sizes", names.len(), sizes.len())));
    }
    let path = |(name, size): (String, i64)| DbPath { path: PathBuf::from(name), target_size: size as u64 };
    Ok(names.into_iter().zip(sizes).map(path).collect())
}

/// Writes the paths into arrays. Java made the arrays as long as the list of paths.
fn show_paths(java: Java<'_>, paths: &[DbPath], names: JObjects<'_>, sizes: JLongs<'_>) -> Outcome<()> {
    for (at, path) in paths.iter().enumerate() {
        java.set_item(names, at, java.new_text(&path.path.to_string_lossy())?.object())?;
    }
    let numbers: Vec<i64> = paths.iter().map(|path| path.target_size as i64).collect();
    java.set_longs(sizes, &numbers)
}

natives! {
    fn Options_setIncreaseParallelism | DBOptions_setIncreaseParallelism[_](options: Handle, threads: i32) {
        let mut options = options.exclusive::<OptionSet>()?;
        options.db.increase_parallelism(threads);
        let executor = options.db.env.executor.clone();
        executor.grow_threads(env::Pool::Low, usize::try_from(i64::from(threads) - 1).unwrap_or(0));
        executor.grow_threads(env::Pool::High, 1);
    }

    fn DBOptions_optimizeForSmallDb[_](options: Handle) {
        options.exclusive::<OptionSet>()?.db.optimize_for_small_db();
    }

    fn Options_optimizeForSmallDb__J[_](options: Handle) {
        let mut options = options.exclusive::<OptionSet>()?;
        options.db.optimize_for_small_db();
        options.family.optimize_for_small_db();
    }

    fn ColumnFamilyOptions_optimizeForSmallDb__J[_](options: Handle) {
        options.exclusive::<OptionSet>()?.family.optimize_for_small_db();
    }

    /// Sets options for point lookups. The column families that are opened with these options share the block cache.
    fn Options_optimizeForSmallDb__JJ | ColumnFamilyOptions_optimizeForSmallDb__JJ[_](options: Handle, cache: Handle) {
        let cache = cache.shared::<Arc<BlockCache>>()?.clone();
        let mut options = options.exclusive::<OptionSet>()?;
        options.family.optimize_for_small_db();
        options.table_cache = TableCache::of(Some(cache));
    }

    fn Options_optimizeForPointLookup | ColumnFamilyOptions_optimizeForPointLookup[_](options: Handle, cache_mb: i64) {
        let mut options = options.exclusive::<OptionSet>()?;
        options.family.optimize_for_point_lookup(cache_mb as u64);
        options.table_cache = TableCache::default();
    }

    fn Options_optimizeLevelStyleCompaction | ColumnFamilyOptions_optimizeLevelStyleCompaction[_](
        options: Handle, bytes: i64
    ) {
        options.exclusive::<OptionSet>()?.family.optimize_level_style_compaction(bytes as u64);
    }

    fn Options_optimizeUniversalStyleCompaction | ColumnFamilyOptions_optimizeUniversalStyleCompaction[_](
        options: Handle, bytes: i64
    ) {
        options.exclusive::<OptionSet>()?.family.optimize_universal_style_compaction(bytes as u64);
    }

    fn Options_oldDefaults[_](options: Handle, major: i32, minor: i32) {
        let mut options = options.exclusive::<OptionSet>()?;
        options.db.old_defaults(major as u32, minor as u32);
        options.family.old_defaults(major as u32, minor as u32);
    }

    fn ColumnFamilyOptions_oldDefaults[_](options: Handle, major: i32, minor: i32) {
        options.exclusive::<OptionSet>()?.family.old_defaults(major as u32, minor as u32);
    }

    fn Options_prepareForBulkLoad[_](options: Handle) {
        let mut options = options.exclusive::<OptionSet>()?;
        let mut both = engine::options::Options { db: options.db.clone(), family: options.family.clone() };
        both.prepare_for_bulk_load();
        (options.db, options.family) = (both.db, both.family);
    }

    fn DBOptions_getDBOptionsFromProps__Ljava_lang_String_2[java](text: JString) -> Handle {
        parsed(&java.text(text)?, |options, name, value| options.db.set(name, value))?
    }

    fn ColumnFamilyOptions_getColumnFamilyOptionsFromProps__Ljava_lang_String_2[java](text: JString) -> Handle {
        parsed(&java.text(text)?, |options, name, value| options.family.set(name, value))?
    }

    fn DBOptions_getDBOptionsFromProps__JLjava_lang_String_2[java](config: Handle, text: JString) -> Handle {
        let skip = config.shared::<crate::parts::ConfigOptions>()?.ignore_unknown_options;
        parsed(&java.text(text)?, |options, name, value| {
            if skip && !DbOptions::is_known(name) { Ok(()) } else { options.db.set(name, value) }
        })?
    }

    fn ColumnFamilyOptions_getColumnFamilyOptionsFromProps__JLjava_lang_String_2[java](
        config: Handle, text: JString
    ) -> Handle {
        let skip = config.shared::<crate::parts::ConfigOptions>()?.ignore_unknown_options;
        parsed(&java.text(text)?, |options, name, value| {
            if skip && !FamilyOptions::is_known(name) { Ok(()) } else { options.family.set(name, value) }
        })?
    }

    fn Options_setDbLogDir | DBOptions_setDbLogDir[java](options: Handle, dir: JString) {
        options.exclusive::<OptionSet>()?.db.db_log_dir = java.text(dir)?;
    }

    fn Options_dbLogDir | DBOptions_dbLogDir[java](options: Handle) -> JString<'j> {
        java.new_text(&options.shared::<OptionSet>()?.db.db_log_dir)?
    }

    fn Options_setWalDir | DBOptions_setWalDir[java](options: Handle, dir: JString) {
        options.exclusive::<OptionSet>()?.db.wal_dir = java.text(dir)?;
    }

    fn Options_walDir | DBOptions_walDir[java](options: Handle) -> JString<'j> {
        java.new_text(&options.shared::<OptionSet>()?.db.wal_dir)?
    }

    fn Options_setDailyOffpeakTimeUTC | DBOptions_setDailyOffpeakTimeUTC[java](options: Handle, range: JString) {
        options.exclusive::<OptionSet>()?.db.daily_offpeak_time_utc = java.text(range)?;
    }

    fn Options_dailyOffpeakTimeUTC | DBOptions_dailyOffpeakTimeUTC[java](options: Handle) -> JString<'j> {
        java.new_text(&options.shared::<OptionSet>()?.db.daily_offpeak_time_utc)?
    }

    fn Options_setDbPaths | DBOptions_setDbPaths[java](options: Handle, names: JObjects, sizes: JLongs) {
        let paths = paths(java, names, sizes)?;
        options.exclusive::<OptionSet>()?.db.db_paths = paths;
    }

    fn Options_dbPathsLen | DBOptions_dbPathsLen[_](options: Handle) -> i64 {
        options.shared::<OptionSet>()?.db.db_paths.len() as i64
    }

    fn Options_dbPaths | DBOptions_dbPaths[java](options: Handle, names: JObjects, sizes: JLongs) {
        show_paths(java, &options.shared::<OptionSet>()?.db.db_paths, names, sizes)?;
    }

    fn Options_setCfPaths | ColumnFamilyOptions_setCfPaths[java](options: Handle, names: JObjects, sizes: JLongs) {
        let paths = paths(java, names, sizes)?;
        options.exclusive::<OptionSet>()?.family.cf_paths = paths;
    }

    fn Options_cfPathsLen | ColumnFamilyOptions_cfPathsLen[_](options: Handle) -> i64 {
        options.shared::<OptionSet>()?.family.cf_paths.len() as i64
    }

    fn Options_cfPaths | ColumnFamilyOptions_cfPaths[java](options: Handle, names: JObjects, sizes: JLongs) {
        show_paths(java, &options.shared::<OptionSet>()?.family.cf_paths, names, sizes)?;
    }

    fn Options_setCompressionPerLevel | ColumnFamilyOptions_setCompressionPerLevel[java](
        options: Handle, levels: JBytes
    ) {
        let numbers = java.bytes(levels)?;
        let mut levels = vec![CompressionType::NONE; numbers.len()];
        for (level, number) in levels.iter_mut().zip(numbers) {
            Field::<i8>::store(level, number as i8);
        }
        options.exclusive::<OptionSet>()?.family.compression_per_level = levels;
    }

    fn Options_compressionPerLevel | ColumnFamilyOptions_compressionPerLevel[java](options: Handle) -> JBytes<'j> {
        let options = options.shared::<OptionSet>()?;
        let number = |level: &CompressionType| Field::<i8>::load(level) as u8;
        java.new_bytes(&options.family.compression_per_level.iter().map(number).collect::<Vec<_>>())?
    }

    fn Options_setMaxBytesForLevelMultiplierAdditional | ColumnFamilyOptions_setMaxBytesForLevelMultiplierAdditional[java](
        options: Handle, factors: JInts
    ) {
        let factors = java.ints(factors)?;
        options.exclusive::<OptionSet>()?.family.max_bytes_for_level_multiplier_additional = factors;
    }

    fn Options_maxBytesForLevelMultiplierAdditional | ColumnFamilyOptions_maxBytesForLevelMultiplierAdditional[java](
        options: Handle
    ) -> JInts<'j> {
        java.new_ints(&options.shared::<OptionSet>()?.family.max_bytes_for_level_multiplier_additional)?
    }

    fn Options_tableFactoryName | ColumnFamilyOptions_tableFactoryName[java](options: Handle) -> JString<'j> {
        java.new_text(options.shared::<OptionSet>()?.family.table_factory.name())?
    }

    fn Options_memTableFactoryName | ColumnFamilyOptions_memTableFactoryName[java](options: Handle) -> JString<'j> {
        let name = match options.shared::<OptionSet>()?.family.memtable_factory.name() {
            "HashLinkListRepFactory" => "HashLinkedListRepFactory",
            name => name,
        }
        .to_string();
        java.new_text(&name)?
    }
}
