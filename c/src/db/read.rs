//! Reads of one key.

use std::ffi::c_char;

use base::{Pinned, Result};
use engine::family::Family;
use engine::options::ReadOptions;
use std::sync::Arc;

use super::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::abi::{Buffer, Flag, Out, Owned, Return, Text};
use crate::read_options::rocksdb_readoptions_t;

/// A value that stays in the block cache or the memtable until the handle is destroyed.
pub struct rocksdb_pinnableslice_t {
    pub(crate) value: Pinned,
}

/// A value that stays in the block cache or the memtable until the handle is destroyed.
pub struct rocksdb_pinnable_handle_t {
    value: Pinned,
}

/// Copies a value for the caller. If no value was found, returns null and the length 0.
pub(crate) fn copied(value: Option<Pinned>, len: &Out<usize>) -> Option<Buffer> {
    len.set(value.as_ref().map_or(0, |value| value.len()));
    value.map(|value| Buffer::bytes(&value))
}

/// Returns the value of a key and the timestamp of the value. The timestamp is empty in a column family without timestamps.
pub(super) fn get_with_ts(
    db: &rocksdb_t,
    family: &Arc<Family>,
    key: &[u8],
    options: &ReadOptions,
) -> Result<Option<(Pinned, Vec<u8>)>> {
    let open = db.get()?;
    open.refuse_ttl("a read with a timestamp")?;
    if family.order().user.timestamp_size() == 0 {
        return Ok(open.get(family, key, options)?.map(|value| (value, Vec::new())));
    }
    let found = open.db.reads().get_stamped(family, key, options)?;
    Ok(found.and_then(|found| Some((found.value?, found.timestamp))))
}

/// Copies a value and its timestamp for the caller.
fn copied_with_ts(
    found: Option<(Pinned, Vec<u8>)>,
    len: &Out<usize>,
    ts: &Out<*mut c_char>,
    ts_len: &Out<usize>,
) -> Option<Buffer> {
    let (value, timestamp) = match found {
        Some((value, timestamp)) => (Some(value), timestamp),
        None => (None, Vec::new()),
    };
    ts_len.set(timestamp.len());
    if !ts.is_null() {
        ts.set(if value.is_some() { Buffer::bytes(&timestamp).into_c() } else { std::ptr::null_mut() });
    }
    copied(value, len)
}

/// Copies a value to the caller's buffer. Returns 1 if the value was found and fits.
///
/// # Safety
/// `buffer` has `size` writable bytes.
unsafe fn copied_into(
    value: Option<Pinned>,
    (buffer, size): (*mut c_char, usize),
    len: &Out<usize>,
    found: &Out<u8>,
) -> Result<Flag> {
    found.set(u8::from(value.is_some()));
    len.set(value.as_ref().map_or(0, |value| value.len()));
    let Some(value) = value.filter(|value| value.len() <= size) else { return Ok(Flag(false)) };
    // SAFETY: the buffer has `size` writable bytes by the contract.
    let buffer = unsafe { crate::abi::arguments::array_mut(buffer.cast::<u8>(), size)? };
    let length = value.len().min(buffer.len());
    // SAFETY: both ranges have `length` bytes, and `copy` allows that they overlap.
    unsafe { std::ptr::copy(value.as_ptr(), buffer.as_mut_ptr().cast::<u8>(), length) };
    Ok(Flag(true))
}

/// Returns whether a key may exist. Also returns the value if memtables or cached blocks hold it.
fn may_exist(
    db: &rocksdb_t,
    family: &Family,
    options: &rocksdb_readoptions_t,
    (key, timestamp): (&[u8], &[u8]),
    (value, value_len, value_found): (&Out<*mut c_char>, &Out<usize>, &Out<u8>),
) -> Result<Flag> {
    let mut options = options.get()?.into_owned();
    if !timestamp.is_empty() {
        options.timestamp = Some(timestamp.to_vec());
    }
    let open = db.get()?;
    let (exists, found) = open.db.key_may_exist(family, key, &options);
    let found = open.value_of(found)?;
    if !value_found.is_null() {
        // If the key certainly does not exist, report the value as found and empty.
        let known = found.is_some() || !exists;
        value_found.set(u8::from(known));
        if known {
            let found = found.as_deref().unwrap_or_default();
            value_len.set(found.len());
            if !value.is_null() {
                value.set(Buffer::bytes(found).into_c());
            }
        }
    }
    Ok(Flag(exists))
}

c_api! {
    /// Returns a copy of the value of a key, or null if the key does not exist. The caller frees the copy.
    fn rocksdb_get(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, key: bytes, vallen: out usize, err
    ) -> Option<Buffer> {
        vallen.set(0);
        let open = db.get()?;
        Ok(copied(open.get(&open.default, key, &*options.get()?)?, &vallen))
    }

    fn rocksdb_get_cf(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, vallen: out usize, err
    ) -> Option<Buffer> {
        vallen.set(0);
        let family = db.family(column_family)?;
        Ok(copied(db.get()?.get(&family, key, &*options.get()?)?, &vallen))
    }

    /// Works like `rocksdb_get`. Also returns a copy of the timestamp of the value; the caller frees both.
    fn rocksdb_get_with_ts(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, key: bytes, vallen: out usize,
        ts: raw(*mut *mut c_char), tslen: out usize, err
    ) -> Option<Buffer> {
        vallen.set(0);
        tslen.set(0);
        // SAFETY: rule 11 of the header: null, or an aligned, writable place that only this call uses.
        let ts = unsafe { Out::new(ts) };
        let found = get_with_ts(db, &*db.default_family()?, key, &*options.get()?)?;
        Ok(copied_with_ts(found, &vallen, &ts, &tslen))
    }

    fn rocksdb_get_cf_with_ts(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, vallen: out usize, ts: raw(*mut *mut c_char), tslen: out usize, err
    ) -> Option<Buffer> {
        vallen.set(0);
        tslen.set(0);
        // SAFETY: rule 11 of the header: null, or an aligned, writable place that only this call uses.
        let ts = unsafe { Out::new(ts) };
        let found = get_with_ts(db, &*db.family(column_family)?, key, &*options.get()?)?;
        Ok(copied_with_ts(found, &vallen, &ts, &tslen))
    }

    /// Returns the value of a key without a copy, or null if the key does not exist.
    fn rocksdb_get_pinned(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, key: bytes, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        let open = db.get()?;
        let value = open.get(&open.default, key, &*options.get()?)?;
        Ok(value.map(|value| Owned(rocksdb_pinnableslice_t { value })))
    }

    fn rocksdb_get_pinned_cf(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        let value = db.get()?.get(&*db.family(column_family)?, key, &*options.get()?)?;
        Ok(value.map(|value| Owned(rocksdb_pinnableslice_t { value })))
    }

    /// Returns the bytes of the value. The bytes are valid until the handle is destroyed. If `slice` is null, returns null and
    /// sets `vlen` to 0.
    fn rocksdb_pinnableslice_value(slice: inmaybe rocksdb_pinnableslice_t, vlen: out usize) -> Option<Text> {
        vlen.set(slice.map_or(0, |slice| slice.value.len()));
        slice.map(|slice| Text::bytes(&slice.value))
    }

    fn rocksdb_pinnableslice_destroy(slice: own rocksdb_pinnableslice_t) {
        drop(slice)
    }

    /// Returns the value of a key without a copy, or null if the key does not exist.
    fn rocksdb_get_pinned_v2(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, key: bytes, err
    ) -> Option<Owned<rocksdb_pinnable_handle_t>> {
        let open = db.get()?;
        let value = open.get(&open.default, key, &*options.get()?)?;
        Ok(value.map(|value| Owned(rocksdb_pinnable_handle_t { value })))
    }

    fn rocksdb_get_pinned_cf_v2(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, err
    ) -> Option<Owned<rocksdb_pinnable_handle_t>> {
        let value = db.get()?.get(&*db.family(column_family)?, key, &*options.get()?)?;
        Ok(value.map(|value| Owned(rocksdb_pinnable_handle_t { value })))
    }

    /// Returns the bytes of the value. The bytes are valid until the handle is destroyed. If `handle` is null, returns null
    /// and sets `vallen` to 0.
    fn rocksdb_pinnable_handle_get_value(
        handle: inmaybe rocksdb_pinnable_handle_t, vallen: out usize
    ) -> Option<Text> {
        vallen.set(handle.map_or(0, |handle| handle.value.len()));
        handle.map(|handle| Text::bytes(&handle.value))
    }

    fn rocksdb_pinnable_handle_destroy(handle: own rocksdb_pinnable_handle_t) {
        drop(handle)
    }

    /// Copies the value of a key to `buffer`. Returns 1 if the key exists and the value fits. Sets `found` to 1 if the key
    /// exists. Sets `vallen` to the length of the value, even if the value does not fit.
    fn rocksdb_get_into_buffer(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, key: bytes, buffer: raw(*mut c_char),
        buffer_size: usize, vallen: out usize, found: out u8, err
    ) -> Flag {
        vallen.set(0);
        found.set(0);
        let open = db.get()?;
        let value = open.get(&open.default, key, &*options.get()?)?;
        // SAFETY: rule 11 of the header: `buffer_size` writable bytes that only this call uses.
        unsafe { copied_into(value, (buffer, buffer_size), &vallen, &found) }
    }

    fn rocksdb_get_into_buffer_cf(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, buffer: raw(*mut c_char), buffer_size: usize, vallen: out usize, found: out u8, err
    ) -> Flag {
        vallen.set(0);
        found.set(0);
        let value = db.get()?.get(&*db.family(column_family)?, key, &*options.get()?)?;
        // SAFETY: rule 11 of the header: `buffer_size` writable bytes that only this call uses.
        unsafe { copied_into(value, (buffer, buffer_size), &vallen, &found) }
    }

    /// Returns 0 if the key does not exist. Returns 1 if the key may exist. Reads no file. If `value_found` is not null, it is 1
    /// if memtables or cached blocks hold the value. `value` is then a copy that the caller frees.
    fn rocksdb_key_may_exist(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, key: bytes, value: raw(*mut *mut c_char),
        val_len: out usize, timestamp: bytes, value_found: out u8
    ) -> Flag {
        // SAFETY: rule 11 of the header: null, or an aligned, writable place that only this call uses.
        let value = unsafe { Out::new(value) };
        may_exist(db, &*db.default_family()?, options, (key, timestamp), (&value, &val_len, &value_found))?
    }

    fn rocksdb_key_may_exist_cf(
        db: at rocksdb_t, options: in rocksdb_readoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, value: raw(*mut *mut c_char), val_len: out usize, timestamp: bytes, value_found: out u8
    ) -> Flag {
        // SAFETY: rule 11 of the header: null, or an aligned, writable place that only this call uses.
        let value = unsafe { Out::new(value) };
        may_exist(db, &*db.family(column_family)?, options, (key, timestamp), (&value, &val_len, &value_found))?
    }
}
