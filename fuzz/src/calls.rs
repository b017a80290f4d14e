//! Calls of the C library in any order and with any handle, compared with a model.
//!
//! Each input byte chooses a call, a handle, a key or a value. Two databases in memory have two column families each. Handles
//! outlive the close of their database and are used with the other database; each handle can be null. A call whose handles
//! belong to the open database of the call must succeed and must agree with the model. All other calls must report an error
//! and must change nothing. A panic inside the library is an error text that the target rejects.

mod several;

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

// The functions are symbols of this crate.
use ironstone_c_calls as _;

type Err = *mut *mut c_char;
/// A handle. Handles are opaque.
type Any = *mut c_void;

unsafe extern "C" {
    fn rocksdb_options_create() -> Any;
    fn rocksdb_options_destroy(options: Any);
    fn rocksdb_options_set_create_if_missing(options: Any, value: u8);
    fn rocksdb_options_set_create_missing_column_families(options: Any, value: u8);
    fn rocksdb_options_set_env(options: Any, env: Any);
    fn rocksdb_create_mem_env() -> Any;
    fn rocksdb_env_destroy(env: Any);
    fn rocksdb_writeoptions_create() -> Any;
    fn rocksdb_writeoptions_destroy(options: Any);
    fn rocksdb_readoptions_create() -> Any;
    fn rocksdb_readoptions_destroy(options: Any);
    fn rocksdb_readoptions_set_snapshot(options: Any, snapshot: *const c_void);
    fn rocksdb_flushoptions_create() -> Any;
    fn rocksdb_flushoptions_destroy(options: Any);
    fn rocksdb_open_column_families(
        options: Any,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        each: *const Any,
        handles: *mut Any,
        err: Err,
    ) -> Any;
    fn rocksdb_close(db: Any);
    fn rocksdb_column_family_handle_destroy(handle: Any);
    fn rocksdb_put_cf(
        db: Any,
        options: Any,
        family: Any,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        err: Err,
    );
    fn rocksdb_delete_cf(db: Any, options: Any, family: Any, key: *const c_char, len: usize, err: Err);
    fn rocksdb_get_cf(
        db: Any,
        options: Any,
        family: Any,
        key: *const c_char,
        key_len: usize,
        len: *mut usize,
        err: Err,
    ) -> *mut c_char;
    fn rocksdb_get_pinned_cf(
        db: Any,
        options: Any,
        family: Any,
        key: *const c_char,
        key_len: usize,
        err: Err,
    ) -> Any;
    fn rocksdb_pinnableslice_value(slice: *const c_void, len: *mut usize) -> *const c_char;
    fn rocksdb_pinnableslice_destroy(slice: Any);
    fn rocksdb_writebatch_create() -> Any;
    fn rocksdb_writebatch_destroy(batch: Any);
    fn rocksdb_writebatch_clear(batch: Any);
    fn rocksdb_writebatch_put_cf(
        batch: Any,
        family: Any,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    fn rocksdb_writebatch_delete_cf(batch: Any, family: Any, key: *const c_char, len: usize);
    fn rocksdb_write(db: Any, options: Any, batch: Any, err: Err);
    fn rocksdb_create_iterator_cf(db: Any, options: Any, family: Any) -> Any;
    fn rocksdb_iter_destroy(iter: Any);
    fn rocksdb_iter_seek_to_first(iter: Any);
    fn rocksdb_iter_valid(iter: *const c_void) -> u8;
    fn rocksdb_iter_next(iter: Any);
    fn rocksdb_iter_key(iter: *const c_void, len: *mut usize) -> *const c_char;
    fn rocksdb_iter_value(iter: *const c_void, len: *mut usize) -> *const c_char;
    fn rocksdb_iter_get_error(iter: *const c_void, err: Err);
    fn rocksdb_create_snapshot(db: Any) -> *const c_void;
    fn rocksdb_release_snapshot(db: Any, snapshot: *const c_void);
    fn rocksdb_flush_cf(db: Any, options: Any, family: Any, err: Err);
    fn rocksdb_compact_range_cf(
        db: Any,
        family: Any,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    fn rocksdb_free(memory: Any);
}

/// Handles that a pool keeps at once.
const SLOTS: usize = 4;
/// Databases, and column families of each.
const SIDES: usize = 2;
const FAMILIES: usize = 2;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;
type Model = [Entries; FAMILIES];

/// The rest of the input.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// Takes at most `longest` bytes.
    fn bytes(&mut self, longest: usize) -> &'a [u8] {
        let len = self.below(longest + 1).min(self.0.len());
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }
}

/// Where a handle comes from. The handle fits as long as the database is the one of this open.
#[derive(Clone, Copy, Default, PartialEq)]
struct From {
    side: usize,
    opens: usize,
}

#[derive(Clone, Copy)]
struct FamilyHandle {
    handle: Any,
    family: usize,
    from: From,
}

struct Cursor {
    iter: Any,
    entries: Entries,
    from: From,
}

struct Moment {
    snapshot: *const c_void,
    model: Model,
    from: From,
}

struct Pinned {
    slice: Any,
    value: Vec<u8>,
}

struct Batch {
    batch: Any,
    /// Column family, key, and the value of a put.
    records: Vec<(usize, Vec<u8>, Option<Vec<u8>>)>,
}

struct Side {
    db: Any,
    opens: usize,
    model: Model,
}

/// The databases, handles and models of a sequence of calls of the C library.
struct CallRun {
    env: Any,
    options: Any,
    write: Any,
    read: Any,
    flush: Any,
    sides: [Side; SIDES],
    families: Vec<FamilyHandle>,
    cursors: Vec<Cursor>,
    moments: Vec<Moment>,
    pinned: Vec<Pinned>,
    batches: [Batch; 2],
}

/// Makes a call with a place for an error. Returns the result and whether an error was reported.
fn call<T>(call: impl FnOnce(Err) -> T) -> (T, bool) {
    let mut error = null_mut();
    let result = call(&raw mut error);
    let failed = !error.is_null();
    if failed {
        // SAFETY: an error is a string that ends with NUL and comes from `malloc`.
        unsafe {
            let text = CStr::from_ptr(error).to_string_lossy().into_owned();
            rocksdb_free(error.cast());
            assert!(!text.contains(": panic: "), "{text}");
        }
    }
    (result, failed)
}

/// Copies bytes that the library returned.
///
/// # Safety
/// `data` is null, or has `len` readable bytes.
unsafe fn copied(data: *const c_char, len: usize) -> Option<Vec<u8>> {
    // SAFETY: the contract of this function.
    (!data.is_null()).then(|| unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) }.to_vec())
}

/// Drops the item of a slot, or the oldest item of a full pool.
fn taken<T>(pool: &mut Vec<T>, slot: usize) -> Option<T> {
    (slot < pool.len()).then(|| pool.swap_remove(slot))
}

impl CallRun {
    fn new() -> CallRun {
        let side = || Side { db: null_mut(), opens: 0, model: Model::default() };
        // SAFETY: the functions that create have no precondition; the options and the environment are live.
        let mut world = unsafe {
            let (env, options) = (rocksdb_create_mem_env(), rocksdb_options_create());
            rocksdb_options_set_create_if_missing(options, 1);
            rocksdb_options_set_create_missing_column_families(options, 1);
            rocksdb_options_set_env(options, env);
            CallRun {
                env,
                options,
                write: rocksdb_writeoptions_create(),
                read: rocksdb_readoptions_create(),
                flush: rocksdb_flushoptions_create(),
                sides: [side(), side()],
                families: Vec::new(),
                cursors: Vec::new(),
                moments: Vec::new(),
                pinned: Vec::new(),
                batches: [(); 2].map(|()| Batch { batch: rocksdb_writebatch_create(), records: Vec::new() }),
            }
        };
        (0..SIDES).for_each(|side| world.open(side));
        world
    }

    /// Opens a database. Its handles go to the pool.
    fn open(&mut self, side: usize) {
        let path = [c"/first", c"/second"][side];
        let names = [c"default".as_ptr(), c"users".as_ptr()];
        let (each, mut handles) = ([self.options; FAMILIES], [null_mut(); FAMILIES]);
        // SAFETY: the options are live; the arrays have `FAMILIES` items; the names end with NUL.
        let (db, failed) = call(|err| unsafe {
            let (names, each, handles) = (names.as_ptr(), each.as_ptr(), handles.as_mut_ptr());
            rocksdb_open_column_families(
                self.options,
                path.as_ptr(),
                FAMILIES as c_int,
                names,
                each,
                handles,
                err,
            )
        });
        assert!(!failed && !db.is_null(), "a database that was closed does not open");
        let at = &mut self.sides[side];
        (at.db, at.opens) = (db, at.opens + 1);
        let from = From { side, opens: at.opens };
        for (family, handle) in handles.into_iter().enumerate() {
            self.families.push(FamilyHandle { handle, family, from });
        }
        while self.families.len() > 3 * SLOTS {
            let old = self.families.remove(0);
            // SAFETY: the handle is live and leaves the pool.
            unsafe { rocksdb_column_family_handle_destroy(old.handle) };
        }
    }

    /// Chooses a database; sometimes null.
    fn side(&self, input: &mut Input<'_>) -> (Any, From) {
        let choice = input.below(16);
        let (side, null) = (choice % SIDES, choice == 15);
        let at = &self.sides[side];
        (if null { null_mut() } else { at.db }, From { side, opens: at.opens })
    }

    /// Chooses a handle of a column family; sometimes null.
    fn family(&self, input: &mut Input<'_>) -> FamilyHandle {
        let choice = input.below(self.families.len() + 1);
        let none = FamilyHandle { handle: null_mut(), family: 0, from: From::default() };
        self.families.get(choice).copied().unwrap_or(none)
    }

    /// Chooses a database and a column family. The flag says whether they fit, so that the call must succeed.
    fn target(&self, input: &mut Input<'_>) -> (Any, From, FamilyHandle, bool) {
        let ((db, from), family) = (self.side(input), self.family(input));
        let fits = !db.is_null() && !family.handle.is_null() && family.from == from;
        (db, from, family, fits)
    }

    fn put_or_delete(&mut self, input: &mut Input<'_>, delete: bool) {
        let (db, from, family, fits) = self.target(input);
        let (key, value) = (input.bytes(2), input.bytes(40));
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the handles are null or live; the pointers have as many readable bytes as their lengths say.
        let ((), failed) = call(|err| unsafe {
            match delete {
                true => rocksdb_delete_cf(db, self.write, family.handle, k, key.len(), err),
                false => rocksdb_put_cf(db, self.write, family.handle, k, key.len(), v, value.len(), err),
            }
        });
        assert_eq!(failed, !fits, "a write with handles that fit succeeds, all others fail");
        if fits {
            let entries = &mut self.sides[from.side].model[family.family];
            match delete {
                true => drop(entries.remove(key)),
                false => drop(entries.insert(key.to_vec(), value.to_vec())),
            }
        }
    }

    /// Reads a key, sometimes at a snapshot. A snapshot of another open only must not crash.
    fn get(&mut self, input: &mut Input<'_>, pin: bool) {
        let (db, from, family, fits) = self.target(input);
        let (key, choice) = (input.bytes(2), input.below(2 * SLOTS));
        let moment = self.moments.get(choice);
        let snapshot = moment.map_or(null(), |moment| moment.snapshot);
        let k = key.as_ptr().cast();
        let mut len = 0;
        // SAFETY: the handles are null or live; `key` has as many readable bytes as its length says; `len` is a live place.
        let ((value, slice), failed) = call(|err| unsafe {
            rocksdb_readoptions_set_snapshot(self.read, snapshot);
            let (read, f) = (self.read, family.handle);
            let result = match pin {
                true => (null_mut(), rocksdb_get_pinned_cf(db, read, f, k, key.len(), err)),
                false => (rocksdb_get_cf(db, read, f, k, key.len(), &raw mut len, err), null_mut()),
            };
            rocksdb_readoptions_set_snapshot(self.read, null());
            result
        });
        // SAFETY: the library returned null, or a buffer of `len` bytes that `rocksdb_free` frees, or a live slice.
        let found = unsafe {
            let bytes = match slice.is_null() {
                true => copied(value, len),
                false => copied(rocksdb_pinnableslice_value(slice, &raw mut len), len),
            };
            rocksdb_free(value.cast());
            bytes
        };
        let foreign = moment.is_some_and(|moment| moment.from != from);
        if !foreign {
            assert_eq!(failed, !fits, "a read with handles that fit succeeds, all others fail");
        }
        if fits && !failed && !foreign {
            let model = moment.map_or(&self.sides[from.side].model, |moment| &moment.model);
            assert_eq!(found.as_ref(), model[family.family].get(key), "another value than the model's");
        }
        if let (false, Some(value)) = (slice.is_null(), found) {
            self.pinned.push(Pinned { slice, value });
            self.shrink();
        }
    }

    fn change_batch(&mut self, input: &mut Input<'_>) {
        let (family, action) = (self.family(input), input.below(8));
        let batch = &mut self.batches[action % 2];
        let (key, value) = (input.bytes(2), input.bytes(40));
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the batch is live, the handle is null or live, the pointers have as many bytes as their lengths say.
        unsafe {
            match action / 2 {
                0 => rocksdb_writebatch_clear(batch.batch),
                1 => rocksdb_writebatch_delete_cf(batch.batch, family.handle, k, key.len()),
                _ => rocksdb_writebatch_put_cf(batch.batch, family.handle, k, key.len(), v, value.len()),
            }
        }
        let record = |value| (family.family, key.to_vec(), value);
        match action / 2 {
            0 => batch.records.clear(),
            _ if family.handle.is_null() => {}
            1 => batch.records.push(record(None)),
            _ => batch.records.push(record(Some(value.to_vec()))),
        }
    }

    /// Writes a batch. A batch names column families by number, so that it fits both databases.
    fn write_batch(&mut self, input: &mut Input<'_>) {
        let ((db, from), choice) = (self.side(input), input.below(3));
        let batch = self.batches.get(choice);
        let handle = batch.map_or(null_mut(), |batch| batch.batch);
        // SAFETY: the handles are null or live.
        let ((), failed) = call(|err| unsafe { rocksdb_write(db, self.write, handle, err) });
        assert_eq!(failed, db.is_null() || handle.is_null(), "a batch of known column families is written");
        let records = batch.filter(|_| !failed).map_or(&[][..], |batch| &batch.records);
        for (family, key, value) in records {
            let entries = &mut self.sides[from.side].model[*family];
            match value {
                None => drop(entries.remove(key)),
                Some(value) => drop(entries.insert(key.clone(), value.clone())),
            }
        }
    }

    fn new_cursor(&mut self, input: &mut Input<'_>) {
        let (db, from, family, fits) = self.target(input);
        // SAFETY: the handles are null or live.
        let iter = unsafe { rocksdb_create_iterator_cf(db, self.read, family.handle) };
        let entries = match fits {
            true => self.sides[from.side].model[family.family].clone(),
            false => Entries::new(),
        };
        self.cursors.push(Cursor { iter, entries, from });
        self.shrink();
    }

    /// Reads all entries of an iterator. After the close of its database an iterator may end with an error.
    fn use_cursor(&mut self, input: &mut Input<'_>) {
        let Some(cursor) = self.cursors.get(input.below(SLOTS)) else { return };
        let mut found = Entries::new();
        // SAFETY: the iterator is null or live; a valid iterator returns bytes of the length that the call writes.
        let ((), failed) = call(|err| unsafe {
            rocksdb_iter_seek_to_first(cursor.iter);
            while rocksdb_iter_valid(cursor.iter) != 0 {
                let (mut key_len, mut len) = (0, 0);
                let key = rocksdb_iter_key(cursor.iter, &raw mut key_len);
                let value = rocksdb_iter_value(cursor.iter, &raw mut len);
                let entry = (copied(key, key_len), copied(value, len));
                found.insert(entry.0.expect("a valid iterator has a key"), entry.1.expect("and a value"));
                rocksdb_iter_next(cursor.iter);
            }
            rocksdb_iter_get_error(cursor.iter, err);
        });
        let open = self.sides[cursor.from.side].opens == cursor.from.opens;
        assert!(!open || !failed || cursor.entries.is_empty(), "an iterator of an open database fails");
        match failed {
            true => assert!(found.iter().all(|entry| cursor.entries.get_key_value(entry.0) == Some(entry))),
            false => assert_eq!(found, cursor.entries, "the iterator and the model differ"),
        }
    }

    fn new_moment(&mut self, input: &mut Input<'_>) {
        let (db, from) = self.side(input);
        // SAFETY: the database is null or live.
        let snapshot = unsafe { rocksdb_create_snapshot(db) };
        assert_eq!(snapshot.is_null(), db.is_null());
        if !snapshot.is_null() {
            let model = self.sides[from.side].model.clone();
            self.moments.push(Moment { snapshot, model, from });
            self.shrink();
        }
    }

    /// Ends a handle of a pool, in any order with the others.
    fn end_one(&mut self, input: &mut Input<'_>) {
        let (pool, slot, (db, _)) = (input.below(4), input.below(SLOTS), self.side(input));
        // SAFETY: each handle is live and leaves its pool; the database is null or live.
        unsafe {
            match pool {
                0 => taken(&mut self.cursors, slot).into_iter().for_each(|it| rocksdb_iter_destroy(it.iter)),
                1 => taken(&mut self.moments, slot)
                    .into_iter()
                    .for_each(|it| rocksdb_release_snapshot(db, it.snapshot)),
                2 => taken(&mut self.pinned, slot)
                    .into_iter()
                    .for_each(|it| rocksdb_pinnableslice_destroy(it.slice)),
                _ => taken(&mut self.families, slot)
                    .into_iter()
                    .for_each(|it| rocksdb_column_family_handle_destroy(it.handle)),
            }
        }
    }

    /// Ends the oldest handles of pools that are full.
    fn shrink(&mut self) {
        // SAFETY: each handle is live and leaves its pool.
        unsafe {
            if self.cursors.len() > SLOTS {
                rocksdb_iter_destroy(self.cursors.remove(0).iter);
            }
            if self.moments.len() > SLOTS {
                rocksdb_release_snapshot(null_mut(), self.moments.remove(0).snapshot);
            }
            if self.pinned.len() > SLOTS {
                rocksdb_pinnableslice_destroy(self.pinned.remove(0).slice);
            }
        }
    }

    fn check_pinned(&self) {
        for pinned in &self.pinned {
            let mut len = 0;
            // SAFETY: the slice is live and returns bytes of the length that the call writes.
            let value = unsafe { copied(rocksdb_pinnableslice_value(pinned.slice, &raw mut len), len) };
            assert_eq!(value.as_ref(), Some(&pinned.value), "a pinned value changed");
        }
    }

    fn reopen(&mut self, input: &mut Input<'_>) {
        let side = input.below(SIDES);
        // SAFETY: the database is live and is not used again.
        unsafe { rocksdb_close(self.sides[side].db) };
        self.open(side);
    }

    fn maintain(&mut self, input: &mut Input<'_>) {
        let (db, _, family, fits) = self.target(input);
        if input.byte() < 200 {
            // SAFETY: the handles are null or live.
            let ((), failed) = call(|err| unsafe { rocksdb_flush_cf(db, self.flush, family.handle, err) });
            assert_eq!(failed, !fits, "a flush with handles that fit succeeds, all others fail");
        } else {
            // SAFETY: the handles are null or live; null bounds have no bytes.
            unsafe { rocksdb_compact_range_cf(db, family.handle, null(), 0, null(), 0) };
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(24) {
            0..=4 => self.put_or_delete(input, false),
            5 => self.put_or_delete(input, true),
            6 | 7 => self.get(input, false),
            8 | 9 => self.get(input, true),
            10 | 11 => self.change_batch(input),
            12 => self.write_batch(input),
            13 => self.new_cursor(input),
            14 => self.use_cursor(input),
            15 => self.new_moment(input),
            16 => self.end_one(input),
            17 => self.check_pinned(),
            18 => self.maintain(input),
            19 => self.delete_range(input),
            20 => self.multi_get(input, false),
            21 => self.multi_get(input, true),
            22 => self.transact(input),
            _ => self.reopen(input),
        }
    }

    /// Ends all handles: the environment and the databases first, so that all others outlive them.
    fn end(self) {
        // SAFETY: each handle is live and is not used again.
        unsafe {
            rocksdb_env_destroy(self.env);
            rocksdb_options_destroy(self.options);
            self.sides.iter().for_each(|side| rocksdb_close(side.db));
            self.moments.iter().for_each(|moment| rocksdb_release_snapshot(null_mut(), moment.snapshot));
            self.families.iter().for_each(|family| rocksdb_column_family_handle_destroy(family.handle));
            self.cursors.iter().for_each(|cursor| rocksdb_iter_destroy(cursor.iter));
            self.pinned.iter().for_each(|pinned| rocksdb_pinnableslice_destroy(pinned.slice));
            self.batches.iter().for_each(|batch| rocksdb_writebatch_destroy(batch.batch));
            rocksdb_writeoptions_destroy(self.write);
            rocksdb_readoptions_destroy(self.read);
            rocksdb_flushoptions_destroy(self.flush);
        }
    }
}

/// Reads the input as a sequence of calls. See the head of this file.
///
/// # Panics
/// If a call disagrees with the model, or if the library caught a panic.
pub fn c_calls(data: &[u8]) {
    let mut input = Input(data);
    let mut world = CallRun::new();
    while !input.0.is_empty() {
        world.step(&mut input);
    }
    world.check_pinned();
    world.end();
}
