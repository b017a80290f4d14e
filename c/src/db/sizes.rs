//! Properties of a database, estimates of sizes, sequence numbers, identity.

use base::{Error, Result};
use engine::family::Family;
use engine::options::SizeApproximationOptions;
use std::sync::Arc;

use super::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::abi::{Buffer, Out, Ranges, Success, arguments};
use crate::write_options::rocksdb_size_approximation_options_t;

/// Estimates the size of each range in bytes.
///
/// # Safety
/// `sizes` has a writable place for each range.
unsafe fn approximate_sizes(
    db: &rocksdb_t,
    family: &Family,
    options: &SizeApproximationOptions,
    ranges: &Ranges<'_>,
    sizes: *mut u64,
) -> Result<()> {
    // SAFETY: the array has a place for each range by the contract.
    let sizes = unsafe { arguments::array_mut(sizes, ranges.starts.items.len())? };
    sizes.iter_mut().for_each(|place| {
        place.write(0);
    });
    for ((start, limit), place) in ranges.iter().zip(sizes) {
        place.write(db.db()?.reads().approximate_size(family, start, limit, options)?);
    }
    Ok(())
}

/// Converts the flags of `rocksdb_approximate_sizes_cf_with_flags` to options. The bits: 1 memtables, 2 SST files, 4 blob
/// files.
fn options_of(include_flags: u8) -> SizeApproximationOptions {
    SizeApproximationOptions {
        include_memtables: include_flags & 1 != 0,
        include_files: include_flags & 2 != 0,
        include_blob_files: include_flags & 4 != 0,
        ..SizeApproximationOptions::default()
    }
}

/// Returns the options of a call, or the default options for null.
fn given(options: Option<&rocksdb_size_approximation_options_t>) -> SizeApproximationOptions {
    options.map_or_else(SizeApproximationOptions::default, |options| options.options)
}

fn int_property(db: &rocksdb_t, family: &Arc<Family>, name: &str, value: &Out<u64>) -> Result<Success> {
    let found = db.db()?.properties().number(family, name);
    if let Some(found) = found {
        value.set(found);
    }
    Ok(Success(found.is_some()))
}

c_api! {
    /// Returns a property as text, or null for an unknown name. The caller frees the text.
    fn rocksdb_property_value(db: at rocksdb_t, propname: text) -> Option<Buffer> {
        let value = db.db()?.properties().text(&*db.default_family()?, propname);
        value.map(|value| Buffer::string(value.as_bytes()))
    }

    fn rocksdb_property_value_cf(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, propname: text
    ) -> Option<Buffer> {
        let value = db.db()?.properties().text(&*db.family(column_family)?, propname);
        value.map(|value| Buffer::string(value.as_bytes()))
    }

    /// Returns a property as a number: returns 0 and sets `out_val`. Returns -1 for an unknown name and for a property that is
    /// not a number.
    fn rocksdb_property_int(db: at rocksdb_t, propname: text, out_val: out u64) -> Success {
        int_property(db, &*db.default_family()?, propname, &out_val)?
    }

    fn rocksdb_property_int_cf(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, propname: text, out_val: out u64
    ) -> Success {
        int_property(db, &*db.family(column_family)?, propname, &out_val)?
    }

    /// Estimates the size of each range in SST files, in bytes. `sizes` has a place for each range.
    fn rocksdb_approximate_sizes(db: at rocksdb_t, ranges: ranges, sizes: raw(*mut u64), err) {
        let options = SizeApproximationOptions::default();
        // SAFETY: rule 11 of the header: an aligned array with a writable place for each range. Only this call uses the places.
        unsafe { approximate_sizes(db, &*db.default_family()?, &options, &ranges, sizes) }
    }

    fn rocksdb_approximate_sizes_cf(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, ranges: ranges, sizes: raw(*mut u64), err
    ) {
        let options = SizeApproximationOptions::default();
        // SAFETY: rule 11 of the header: an aligned array with a writable place for each range. Only this call uses the places.
        unsafe { approximate_sizes(db, &*db.family(column_family)?, &options, &ranges, sizes) }
    }

    /// Estimates the size of each range in bytes. `include_flags` is a sum of `rocksdb_size_approximation_flags_...`.
    fn rocksdb_approximate_sizes_cf_with_flags(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, ranges: ranges, include_flags: u8,
        sizes: raw(*mut u64), err
    ) {
        let options = options_of(include_flags);
        // SAFETY: rule 11 of the header: an aligned array with a writable place for each range. Only this call uses the places.
        unsafe { approximate_sizes(db, &*db.family(column_family)?, &options, &ranges, sizes) }
    }

    /// Works like `rocksdb_approximate_sizes`, with options. Null: default options.
    fn rocksdb_approximate_sizes_with_options(
        db: at rocksdb_t, options: inmaybe rocksdb_size_approximation_options_t, ranges: ranges, sizes: raw(*mut u64), err
    ) {
        // SAFETY: rule 11 of the header: an aligned array with a writable place for each range. Only this call uses the places.
        unsafe { approximate_sizes(db, &*db.default_family()?, &given(options), &ranges, sizes) }
    }

    fn rocksdb_approximate_sizes_cf_with_options(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t,
        options: inmaybe rocksdb_size_approximation_options_t, ranges: ranges, sizes: raw(*mut u64), err
    ) {
        // SAFETY: rule 11 of the header: an aligned array with a writable place for each range. Only this call uses the places.
        unsafe { approximate_sizes(db, &*db.family(column_family)?, &given(options), &ranges, sizes) }
    }

    /// Returns the newest visible sequence number.
    fn rocksdb_get_latest_sequence_number(db: at rocksdb_t) -> u64 {
        db.db()?.latest_sequence().get()
    }

    /// Returns the identity of the database. The text has a NUL after `id_len` bytes. The caller frees the text.
    fn rocksdb_get_db_identity(db: at rocksdb_t, id_len: out usize) -> Buffer {
        let db = db.db()?;
        let id = db.id();
        id_len.set(id.len());
        Buffer::string(id.as_bytes())
    }

    /// Raises `full_history_ts_low` of a column family: the oldest timestamp that reads may use.
    fn rocksdb_increase_full_history_ts_low(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, ts_low: bytes, err
    ) {
        db.db()?.compactions().increase_full_history_ts_low(&*db.family(column_family)?, ts_low)
    }

    /// Returns `full_history_ts_low` of a column family: the oldest timestamp that reads may use. The caller frees the timestamp.
    fn rocksdb_get_full_history_ts_low(
        db: at rocksdb_t, column_family: at rocksdb_column_family_handle_t, ts_lowlen: out usize, err
    ) -> Buffer {
        ts_lowlen.set(0);
        let family = &db.family(column_family)?;
        if family.order().user.timestamp_size() == 0 {
            return Err(Error::invalid_argument("Timestamp is not enabled in this column family"));
        }
        let low = db.db()?.compactions().full_history_ts_low(family).unwrap_or_default();
        ts_lowlen.set(low.len());
        Ok(Buffer::bytes(&low))
    }
}
