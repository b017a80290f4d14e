//! Records of a WAL or a MANIFEST, and blocks and entries of an SST file, page by page.
//!
//! A call for records reads at most [`SCAN_MAX`] bytes of the file, from the block of the asked offset on, and for at most two
//! seconds. A call for blocks or entries reads the index and one block. A call for the entries of a table without blocks visits at most
//! [`VISITED_MAX`] entries. A call that stops at a limit says so.

use std::path::Path;

use base::iter::InternalIterator;
use base::key::{append_with_trailer, parse};
use base::{Error, FamilyId, FileNumber, Kind, Order, Result, WalNumber};
use engine::manifest::FileSource;
use env::{Env, ReadHints};
use format::batch::{Batch, Record};
use format::edit::VersionEdit;
use format::names;
use format::wal::{BLOCK_LEN, Item, Mark, Marks, Reader, ReaderOptions, Source, parse_marks, record_type};
use table::any::AnyReader;
use table::sst::ReadCtx;

use crate::model::open_table;
use crate::words;

/// The bytes that one call reads of a WAL or a MANIFEST.
pub const SCAN_MAX: u64 = 64 << 20;

/// The nanoseconds for which one call reads a WAL or a MANIFEST.
const SCAN_NANOS_MAX: u64 = 2_000_000_000;

/// The entries of a table without blocks that one call visits.
pub const VISITED_MAX: usize = 100_000;

/// The largest size of a table without blocks whose entries are listed.
const FLAT_BYTES_MAX: u64 = 256 << 20;

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
            LogKind::Wal => names::wal(WalNumber::new(number)),
            LogKind::Manifest => names::manifest(FileNumber::new(number)),
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
    /// True if the call stopped because it had read enough bytes or had taken enough time.
    pub is_cut: bool,
}

impl Records {
    /// Returns the rows of a page that stopped at a limit, after the record that ends at `end_before`.
    fn cut(mut self, from: u64, end_before: u64) -> Records {
        self.is_cut = true;
        if end_before > from {
            self.next = Some(end_before);
            return self;
        }
        let text = format!(
            "the record here is longer than {0}, or more than {0} of a compressed WAL are before this record: it is not shown",
            words::bytes(SCAN_MAX)
        );
        self.rows.push(RecordRow { offset: from, bytes: 0, text, is_fault: true });
        self
    }
}

/// The bytes of a log from a block on. A read after the last allowed byte fails.
struct Part {
    file: FileSource,
    /// The offset of the first block.
    start: u64,
    /// The bytes that may still be read.
    left: u64,
}

impl Source for Part {
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        if self.left == 0 {
            return Err(Error::new(Kind::Incomplete, "the limit of one page is reached"));
        }
        self.left = self.left.saturating_sub(buf.len() as u64);
        self.file.read_at(self.start.saturating_add(offset), buf)
    }
}

/// Opens a log at the block that has the offset `from`. Returns the offset of the block. A compressed WAL is opened at its start,
/// because its start names the compression.
fn open_log(env: &Env, dir: &Path, (kind, number): (LogKind, u64), from: u64) -> Result<(Reader<Part>, u64)> {
    let file = env.fs.open_random(&dir.join(kind.name(number)), &ReadHints::default())?;
    let mut head = [0; 7];
    let is_compressed = file.read_at(0, &mut head)? == head.len() && head[6] == record_type::SET_COMPRESSION;
    let options = match kind {
        LogKind::Wal => ReaderOptions {
            wal_number: WalNumber::new(number),
            decompressor: Some(Box::new(engine::wal::compression::decompressor)),
            ..ReaderOptions::default()
        },
        LogKind::Manifest => ReaderOptions::default(),
    };
    let start = if is_compressed { 0 } else { from / BLOCK_LEN as u64 * BLOCK_LEN as u64 };
    Ok((Reader::new(Part { file: FileSource(file), start, left: SCAN_MAX }, options), start))
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
    let (mut reader, start) = open_log(env, dir, (kind, number), from)?;
    let began = env.clock.now_nanos();
    let mut out = Records::default();
    // The block of `from` can begin with the end of an earlier record.
    let mut is_first = start > 0;
    // The end of the last record that was read.
    let mut end_before = start;
    loop {
        let is_late = env.clock.nanos_since(began) > SCAN_NANOS_MAX;
        let (row, matches) = match reader.next() {
            Ok(Item::Record { bytes, offset, end }) => {
                let (offset, end) = (offset.saturating_add(start), end.saturating_add(start));
                (is_first, end_before) = (false, end);
                if offset < from {
                    match is_late {
                        true => return Ok(out.cut(from, end_before)),
                        false => continue,
                    }
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
                Some(row) if is_first && row.text.contains("missing start of fragmented record") => continue,
                Some(mut row) => {
                    row.offset = row.offset.saturating_add(start);
                    if row.offset < from {
                        continue;
                    }
                    (row, true)
                }
                None => continue,
            },
            Err(error) if error.kind() == Kind::Incomplete => return Ok(out.cut(from, end_before)),
            Err(error) => {
                let offset = error.offset().unwrap_or(0).saturating_add(start);
                let text = error.message().to_string();
                out.rows.push(RecordRow { offset, bytes: 0, text, is_fault: true });
                return Ok(out);
            }
        };
        // A page without a row continues until the next page can begin at a later offset.
        let is_late = is_late && (!out.rows.is_empty() || row.offset > from);
        if out.rows.len() >= limit || is_late {
            out.next = Some(row.offset.max(from));
            out.is_cut = is_late;
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

/// Returns the marks of a record as a sentence: what was durable, or written, at the time of the record.
fn marks_text(marks: &Marks) -> String {
    let durable = |name: String, mark: &Mark| format!("{name} is durable up to byte {}", mark.bytes);
    let wals =
        marks.durable.iter().map(|mark| durable(names::wal(WalNumber::of_file(mark.file_number)), mark));
    let manifest = marks.manifest.iter().map(|mark| durable(names::manifest(mark.file_number), mark));
    let written = marks
        .written
        .iter()
        .map(|mark| format!("{} has {} bytes", names::wal(WalNumber::of_file(mark.file_number)), mark.bytes));
    let parts: Vec<String> = wals.chain(manifest).chain(written).collect();
    match parts.is_empty() {
        true => "an earlier mark again".to_string(),
        false => parts.join(", "),
    }
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
        Record::LogData(bytes) => match parse_marks(bytes) {
            Some(marks) => ("note of Ironstone:", marks_text(&marks)),
            None => ("note of the application", shown(bytes)),
        },
        Record::Marker(marker) => ("transaction", format!("{:?}", marker.tag())),
    };
    match record.family() {
        Some(family) if family != FamilyId::DEFAULT => format!("{verb} {key} in family {family}"),
        _ => format!("{verb} {key}"),
    }
}

/// Returns the first twelve texts, and a text with the number of the others.
fn some(texts: impl ExactSizeIterator<Item = String>, what: &str) -> Vec<String> {
    let hidden = texts.len().saturating_sub(12);
    let more = (hidden > 0).then(|| format!("and {hidden} more {what}"));
    texts.take(12).chain(more).collect()
}

fn edit_text(bytes: &[u8]) -> String {
    let edit = match VersionEdit::decode(bytes) {
        Ok(edit) => edit,
        Err(error) => return format!("no version edit: {}", error.message()),
    };
    let mut parts = Vec::new();
    if let Some(name) = &edit.family.add {
        parts.push(format!("create family {} {name:?}", edit.family.id));
    }
    if edit.family.drop {
        parts.push(format!("drop family {}", edit.family.id));
    }
    let added = edit.new_files.iter().map(|file| {
        format!("add file {} to level {} ({})", file.number, file.level.get(), words::bytes(file.file_size))
    });
    parts.extend(some(added, "added files"));
    let removed = edit
        .deleted_files
        .iter()
        .map(|(level, number)| format!("remove file {number} from level {}", level.get()));
    parts.extend(some(removed, "removed files"));
    let blobs = edit.blobs.additions.iter().map(|b| format!("add blob file {}", b.blob_file_number));
    parts.extend(some(blobs, "blob files"));
    parts.extend(some(edit.wals.additions.iter().map(|w| format!("track WAL {}", w.number)), "WALs"));
    let counters = [
        ("WALs below are obsolete:", edit.wal_number.map(|wal| wal.to_string())),
        ("next file number", edit.next_file_number.map(|file| file.to_string())),
        ("last sequence number", edit.last_sequence.map(|seq| seq.to_string())),
    ];
    parts.extend(
        counters.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} {value}"))),
    );
    if parts.is_empty() {
        parts.push("bookkeeping only".to_string());
    }
    parts.join("; ")
}

/// Returns the annotated bytes of the record at `offset`, as lines.
///
/// # Errors
/// NotFound if no record starts at `offset`. Incomplete if the record is longer than [`SCAN_MAX`]. Errors of the file system.
pub fn record_tree(env: &Env, dir: &Path, kind: LogKind, number: u64, offset: u64) -> Result<Vec<String>> {
    let (mut reader, start) = open_log(env, dir, (kind, number), offset)?;
    loop {
        match reader.next()? {
            Item::Record { bytes, offset: at, .. } if at.saturating_add(start) == offset => {
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
            Item::Record { offset: at, .. } if at.saturating_add(start) > offset => break,
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
        let path = dir.join(names::table(FileNumber::new(number)));
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
    /// NotFound if the block does not exist. NotSupported for a block above 64 MiB, for a table without blocks above 256 MiB, and for
    /// an entry after the first [`VISITED_MAX`] entries of a table without blocks. Corruption of the block.
    pub fn entries(&self, block: usize, skip: usize, limit: usize) -> Result<(Vec<EntryRow>, bool)> {
        let is_flat = self.reader.block_based().is_none();
        if is_flat && self.reader.file_size() > FLAT_BYTES_MAX {
            return Err(Error::not_supported("entries of a table without blocks are shown up to 256 MiB"));
        }
        if is_flat && skip.saturating_add(limit) > VISITED_MAX {
            return Err(Error::not_supported(format!(
                "the first {VISITED_MAX} entries of this table are shown"
            )));
        }
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
                seq: key.seq.get(),
                kind: format!("{:?}", key.value_type),
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
