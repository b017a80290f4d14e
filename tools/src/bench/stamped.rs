//! The reads and writes of the benchmarks that support `--user_timestamp_size=8`.
//!
//! Without the flag, the functions call the functions without timestamps. With the flag, a benchmark that does not
//! use these functions gets the error of the engine.

use base::Result;
use ironstone::{Family, ReadOptions};

use super::dice::Dice;
use super::run::Run;

impl Run {
    /// Sets the timestamp of the next read.
    #[inline]
    pub fn stamp_read(&self, options: &mut ReadOptions, dice: &mut Dice) {
        if let Some(stamps) = &self.stamps {
            let timestamp = options.timestamp.get_or_insert_default();
            timestamp.clear();
            timestamp.extend_from_slice(&stamps.for_read(dice));
        }
    }

    /// Puts one value.
    ///
    /// # Errors
    /// The errors of `Family::put_with`.
    #[inline]
    pub fn put(&self, family: &Family, key: &[u8], value: &[u8]) -> Result<()> {
        match &self.stamps {
            None => family.put_with(key, value, &self.write_options),
            Some(stamps) => family.put_with_ts(key, &stamps.allocate(), value, &self.write_options),
        }
    }

    /// Deletes one key. If `single` is true, the deletion is a single deletion.
    ///
    /// # Errors
    /// The errors of `Family::delete_with`.
    pub fn delete(&self, family: &Family, key: &[u8], single: bool) -> Result<()> {
        match (&self.stamps, single) {
            (None, false) => family.delete_with(key, &self.write_options),
            (None, true) => family.single_delete_with(key, &self.write_options),
            (Some(stamps), false) => family.delete_with_ts(key, &stamps.allocate(), &self.write_options),
            (Some(stamps), true) => {
                family.single_delete_with_ts(key, &stamps.allocate(), &self.write_options)
            }
        }
    }

    /// Returns the bytes of a timestamp. A report adds them to the bytes of each key.
    #[inline]
    pub fn timestamp_len(&self) -> u64 {
        if self.stamps.is_some() { 8 } else { 0 }
    }
}
