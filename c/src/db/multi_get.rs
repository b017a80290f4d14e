//! Reads of several keys at one sequence number.

use std::ffi::c_char;
use std::sync::Arc;

use base::{Error, Pinned, Result};
use engine::family::Family;
use engine::options::ReadOptions;

use super::read::get_with_ts;
use super::{FamilyView, rocksdb_column_family_handle_t, rocksdb_pinnableslice_t, rocksdb_t};
use crate::abi::guard::{self, needed};
use crate::abi::{Buffer, Owned, Return, Slices, arguments};
use crate::iterator::rocksdb_slice_t;
use crate::read_options::rocksdb_readoptions_t;

type Answers = Vec<Result<Option<Pinned>>>;

/// The arrays for the results. Each array has one place for each key.
pub(crate) struct Places {
    /// The name of the C function, which decides the text of errors.
    pub function: &'static str,
    pub values: *mut *mut c_char,
    pub lens: *mut usize,
    pub errors: *mut *mut c_char,
}

impl Places {
    /// # Errors
    /// InvalidArgument if an array is null and there are keys.
    ///
    /// # Safety
    /// Each array has `count` writable places.
    unsafe fn check(&self, count: usize) -> Result<()> {
        // SAFETY: each array has `count` writable places by the contract.
        unsafe {
            arguments::array_mut(self.values, count)?;
            arguments::array_mut(self.lens, count)?;
            arguments::array_mut(self.errors, count)?;
        }
        Ok(())
    }

    /// Writes `count` results. A key that does not exist has a null value and no error. If the whole call failed, each key
    /// gets the error.
    ///
    /// # Safety
    /// Each array has `count` writable places.
    pub unsafe fn write(&self, count: usize, answers: Result<Answers>) -> Result<()> {
        // SAFETY: each array has `count` writable places by the contract.
        let (values, lens, errors) = unsafe {
            (
                arguments::array_mut(self.values, count)?,
                arguments::array_mut(self.lens, count)?,
                arguments::array_mut(self.errors, count)?,
            )
        };
        for at in 0..count {
            let (value, error) = match answer_at(&answers, at) {
                Ok(value) => (value.as_deref(), std::ptr::null_mut()),
                Err(error) => (None, error_text(self.function, error)),
            };
            lens[at].write(value.map_or(0, <[u8]>::len));
            values[at].write(value.map_or(std::ptr::null_mut(), |value| Buffer::bytes(value).into_c()));
            errors[at].write(error);
        }
        Ok(())
    }
}

/// Returns the result of one key, or the error of the whole call.
fn answer_at(answers: &Result<Answers>, at: usize) -> std::result::Result<&Option<Pinned>, &Error> {
    match answers {
        Ok(answers) => answers.get(at).map_or(Ok(&None), |answer| answer.as_ref()),
        Err(error) => Err(error),
    }
}

fn error_text(function: &str, error: &Error) -> *mut c_char {
    Buffer::string(guard::text_of(function, error).as_bytes()).into_c()
}

/// Returns options for several reads at one sequence number. If a column family cannot be read at a snapshot, the reads see
/// its newest entries.
fn at_one_sequence(db: &rocksdb_t, families: &[Arc<Family>], options: &ReadOptions) -> Result<ReadOptions> {
    let mut options = options.clone();
    if options.snapshot.is_none() && families.iter().all(|family| family.check_snapshot().is_ok()) {
        options.snapshot = Some(db.db()?.snapshot());
    }
    Ok(options)
}

/// Reads keys of several column families at one sequence number.
pub(crate) fn get_families(
    db: &rocksdb_t,
    families: &[Arc<Family>],
    keys: &[&[u8]],
    options: &ReadOptions,
) -> Result<Answers> {
    let open = db.get()?;
    let _traced =
        open.db.stats().trace.multi_get(families.iter().map(|family| family.id()).zip(keys.iter().copied()));
    let pairs: Vec<_> = families.iter().zip(keys.iter().copied()).collect();
    let found = open.db.together().multi_get(&pairs, options);
    Ok(found.into_iter().map(|stored| open.value_of(stored?)).collect())
}

/// Works like [`get_families`]. Also returns the timestamp of each value. A key without a value has an empty timestamp.
fn get_families_with_ts(
    db: &rocksdb_t,
    families: &[Arc<Family>],
    keys: &[&[u8]],
    options: &ReadOptions,
) -> Result<Vec<(Result<Option<Pinned>>, Vec<u8>)>> {
    let options = at_one_sequence(db, families, options)?;
    let pairs = families.iter().map(|family| family.id()).zip(keys.iter().copied());
    let _traced = db.get()?.db.stats().trace.multi_get(pairs);
    let read = |(family, key): (&Arc<Family>, &&[u8])| match get_with_ts(db, family, key, &options) {
        Ok(Some((value, timestamp))) => (Ok(Some(value)), timestamp),
        Ok(None) => (Ok(None), Vec::new()),
        Err(error) => (Err(error), Vec::new()),
    };
    Ok(families.iter().zip(keys).map(read).collect())
}

/// Writes the timestamps of the results. A key without a value has a null timestamp.
///
/// # Safety
/// Each array has `count` writable places.
unsafe fn write_timestamps(
    count: usize,
    answers: &Result<Answers>,
    timestamps: &[Vec<u8>],
    places: (*mut *mut c_char, *mut usize),
) -> Result<()> {
    // SAFETY: both arrays have `count` places by the contract.
    let (values, lens) =
        unsafe { (arguments::array_mut(places.0, count)?, arguments::array_mut(places.1, count)?) };
    for at in 0..count {
        let found = matches!(answer_at(answers, at), Ok(Some(_)));
        let timestamp = timestamps.get(at).map_or(&[][..], |timestamp| timestamp);
        values[at].write(if found { Buffer::bytes(timestamp).into_c() } else { std::ptr::null_mut() });
        lens[at].write(timestamp.len());
    }
    Ok(())
}

/// Reads keys with timestamps and writes all places. If the whole call fails, the result of each key is the error.
///
/// # Safety
/// Each array has `count` writable places.
unsafe fn multi_get_with_ts(
    count: usize,
    read: impl FnOnce() -> Result<Vec<(Result<Option<Pinned>>, Vec<u8>)>>,
    (places, timestamp_places): (&Places, (*mut *mut c_char, *mut usize)),
) -> Result<()> {
    let (answers, timestamps) = match read() {
        Ok(found) => {
            let (answers, timestamps): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            (Ok(answers), timestamps)
        }
        Err(error) => (Err(error), Vec::new()),
    };
    // SAFETY: each array has `count` places by the contract.
    unsafe {
        // A null array fails the call before the first buffer is made: the program would not free the buffers.
        places.check(count)?;
        write_timestamps(count, &answers, &timestamps, timestamp_places)?;
        places.write(count, answers)
    }
}

/// Returns the column families of an array of handles.
///
/// # Safety
/// The array has `count` items that are null or live handles.
pub(crate) unsafe fn families(
    db: &rocksdb_t,
    handles: *const *const rocksdb_column_family_handle_t,
    count: usize,
) -> Result<Vec<Arc<Family>>> {
    // SAFETY: the array has `count` items by the contract.
    let handles = unsafe { arguments::array(handles, count)? };
    let family = |&handle: &*const rocksdb_column_family_handle_t| {
        // SAFETY: the handle is null or live by the contract.
        let handle = unsafe { handle.as_ref() };
        let handle = handle.ok_or_else(|| Error::invalid_argument("a column family handle is null"))?;
        Ok(db.family(handle)?.clone())
    };
    handles.iter().map(family).collect()
}

/// Writes pinned values and errors of `count` keys. If the whole call failed, each key gets the error.
///
/// # Safety
/// Both arrays have `count` writable places.
unsafe fn write_pinned(
    function: &'static str,
    count: usize,
    answers: Result<Answers>,
    values: *mut *mut rocksdb_pinnableslice_t,
    errors: *mut *mut c_char,
) -> Result<()> {
    // SAFETY: both arrays have `count` places by the contract.
    let (values, errors) =
        unsafe { (arguments::array_mut(values, count)?, arguments::array_mut(errors, count)?) };
    for at in 0..count {
        let (value, error) = match answer_at(&answers, at) {
            Ok(value) => (value.clone(), std::ptr::null_mut()),
            Err(error) => (None, error_text(function, error)),
        };
        let value = value.map(|value| Owned(rocksdb_pinnableslice_t { value }));
        values[at].write(value.map_or(std::ptr::null_mut(), Return::into_c));
        errors[at].write(error);
    }
    Ok(())
}

/// Reads keys of one column family.
pub(crate) fn get_keys(
    db: &rocksdb_t,
    family: Result<FamilyView<'_>>,
    keys: &[&[u8]],
    options: &rocksdb_readoptions_t,
) -> Result<Answers> {
    let open = db.get()?;
    let found = open.db.multi_get(&*family?, keys, &*options.get()?);
    Ok(match open.ttl {
        None => found,
        Some(_) => found.into_iter().map(|value| open.value_of(value?)).collect(),
    })
}

c_api! {
    /// Reads keys at one sequence number. `values_list`, `values_list_sizes` and `errs` have a place for each key. The value
    /// of a key that does not exist is null, without an error. If the whole call fails, each key gets the error. The caller
    /// frees values and errors.
    fn rocksdb_multi_get(
        db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t, keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (db, options) = (needed(FUNCTION, "db", db)?, needed(FUNCTION, "options", options)?);
            get_keys(db, db.default_family(), &keys_list.slices?.items, options)
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { places.write(count, read())? };
    }

    /// Works like `rocksdb_multi_get`, with a column family for each key.
    fn rocksdb_multi_get_cf(
        db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t,
        column_families: raw(*const *const rocksdb_column_family_handle_t), keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (db, options) = (needed(FUNCTION, "db", db)?, needed(FUNCTION, "options", options)?);
            // SAFETY: rule 11 of the header: an aligned array with a live handle for each key. No thread changes the array or destroys a handle
            // during the call.
            let families = unsafe { families(db, column_families, count)? };
            get_families(db, &families, &keys_list.slices?.items, &*options.get()?)
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { places.write(count, read())? };
    }

    /// Works like `rocksdb_multi_get`. Also returns a copy of the timestamp of each value; the caller frees it. The
    /// timestamp of a key without a value is null.
    fn rocksdb_multi_get_with_ts(
        db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t, keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize),
        timestamp_list: raw(*mut *mut c_char), timestamp_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (db, options) = (needed(FUNCTION, "db", db)?, needed(FUNCTION, "options", options)?);
            let keys = keys_list.slices?;
            let families = vec![db.default_family()?.clone(); keys.items.len()];
            get_families_with_ts(db, &families, &keys.items, &*options.get()?)
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        let timestamps = (timestamp_list, timestamp_list_sizes);
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { multi_get_with_ts(count, read, (&places, timestamps))? };
    }

    /// Works like `rocksdb_multi_get_with_ts`, with a column family for each key.
    fn rocksdb_multi_get_cf_with_ts(
        db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t,
        column_families: raw(*const *const rocksdb_column_family_handle_t), keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize),
        timestamps_list: raw(*mut *mut c_char), timestamps_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (db, options) = (needed(FUNCTION, "db", db)?, needed(FUNCTION, "options", options)?);
            // SAFETY: rule 11 of the header: an aligned array with a live handle for each key. No thread changes the array or destroys a handle
            // during the call.
            let families = unsafe { families(db, column_families, count)? };
            get_families_with_ts(db, &families, &keys_list.slices?.items, &*options.get()?)
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        let timestamps = (timestamps_list, timestamps_list_sizes);
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { multi_get_with_ts(count, read, (&places, timestamps))? };
    }

    /// Reads keys of one column family without copies, at one sequence number. `values` and `errs` have a place for each key.
    /// The value of a key that does not exist is null. If the whole call fails, each key gets the error. The caller destroys
    /// the values.
    fn rocksdb_batched_multi_get_cf(
        db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, keys_list: keys,
        values: raw(*mut *mut rocksdb_pinnableslice_t), errs: raw(*mut *mut c_char), sorted_input: bool
    ) {
        let _ = sorted_input;
        let count = keys_list.count;
        let read = || {
            let (db, options) = (needed(FUNCTION, "db", db)?, needed(FUNCTION, "options", options)?);
            let family = needed(FUNCTION, "column_family", column_family)?;
            get_keys(db, db.family(family), &keys_list.slices?.items, options)
        };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { write_pinned(FUNCTION, count, read(), values, errs)? };
    }

    /// Works like `rocksdb_batched_multi_get_cf`, with keys as slices.
    fn rocksdb_batched_multi_get_cf_slice(
        db: maybe rocksdb_t, options: inmaybe rocksdb_readoptions_t,
        column_family: maybe rocksdb_column_family_handle_t, num_keys: usize, keys_list: raw(*const rocksdb_slice_t),
        values: raw(*mut *mut rocksdb_pinnableslice_t), errs: raw(*mut *mut c_char), sorted_input: bool
    ) {
        let _ = sorted_input;
        let read = || {
            let (db, options) = (needed(FUNCTION, "db", db)?, needed(FUNCTION, "options", options)?);
            let family = needed(FUNCTION, "column_family", column_family)?;
            // SAFETY: rule 11 of the header: an aligned array of `num_keys` slices, each with as many initialized bytes as its length says. No thread
            // changes them during the call.
            let keys = unsafe { slices(keys_list, num_keys)? };
            get_keys(db, db.family(family), &keys.items, options)
        };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { write_pinned(FUNCTION, num_keys, read(), values, errs)? };
    }
}

/// Converts an array of C slices.
///
/// # Safety
/// The array has `count` slices, each with as many readable bytes as its size says.
unsafe fn slices<'a>(list: *const rocksdb_slice_t, count: usize) -> Result<Slices<'a>> {
    // SAFETY: the array has `count` items by the contract.
    let list = unsafe { arguments::array(list, count)? };
    // SAFETY: each slice has `size` readable bytes by the contract.
    let slices = list.iter().map(|slice| unsafe { arguments::bytes(slice.data, slice.size) });
    Ok(Slices { items: slices.collect::<Result<_>>()? })
}
