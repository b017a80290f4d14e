//! Prints a tree in the form of a MANIFEST dump: levels, files, blob files.

use std::fmt::Write;
use std::sync::Arc;

use base::key::{InternalOrder, parse};
use base::{EpochNumber, FileNumber, Level, Order};
use engine::manifest::FamilyRecord;
use lsm::file_meta::FileMetaData;
use lsm::table_file::TableFile;
use lsm::version::{Edit, Version};
use table::dump;

use super::Failure;

/// Returns the lines of the levels of a tree, with its files in RocksDB's order. `number` is the version number that
/// RocksDB's dump prints.
///
/// # Errors
/// Corruption if the files do not form a tree.
pub(crate) fn levels(
    record: &FamilyRecord,
    order: &Order,
    num_levels: usize,
    number: usize,
    hex: bool,
) -> Result<Vec<u8>, Failure> {
    let deepest = record.files.values().map(|f| f.level.index() + 1).max().unwrap_or(0);
    let mut files: Vec<_> = record.files.values().collect();
    files.sort_by_key(|f| f.number);
    let size = order.timestamp_size();
    let added = files
        .iter()
        .map(|f| (f.level, Arc::new(TableFile::new(FileMetaData::from_record(f, size)))))
        .collect();
    let empty = Version::empty(InternalOrder::new(order.clone()), num_levels.max(deepest));
    let version = empty.apply(&[Edit { added, ..Edit::default() }])?;
    let version = version.infer_epochs(EpochNumber::FIRST).unwrap_or(version);
    let mut out = Vec::new();
    for level in Level::first(num_levels.max(deepest)) {
        let cursor = record.cursors.get(&level).map(|key| internal_key(key, hex));
        let cursor = cursor.map_or(Vec::new(), |key| [b" --- compact_cursor: ", &key[..]].concat());
        out.extend(format!("--- level {} --- version# {number}", level.get()).into_bytes());
        out.extend(cursor);
        out.extend_from_slice(b" ---\n");
        for file in version.level(level) {
            let (number, size, from, to) = (file.number, file.size, file.smallest_seq, file.largest_seq);
            out.extend(format!(" {number}:{size}[{from} .. {to}][").into_bytes());
            out.extend(internal_key(&file.smallest, hex));
            out.extend_from_slice(b" .. ");
            out.extend(internal_key(&file.largest, hex));
            out.push(b']');
            if let Some(blob) = file.oldest_blob_file {
                out.extend(format!(" blob_file:{blob}").into_bytes());
            }
            out.push(b'\n');
        }
    }
    Ok(out)
}

/// The blob files of a column family: each file that the MANIFEST added, with the garbage that later edits recorded.
#[derive(Default)]
pub(crate) struct Blobs(std::collections::BTreeMap<FileNumber, Blob>);

struct Blob {
    added: format::edit::BlobFileAddition,
    garbage_count: u64,
    garbage_bytes: u64,
}

impl Blobs {
    /// Adds the blob files and the garbage of one version edit. Garbage of an unknown blob file is ignored.
    pub fn take(&mut self, edit: &format::edit::VersionEdit) {
        for added in &edit.blobs.additions {
            let blob = Blob { added: added.clone(), garbage_count: 0, garbage_bytes: 0 };
            self.0.insert(added.blob_file_number, blob);
        }
        for garbage in &edit.blobs.garbages {
            if let Some(blob) = self.0.get_mut(&garbage.blob_file_number) {
                blob.garbage_count = blob.garbage_count.saturating_add(garbage.garbage_blob_count);
                blob.garbage_bytes = blob.garbage_bytes.saturating_add(garbage.garbage_blob_bytes);
            }
        }
    }

    /// Returns a line for each blob file that is still needed. Returns an empty text if there is no such file.
    pub fn lines(&self, record: &FamilyRecord, number: usize) -> String {
        let oldest = record.files.values().filter_map(|f| f.oldest_blob_file_number).min();
        let linked = |n: FileNumber| {
            let mut tables: Vec<_> = record
                .files
                .values()
                .filter(|f| f.oldest_blob_file_number == Some(n))
                .map(|f| f.number)
                .collect();
            tables.sort_unstable();
            tables
        };
        let mut out = String::new();
        for (&file, blob) in &self.0 {
            let tables = linked(file);
            let dead = tables.is_empty() && blob.garbage_count >= blob.added.total_blob_count;
            if oldest.is_none_or(|oldest| file < oldest) || dead {
                continue;
            }
            if out.is_empty() {
                let _ = writeln!(out, "--- blob files --- version# {number} ---");
            }
            let tables: String = tables.iter().map(|n| format!("{n} ")).collect();
            let added = &blob.added;
            let _ = writeln!(
                out,
                "blob_file_number: {file} total_blob_count: {} total_blob_bytes: {} checksum_method: {} \
                 checksum_value: {} linked_ssts: {{ {tables}}} garbage_blob_count: {} garbage_blob_bytes: {}",
                added.total_blob_count,
                added.total_blob_bytes,
                String::from_utf8_lossy(&added.checksum_method),
                dump::hex(&added.checksum_value),
                blob.garbage_count,
                blob.garbage_bytes
            );
        }
        out
    }
}

/// Formats an internal key as `'6b' seq:3, type:1`. Other bytes begin with `(bad)`.
pub(crate) fn internal_key(bytes: &[u8], hex: bool) -> Vec<u8> {
    match parse(bytes) {
        Ok(key) => dump::internal_key_text(&key, &Order::Bytewise, hex),
        Err(_) => format!("(bad){}", bytes.escape_ascii()).into_bytes(),
    }
}
