//! Terms of all steps of a repair: a problem, the descriptor of a column family, the directories of its SST files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base::{Error, Order, Result, SequenceNumber};
use format::edit::NewFile;
use format::names::FileName;
use lsm::file_meta::FileMetaData;
use table::sst::OpenOptions;

use super::{Problem, Scope, Weight};
use crate::components::FamilyDescriptor;
use crate::family::Parts;
use crate::options::file::{self, OptionsFile};
use crate::sync::Arc;

pub(super) fn table_options(order: &Order, record: &NewFile) -> OpenOptions {
    OpenOptions {
        order: order.clone(),
        file_number: record.number,
        level: record.level,
        largest_seqno: Some(record.largest_seqno),
        timestamps_persisted: record.user_defined_timestamps_persisted,
        ..OpenOptions::default()
    }
}

/// Returns the sequence number that each entry of the SST file has. Returns `None` if the entries have different sequence numbers.
pub(super) fn common_seqno(record: &NewFile) -> Option<SequenceNumber> {
    (record.smallest_seqno == record.largest_seqno).then_some(record.largest_seqno)
}

/// Returns the record with boundary keys that have timestamps, as the entries of the SST file have when they are read. The
/// MANIFEST has no timestamps in the records of SST files without timestamps.
pub(super) fn with_timestamps(record: NewFile, order: &Order) -> NewFile {
    let read = FileMetaData::from_record(&record, order.timestamp_size());
    NewFile { smallest: read.smallest.to_vec(), largest: read.largest.to_vec(), ..record }
}

/// Returns the components for a new SST file of a column family. The MANIFEST decides whether its SST files have timestamps.
///
/// # Errors
/// The errors of [`Parts::resolve`].
pub(super) fn parts_of(
    scope: &Scope,
    descriptor: &FamilyDescriptor,
    persist_timestamps: Option<bool>,
) -> Result<Arc<Parts>> {
    let mut parts = Parts::resolve(&descriptor.options, &scope.options, &scope.paths.db, None, None)?;
    parts.stored.timestamps = persist_timestamps.unwrap_or(parts.stored.timestamps);
    Ok(Arc::new(parts))
}

/// Returns the descriptor of a column family: the descriptor of the caller, or the options of the default column
/// family with the recorded comparator.
///
/// # Errors
/// InvalidArgument if the descriptor of the caller has another comparator than the recorded one, or if the recorded
/// comparator is not built in and the caller gave none.
pub fn descriptor_of(scope: &Scope, name: &str, comparator: Option<&str>) -> Result<FamilyDescriptor> {
    if let Some(given) = scope.families.iter().find(|d| d.name == name) {
        let own = given.options.comparator.name();
        if comparator.is_some_and(|recorded| recorded != own) {
            return Err(Error::invalid_argument(format!(
                "{own}: does not match existing comparator {} of column family {name}",
                comparator.unwrap_or_default()
            )));
        }
        return Ok(given.clone());
    }
    let mut options =
        scope.families.iter().find(|d| d.name == "default").map(|d| d.options.clone()).unwrap_or_default();
    if let Some(recorded) = comparator.filter(|recorded| *recorded != options.comparator.name()) {
        options.comparator = Order::by_name(recorded).ok_or_else(|| {
            Error::invalid_argument(format!(
                "column family {name} needs its comparator {recorded}: name the family with it"
            ))
        })?;
    }
    Ok(FamilyDescriptor::new(name, options))
}

/// Returns the directories of the SST files of a column family, by path id.
pub(super) fn table_dirs(scope: &Scope, family: &FamilyDescriptor) -> Vec<PathBuf> {
    let own: Vec<_> = family.options.cf_paths.iter().map(|p| p.path.clone()).collect();
    if own.is_empty() { scope.paths.tables.clone() } else { own }
}

pub(super) fn order_of(scope: &Scope, name: &str, comparator: Option<&str>) -> Result<Order> {
    Ok(descriptor_of(scope, name, comparator)?.options.comparator)
}

pub(super) fn problem(weight: Weight, file: PathBuf, offset: Option<u64>, what: &str) -> Problem {
    Problem { weight, file, offset, bytes: 0, family: None, what: what.to_string(), range: None }
}

/// Returns the newest OPTIONS file that can be read.
pub(super) fn newest_options(scope: &Scope) -> Result<Option<(PathBuf, OptionsFile)>> {
    let env = &scope.options.env;
    let config = file::ReadConfig { ignore_unknown_options: true, ..file::ReadConfig::default() };
    let mut found = BTreeMap::new();
    for name in env.fs.list(&scope.paths.db)? {
        if let Some(FileName::Options(number)) = FileName::parse(&name) {
            found.insert(number, scope.paths.db.join(&name));
        }
    }
    Ok(found
        .into_values()
        .rev()
        .find_map(|path| file::load(env, &path, &config).ok().map(|read| (path, read))))
}
