//! `OptionsUtil`: the options in OPTIONS files.
//!
//! Facts: RocksDB `java/rocksjni/options_util.cc`, `portal.h` (`BlockBasedTableConfigJni`).

use std::path::Path;

use base::FileNumber;
use engine::options::TableFactory;
use engine::options::file::{OptionsFile, ReadConfig, load, load_latest, no_file, none_if_missing};
use env::Env;
use env::sync::Mutex;
use format::names::{self, FileName};
use ironstone::binding::Place;
use table::options::{BlockBasedTableOptions, FilterPolicy, PolicyKind};

use super::OptionSet;
use crate::class::{Class, Method, Value};
use crate::db::metadata::descriptor;
use crate::db::path::database_dir;
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JObject, JString, Java};
use crate::native::natives;
use crate::parts::ConfigOptions;

static ADD: Method = Class::new("java/util/List").method("add", "(Ljava/lang/Object;)Z");
static NEW_TABLE: Method =
    Class::new("org/rocksdb/BlockBasedTableConfig").method("<init>", "(ZZZZBBDBZJIIIJZZZZZIIZDZZJJBBBJD)V");
/// The constructor of `BlockBasedTableConfig` in the releases before 11.
static OLD_TABLE: Method =
    Class::new("org/rocksdb/BlockBasedTableConfig").method("<init>", "(ZZZZBBDBZJIIIJZZZZZIIZZBBJD)V");

/// The handles of filter policies that table configurations of Java hold. Java never closes a handle of a filter policy.
/// Therefore each filter policy has one handle for the life of the process.
static POLICIES: Mutex<Vec<(FilterPolicy, Handle)>> = Mutex::new(Vec::new());

fn policy_handle(policy: &FilterPolicy) -> Handle {
    let mut policies = POLICIES.lock();
    if let Some((_, handle)) = policies.iter().find(|(known, _)| known == policy) {
        return *handle;
    }
    let handle = Handle::new(policy.clone());
    policies.push((policy.clone(), handle));
    handle
}

/// Copies the content of an OPTIONS file to Java objects: the options of the database to `db`, and a descriptor of each
/// column family to `list`.
fn give(java: Java<'_>, file: OptionsFile, db: Handle, list: JObject<'_>) -> Outcome<()> {
    for (name, family) in file.families {
        let object = descriptor(java, &name, OptionSet { family, ..OptionSet::default() })?;
        ADD.call_bool(java, list, &[object.into()])?;
        java.forget(object);
    }
    let mut options = db.exclusive::<OptionSet>()?;
    let env = options.db.env.clone();
    options.db = file.db;
    options.db.env = env;
    Ok(())
}

/// Converts a `ConfigOptions` to the settings for reading an OPTIONS file and the environment of the file.
fn config(handle: Handle) -> Outcome<(ReadConfig, Env)> {
    let config = handle.shared::<ConfigOptions>()?;
    let read = ReadConfig { ignore_unknown_options: config.ignore_unknown_options, ..ReadConfig::default() };
    Ok((read, config.env.clone().unwrap_or_else(Env::posix)))
}

/// Returns the arguments of the constructor from the table options, up to the format version.
fn common(table: &BlockBasedTableOptions) -> Vec<Value> {
    let byte = |number: i32| Value::byte(number as i8);
    vec![
        Value::bool(table.cache_index_and_filter_blocks),
        Value::bool(table.cache_index_and_filter_blocks_with_high_priority),
        Value::bool(table.pin_l0_filter_and_index_blocks_in_cache),
        Value::bool(table.pin_top_level_index_and_filter),
        byte(Place::<i32>::load(&table.index_type)),
        byte(Place::<i32>::load(&table.data_block_index_type)),
        Value::double(table.data_block_hash_table_util_ratio),
        byte(Place::<i32>::load(&table.checksum)),
        Value::bool(table.no_block_cache),
        Value::long(table.block_size as i64),
        Value::int(table.block_size_deviation),
        Value::int(table.block_restart_interval),
        Value::int(table.index_block_restart_interval),
        Value::long(table.metadata_block_size as i64),
        Value::bool(table.partition_filters),
        Value::bool(table.optimize_filters_for_memory),
        Value::bool(table.use_delta_encoding),
        Value::bool(table.whole_key_filtering),
        Value::bool(table.verify_compression),
        Value::int(table.read_amp_bytes_per_bit as i32),
        Value::int(table.format_version as i32),
    ]
}

/// Returns the number of the policy type, the handle of the policy, and its bits for each key.
fn filter(table: &BlockBasedTableOptions) -> [Value; 3] {
    let Some(policy) = &table.filter_policy else {
        return [Value::byte(0), Value::long(0), Value::double(0.0)];
    };
    let kind = match policy.kind() {
        PolicyKind::Bloom => 1,
        PolicyKind::Ribbon { .. } => 2,
        // Java has no class for these policies.
        _ => return [Value::byte(0), Value::long(0), Value::double(0.0)],
    };
    [
        Value::byte(kind),
        Value::long(policy_handle(policy).long()),
        Value::double(f64::from(policy.millibits_per_key()) / 1000.0),
    ]
}

/// Makes a `BlockBasedTableConfig` of the loaded release.
fn table_config<'j>(java: Java<'j>, table: &BlockBasedTableOptions) -> Outcome<JObject<'j>> {
    let mut newest = common(table);
    newest.extend([
        Value::bool(table.separate_key_value_in_data_block),
        Value::double(table.uniform_cv_threshold),
        Value::bool(table.enable_index_compression),
        Value::bool(table.block_align),
        Value::long(table.super_block_alignment_size as i64),
        Value::long(table.super_block_alignment_space_overhead_ratio as i64),
        Value::byte(Place::<i32>::load(&table.index_shortening) as i8),
        Value::byte(Place::<i32>::load(&table.index_block_search_type) as i8),
    ]);
    newest.extend(filter(table));
    if let Ok(object) = NEW_TABLE.construct(java, &newest) {
        return Ok(object);
    }
    java.clear_exception();
    let mut old = common(table);
    old.extend([
        Value::bool(table.enable_index_compression),
        Value::bool(table.block_align),
        Value::byte(Place::<i32>::load(&table.index_shortening) as i8),
    ]);
    old.extend(filter(table));
    OLD_TABLE.construct(java, &old)
}

/// Returns the number of the newest OPTIONS file.
fn newest(env: &Env, dir: &Path) -> Outcome<FileNumber> {
    let number = |name: &String| match FileName::parse(name) {
        Some(FileName::Options(number)) => Some(number),
        _ => None,
    };
    let found = env.fs.list(dir).or_else(none_if_missing)?.iter().filter_map(number).max();
    found.ok_or_else(|| Fault::from(no_file(dir)))
}

natives! {
    fn OptionsUtil_loadLatestOptions[java](how: Handle, path: JString, db: Handle, families: JObject) {
        let (read, env) = config(how)?;
        let (_, file) = load_latest(&env, &database_dir(java, path, &*env.fs)?, &read)?;
        give(java, file, db, families)?;
    }

    fn OptionsUtil_loadOptionsFromFile[java](how: Handle, path: JString, db: Handle, families: JObject) {
        let ((read, env), path) = (config(how)?, java.text(path)?);
        give(java, load(&env, path.as_ref(), &read)?, db, families)?;
    }

    fn OptionsUtil_getLatestOptionsFileName[java](path: JString, env: Handle) -> JString<'j> {
        let env = env.shared::<Env>()?;
        let path = database_dir(java, path, &*env.fs)?;
        java.new_text(&names::options(newest(&env, &path)?))?
    }

    /// Returns null for a table that is not block-based.
    fn OptionsUtil_readTableFormatConfig[java](options: Handle) -> JObject<'j> {
        let factory = options.shared::<OptionSet>()?.family.table_factory.clone();
        match &factory {
            TableFactory::BlockBased(table) => table_config(java, table)?,
            _ => JObject::NULL,
        }
    }
}
