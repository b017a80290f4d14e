//! Version edits as text, in the format of RocksDB's MANIFEST dump, which programs parse.

use std::fmt;

use base::{FileNumber, WalNumber, key};

use super::{NewFile, VersionEdit};

impl fmt::Display for VersionEdit {
    /// Shows keys in hexadecimal, as `ldb manifest_dump --hex` does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(true))
    }
}

impl VersionEdit {
    /// Returns the text of RocksDB's `VersionEdit::DebugString`.
    pub fn describe(&self, hex_keys: bool) -> String {
        let mut out = String::from("VersionEdit {");
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                out.push_str("\n  ");
                out.push_str(name);
                out.push_str(&value);
            }
        };
        let number = |n: &Option<FileNumber>| n.map(|n| n.to_string());
        let wal_number = |n: &Option<WalNumber>| n.map(|n| n.to_string());
        line("DB ID: ", self.db_id.clone());
        line("Comparator: ", self.comparator.clone());
        line("PersistUserDefinedTimestamps: ", self.persist_user_defined_timestamps.map(|b| b.to_string()));
        line("LogNumber: ", wal_number(&self.wal_number));
        line("PrevLogNumber: ", wal_number(&self.prev_log_number));
        line("NextFileNumber: ", number(&self.next_file_number));
        line("MaxColumnFamily: ", self.max_column_family.map(|n| n.to_string()));
        line("MinLogNumberToKeep: ", wal_number(&self.min_log_number_to_keep));
        line("LastSeq: ", self.last_sequence.map(|n| n.to_string()));
        for (level, cursor) in &self.compact_cursors {
            line("CompactCursor: ", Some(format!("{} {}", level.get(), internal_key(cursor, hex_keys))));
        }
        for (level, file) in &self.deleted_files {
            line("DeleteFile: ", Some(format!("{} {file}", level.get())));
        }
        for file in &self.new_files {
            line("AddFile: ", Some(file.describe(hex_keys)));
        }
        for b in &self.blobs.additions {
            line(
                "BlobFileAddition: ",
                Some(format!(
                    "blob_file_number: {} total_blob_count: {} total_blob_bytes: {} checksum_method: {} \
                     checksum_value: {}",
                    b.blob_file_number,
                    b.total_blob_count,
                    b.total_blob_bytes,
                    String::from_utf8_lossy(&b.checksum_method),
                    hex(&b.checksum_value)
                )),
            );
        }
        for g in &self.blobs.garbages {
            line(
                "BlobFileGarbage: ",
                Some(format!(
                    "blob_file_number: {} garbage_blob_count: {} garbage_blob_bytes: {}",
                    g.blob_file_number, g.garbage_blob_count, g.garbage_blob_bytes
                )),
            );
        }
        for w in &self.wals.additions {
            let synced = w.synced_size_bytes.unwrap_or(u64::MAX);
            line("WalAddition: ", Some(format!("log_number: {} synced_size_in_bytes: {synced}", w.number)));
        }
        line("WalDeletion: ", self.wals.deletion.map(|n| format!("log_number: {n}")));
        line("ColumnFamily: ", Some(self.family.id.to_string()));
        line("ColumnFamilyAdd: ", self.family.add.clone());
        line("ColumnFamilyDrop", self.family.drop.then(String::new));
        line("AtomicGroup: ", self.remaining_entries.map(|n| format!("{n} entries remains")));
        if let Some(timestamp) = &self.full_history_ts_low {
            let shown =
                if hex_keys { hex(timestamp) } else { String::from_utf8_lossy(timestamp).into_owned() };
            out.push_str(&format!("\n FullHistoryTsLow: {shown}"));
        }
        if let Some(progress) = &self.subcompaction_progress {
            out.push_str(&format!("\n SubcompactionProgress: {progress:?}"));
        }
        if let Some(bytes) = self.last_compacted_manifest_file_size {
            out.push_str(&format!("\n  LastCompactedManifestFileSize: {bytes}"));
        }
        out.push_str("\n}\n");
        out
    }
}

impl NewFile {
    fn describe(&self, hex_keys: bool) -> String {
        let mut out = format!(
            "{} {} {} {} .. {}",
            self.level.get(),
            self.number,
            self.file_size,
            internal_key(&self.smallest, hex_keys),
            internal_key(&self.largest, hex_keys)
        );
        if let Some(blob) = self.oldest_blob_file_number {
            out.push_str(&format!(" blob_file:{blob}"));
        }
        out.push_str(&format!(
            " oldest_ancester_time:{} file_creation_time:{} epoch_number:{} file_checksum:{} \
             file_checksum_func_name: {}",
            self.times.oldest_ancester,
            self.times.creation,
            self.epoch_number,
            hex(&self.checksum.value),
            self.checksum.function
        ));
        if self.temperature != 0 {
            out.push_str(&format!(" temperature: {}", self.temperature));
        }
        if self.unique_id != [0, 0] {
            out.push_str(&unique_ids(self.unique_id));
        }
        out.push_str(&format!(
            " tail size: {} User-defined timestamps persisted: {}",
            self.tail_size, self.user_defined_timestamps_persisted
        ));
        if !self.file_open_metadata.is_empty() {
            out.push_str(&format!(" file_open_metadata_size: {}", self.file_open_metadata.len()));
        }
        out
    }
}

/// Returns `'6b' seq:3, type:1`, the text of RocksDB's `InternalKey::DebugString`.
fn internal_key(bytes: &[u8], hex_keys: bool) -> String {
    let (user, seq, kind) = key::split(bytes);
    let user = if hex_keys { hex(user) } else { String::from_utf8_lossy(user).into_owned() };
    format!("'{user}' seq:{seq}, type:{kind}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

/// Returns the internal and the public unique id of a table as text.
fn unique_ids(internal: [u64; 2]) -> String {
    let public = external_unique_id(internal).map(|half| hex(&half.to_le_bytes())).join("-");
    format!(" unique_id(internal): {{{},{}}} public_unique_id: {public}", internal[0], internal[1])
}

/// Returns the public unique id of a table, which RocksDB's API returns, from its internal id. Zeros stay
/// zeros.
pub(crate) fn external_unique_id(internal: [u64; 2]) -> [u64; 2] {
    const HIGH_OFFSET: u64 = 17_391_078_804_906_429_400;
    const LOW_OFFSET: u64 = 6_417_269_962_128_484_497;
    let (high, low) = kernel::hash::bijective2x64(
        internal[1].wrapping_add(HIGH_OFFSET),
        internal[0].wrapping_add(LOW_OFFSET),
    );
    [low, high]
}
