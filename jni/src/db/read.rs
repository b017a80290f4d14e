//! Reads of keys: `get`, `multiGet`, `keyMayExist`, iterators.

use base::{Error, Pinned};
use engine::options::ReadOptions;

use super::{DatabaseObject, InFamily, database};
use crate::call_options::ReadHandle;
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JBuffer, JBytes, JInts, JLongs, JObject, JObjects, Java, Part};
use crate::native::natives;
use crate::throw;

/// The length that a native returns to Java if the key does not exist.
const NOT_FOUND: i32 = -1;

#[inline]
fn get(db: Handle, family: Handle, options: ReadHandle, key: &[u8]) -> Outcome<Option<Pinned>> {
    let db = database(db)?;
    let family = InFamily::new(&db, family)?;
    options.read(|options| Ok(db.get(family.get(&db), key, options)?))
}

#[inline]
fn array<'j>(java: Java<'j>, value: Option<Pinned>) -> Outcome<JBytes<'j>> {
    value.map_or(Ok(JBytes::NULL), |value| java.new_bytes(&value))
}

#[inline]
fn into(java: Java<'_>, value: Option<Pinned>, array: JBytes<'_>, part: Part) -> Outcome<i32> {
    value.map_or(Ok(NOT_FOUND), |value| java.fill(array, part, &value))
}

/// Reads the column families of an array of handles: one for each key, or the default column family.
fn families(db: &DatabaseObject, handles: &[i64], count: usize) -> Outcome<Vec<InFamily>> {
    match handles.len() {
        0 => (0..count).map(|_| Ok(InFamily::Default)).collect(),
        1 => (0..count).map(|_| InFamily::new(db, Handle::of(handles[0]))).collect(),
        len if len == count => handles.iter().map(|handle| InFamily::new(db, Handle::of(*handle))).collect(),
        len => Err(Fault::illegal_argument(format!("{len} column families for {count} keys"))),
    }
}

/// Reads many keys at one sequence number. Keys of one column family are read together.
fn read_many(
    db: &DatabaseObject,
    families: &[InFamily],
    keys: &[&[u8]],
    options: &ReadOptions,
) -> Vec<base::Result<Option<Pinned>>> {
    let pairs = families.iter().map(|family| family.get(db).id()).zip(keys.iter().copied());
    let _traced = db.db.stats().trace.multi_get(pairs);
    let pairs: Vec<_> = families.iter().map(|family| family.get(db)).zip(keys.iter().copied()).collect();
    let found = db.db.together().multi_get(&pairs, options);
    found.into_iter().map(|value| db.value_of(value?)).collect()
}

/// Reads the keys of `multiGetAsList`. Returns null for a missing key. Returns null also for a key whose read fails, as RocksDB does:
/// the Java method returns no statuses.
fn multi_get<'j>(
    java: Java<'j>,
    (db, options): (Handle, ReadHandle),
    (keys, offsets, lens): (JObjects<'_>, JInts<'_>, JInts<'_>),
    handles: JLongs<'_>,
) -> Outcome<JObjects<'j>> {
    let (db, handles) = (database(db)?, java.longs(handles)?);
    let (offsets, lens) = (java.ints(offsets)?, java.ints(lens)?);
    let mut copies = Vec::with_capacity(lens.len());
    for (at, (&offset, &len)) in offsets.iter().zip(&lens).enumerate() {
        let key = java.item(keys, at)?;
        // SAFETY: the descriptor of the native says that the items are `byte[]`.
        copies.push(java.copy(unsafe { JBytes::from_raw(key.raw()) }, Part { offset, len })?);
        java.forget(key);
    }
    let keys: Vec<&[u8]> = copies.iter().map(|key| &**key).collect();
    let families = families(&db, &handles, keys.len())?;
    let answers = options.read(|options| Ok(read_many(&db, &families, &keys, options)))?;
    java.new_byte_array_array(answers.len(), |at| match &answers[at] {
        Ok(Some(value)) => java.new_bytes(value),
        _ => Ok(JBytes::NULL),
    })
}

natives! {
    fn RocksDB_get__J_3BII[java](db: Handle, key: JBytes, offset: i32, len: i32) -> JBytes<'j> {
        let key = java.copy(key, Part { offset, len })?;
        array(java, get(db, Handle::NULL, ReadHandle::NULL, &key)?)?
    }

    fn RocksDB_get__J_3BIIJ[java](db: Handle, key: JBytes, offset: i32, len: i32, family: Handle) -> JBytes<'j> {
        let key = java.copy(key, Part { offset, len })?;
        array(java, get(db, family, ReadHandle::NULL, &key)?)?
    }

    fn RocksDB_get__JJ_3BII[java](db: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32) -> JBytes<'j> {
        let key = java.copy(key, Part { offset, len })?;
        array(java, get(db, Handle::NULL, options, &key)?)?
    }

    fn RocksDB_get__JJ_3BIIJ[java](
        db: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32, family: Handle
    ) -> JBytes<'j> {
        let key = java.copy(key, Part { offset, len })?;
        array(java, get(db, family, options, &key)?)?
    }

    fn RocksDB_get__J_3BII_3BII[java](
        db: Handle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32, value_len: i32
    ) -> i32 {
        let key = java.copy(key, Part { offset, len })?;
        let found = get(db, Handle::NULL, ReadHandle::NULL, &key)?;
        into(java, found, value, Part { offset: value_offset, len: value_len })?
    }

    fn RocksDB_get__J_3BII_3BIIJ[java](
        db: Handle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32, value_len: i32, family: Handle
    ) -> i32 {
        let key = java.copy(key, Part { offset, len })?;
        let found = get(db, family, ReadHandle::NULL, &key)?;
        into(java, found, value, Part { offset: value_offset, len: value_len })?
    }

    fn RocksDB_get__JJ_3BII_3BII[java](
        db: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32, value_len: i32
    ) -> i32 {
        let key = java.copy(key, Part { offset, len })?;
        let found = get(db, Handle::NULL, options, &key)?;
        into(java, found, value, Part { offset: value_offset, len: value_len })?
    }

    fn RocksDB_get__JJ_3BII_3BIIJ[java](
        db: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32,
        value_len: i32, family: Handle
    ) -> i32 {
        let key = java.copy(key, Part { offset, len })?;
        let found = get(db, family, options, &key)?;
        into(java, found, value, Part { offset: value_offset, len: value_len })?
    }

    fn RocksDB_getDirect[java](
        db: Handle, options: ReadHandle, key: JBuffer, offset: i32, len: i32, value: JBuffer, value_offset: i32,
        value_len: i32, family: Handle
    ) -> i32 {
        let found = java.with_direct(key, Part { offset, len }, |key| get(db, family, options, key))?;
        let part = Part { offset: value_offset, len: value_len };
        found.map_or(Ok(NOT_FOUND), |found| java.fill_direct(value, part, &found))?
    }

    fn RocksDB_multiGet__J_3_3B_3I_3I[java](db: Handle, keys: JObjects, offsets: JInts, lens: JInts) -> JObjects<'j> {
        multi_get(java, (db, ReadHandle::NULL), (keys, offsets, lens), JLongs::NULL)?
    }

    fn RocksDB_multiGet__J_3_3B_3I_3I_3J[java](
        db: Handle, keys: JObjects, offsets: JInts, lens: JInts, families: JLongs
    ) -> JObjects<'j> {
        multi_get(java, (db, ReadHandle::NULL), (keys, offsets, lens), families)?
    }

    fn RocksDB_multiGet__JJ_3_3B_3I_3I[java](
        db: Handle, options: ReadHandle, keys: JObjects, offsets: JInts, lens: JInts
    ) -> JObjects<'j> {
        multi_get(java, (db, options), (keys, offsets, lens), JLongs::NULL)?
    }

    fn RocksDB_multiGet__JJ_3_3B_3I_3I_3J[java](
        db: Handle, options: ReadHandle, keys: JObjects, offsets: JInts, lens: JInts, families: JLongs
    ) -> JObjects<'j> {
        multi_get(java, (db, options), (keys, offsets, lens), families)?
    }

    /// Reads keys from direct buffers into direct buffers. Stores the length and the status of each value.
    fn RocksDB_multiGet__JJ_3J_3Ljava_nio_ByteBuffer_2_3I_3I_3Ljava_nio_ByteBuffer_2_3I_3Lorg_rocksdb_Status_2[java](
        db: Handle, options: ReadHandle, families_of_keys: JLongs, keys: JObjects, offsets: JInts, lens: JInts,
        values: JObjects, sizes: JInts, statuses: JObjects
    ) {
        let (db, handles) = (database(db)?, java.longs(families_of_keys)?);
        let (offsets, lens) = (java.ints(offsets)?, java.ints(lens)?);
        let mut copies: Vec<Vec<u8>> = Vec::with_capacity(lens.len());
        for (at, (&offset, &len)) in offsets.iter().zip(&lens).enumerate() {
            let key = java.item(keys, at)?;
            // SAFETY: the descriptor of the native says that the items are `ByteBuffer`.
            let buffer = unsafe { JBuffer::from_raw(key.raw()) };
            copies.push(java.with_direct(buffer, Part { offset, len }, |key| Ok(key.to_vec()))?);
            java.forget(key);
        }
        let keys: Vec<&[u8]> = copies.iter().map(|key| &**key).collect();
        let families = families(&db, &handles, keys.len())?;
        let answers = options.read(|options| Ok(read_many(&db, &families, &keys, options)))?;
        let mut found = Vec::with_capacity(answers.len());
        for (at, answer) in answers.iter().enumerate() {
            let missing = Error::not_found("");
            let error = match answer {
                Ok(Some(value)) => {
                    found.push(store(java, java.item(values, at)?, value)?);
                    None
                }
                Ok(None) => { found.push(0); Some(&missing) }
                Err(error) => { found.push(0); Some(error) }
            };
            java.set_item(statuses, at, throw::status(java, error)?)?;
        }
        java.set_ints(sizes, &found)?;
    }

    fn RocksDB_keyExists[java](db: Handle, family: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32) -> bool {
        let key = java.copy(key, Part { offset, len })?;
        get(db, family, options, &key)?.is_some()
    }

    fn RocksDB_keyExistsDirect[java](
        db: Handle, family: Handle, options: ReadHandle, key: JBuffer, offset: i32, len: i32
    ) -> bool {
        java.with_direct(key, Part { offset, len }, |key| Ok(get(db, family, options, key)?.is_some()))?
    }

    fn RocksDB_keyMayExist[java](
        db: Handle, family: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32
    ) -> bool {
        let key = java.copy(key, Part { offset, len })?;
        may_exist(db, family, options, &key)?.0
    }

    fn RocksDB_keyMayExistDirect[java](
        db: Handle, family: Handle, options: ReadHandle, key: JBuffer, offset: i32, len: i32
    ) -> bool {
        java.with_direct(key, Part { offset, len }, |key| Ok(may_exist(db, family, options, key)?.0))?
    }

    /// Returns null if the key does not exist, `{{1}}` if the key may exist, `{{2}, value}` if the value was found.
    fn RocksDB_keyMayExistFoundValue[java](
        db: Handle, family: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32
    ) -> JObjects<'j> {
        let key = java.copy(key, Part { offset, len })?;
        let (may, value) = may_exist(db, family, options, &key)?;
        let kind: u8 = if !may { 0 } else if value.is_none() { 1 } else { 2 };
        let mut parts: Vec<Vec<u8>> = vec![vec![kind]];
        parts.extend(value.map(Pinned::into_vec));
        java.new_byte_arrays(&parts)?
    }

    /// Returns the kind, as `RocksDB_keyMayExistFoundValue` does, and the length of the value. Copies the value into the buffer.
    fn RocksDB_keyMayExistDirectFoundValue[java](
        db: Handle, family: Handle, options: ReadHandle, key: JBuffer, offset: i32, len: i32, value: JBuffer,
        value_offset: i32, value_len: i32
    ) -> JInts<'j> {
        let (may, found) =
            java.with_direct(key, Part { offset, len }, |key| may_exist(db, family, options, key))?;
        let answer = match found {
            Some(found) => {
                [2, java.fill_direct(value, Part { offset: value_offset, len: value_len }, &found)?]
            }
            None => [i32::from(may), 0],
        };
        java.new_ints(&answer)?
    }

    fn RocksDB_iterator[_](db: Handle, family: Handle, options: ReadHandle) -> Handle {
        let db = database(db)?;
        let family = InFamily::new(&db, family)?;
        options.read(|options| {
            Ok(db.child(db.iterator(family.get(&db), options)))
        })?
    }

    fn RocksDB_iterators[java](db: Handle, families: JLongs, options: ReadHandle) -> JLongs<'j> {
        let (db, handles) = (database(db)?, java.longs(families)?);
        let mut families = Vec::with_capacity(handles.len());
        for handle in handles {
            families.push(InFamily::new(&db, Handle::of(handle))?.get(&db).clone());
        }
        let iters: Vec<i64> = options.read(|options| {
            let mut handles = Vec::with_capacity(families.len());
            for (iter, family) in db.db.together().iterators(&families, options)?.into_iter().zip(&families) {
                handles.push(db.child(db.iterator_of(Ok(Box::new(iter)), family, options)).long());
            }
            Ok(handles)
        })?;
        java.new_longs(&iters)?
    }
}

/// Copies as much of a value as fits into a direct buffer. Returns the length of the whole value.
fn store(java: Java<'_>, buffer: JObject<'_>, value: &[u8]) -> Outcome<i32> {
    // SAFETY: the descriptor of the native says that the items are `ByteBuffer`.
    let object = unsafe { JBuffer::from_raw(buffer.raw()) };
    let room = java.direct_capacity(object)?.min(value.len());
    let len =
        java.fill_direct(object, Part { offset: 0, len: i32::try_from(room).unwrap_or(i32::MAX) }, value)?;
    java.forget(buffer);
    Ok(len)
}

fn may_exist(db: Handle, family: Handle, options: ReadHandle, key: &[u8]) -> Outcome<(bool, Option<Pinned>)> {
    let db = database(db)?;
    let family = InFamily::new(&db, family)?;
    let (may, value) = options.read(|options| Ok(db.db.key_may_exist(family.get(&db), key, options)))?;
    Ok((may, db.value_of(value)?))
}
