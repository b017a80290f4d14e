//! Wide-column entities: values that consist of named columns.
//!
//! ```text
//! version 1, all columns inline
//!   varint32 1 | varint32 n | n x { slice name, varint32 value size } | values
//! version 2, some columns in blob files
//!   varint32 2 | varint32 n | varint32 name sizes' bytes | varint32 value sizes' bytes
//!   | varint32 names' bytes | n x u8 value type (1 inline, 0x11 blob index)
//!   | n x varint32 name size | n x varint32 value size | names | values
//! ```
//! Columns are strictly ascending by name, in bytewise order. The default column has the empty name, so it is
//! first. Older readers reject version 2, so version 1 is written if no column is in a blob file. RocksDB
//! source: `db/wide/wide_column_serialization.cc`.

use base::coding::{Cursor, put_slice, put_varint32, varint_len};
use base::key::ValueType;
use base::{Error, Result};

/// The name of the default column.
pub const DEFAULT_COLUMN: &[u8] = b"";

/// One column. Its bytes are borrowed from the entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    /// The name of the column. The default column has the empty name.
    pub name: &'a [u8],
    /// The value, or an encoded [`crate::blob::BlobIndex`] if `is_blob` is true.
    pub value: &'a [u8],
    /// True if the value is in a blob file.
    pub is_blob: bool,
}

impl<'a> Column<'a> {
    /// Makes a column whose value is stored in the entity, not in a blob file.
    pub fn inline(name: &'a [u8], value: &'a [u8]) -> Self {
        Column { name, value, is_blob: false }
    }
}

/// Appends the entity of `columns`. Writes version 1 unless one of the columns is in a blob file.
///
/// # Errors
/// InvalidArgument if there are 2^32 or more columns, or if a name or a value has 4 GiB or more. Corruption
/// if the names are not strictly ascending.
pub fn encode(columns: &[Column<'_>], out: &mut Vec<u8>) -> Result<()> {
    check(columns)?;
    put_varint32(out, if columns.iter().any(|c| c.is_blob) { 2 } else { 1 });
    put_varint32(out, columns.len() as u32);
    if columns.iter().any(|c| c.is_blob) {
        encode_v2(columns, out)?;
    } else {
        for column in columns {
            put_slice(out, column.name);
            put_varint32(out, column.value.len() as u32);
        }
    }
    columns.iter().for_each(|c| out.extend_from_slice(c.value));
    Ok(())
}

/// Writes everything of version 2 between the column count and the values.
fn encode_v2(columns: &[Column<'_>], out: &mut Vec<u8>) -> Result<()> {
    let section = |len: fn(&Column<'_>) -> usize| {
        let bytes: usize = columns.iter().map(len).sum();
        u32::try_from(bytes).map_err(|_| Error::invalid_argument("Wide column metadata too large"))
    };
    put_varint32(out, section(|c| varint_len(c.name.len() as u64))?);
    put_varint32(out, section(|c| varint_len(c.value.len() as u64))?);
    put_varint32(out, section(|c| c.name.len())?);
    for column in columns {
        out.push(if column.is_blob { ValueType::BlobIndex } else { ValueType::Value } as u8);
    }
    columns.iter().for_each(|c| put_varint32(out, c.name.len() as u32));
    columns.iter().for_each(|c| put_varint32(out, c.value.len() as u32));
    columns.iter().for_each(|c| out.extend_from_slice(c.name));
    Ok(())
}

fn check(columns: &[Column<'_>]) -> Result<()> {
    let too_long = |n: usize| n > u32::MAX as usize;
    if too_long(columns.len()) || columns.iter().any(|c| too_long(c.name.len()) || too_long(c.value.len())) {
        return Err(Error::invalid_argument("Wide column too long"));
    }
    match columns.windows(2).find(|w| w[0].name >= w[1].name) {
        Some(w) => Err(out_of_order(w[1].name)),
        None => Ok(()),
    }
}

/// Decodes an entity of either version.
///
/// # Errors
/// Corruption for an unknown version, sections that do not fit, bytes after the end, or names that are not
/// strictly ascending.
pub fn decode(entity: &[u8]) -> Result<Vec<Column<'_>>> {
    let mut c = Cursor::new(entity);
    let version = need("version", c.varint32())?;
    if version > 2 {
        return Err(Error::corruption(format!("Unsupported wide column version {version}")));
    }
    let count = need("number of columns", c.varint32())? as usize;
    // Each column takes at least two bytes. This check prevents that a damaged count reserves much memory.
    if count > c.rest().len() {
        return Err(cut_short("columns"));
    }
    if version == 2 { decode_v2(&mut c, count) } else { decode_v1(&mut c, count) }
}

fn decode_v1<'a>(c: &mut Cursor<'a>, count: usize) -> Result<Vec<Column<'a>>> {
    let mut heads = Vec::with_capacity(count);
    for _ in 0..count {
        let name = need("column name", c.slice())?;
        heads.push((name, need("column value size", c.varint32())? as usize));
    }
    finish(c, heads.into_iter().map(|(name, size)| (name, size, false)), count)
}

fn decode_v2<'a>(c: &mut Cursor<'a>, count: usize) -> Result<Vec<Column<'a>>> {
    let name_sizes_len = need("name sizes' length", c.varint32())? as usize;
    let value_sizes_len = need("value sizes' length", c.varint32())? as usize;
    let names_len = need("names' length", c.varint32())? as usize;
    let value_types = need("column types", c.take(count))?;
    let mut name_sizes = Cursor::new(need("name sizes", c.take(name_sizes_len))?);
    let mut value_sizes = Cursor::new(need("value sizes", c.take(value_sizes_len))?);
    let mut names = Cursor::new(need("names", c.take(names_len))?);
    let mut heads = Vec::with_capacity(count);
    for &value_type in value_types {
        let is_blob = match ValueType::from_u8(value_type) {
            Some(ValueType::Value) => false,
            Some(ValueType::BlobIndex) => true,
            _ => return Err(Error::corruption(format!("Unsupported wide column type {value_type:#x}"))),
        };
        let name =
            need("name size", name_sizes.varint32()).and_then(|n| need("name", names.take(n as usize)))?;
        heads.push((name, need("value size", value_sizes.varint32())? as usize, is_blob));
    }
    if !(name_sizes.is_empty() && value_sizes.is_empty() && names.is_empty()) {
        return Err(Error::corruption("wide column section size mismatch"));
    }
    finish(c, heads.into_iter(), count)
}

/// Reads the values from the remaining bytes. Checks the order of the names and the end.
fn finish<'a>(
    c: &mut Cursor<'a>,
    heads: impl Iterator<Item = (&'a [u8], usize, bool)>,
    count: usize,
) -> Result<Vec<Column<'a>>> {
    let mut columns: Vec<Column<'a>> = Vec::with_capacity(count);
    for (name, size, is_blob) in heads {
        if columns.last().is_some_and(|last| last.name >= name) {
            return Err(out_of_order(name));
        }
        columns.push(Column { name, value: need("column value", c.take(size))?, is_blob });
    }
    if !c.is_empty() {
        return Err(Error::corruption("Trailing data after wide column values").at(c.offset() as u64));
    }
    Ok(columns)
}

/// Returns true if the entity may have columns in blob files. Costs one byte; an entity of version 1 has none.
#[inline]
pub fn may_have_blobs(entity: &[u8]) -> bool {
    entity.first() == Some(&2)
}

/// Returns the value of the default column. It is empty if the entity has no default column.
///
/// # Errors
/// The errors of [`decode`].
pub fn default_column(entity: &[u8]) -> Result<Column<'_>> {
    Ok(match decode(entity)?.first() {
        Some(&column) if column.name == DEFAULT_COLUMN => column,
        _ => Column::inline(DEFAULT_COLUMN, b""),
    })
}

fn need<T>(what: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| cut_short(what))
}

#[cold]
fn cut_short(what: &str) -> Error {
    Error::corruption(format!("wide column {what}: truncated"))
}

#[cold]
fn out_of_order(name: &[u8]) -> Error {
    Error::corruption(format!("Wide columns out of order at a column with a name of {} bytes", name.len()))
}

#[cfg(test)]
mod tests;
