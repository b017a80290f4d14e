//! Records of a WAL or a MANIFEST, and blocks and entries of an SST file, page by page.
//!
//! Each call reads a limited number of bytes and returns a limited number of rows, so a huge file cannot stop the server.

use std::path::Path;

use base::iter::InternalIterator;
use base::key::{append_with_trailer, parse};
use base::{Error, FileNumber, Order, Result};
use engine::manifest::FileSource;
use env::{Env, ReadHints};
use format::batch::{Batch, Record};
use format::edit::VersionEdit;
use format::names;
use format::wal::{Item, Reader, ReaderOptions};
use table::any::AnyReader;
use table::sst::ReadCtx;

use crate::model::open_table;
use crate::words;

/// The bytes that one call reads of a WAL or a MANIFEST.
const SCAN_MAX: u64 = 256 << 20;

/// The largest length of an annotated record. Only its start is annotated.
const ANNOTATED_MAX: usize = 256 << 10;

/// The largest number of lines of an annotated record.
const TREE_LINES_MAX: usize = 2000;

/// The largest size of a block that is opened.
const BLOCK_MAX: u64 = 64 << 20;

/// The number of bytes of a key and of a value that are shown.
const SHOWN_MAX: usize = 200;

/// The two kinds of files that consist of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    Wal,
    Manifest,
}

impl LogKind {
    /// Returns the file name.
    pub fn name(self, number: u64) -> String {
        match self {
            LogKind::Wal => names::wal(FileNumber(number)),
            LogKind::Manifest => names::manifest(FileNumber(number)),
        }
    }
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RecordRow {
    pub offset: u64,
    pub bytes: u64,
    pub text: String,
    /// True if the record, or the place between records, is damaged.
    pub is_fault: bool,
}

/// Records of one page.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Records {
    pub rows: Vec<RecordRow>,
    /// The offset of the next page. `None` at the end of the file.
    pub next: Option<u64>,
}

fn open_log(env: &Env, dir: &Path, kind: LogKind, number: u64) -> Result<Reader<FileSource>> {
    let file = env.fs.open_random(&dir.join(kind.name(number)), &ReadHints::default())?;
    let options = match kind {
        LogKind::Wal => ReaderOptions {
            wal_number: number,
            decompressor: Some(Box::new(engine::wal::compression::decompressor)),
            ..ReaderOptions::default()
        },
        LogKind::Manifest => ReaderOptions::default(),
    };
    Ok(Reader::new(FileSource(file), options))
}

/// Lists up to `limit` records from offset `from`. If `find` is not empty, lists only records whose bytes or whose text
/// contain `find`.
///
/// # Errors
/// Errors of the file system.
pub fn records(
    env: &Env,
    dir: &Path,
    kind: LogKind,
    number: u64,
    from: u64,
    find: &str,
    limit: usize,
) -> Result<Records> {
    let mut reader = open_log(env, dir, kind, number)?;
    let mut out = Records::default();
    loop {
        let (row, matches) = match reader.next() {
            Ok(Item::Record { bytes, offset, end }) => {
                if offset < from {
                    continue;
                }
                let text = match kind {
                    LogKind::Wal => batch_text(bytes),
                    LogKind::Manifest => edit_text(bytes),
                };
                let matches = find.is_empty()
                    || text.contains(find)
                    || bytes.windows(find.len()).any(|window| window == find.as_bytes());
                (RecordRow { offset, bytes: end - offset, text, is_fault: false }, matches)
            }
            Ok(Item::EndOfLog) => return Ok(out),
            Ok(item) => match fault_row(&item) {
                Some(row) if row.offset >= from => (row, true),
                _ => continue,
            },
            Err(error) => {
                let offset = error.offset().unwrap_or(0);
                out.rows.push(RecordRow {
                    offset,
                    bytes: 0,
                    text: error.message().to_string(),
                    is_fault: true,
                });
                return Ok(out);
            }
        };
        if out.rows.len() >= limit || row.offset.saturating_sub(from) > SCAN_MAX {
            out.next = Some(row.offset);
            return Ok(out);
        }
        if matches {
            out.rows.push(row);
        }
    }
}

fn fault_row(item: &Item<'_>) -> Option<RecordRow> {
    let row = |offset: u64, bytes: u64, text: String| Some(RecordRow { offset, bytes, text, is_fault: true });
    match item {
        Item::TornTail { offset, dropped, .. } => {
            row(*offset, *dropped, "the file ends in the middle of a record, as after a crash".to_string())
        }
        Item::Hole { offset } => {
            row(*offset, 0, "zeros before a valid record: records are lost here".to_string())
        }
        Item::Corruption(damage) => row(damage.offset, damage.dropped, format!("damaged: {}", damage.reason)),
        Item::OldRecord { offset, dropped } => {
            row(*offset, *dropped, "bytes of an older WAL: the WAL ends here".to_string())
        }
        _ => None,
    }
}

fn batch_text(bytes: &[u8]) -> String {
    let batch = match Batch::new(bytes) {
        Ok(batch) => batch,
        Err(error) => return format!("no write batch: {}", error.message()),
    };
    let mut parts =
        vec![format!("sequence {}, {}", batch.sequence(), words::of(u64::from(batch.count()), "entry"))];
    for (at, record) in batch.records().enumerate() {
        if at == 6 {
            parts.push("...".to_string());
            break;
        }
        match record {
            Ok(record) => parts.push(record_text(&record)),
            Err(error) => {
                parts.push(error.message().to_string());
                break;
            }
        }
    }
    parts.join("; ")
}

fn record_text(record: &Record<'_>) -> String {
    let shown = |bytes: &[u8]| words::key(bytes, 40);
    let (verb, key) = match record {
        Record::Put { key, .. } => ("put", shown(key)),
        Record::Delete { key, .. } => ("delete", shown(key)),
        Record::SingleDelete { key, .. } => ("single delete", shown(key)),
        Record::Merge { key, .. } => ("merge", shown(key)),
        Record::DeleteRange { begin, end, .. } => {
            ("delete range", format!("{} to {}", shown(begin), shown(end)))
        }
        Record::PutBlobIndex { key, .. } => ("put in blob file", shown(key)),
        Record::PutEntity { key, .. } => ("put entity", shown(key)),
        Record::TimedPut { key, .. } => ("put with time", shown(key)),
        Record::LogData(bytes) => ("note of the application", shown(bytes)),
        Record::Marker(marker) => ("transaction", format!("{:?}", marker.tag())),
    };
    match record.family() {
        Some(family) if family.0 != 0 => format!("{verb} {key} in family {}", family.0),
        _ => format!("{verb} {key}"),
    }
}

fn edit_text(bytes: &[u8]) -> String {
    let edit = match VersionEdit::decode(bytes) {
        Ok(edit) => edit,
        Err(error) => return format!("no version edit: {}", error.message()),
    };
    let mut parts = Vec::new();
    if let Some(name) = &edit.column_family_add {
        parts.push(format!("create family {} {name:?}", edit.column_family));
    }
    if edit.column_family_drop {
        parts.push(format!("drop family {}", edit.column_family));
    }
    for file in edit.new_files.iter().take(12) {
        let size = words::bytes(file.file_size);
        parts.push(format!("add file {} to level {} ({size})", file.number, file.level));
    }
    for (level, number) in edit.deleted_files.iter().take(12) {
        parts.push(format!("remove file {number} from level {level}"));
    }
    let hidden = edit.new_files.len().saturating_sub(12) + edit.deleted_files.len().saturating_sub(12);
    if hidden > 0 {
        parts.push(format!("and {hidden} more files"));
    }
    parts.extend(
        edit.blob_file_additions.iter().take(12).map(|b| format!("add blob file {}", b.blob_file_number)),
    );
    parts.extend(edit.wal_additions.iter().take(12).map(|w| format!("track WAL {}", w.number)));
    let counters = [
        ("WALs below are obsolete:", edit.wal_number),
        ("next file number", edit.next_file_number),
        ("last sequence number", edit.last_sequence),
    ];
    parts.extend(counters.iter().filter_map(|(name, value)| value.map(|value| format!("{name} {value}"))));
    if parts.is_empty() {
        parts.push("bookkeeping only".to_string());
    }
    parts.join("; ")
}

/// Returns the annotated bytes of the record at `offset`, as lines.
///
/// # Errors
/// NotFound if no record starts at `offset`. Corruption of the file before the offset. Errors of the file system.
pub fn record_tree(env: &Env, dir: &Path, kind: LogKind, number: u64, offset: u64) -> Result<Vec<String>> {
    let mut reader = open_log(env, dir, kind, number)?;
    loop {
        match reader.next()? {
            Item::Record { bytes, offset: at, .. } if at == offset => {
                let part = &bytes[..bytes.len().min(ANNOTATED_MAX)];
                let tree = match kind {
                    LogKind::Wal => format::annotate::batch(part),
                    LogKind::Manifest => format::annotate::edit(part),
                };
                let text = tree.to_string();
                let mut lines: Vec<String> = text.lines().take(TREE_LINES_MAX).map(str::to_string).collect();
                if part.len() < bytes.len() || text.lines().count() > TREE_LINES_MAX {
                    lines.push(format!("... the record has {} bytes", bytes.len()));
                }
                return Ok(lines);
            }
            Item::Record { offset: at, .. } if at > offset => break,
            Item::EndOfLog => break,
            _ => {}
        }
    }
    Err(Error::not_found(format!("no record starts at offset {offset}")))
}

/// One data block of an SST file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRow {
    pub offset: u64,
    pub bytes: u64,
    /// A key at or after the last key of the block.
    pub separator: Vec<u8>,
}

/// Data blocks of one page.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    pub first: usize,
    pub rows: Vec<BlockRow>,
    pub total: usize,
}

/// An open SST file.
pub struct Sst {
    pub reader: AnyReader,
    pub order: Order,
}

impl Sst {
    /// Opens the SST file `number`.
    ///
    /// # Errors
    /// Corruption for a file that is not a complete table; errors of the file system.
    pub fn open(env: &Env, dir: &Path, number: u64) -> Result<Sst> {
        let path = dir.join(names::table(FileNumber(number)));
        open_table(env, &path).map(|(reader, order)| Sst { reader, order })
    }

    /// Lists up to `limit` data blocks from block `first`. A table that has no blocks gives an empty list.
    ///
    /// # Errors
    /// Corruption of the index. Errors of the file system.
    pub fn blocks(&self, first: usize, limit: usize) -> Result<Blocks> {
        let mut out = Blocks { first, ..Blocks::default() };
        let Some(reader) = self.reader.block_based() else { return Ok(out) };
        reader.each_block(&ctx(), |separator, _, handle| {
            if out.total >= first && out.rows.len() < limit {
                let separator = separator[..separator.len().min(SHOWN_MAX)].to_vec();
                out.rows.push(BlockRow { offset: handle.offset, bytes: handle.size, separator });
            }
            out.total += 1;
        })?;
        Ok(out)
    }

    /// Lists up to `limit` entries of data block `block`, starting with entry `skip` of the block. A table that has
    /// no blocks lists its entries. The flag is true if more entries follow.
    ///
    /// # Errors
    /// NotFound if the block does not exist. NotSupported for a block above 64 MiB. Corruption of the block.
    pub fn entries(&self, block: usize, skip: usize, limit: usize) -> Result<(Vec<EntryRow>, bool)> {
        let mut iter = self.reader.iter(&ctx());
        let mut end = None;
        match self.reader.block_based() {
            Some(reader) => {
                let (mut before, mut own) = (None, None);
                let mut at = 0;
                reader.each_block(&ctx(), |separator, trailer, handle| {
                    if at + 1 == block {
                        before = Some((separator.to_vec(), trailer));
                    } else if at == block {
                        own = Some((separator.to_vec(), trailer, handle.size));
                    }
                    at += 1;
                })?;
                let (separator, trailer, size) =
                    own.ok_or_else(|| Error::not_found(format!("the SST file has {at} blocks")))?;
                if size > BLOCK_MAX {
                    return Err(Error::not_supported(format!(
                        "the block has {size} bytes; 64 MiB are shown"
                    )));
                }
                end = Some(bound(&separator, trailer));
                match before {
                    Some((separator, trailer)) => self.seek_behind(&mut iter, &bound(&separator, trailer)),
                    None => iter.seek_to_first(),
                }
            }
            None => iter.seek_to_first(),
        }
        let order = self.reader.order().clone();
        let (mut rows, mut at) = (Vec::new(), 0);
        while iter.valid() {
            let is_behind = end.as_ref().is_some_and(|end| order.compare(iter.key(), end).is_gt());
            if is_behind {
                break;
            }
            if rows.len() >= limit {
                return Ok((rows, true));
            }
            if at >= skip {
                rows.push(EntryRow::new(iter.key(), iter.value()));
            }
            at += 1;
            iter.next();
        }
        iter.status()?;
        Ok((rows, false))
    }

    /// Moves to the first entry after a separator.
    fn seek_behind(&self, iter: &mut impl InternalIterator, separator: &[u8]) {
        let order = self.reader.order().clone();
        iter.seek(separator);
        while iter.valid() && order.compare(iter.key(), separator).is_le() {
            iter.next();
        }
    }
}

/// One entry of an SST file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct EntryRow {
    pub key: String,
    pub seq: u64,
    pub kind: String,
    pub value: String,
}

impl EntryRow {
    fn new(internal: &[u8], value: &[u8]) -> EntryRow {
        match parse(internal) {
            Ok(key) => EntryRow {
                key: words::key(key.user_key, SHOWN_MAX),
                seq: key.seq,
                kind: format!("{:?}", key.kind),
                value: words::key(value, SHOWN_MAX),
            },
            Err(error) => EntryRow {
                key: words::key(internal, SHOWN_MAX),
                seq: 0,
                kind: error.message().to_string(),
                value: words::key(value, SHOWN_MAX),
            },
        }
    }
}

/// Returns the internal key of a separator. A separator without trailer comes after all entries of its user key.
fn bound(separator: &[u8], trailer: Option<u64>) -> Vec<u8> {
    let mut key = Vec::new();
    append_with_trailer(&mut key, separator, trailer.unwrap_or(0));
    key
}

fn ctx() -> ReadCtx {
    ReadCtx { fill_cache: false, total_order_seek: true, ..ReadCtx::default() }
}
