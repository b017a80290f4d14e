//! Reads of a transaction: its writes on top of the database.

use base::Pinned;
use engine::options::ReadOptions;
use ironstone::{LockMode, Validation};

use super::{In, TransactionObject, transaction};
use crate::call_options::ReadHandle;
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::iterator::IteratorObject;
use crate::java::{JBuffer, JBytes, JLongs, JObjects, Java, Part};
use crate::native::natives;

/// The length that a native returns to Java if the key does not exist.
const NOT_FOUND: i32 = -1;

/// How a read locks its key.
#[derive(Clone, Copy)]
enum Lock {
    None,
    Taken(LockMode, Validation),
}

impl Lock {
    fn new(exclusive: bool, validate: bool) -> Lock {
        Lock::Taken(
            if exclusive { LockMode::Exclusive } else { LockMode::Shared },
            if validate { Validation::Check } else { Validation::Skip },
        )
    }
}

fn get(txn: Handle, options: ReadHandle, family: Handle, key: &[u8], lock: Lock) -> Outcome<Option<Pinned>> {
    let object = transaction(txn)?;
    let family = In::new(&object, family)?;
    options.read(|options| get_in(&object, &family, key, options, lock))
}

fn get_in(
    object: &TransactionObject,
    family: &In,
    key: &[u8],
    options: &ReadOptions,
    lock: Lock,
) -> Outcome<Option<Pinned>> {
    let family = family.get(object);
    Ok(match lock {
        Lock::None => object.txn.get_in(family, key, options)?,
        Lock::Taken(mode, validation) => {
            object.txn.get_for_update_in(family, key, options, mode, validation)?
        }
    })
}

/// Returns the families of the keys: one for each key, or one for all keys.
fn families(object: &TransactionObject, handles: &[i64], count: usize) -> Outcome<Vec<In>> {
    match handles.len() {
        0 => Ok((0..count).map(|_| In::Default).collect()),
        1 => (0..count).map(|_| In::new(object, Handle::of(handles[0]))).collect(),
        len if len == count => handles.iter().map(|handle| In::new(object, Handle::of(*handle))).collect(),
        len => Err(Fault::illegal_argument(format!("{len} column families for {count} keys"))),
    }
}

/// Reads keys at one sequence number. The value of a missing key is null. `for_update` first locks all keys in their order; if a key
/// cannot be locked, the call reads no key.
fn multi_get<'j>(
    java: Java<'j>,
    (txn, options): (Handle, ReadHandle),
    keys: JObjects<'_>,
    handles: &[i64],
    for_update: bool,
) -> Outcome<JObjects<'j>> {
    let (object, keys) = (transaction(txn)?, java.byte_arrays(keys)?);
    let families = families(&object, handles, keys.len())?;
    let pairs: Vec<_> =
        families.iter().zip(&keys).map(|(family, key)| (family.get(&object), key.as_slice())).collect();
    let values = options.read(|options| {
        if for_update {
            for (family, key) in &pairs {
                object.txn.lock_for_update_in(
                    family,
                    key,
                    options,
                    LockMode::Exclusive,
                    Validation::Check,
                )?;
            }
        }
        Ok(object.txn.multi_get_families(&pairs, options).into_iter().collect::<base::Result<Vec<_>>>()?)
    })?;
    java.new_byte_array_array(values.len(), |at| array(java, values[at].as_deref()))
}

fn array<'j>(java: Java<'j>, value: Option<&[u8]>) -> Outcome<JBytes<'j>> {
    value.map_or(Ok(JBytes::NULL), |value| java.new_bytes(value))
}

fn fill(java: Java<'_>, found: Option<Pinned>, value: JBytes<'_>, part: Part) -> Outcome<i32> {
    found.map_or(Ok(NOT_FOUND), |found| java.fill(value, part, &found))
}

natives! {
    fn Transaction_get__JJ_3BIIJ[java](
        txn: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32, family: Handle
    ) -> JBytes<'j> {
        let key = java.copy(key, Part { offset, len })?;
        array(java, get(txn, options, family, &key, Lock::None)?.as_deref())?
    }

    fn Transaction_get__JJ_3BII_3BIIJ[java](
        txn: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32,
        value_len: i32, family: Handle
    ) -> i32 {
        let key = java.copy(key, Part { offset, len })?;
        let found = get(txn, options, family, &key, Lock::None)?;
        fill(java, found, value, Part { offset: value_offset, len: value_len })?
    }

    fn Transaction_getDirect[java](
        txn: Handle, options: ReadHandle, key: JBuffer, offset: i32, len: i32, value: JBuffer, value_offset: i32,
        value_len: i32, family: Handle
    ) -> i32 {
        let read = |key: &[u8]| get(txn, options, family, key, Lock::None);
        let found = java.with_direct(key, Part { offset, len }, read)?;
        let part = Part { offset: value_offset, len: value_len };
        found.map_or(Ok(NOT_FOUND), |found| java.fill_direct(value, part, &found))?
    }

    fn Transaction_getForUpdate__JJ_3BIIJZZ[java](
        txn: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32, family: Handle, exclusive: bool,
        validate: bool
    ) -> JBytes<'j> {
        let key = java.copy(key, Part { offset, len })?;
        array(java, get(txn, options, family, &key, Lock::new(exclusive, validate))?.as_deref())?
    }

    fn Transaction_getForUpdate__JJ_3BII_3BIIJZZ[java](
        txn: Handle, options: ReadHandle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32,
        value_len: i32, family: Handle, exclusive: bool, validate: bool
    ) -> i32 {
        let key = java.copy(key, Part { offset, len })?;
        let found = get(txn, options, family, &key, Lock::new(exclusive, validate))?;
        fill(java, found, value, Part { offset: value_offset, len: value_len })?
    }

    fn Transaction_getDirectForUpdate[java](
        txn: Handle, options: ReadHandle, key: JBuffer, offset: i32, len: i32, value: JBuffer, value_offset: i32,
        value_len: i32, family: Handle, exclusive: bool, validate: bool
    ) -> i32 {
        let read = |key: &[u8]| get(txn, options, family, key, Lock::new(exclusive, validate));
        let found = java.with_direct(key, Part { offset, len }, read)?;
        let part = Part { offset: value_offset, len: value_len };
        found.map_or(Ok(NOT_FOUND), |found| java.fill_direct(value, part, &found))?
    }

    fn Transaction_multiGet__JJ_3_3B[java](txn: Handle, options: ReadHandle, keys: JObjects) -> JObjects<'j> {
        multi_get(java, (txn, options), keys, &[], false)?
    }

    fn Transaction_multiGet__JJ_3_3B_3J[java](
        txn: Handle, options: ReadHandle, keys: JObjects, families: JLongs
    ) -> JObjects<'j> {
        multi_get(java, (txn, options), keys, &java.longs(families)?, false)?
    }

    fn Transaction_multiGet__JJJ_3_3B[java](
        txn: Handle, options: ReadHandle, family: Handle, keys: JObjects
    ) -> JObjects<'j> {
        multi_get(java, (txn, options), keys, &[family.long()], false)?
    }

    fn Transaction_multiGetForUpdate__JJ_3_3B[java](txn: Handle, options: ReadHandle, keys: JObjects) -> JObjects<'j> {
        multi_get(java, (txn, options), keys, &[], true)?
    }

    fn Transaction_multiGetForUpdate__JJ_3_3B_3J[java](
        txn: Handle, options: ReadHandle, keys: JObjects, families: JLongs
    ) -> JObjects<'j> {
        multi_get(java, (txn, options), keys, &java.longs(families)?, true)?
    }

    fn Transaction_undoGetForUpdate__J_3BI[java](txn: Handle, key: JBytes, len: i32) {
        let (object, key) = (transaction(txn)?, java.copy_first(key, len)?);
        object.txn.undo_get_for_update_in(&object.default, &key);
    }

    fn Transaction_undoGetForUpdate__J_3BIJ[java](txn: Handle, key: JBytes, len: i32, family: Handle) {
        let (object, key) = (transaction(txn)?, java.copy_first(key, len)?);
        object.txn.undo_get_for_update_in(In::new(&object, family)?.get(&object), &key);
    }

    /// Makes an iterator. The iterator is closed together with the database, not with the transaction.
    fn Transaction_getIterator[_](txn: Handle, options: ReadHandle, family: Handle) -> Handle {
        let object = transaction(txn)?;
        let family = In::new(&object, family)?;
        let iter = |options: &ReadOptions| Ok(object.txn.iter_in(family.get(&object), options.clone()));
        object.owner.add_late(IteratorObject::delta(options.read(iter)?))
    }
}
