//! Finds blocks without an index. A block ends at each position where the next five bytes are its valid
//! trailer.

use std::borrow::Cow;

use base::Result;
use base::coding::{Cursor, get_u32};
use format::block::{Block, BlockIter};
use format::checksum::{ChecksumType, context_modifier};
use format::handle::BlockHandle;
use format::properties::Properties;
use format::trailer;

use super::super::inflate::inflate;
use super::{Part, Run, Source};

/// Maximum size of a block that the scan finds. Each position where it may end costs a checksum of all bytes
/// before.
const BLOCK_BYTES_MAX: u64 = 1 << 20;
/// The number of bytes that the scan searches first.
const BLOCK_BYTES_LIKELY: u64 = 64 << 10;
/// The scan searches for the next block within this multiple of the longest block found so far, up to
/// [`RESUME_BYTES_MAX`]. The next block may have at most that length.
const RESUME_FACTOR: u64 = 2;
const RESUME_BYTES_MAX: u64 = 16 << 10;

impl Run<'_> {
    /// Reads the blocks in `[from, end)`. Without `end`, reads up to the first block that is not a data
    /// block.
    pub(super) fn scan(&mut self, from: u64, end: Option<u64>) -> Result<()> {
        let limit = end.unwrap_or(self.source.size);
        let mut at = from;
        let mut longest = 4096;
        // The size of the first block of the file, if it is whole.
        let mut first = None;
        while at + (trailer::LEN as u64) < limit {
            let mut window = read(&self.source, at, limit.min(at + BLOCK_BYTES_LIKELY.max(4 * longest)))?;
            let mut found = block_len(&self.source, at, &window);
            if found.is_none() && self.resume(at, &window, longest.min(RESUME_BYTES_MAX)).is_none() {
                window = read(&self.source, at, limit.min(at + BLOCK_BYTES_MAX))?;
                found = block_len(&self.source, at, &window);
            }
            let Some(len) = found else {
                let reach = (longest * RESUME_FACTOR).min(RESUME_BYTES_MAX);
                let next = self.resume(at, &window, reach);
                match (next, end) {
                    (Some(next), _) => {
                        self.lose_data(at, next - at, "no block with a valid checksum".to_string());
                        at = next;
                        continue;
                    }
                    // The range up to `end` is known to be data, so all of it is lost.
                    (None, Some(end)) => {
                        self.lose_data(at, end - at, "no block with a valid checksum".to_string());
                        return Ok(());
                    }
                    (None, None) => {
                        if !self.out.losses.iter().any(|l| l.part == Part::Footer) {
                            self.lose_data(at, limit - at, "no block with a valid checksum".to_string());
                        }
                        return self.behind_data(at);
                    }
                }
            };
            base::invariant!(
                len >= trailer::LEN && len <= window.len(),
                "a block of {len} bytes is found in {} bytes",
                window.len()
            );
            let handle = BlockHandle::new(at, (len - trailer::LEN) as u64);
            if at == 0 {
                first = Some(handle.size);
            }
            let payload =
                self.source.payload(window[..len].to_vec().into(), handle, true, self.source.dict.as_ref());
            longest = longest.max(len as u64);
            match payload {
                Ok(payload) => {
                    if end.is_none() && (is_index(&payload, at, first) || !self.is_data(&payload)) {
                        return self.behind_data(at);
                    }
                    if let Err(error) = self.rows(&payload, at)? {
                        self.lose_data(at, len as u64, error.to_string());
                    }
                }
                Err(error) if end.is_none() && self.out.num_blocks > 0 && error.is_corruption() => {
                    return self.behind_data(at);
                }
                Err(error) => self.damage_or(error, handle)?,
            }
            at += len as u64;
        }
        if end.is_none() { self.behind_data(at) } else { Ok(()) }
    }

    /// Returns true if the bytes in `[from, end)`, where the index has no block, are padding: zeros (`block_align`,
    /// `super_block_alignment_size`). A damaged index may lack a block, so with such an index no bytes are padding.
    pub(super) fn is_padding(&self, from: u64, end: u64) -> Result<bool> {
        let is_whole = !self.out.losses.iter().any(|loss| loss.part == Part::Index);
        if !is_whole || end - from > BLOCK_BYTES_MAX {
            return Ok(false);
        }
        let bytes = read(&self.source, from, end)?;
        Ok(bytes.len() as u64 == end - from && bytes.iter().all(|byte| *byte == 0))
    }

    /// Searches the blocks after the data for range tombstones and properties, if there is no metaindex to
    /// name them.
    fn behind_data(&mut self, from: u64) -> Result<()> {
        let named = |part| self.out.losses.iter().any(|l| l.part == part);
        if !named(Part::Footer) && !named(Part::Metaindex) {
            return Ok(());
        }
        let mut at = from;
        while at + (trailer::LEN as u64) < self.source.size {
            let window = read(&self.source, at, self.source.size.min(at + BLOCK_BYTES_LIKELY))?;
            let Some(len) = block_len(&self.source, at, &window) else { break };
            let handle = BlockHandle::new(at, (len - trailer::LEN) as u64);
            at += len as u64;
            let Ok(payload) = self.source.payload(window[..len].to_vec().into(), handle, true, None) else {
                continue;
            };
            match Properties::decode(&payload, handle.offset) {
                Ok(found) if !found.comparator_name.is_empty() => self.out.properties = Some(found),
                _ => self.out.tombstones.extend(self.all_tombstones(&payload).unwrap_or_default()),
            }
        }
        let found = self.out.tombstones.len() as u64;
        match self.out.properties.as_ref().map(|p| p.num_range_deletions) {
            Some(written) if written == found => {}
            Some(written) => {
                let reason = format!("{found} of {written} range tombstones were found");
                self.out.lose(Part::RangeTombstones, from, self.source.size - from, reason);
            }
            None => {
                let reason =
                    format!("{found} range tombstones were found; whether there were more is not known");
                self.out.lose(Part::RangeTombstones, from, self.source.size - from, reason);
            }
        }
        Ok(())
    }

    /// Returns the range tombstones of a block that has nothing else.
    fn all_tombstones(&self, payload: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut iter = BlockIter::rewriting(Block::parse(payload).ok()?, self.source.rewrite);
        let mut found = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            if base::key::parse(iter.key()).ok()?.value_type != base::ValueType::RangeDeletion {
                return None;
            }
            let mut end = iter.value().to_vec();
            end.resize(end.len() + self.source.rewrite.timestamp_pad, 0);
            found.push((iter.key().to_vec(), end));
            iter.next();
        }
        iter.status().ok().map(|()| found)
    }

    /// Returns the position after `at` where the next data block begins.
    fn resume(&self, at: u64, window: &[u8], reach: u64) -> Option<u64> {
        let reach = reach.min(window.len() as u64) as usize;
        (1..reach).find_map(|skip| {
            let rest = &window[skip..window.len().min(skip + reach)];
            let start = at + skip as u64;
            let len = block_len(&self.source, start, rest)?;
            let handle = BlockHandle::new(start, (len - trailer::LEN) as u64);
            let payload = self
                .source
                .payload(rest[..len].to_vec().into(), handle, true, self.source.dict.as_ref())
                .ok()?;
            self.is_data(&payload).then_some(start)
        })
    }

    /// Returns true if the first entry of the block may follow the entries that were already read.
    fn is_data(&self, payload: &[u8]) -> bool {
        let Ok(block) = Block::parse(payload) else { return false };
        let mut iter = BlockIter::rewriting(block, self.source.rewrite);
        iter.seek_to_first();
        iter.valid() && self.check_key(iter.key()).is_ok()
    }
}

/// Returns true if the block at `at` is an index. The keys of a one-block index may look like keys of data, but its first value is
/// the handle of the first block of the file, and in some indexes the first key of that block follows. `first`: the size of that block,
/// if it is known.
fn is_index(payload: &[u8], at: u64, first: Option<u64>) -> bool {
    let Ok(block) = Block::parse(payload) else { return false };
    let mut iter = BlockIter::new(block);
    iter.seek_to_first();
    if !iter.valid() {
        return false;
    }
    let mut rest = Cursor::new(iter.value());
    let Ok(handle) = BlockHandle::decode(&mut rest) else { return false };
    let is_whole = rest.is_empty() || (rest.slice().is_some() && rest.is_empty());
    let ends_before = handle.size > 0 && handle.size.saturating_add(trailer::LEN as u64) <= at;
    handle.offset == 0 && is_whole && ends_before && first.is_none_or(|first| first == handle.size)
}

fn read(source: &Source, from: u64, to: u64) -> Result<Vec<u8>> {
    base::invariant!(from <= to, "the bytes from {from} to {to} of a file are read");
    let mut bytes = vec![0; (to - from) as usize];
    let got = source.file.read_at(from, &mut bytes)?;
    bytes.truncate(got);
    Ok(bytes)
}

/// Returns the length, with trailer, of the block at the start of `bytes`.
fn block_len(source: &Source, offset: u64, bytes: &[u8]) -> Option<usize> {
    let (kind, context) = (source.checksum, source.base_context);
    if kind == ChecksumType::None {
        return None;
    }
    let modifier = context_modifier(context, offset);
    ends(bytes).find(|&end| {
        let stored = get_u32(bytes, end - 4).unwrap_or_default();
        trailer::checksum(kind, &bytes[..end - 4]).wrapping_add(modifier) == stored
    })
}

/// Returns the positions where a block may end: after the byte of an existing compression type and four more
/// bytes.
fn ends(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    const KNOWN_MAX: u8 = 7;
    // The size of an empty block, which is the shortest block.
    const SHORTEST: usize = 4;
    (SHORTEST..bytes.len().saturating_sub(trailer::LEN - 1))
        .filter(|&at| bytes[at] <= KNOWN_MAX)
        .map(|at| at + trailer::LEN)
}

/// Guesses the checksum type and context of a file without a footer: with them, a valid data block begins at
/// offset 0, and another valid block follows.
pub(super) fn guess_checksum(source: &Source) -> Result<Option<(ChecksumType, u32)>> {
    const FIRST_BYTES_MAX: u64 = 64 << 10;
    let bytes = read(source, 0, source.size.min(FIRST_BYTES_MAX))?;
    for kind in [ChecksumType::Xxh3, ChecksumType::Crc32c, ChecksumType::XxHash64, ChecksumType::XxHash] {
        for end in ends(&bytes) {
            let stored = get_u32(&bytes, end - 4).unwrap_or_default();
            let context = stored.wrapping_sub(trailer::checksum(kind, &bytes[..end - 4]));
            if context != 0 && !begins_with_a_key(&bytes[..end - trailer::LEN], bytes[end - trailer::LEN]) {
                continue;
            }
            let fits = |context| {
                let modifier = context_modifier(context, end as u64);
                let rest = &bytes[end..];
                ends(rest).any(|e| {
                    trailer::checksum(kind, &rest[..e - 4]).wrapping_add(modifier)
                        == get_u32(rest, e - 4).unwrap_or_default()
                })
            };
            if context == 0 || fits(context) {
                return Ok(Some((kind, context)));
            }
        }
    }
    Ok(None)
}

fn begins_with_a_key(payload: &[u8], compression: u8) -> bool {
    let payload = match compression {
        0 => Cow::Borrowed(payload),
        kind => match inflate(kind, payload, None) {
            Ok(payload) => Cow::Owned(payload),
            Err(_) => return false,
        },
    };
    let Ok(block) = Block::parse(payload.as_ref()) else { return false };
    let mut iter = BlockIter::new(block);
    iter.seek_to_first();
    iter.valid() && base::key::parse(iter.key()).is_ok()
}
