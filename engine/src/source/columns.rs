//! The columns of a value, as views into the stored bytes. A plain value has one column with the empty name.

use std::fmt;
use std::ops::Range;

use base::{Pinned, Result};
use format::wide::{self, Column, DEFAULT_COLUMN};

use super::resolve::{Found, unresolved_blob};

/// The columns of one key: names and values, in the order of the names.
///
/// A plain value has one column, the default column, with the empty name. The bytes are a view into a memtable or a
/// cached block, and stay readable after all other handles are dropped.
#[derive(Clone)]
pub struct WideColumns {
    stored: Pinned,
    columns: Vec<ColumnRanges>,
}

/// Where the name and the value of a column are in the stored bytes. A plain value has an empty name.
#[derive(Clone)]
struct ColumnRanges {
    name: Range<usize>,
    value: Range<usize>,
}

impl WideColumns {
    /// Reads the columns of a stored value.
    ///
    /// # Errors
    /// Corruption if an entity does not decode. Reads have already replaced columns in blob files by their values.
    pub fn new(found: Found) -> Result<Self> {
        let entity = match found {
            Found::Value(value) => {
                let place = ColumnRanges { name: 0..0, value: 0..value.len() };
                return Ok(WideColumns { stored: value, columns: vec![place] });
            }
            Found::Entity(entity) => entity,
        };
        let bytes: &[u8] = &entity;
        let place = |column: Column<'_>| match column.is_blob {
            true => Err(unresolved_blob()),
            false => {
                Ok(ColumnRanges { name: range_in(bytes, column.name), value: range_in(bytes, column.value) })
            }
        };
        let columns = wide::decode(bytes)?.into_iter().map(place).collect::<Result<_>>()?;
        Ok(WideColumns { columns, stored: entity.clone() })
    }

    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns true if there is no column.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the columns as name and value, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.columns.iter().map(|at| (&self.stored[at.name.clone()], &self.stored[at.value.clone()]))
    }

    /// Returns the value of a column, or `None` if there is no column of this name.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Returns the value of the default column, which has the empty name: what a plain read returns. Empty if there is
    /// no default column.
    pub fn default_column(&self) -> &[u8] {
        self.get(DEFAULT_COLUMN).unwrap_or_default()
    }
}

/// Returns the place of `part`, a part of `bytes`, from the difference of the addresses.
fn range_in(bytes: &[u8], part: &[u8]) -> Range<usize> {
    if part.is_empty() {
        return 0..0;
    }
    let start = (part.as_ptr() as usize).saturating_sub(bytes.as_ptr() as usize);
    base::invariant!(bytes.as_ptr_range().contains(&part.as_ptr()), "a column is not in its entity");
    start..start + part.len()
}

impl PartialEq for WideColumns {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for WideColumns {}

impl fmt::Debug for WideColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        f.debug_map().entries(self.iter().map(|(name, value)| (text(name), text(value)))).finish()
    }
}
