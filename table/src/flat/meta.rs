//! The end of an SST file without blocks: properties, metaindex and footer.
//!
//! These meta blocks have no trailer, so they have no checksum and no compression.

use base::{Error, Result};
use env::fs::RandomRead;
use env::writer::FileWriter;
use format::checksum::ChecksumType;
use format::footer::{self, Footer, TableKind};
use format::handle::BlockHandle;
use format::metaindex::{Metaindex, names};
use format::properties::Properties;

/// The content of the end of the file.
pub(crate) struct FlatMeta {
    pub(crate) metaindex: Metaindex,
    pub(crate) properties: Properties,
}

/// Reads the footer of an SST file of any format.
///
/// # Errors
/// Corruption if the file does not end with a footer. Errors of the file.
pub(crate) fn read_footer(file: &dyn RandomRead, size: u64) -> Result<Footer> {
    let len = (footer::LEN as u64).min(size);
    let tail = read_block(file, BlockHandle::new(size - len, len), size)?;
    Footer::decode(&tail, size)
}

/// Reads the end of the file.
///
/// # Errors
/// Corruption if a part is missing or does not decode. Errors of the file.
pub(crate) fn read(file: &dyn RandomRead, size: u64) -> Result<FlatMeta> {
    let footer = read_footer(file, size)?;
    let block = read_block(file, footer.metaindex, size)?;
    let metaindex = Metaindex::decode(&block).map_err(|e| e.shifted(footer.metaindex.offset))?;
    let handle = metaindex
        .get(names::PROPERTIES)
        .or_else(|| metaindex.get(names::PROPERTIES_OLD))
        .ok_or_else(|| Error::corruption("the metaindex names no properties block"))?;
    let properties = Properties::decode(&read_block(file, handle, size)?, handle.offset)?;
    Ok(FlatMeta { metaindex, properties })
}

/// Reads a block without trailer.
///
/// # Errors
/// Corruption if the block is not in the file; errors of the file.
pub(crate) fn read_block(file: &dyn RandomRead, handle: BlockHandle, size: u64) -> Result<Vec<u8>> {
    let outside = || Error::corruption(format!("block {handle} lies outside the file of {size} bytes"));
    if handle.offset.checked_add(handle.size).is_none_or(|end| end > size) {
        return Err(outside());
    }
    let mut bytes = vec![0; usize::try_from(handle.size).map_err(|_| outside())?];
    let got = file.read_at(handle.offset, &mut bytes)?;
    if got < bytes.len() {
        return Err(Error::corruption(format!(
            "the file has {} bytes where {size} were expected",
            handle.offset + got as u64
        )));
    }
    Ok(bytes)
}

/// Writes a block without trailer.
///
/// # Errors
/// Errors of the file.
pub(crate) fn write_block(file: &mut FileWriter, offset: &mut u64, bytes: &[u8]) -> Result<BlockHandle> {
    let handle = BlockHandle::new(*offset, bytes.len() as u64);
    file.append(bytes)?;
    *offset += bytes.len() as u64;
    Ok(handle)
}

/// Writes the end of the file.
///
/// # Errors
/// Errors of the file.
pub(crate) fn write(
    file: &mut FileWriter,
    offset: &mut u64,
    kind: TableKind,
    properties: &Properties,
    mut metaindex: Metaindex,
) -> Result<()> {
    let handle = write_block(file, offset, &properties.encode())?;
    metaindex.insert(names::PROPERTIES, handle);
    let metaindex = write_block(file, offset, &metaindex.encode())?;
    let footer = Footer {
        kind,
        format_version: u32::from(kind == TableKind::Cuckoo),
        checksum: ChecksumType::None,
        base_context_checksum: 0,
        metaindex,
        index: Some(BlockHandle::NULL),
    };
    write_block(file, offset, &footer.encode(*offset)).map(drop)
}
