//! Corrects checksums, as an attacker does who wants the engine to accept wrong bytes.

use std::collections::BTreeSet;

use base::coding::get_u32;
use format::footer::{self, Footer, TableKind};
use format::handle::BlockHandle;
use format::index::{Index, IndexLayout};
use format::metaindex::Metaindex;
use format::properties::Properties;
use format::trailer;
use kernel::checksum::crc32c;

const BLOCK_LEN: usize = 32 << 10;

/// Corrects the checksum of every record of a WAL or MANIFEST that is complete in its block.
pub fn log(bytes: &mut [u8]) {
    for block in bytes.chunks_mut(BLOCK_LEN) {
        let mut at = 0;
        while at + 7 <= block.len() {
            let len = usize::from(block[at + 4]) | usize::from(block[at + 5]) << 8;
            let kind = block[at + 6];
            // In recyclable record types, the WAL number follows the type, and the checksum includes the number.
            let header = if matches!(kind, 5..=8 | 11 | 131) { 11 } else { 7 };
            let Some(summed) = block.get(at + 6..at + header + len) else { break };
            if kind == 0 && len == 0 {
                break;
            }
            let sum = crc32c::mask(crc32c::value(summed));
            block[at..at + 4].copy_from_slice(&sum.to_le_bytes());
            at += header + len;
        }
    }
}

/// Repairs the checksum of the footer, then the checksums of all blocks that the footer leads to.
pub fn table(bytes: &mut [u8]) {
    walk(bytes, &mut |_, _| {}, &mut |_, _| {});
}

/// Calls `each` with the decompressed blocks of an SST file. The name is `data`, `index`, `metaindex`, or the name in
/// the metaindex.
pub fn parts(bytes: &[u8], mut each: impl FnMut(&str, &[u8])) {
    walk(&mut bytes.to_vec(), &mut each, &mut |_, _| {});
}

/// Calls `each` with the stored blocks of an SST file and their compression.
pub fn raw(bytes: &[u8], mut each: impl FnMut(u8, &[u8])) {
    walk(&mut bytes.to_vec(), &mut |_, _| {}, &mut each);
}

fn walk(bytes: &mut [u8], part: &mut dyn FnMut(&str, &[u8]), raw: &mut dyn FnMut(u8, &[u8])) {
    let size = bytes.len() as u64;
    let Some(start) = bytes.len().checked_sub(footer::LEN) else { return };
    if let Some(version) = get_u32(bytes, start + 41)
        && (6..=footer::FORMAT_VERSION_MAX).contains(&version)
        && let Ok(kind) = format::checksum::ChecksumType::from_u8(bytes[start])
    {
        bytes[start + 5..start + 9].fill(0);
        let context = get_u32(bytes, start + 9).unwrap_or_default();
        let sum = trailer::block_checksum(kind, context, start as u64, &bytes[start..]);
        bytes[start + 5..start + 9].copy_from_slice(&sum.to_le_bytes());
    }
    let Ok(footer) = Footer::decode(&bytes[start..], size) else { return };
    // Plain and cuckoo tables have no checksums, so their bytes stay.
    if !matches!(footer.kind, TableKind::BlockBased | TableKind::BlockBasedLegacy) {
        return;
    }
    let mut done = BTreeSet::new();
    let Some(metaindex) = block(bytes, &footer, footer.metaindex, &mut done, raw) else { return };
    part("metaindex", &metaindex);
    let Ok(metaindex) = Metaindex::decode(&metaindex) else { return };
    let mut index = footer.index;
    let mut layout = IndexLayout::default();
    for (name, handle) in &metaindex.entries {
        let Some(content) = block(bytes, &footer, *handle, &mut done, raw) else { continue };
        part(&String::from_utf8_lossy(name), &content);
        match &name[..] {
            b"rocksdb.index" => index = Some(*handle),
            b"rocksdb.properties" => {
                if let Ok(properties) = Properties::decode(&content, handle.offset) {
                    layout.user_keys = properties.index_key_is_user_key != 0;
                    layout.delta_values = properties.index_value_is_delta_encoded != 0;
                    layout.first_keys = properties.index_type() == Some(3);
                }
            }
            _ => {}
        }
    }
    let Some(content) = index.and_then(|handle| block(bytes, &footer, handle, &mut done, raw)) else {
        return;
    };
    part("index", &content);
    let Ok(index) = Index::decode(&content, &layout) else { return };
    for i in 0..index.len() {
        if let Some(content) = block(bytes, &footer, index.handle(i), &mut done, raw) {
            part("data", &content);
        }
    }
}

/// Corrects the checksum of one block, once. Returns the decompressed bytes, unless the decompression is expensive.
fn block(
    bytes: &mut [u8],
    footer: &Footer,
    handle: BlockHandle,
    done: &mut BTreeSet<u64>,
    raw: &mut dyn FnMut(u8, &[u8]),
) -> Option<Vec<u8>> {
    let start = usize::try_from(handle.offset).ok()?;
    let end = start.checked_add(usize::try_from(handle.size).ok()?)?;
    let kind = *bytes.get(end)?;
    bytes.get(end..end.checked_add(trailer::LEN)?)?;
    if done.insert(handle.offset) {
        let summed = &bytes[start..=end];
        let sum =
            trailer::block_checksum(footer.checksum, footer.base_context_checksum, handle.offset, summed);
        bytes[end + 1..end + 5].copy_from_slice(&sum.to_le_bytes());
    }
    let payload = &bytes[start..end];
    raw(kind, payload);
    if kind == 0 {
        return Some(payload.to_vec());
    }
    let kind = compress::Compression::from_byte(kind).ok()?;
    match compress::uncompressed_len(kind, payload) {
        Ok(len) if len <= 1 << 20 => compress::decompress(kind, payload, None).ok(),
        _ => None,
    }
}
