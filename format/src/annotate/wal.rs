//! Annotates files in the WAL format: physical records in their blocks, and the content of complete records.

use kernel::checksum::crc32c;

use super::{Probe, Tree};
use crate::wal::{BLOCK_LEN, RECYCLABLE_HEADER_LEN, header_len, record_type};

/// What the records of a file contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Write batches: the file is a WAL.
    Batches,
    /// Version edits: the file is a MANIFEST.
    Edits,
    /// Unknown: the records are compressed or shall not be decoded.
    Opaque,
}

/// Annotates the bytes of a WAL or MANIFEST.
pub fn wal(bytes: &[u8], content: Content) -> Tree {
    let mut p = Probe::new(bytes, 0);
    let mut record = Vec::new();
    while p.more() {
        let left = BLOCK_LEN - (p.offset() % BLOCK_LEN as u64) as usize;
        let block = &p.rest()[..left.min(p.rest().len())];
        let tree = physical(block, p.offset(), content, &mut record);
        p.push(tree);
    }
    p.finish("log")
}

/// Annotates one physical record, or the rest of the block if no record is left.
fn physical(block: &[u8], offset: u64, content: Content, record: &mut Vec<u8>) -> Tree {
    let header = block.get(6).map_or(usize::MAX, |kind| header_len(*kind));
    let len = base::coding::get_u16(block, 4).map_or(0, usize::from);
    if block.len() < header {
        return Tree::leaf(offset, block, "end of block");
    }
    if block[6] == record_type::ZERO && len == 0 {
        return Tree::leaf(offset, block, "zeros to the end of the block");
    }
    if block.len() < header + len {
        return Tree::leaf(offset, block, format!("record of {len} bytes, truncated"));
    }
    let bytes = &block[..header + len];
    let kind = bytes[6];
    let mut p = Probe::new(bytes, offset);
    let actual = crc32c::mask(crc32c::value(&bytes[6..]));
    let stored = p.field(
        |c| c.u32(),
        |stored| match *stored == actual {
            true => "crc".to_string(),
            false => format!("crc, wrong: should be {actual:#010x}"),
        },
    );
    p.field(|c| c.u16(), |n| format!("length {n}"));
    p.field(|c| c.u8(), |kind| format!("type {kind} {}", name(*kind)));
    if header == RECYCLABLE_HEADER_LEN {
        p.u32("log number");
    }
    let payload = p.rest();
    p.push(Tree::leaf(offset + header as u64, payload, "payload"));
    let mut tree = p.finish(format!("record {}", name(kind)));
    let whole = match kind {
        record_type::FULL | record_type::RECYCLABLE_FULL => Some(payload.to_vec()),
        record_type::FIRST | record_type::RECYCLABLE_FIRST => {
            *record = payload.to_vec();
            None
        }
        record_type::MIDDLE | record_type::RECYCLABLE_MIDDLE => {
            record.extend_from_slice(payload);
            None
        }
        record_type::LAST | record_type::RECYCLABLE_LAST => {
            record.extend_from_slice(payload);
            Some(std::mem::take(record))
        }
        _ => None,
    };
    if let Some(whole) = whole.filter(|_| stored == Some(actual)) {
        tree.children.extend(inside(&whole, content));
    }
    tree
}

fn inside(record: &[u8], content: Content) -> Option<Tree> {
    let mut tree = match content {
        Content::Batches => super::batch(record),
        Content::Edits => super::edit(record),
        Content::Opaque => return None,
    };
    tree.derived = true;
    Some(tree)
}

fn name(kind: u8) -> &'static str {
    match kind {
        record_type::ZERO => "zero",
        record_type::FULL => "full",
        record_type::FIRST => "first",
        record_type::MIDDLE => "middle",
        record_type::LAST => "last",
        record_type::RECYCLABLE_FULL => "recyclable full",
        record_type::RECYCLABLE_FIRST => "recyclable first",
        record_type::RECYCLABLE_MIDDLE => "recyclable middle",
        record_type::RECYCLABLE_LAST => "recyclable last",
        record_type::SET_COMPRESSION => "set compression",
        record_type::TIMESTAMP_SIZE => "timestamp size",
        record_type::RECYCLABLE_TIMESTAMP_SIZE => "recyclable timestamp size",
        record_type::PREDECESSOR => "predecessor",
        record_type::RECYCLABLE_PREDECESSOR => "recyclable predecessor",
        _ if kind & record_type::SAFE_TO_IGNORE != 0 => "unknown, safe to ignore",
        _ => "unknown",
    }
}
