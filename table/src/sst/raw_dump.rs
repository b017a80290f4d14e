//! Dumps the whole content of a table, as `sst_dump --command=raw` does.

use std::io::Write;

use base::coding::get_u32;
use base::key::{append_with_trailer, parse};
use base::{Error, Result, ValueType};
use format::checksum::context_modifier;
use format::footer::TableKind;
use format::handle::BlockHandle;
use format::metaindex::names;
use format::{footer, trailer};
use mem::range_del::{FragmentedTombstones, Tombstone};

use super::block_kind::BlockKind;
use super::fetch::data;
use super::index_reader::IndexCursor;
use super::read_ctx::ReadCtx;
use super::reader::Reader;
use crate::dump::{hex, properties_text};

const RULE: &str = "--------------------------------------";

/// Writes the dump of `reader` to `out`. `show_sequence` adds sequence numbers and value types to entries.
///
/// # Errors
/// Corruption if the table cannot be read further. Corrupt data blocks are reported in the dump and skipped.
/// Errors of the file, and of `out`.
pub fn raw(reader: &Reader, out: &mut dyn Write, show_sequence: bool) -> Result<()> {
    let mut dump =
        Dump { reader, out, show_sequence, ctx: ReadCtx { fill_cache: false, ..ReadCtx::default() } };
    dump.footer()?;
    dump.metaindex()?;
    let properties = properties_text(reader.properties(), "\n  ", ": ");
    dump.line(format_args!("Table Properties:\n{RULE}\n  {properties}"))?;
    dump.index()?;
    if let Some(dict) = &reader.source.dict {
        let raw = dict.raw();
        dump.line(format_args!("Compression Dictionary:\n{RULE}\n  size (bytes): {}\n", raw.len()))?;
        dump.line(format_args!("  HEX    {}\n", hex(raw)))?;
    }
    dump.range_deletions()?;
    dump.data_blocks()
}

struct Dump<'a> {
    reader: &'a Reader,
    out: &'a mut dyn Write,
    show_sequence: bool,
    ctx: ReadCtx,
}

impl Dump<'_> {
    fn line(&mut self, text: std::fmt::Arguments<'_>) -> Result<()> {
        self.bytes(text.to_string().as_bytes())?;
        self.bytes(b"\n")
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| Error::io_error(format!("writing a dump: {error}")))
    }

    fn footer(&mut self) -> Result<()> {
        let source = &self.reader.source;
        let tail = (footer::LEN as u64).min(source.size);
        let mut bytes = vec![0; tail as usize];
        let read = source.file.read_at(source.size - tail, &mut bytes)?;
        let footer = footer::Footer::decode(&bytes[..read], source.size)?;
        let index = footer.index.unwrap_or(BlockHandle::NULL);
        self.line(format_args!("Footer Details:\n{RULE}"))?;
        for (name, handle) in [("metaindex", footer.metaindex), ("index", index)] {
            let (offset, size) = (handle.offset, handle.size);
            self.line(format_args!("  {name} handle: {} offset: {offset} size: {size}", handle_hex(handle)))?;
        }
        self.line(format_args!("  table_magic_number: {}", TableKind::BlockBased.magic()))?;
        self.line(format_args!("  format version: {}\n", footer.format_version))?;
        self.line(format_args!("Block Checksum Type Legend:\n{RULE}"))?;
        for kind in format::checksum::ChecksumType::ALL {
            self.line(format_args!("  {} = {}", kind as u8, kind.name()))?;
        }
        self.line(format_args!("  (This file uses checksum type: {})\n", footer.checksum as u8))?;
        self.line(format_args!("Metaindex Details:\n{RULE}"))?;
        self.checksum(footer.metaindex, "Metaindex block")
    }

    fn metaindex(&mut self) -> Result<()> {
        for (name, handle) in &self.reader.metaindex().entries {
            let what = match &name[..] {
                name if name == names::PROPERTIES.as_bytes() => "Properties block",
                name if name == names::COMPRESSION_DICT.as_bytes() => "Compression dictionary block",
                name if name == names::RANGE_DEL.as_bytes() => "Range deletion block",
                name if name.windows(15).any(|part| part == b"filter.rocksdb.") => "Filter block",
                _ => continue,
            };
            self.line(format_args!("  {what} handle: {}", handle_hex(*handle)))?;
            self.checksum(*handle, what)?;
        }
        self.bytes(b"\n")
    }

    /// Dumps the stored checksum of a block, without the part that depends on its offset.
    fn checksum(&mut self, handle: BlockHandle, what: &str) -> Result<()> {
        let source = &self.reader.source;
        let raw = source.raw(handle, None, None);
        let stored = raw.as_ref().ok().and_then(|raw| {
            let at = raw.len().checked_sub(trailer::LEN)?;
            Some((raw[at], get_u32(raw, at + 1)?))
        });
        let Some((compression, stored)) = stored else {
            return self.line(format_args!("  ERROR: Failed to read {what} checksum info"));
        };
        let value = stored.wrapping_sub(context_modifier(source.base_context, handle.offset));
        let kind = source.checksum as u8;
        self.line(format_args!(
            "  {what} checksum type: {kind}  checksum value: {value:#x}  offset: {}  size: {}  compression type: \
             {compression}",
            handle.offset, handle.size
        ))
    }

    fn index(&mut self) -> Result<()> {
        self.line(format_args!("Index Details:\n{RULE}"))?;
        self.checksum(self.reader.index.handle, "Index block")?;
        self.line(format_args!("  Block key hex dump: Data block handle\n  Block key ascii\n"))?;
        let reader = self.reader;
        let mut cursor = IndexCursor::default();
        cursor.seek_to_first(&reader.index, &reader.source, &self.ctx)?;
        let mut key = Vec::new();
        while let Some(index) = cursor.index().filter(|index| cursor.at < index.len()) {
            key.clear();
            index.separator(cursor.at, &mut key);
            let handle = index.handle(cursor.at);
            let mut value = Vec::new();
            handle.encode(&mut value);
            if let Some(first_key) = index.first_key(cursor.at) {
                base::coding::put_slice(&mut value, first_key);
            }
            let (offset, size) = (handle.offset, handle.size);
            self.line(format_args!("  HEX    {}: {} offset {offset} size {size}", hex(&key), hex(&value)))?;
            self.bytes(b"  ASCII  ")?;
            self.bytes(&key.iter().flat_map(|&byte| [byte, b' ']).collect::<Vec<u8>>())?;
            self.bytes(b"\n  ------\n")?;
            cursor.next(&reader.index, &reader.source, &self.ctx)?;
        }
        self.bytes(b"\n")
    }

    fn range_deletions(&mut self) -> Result<()> {
        let order = self.reader.source.order.clone();
        let timestamps = order.user.timestamp_size();
        let decode = |(start, end): &(Vec<u8>, Vec<u8>)| Tombstone::decode(start, end, timestamps);
        let tombstones: Vec<Tombstone> =
            self.reader.range_tombstones().iter().map(decode).collect::<Result<_>>()?;
        if tombstones.is_empty() {
            return Ok(());
        }
        self.line(format_args!("Range deletions:\n{RULE}"))?;
        for fragment in FragmentedTombstones::new(tombstones, order).iter() {
            for (at, &seq) in fragment.seqs.iter().enumerate() {
                let start = [fragment.start, fragment.timestamp(at)].concat();
                let end = [fragment.end, fragment.timestamp(at)].concat();
                let mut key = Vec::new();
                append_with_trailer(&mut key, &start, base::key::pack(seq, ValueType::RangeDeletion as u8));
                self.entry(&key, &end)?;
            }
        }
        self.bytes(b"\n")
    }

    fn data_blocks(&mut self) -> Result<()> {
        let mut handles = Vec::new();
        self.reader.each_block(&self.ctx, |_, _, handle| handles.push(handle))?;
        for (at, &handle) in handles.iter().enumerate() {
            self.line(format_args!("Data Block # {} @ {}", at + 1, handle_hex(handle)))?;
            self.checksum(handle, "Data block")?;
            self.line(format_args!("{RULE}"))?;
            if self.data_block(handle)? {
                self.bytes(b"\n")?;
            }
        }
        let sizes = || handles.iter().map(|handle| handle.size);
        let (Some(min), Some(max)) = (sizes().min(), sizes().max()) else { return Ok(()) };
        let average = sizes().sum::<u64>() as f64 / handles.len() as f64;
        self.line(format_args!("Data Block Summary:\n{RULE}\n  # data blocks: {}", handles.len()))?;
        self.line(format_args!("  min data block size: {min}\n  max data block size: {max}"))?;
        self.line(format_args!("  avg data block size: {average:.6}"))
    }

    /// Dumps a data block. Returns false if the block cannot be read at all.
    fn data_block(&mut self, handle: BlockHandle) -> Result<bool> {
        let source = &self.reader.source;
        let fetched = source.fetch(handle, BlockKind::Data, &self.ctx, None);
        let Some(block) = fetched.as_ref().ok().and_then(|block| data(block)) else {
            self.bytes(b"Error reading the block - Skipped \n\n")?;
            return Ok(false);
        };
        let mut iter = format::block::BlockIter::rewriting(block.clone(), source.rewrite);
        iter.seek_to_first();
        while iter.valid() {
            self.entry(iter.key(), iter.value())?;
            iter.next();
        }
        if iter.status().is_err() {
            self.bytes(b"Error reading the block - Skipped \n")?;
        }
        Ok(true)
    }

    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let Ok(parsed) = parse(key) else {
            return self.bytes(b"Error parsing internal key - Skipped \n");
        };
        let user_key = hex(parsed.user_key);
        if self.show_sequence {
            let value_type = parsed.value_type as u8;
            self.line(format_args!(
                "  HEX    {user_key}  seq: {}  type: {value_type} : {}",
                parsed.seq,
                hex(value)
            ))?;
        } else {
            self.line(format_args!("  HEX    {user_key}: {}", hex(value)))?;
        }
        self.bytes(b"  ASCII  ")?;
        self.bytes(&spaced(parsed.user_key))?;
        self.bytes(b": ")?;
        self.bytes(&spaced(value))?;
        self.bytes(b"\n  ------\n")
    }
}

/// Returns the bytes with a space after each byte, and with `\0` for a zero byte.
fn spaced(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    for &byte in bytes {
        match byte {
            0 => out.extend_from_slice(b"\\0"),
            byte => out.push(byte),
        }
        out.push(b' ');
    }
    out
}

fn handle_hex(handle: BlockHandle) -> String {
    let mut bytes = Vec::new();
    handle.encode(&mut bytes);
    hex(&bytes)
}
