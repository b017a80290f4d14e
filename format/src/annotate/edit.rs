//! Annotates MANIFEST records.

use super::{Probe, Tree};
use crate::edit::{file_tag, tag};

/// Annotates the bytes of one MANIFEST record.
pub fn edit(bytes: &[u8]) -> Tree {
    let mut p = Probe::new(bytes, 0);
    while p.more() {
        p.group(entry);
    }
    p.finish("edit")
}

fn fail(p: &mut Probe<'_>) {
    p.field(|_| None::<()>, |()| String::new());
}

fn entry(p: &mut Probe<'_>) -> String {
    let Some(t) = p.varint32("tag") else { return "entry".to_string() };
    let name = name(t);
    match t {
        tag::DB_ID
        | tag::COMPARATOR
        | tag::COLUMN_FAMILY_ADD
        | tag::FULL_HISTORY_TS_LOW
        | tag::PERSIST_USER_DEFINED_TIMESTAMPS
        | tag::SUBCOMPACTION_PROGRESS => {
            p.slice("value");
        }
        tag::LOG_NUMBER
        | tag::PREV_LOG_NUMBER
        | tag::NEXT_FILE_NUMBER
        | tag::MIN_LOG_NUMBER_TO_KEEP
        | tag::LAST_SEQUENCE
        | tag::WAL_DELETION => {
            p.varint64("value");
        }
        tag::MAX_COLUMN_FAMILY | tag::COLUMN_FAMILY | tag::IN_ATOMIC_GROUP => {
            p.varint32("value");
        }
        tag::COMPACT_CURSOR => {
            p.varint32("level");
            p.internal_key("key");
        }
        tag::DELETED_FILE => {
            p.varint32("level");
            p.varint64("number");
        }
        tag::NEW_FILE | tag::NEW_FILE2 | tag::NEW_FILE3 | tag::NEW_FILE4 => new_file(p, t),
        tag::BLOB_FILE_ADDITION | tag::BLOB_FILE_ADDITION_DEPRECATED => {
            p.varint64("number");
            p.varint64("total blob count");
            p.varint64("total blob bytes");
            p.slice("checksum method");
            p.slice("checksum value");
            fields(p, 0, |t| format!("field {t}"));
        }
        tag::BLOB_FILE_GARBAGE | tag::BLOB_FILE_GARBAGE_DEPRECATED => {
            p.varint64("number");
            p.varint64("garbage blob count");
            p.varint64("garbage blob bytes");
            fields(p, 0, |t| format!("field {t}"));
        }
        tag::WAL_ADDITION => {
            p.varint64("number");
            while let Some(2) = p.varint32("field") {
                p.varint64("synced size");
            }
        }
        tag::COLUMN_FAMILY_DROP => {}
        _ if t & tag::SAFE_TO_IGNORE != 0 => {
            p.slice("value");
        }
        _ => fail(p),
    }
    name
}

fn new_file(p: &mut Probe<'_>, t: u32) {
    p.varint32("level");
    p.varint64("number");
    if t == tag::NEW_FILE3 {
        p.varint32("path");
    }
    p.varint64("size");
    p.internal_key("smallest");
    p.internal_key("largest");
    if t != tag::NEW_FILE {
        p.varint64("smallest seqno");
        p.varint64("largest seqno");
    }
    if t == tag::NEW_FILE4 {
        fields(p, file_tag::TERMINATE, field_name);
    }
}

/// Reads pairs `{ tag, slice }` up to the tag `end`.
fn fields(p: &mut Probe<'_>, end: u32, name: impl Fn(u32) -> String) {
    let mut done = false;
    while p.more() && !done {
        p.group(|p| match p.varint32("field") {
            Some(t) if t == end => {
                done = true;
                "end".to_string()
            }
            Some(t) => {
                p.slice("value");
                name(t)
            }
            None => "field".to_string(),
        });
    }
    if !done {
        fail(p);
    }
}

fn name(t: u32) -> String {
    let known = match t {
        tag::COMPARATOR => "comparator",
        tag::LOG_NUMBER => "log number",
        tag::NEXT_FILE_NUMBER => "next file number",
        tag::LAST_SEQUENCE => "last sequence",
        tag::COMPACT_CURSOR => "compact cursor",
        tag::DELETED_FILE => "deleted file",
        tag::NEW_FILE | tag::NEW_FILE2 | tag::NEW_FILE3 | tag::NEW_FILE4 => "new file",
        tag::PREV_LOG_NUMBER => "previous log number",
        tag::MIN_LOG_NUMBER_TO_KEEP => "min log number to keep",
        tag::COLUMN_FAMILY => "column family",
        tag::COLUMN_FAMILY_ADD => "column family add",
        tag::COLUMN_FAMILY_DROP => "column family drop",
        tag::MAX_COLUMN_FAMILY => "max column family",
        tag::IN_ATOMIC_GROUP => "in atomic group, edits that follow",
        tag::BLOB_FILE_ADDITION | tag::BLOB_FILE_ADDITION_DEPRECATED => "blob file addition",
        tag::BLOB_FILE_GARBAGE | tag::BLOB_FILE_GARBAGE_DEPRECATED => "blob file garbage",
        tag::DB_ID => "db id",
        tag::WAL_ADDITION | tag::WAL_ADDITION2 => "wal addition",
        tag::WAL_DELETION | tag::WAL_DELETION2 => "wal deletion",
        tag::FULL_HISTORY_TS_LOW => "full_history_ts_low",
        tag::PERSIST_USER_DEFINED_TIMESTAMPS => "persist_user_defined_timestamps",
        tag::SUBCOMPACTION_PROGRESS => "subcompaction progress",
        tag::LAST_COMPACTED_MANIFEST_FILE_SIZE => "last compacted manifest file size",
        _ if t & tag::SAFE_TO_IGNORE != 0 => "unknown, safe to ignore",
        _ => "unknown",
    };
    known.to_string()
}

fn field_name(t: u32) -> String {
    let known = match t {
        file_tag::NEED_COMPACTION => "need compaction",
        file_tag::MIN_LOG_NUMBER_TO_KEEP => "min log number to keep",
        file_tag::OLDEST_BLOB_FILE_NUMBER => "oldest blob file number",
        file_tag::OLDEST_ANCESTER_TIME => "oldest ancester time",
        file_tag::FILE_CREATION_TIME => "file creation time",
        file_tag::FILE_CHECKSUM => "file checksum",
        file_tag::FILE_CHECKSUM_FUNC_NAME => "file checksum func name",
        file_tag::TEMPERATURE => "temperature",
        file_tag::MIN_TIMESTAMP => "min timestamp",
        file_tag::MAX_TIMESTAMP => "max timestamp",
        file_tag::UNIQUE_ID => "unique id",
        file_tag::EPOCH_NUMBER => "epoch number",
        file_tag::COMPENSATED_RANGE_DELETION_SIZE => "compensated range deletion size",
        file_tag::TAIL_SIZE => "tail size",
        file_tag::USER_DEFINED_TIMESTAMPS_PERSISTED => "user-defined timestamps persisted",
        file_tag::FILE_OPEN_METADATA => "file open metadata",
        file_tag::PATH_ID => "path id",
        _ if t & file_tag::NOT_SAFE_TO_IGNORE != 0 => "unknown, not safe to ignore",
        _ => "unknown",
    };
    known.to_string()
}
