//! The handles of objects that still have their default values: two bits for each object.
//!
//! The Java class `RocksDB` makes a `ReadOptions` for itself at each open, and never closes the object. An object in a box and
//! its slot in the table of handles took 349 bytes for each open. So `new ReadOptions()` gets a handle without an object. Its
//! first setter makes the object, in the table of handles ([`crate::handle`]).
//!
//! ```text
//! bit 63  set: the handle is of this module     bits 62..32  generation of the word     bits 31..4  word     bits 3..0  place
//! ```
//!
//! A word has the states of 16 handles. All changes of a word are atomic changes of the whole word:
//!
//! ```text
//! bits 63..32  generation     bits 31..0  16 states of 2 bits
//!
//!   not issued (3) ──new──► untouched (1) ──touch──► touched (2)
//!                               │ close                 │ close, which closes the object too
//!                               └────► closed (0) ◄─────┘
//! ```
//!
//! If the 16 handles of a word are closed, the word gets the next generation, and is issued again. So a closed handle stays
//! closed, and a handle that is never closed keeps at most one word of 8 bytes: half a byte, if the other 15 are not closed either.
//! After the last generation, a word is never used again.
//!
//! The objects of touched handles are in a map under a lock. Each thread remembers the last entries that it used. An entry never
//! becomes wrong: a handle gets one object, and the table of handles rejects this object after its close.
//!
//! Not here: the objects and their default values. `call_options` has both.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use env::sync::{Mutex, thread_local};

use crate::handle::{Handle, Stale};

const TAG: u64 = 1 << 63;
const GENERATION_SHIFT: u32 = 32;
const GENERATION_MAX: u64 = (1 << 31) - 1;
const PLACE_BITS: u32 = 4;
const PLACES: u32 = 1 << PLACE_BITS;
/// The states of all places of a word.
const STATES: u64 = u32::MAX as u64;

const CLOSED: u64 = 0;
const UNTOUCHED: u64 = 1;
const TOUCHED: u64 = 2;
const NOT_ISSUED: u64 = 3;

const CHUNK: usize = 1 << 12;
const CHUNKS: usize = 1 << 10;

static TABLE: Table = Table {
    chunks: [const { OnceLock::new() }; CHUNKS],
    free: Mutex::new(Free { places: Vec::new(), used: 0 }),
    objects: Mutex::new(BTreeMap::new()),
};

struct Table {
    chunks: [OnceLock<Box<[AtomicU64]>>; CHUNKS],
    /// A leaf lock.
    free: Mutex<Free>,
    /// The objects of touched handles. A leaf lock.
    objects: Mutex<BTreeMap<u64, Handle>>,
}

struct Free {
    /// The next places of words whose later places are not issued.
    places: Vec<Place>,
    used: u32,
}

/// A place of a word.
#[derive(Clone, Copy)]
struct Place {
    word: u32,
    place: u32,
}

impl Place {
    fn shift(self) -> u32 {
        2 * self.place
    }
}

/// The next place that a thread issues. The end of the thread returns the place to the table.
struct Next(Cell<Option<Place>>);

impl Drop for Next {
    fn drop(&mut self) {
        TABLE.free.lock().places.extend(self.0.take());
    }
}

const REMEMBERED: usize = 4;

thread_local! {
    static NEXT: Next = const { Next(Cell::new(None)) };
    /// Touched handles and their objects, as the map has them.
    static KNOWN: [Cell<(u64, Handle)>; REMEMBERED] = const { [const { Cell::new((0, Handle::NULL)) }; REMEMBERED] };
}

/// The state of a live handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    /// The object has its default values and does not exist.
    Untouched,
    /// The object has this handle.
    Touched(Handle),
}

/// Returns true if this module made the handle.
#[inline]
pub fn is_compact(handle: Handle) -> bool {
    handle.long() < 0
}

/// Makes a handle without an object.
///
/// # Panics
/// If 2^22 words have a handle that is not closed. The frame of the native converts the panic to an exception.
pub fn new() -> Handle {
    let place = NEXT.try_with(|next| next.0.take()).ok().flatten();
    let place = place.unwrap_or_else(|| TABLE.free.lock().take());
    let word = word(place.word).expect("the word was made");
    // Only this thread has the place, and other threads change the states of other places.
    let before = word.fetch_xor((NOT_ISSUED ^ UNTOUCHED) << place.shift(), Ordering::Release);
    if place.place + 1 < PLACES {
        keep(Place { place: place.place + 1, ..place });
    }
    let generation = before >> GENERATION_SHIFT;
    let number = u64::from(place.word << PLACE_BITS | place.place);
    Handle::of((TAG | generation << GENERATION_SHIFT | number) as i64)
}

/// Returns the state of a handle.
///
/// # Errors
/// [`Stale::Closed`] for a closed handle, and for a number that this module never made.
#[inline]
pub fn live(handle: Handle) -> Result<Live, Stale> {
    let (word, place) = find(handle)?;
    match state(handle, place, word.load(Ordering::Acquire)) {
        Some(UNTOUCHED) => Ok(Live::Untouched),
        Some(TOUCHED) => object(handle.long() as u64).map(Live::Touched),
        _ => Err(Stale::Closed),
    }
}

/// Returns the handle of the object. The first call for a handle makes the object.
///
/// # Errors
/// The errors of [`live`].
pub fn touch(handle: Handle, make: impl FnOnce() -> Handle) -> Result<Handle, Stale> {
    if let Live::Touched(object) = live(handle)? {
        return Ok(object);
    }
    let made = make();
    let touched = touch_with(handle, made);
    if touched != Ok(made) {
        made.close();
    }
    touched
}

/// Gives an object to an untouched handle, or returns the object that another thread gave to it.
fn touch_with(handle: Handle, made: Handle) -> Result<Handle, Stale> {
    let (word, place) = find(handle)?;
    let number = handle.long() as u64;
    let mut objects = TABLE.objects.lock();
    if let Some(object) = objects.get(&number) {
        return Ok(*object);
    }
    let touched = |seen| {
        (state(handle, place, seen) == Some(UNTOUCHED))
            .then_some(seen ^ (UNTOUCHED ^ TOUCHED) << place.shift())
    };
    // A close that sees the new state waits for the lock, and then finds the entry.
    word.fetch_update(Ordering::AcqRel, Ordering::Acquire, touched).map_err(|_| Stale::Closed)?;
    objects.insert(number, made);
    Ok(made)
}

/// Closes a handle and its object, if there is one. Accepts a closed handle.
pub fn close(handle: Handle) {
    let Ok((word, place)) = find(handle) else { return };
    let all = NOT_ISSUED << place.shift();
    let closed =
        |seen| matches!(state(handle, place, seen), Some(UNTOUCHED | TOUCHED)).then_some(seen & !all);
    let Ok(before) = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, closed) else { return };
    if before >> place.shift() & NOT_ISSUED == TOUCHED {
        let object = TABLE.objects.lock().remove(&(handle.long() as u64));
        object.unwrap_or(Handle::NULL).close();
    }
    if before & !all & STATES == 0 {
        // All places were issued and are closed, so no other thread changes the word.
        let generation = before >> GENERATION_SHIFT;
        if generation < GENERATION_MAX {
            word.store((generation + 1) << GENERATION_SHIFT | STATES, Ordering::Release);
            keep(Place { word: place.word, place: 0 });
        }
    }
}

/// Stores a place that is not issued: for this thread, or for all threads if this thread has a place.
fn keep(place: Place) {
    let is_kept = NEXT.try_with(|next| {
        let is_empty = next.0.get().is_none();
        if is_empty {
            next.0.set(Some(place));
        }
        is_empty
    });
    if !is_kept.unwrap_or(false) {
        TABLE.free.lock().places.push(place);
    }
}

/// Returns the object of a touched handle.
fn object(number: u64) -> Result<Handle, Stale> {
    KNOWN.with(|known| {
        let known = &known[number as usize % REMEMBERED];
        let (of, object) = known.get();
        if of == number {
            return Ok(object);
        }
        let object = *TABLE.objects.lock().get(&number).ok_or(Stale::Closed)?;
        known.set((number, object));
        Ok(object)
    })
}

/// Returns the state of a place in the value of a word, if the word has the generation of the handle.
#[inline]
fn state(handle: Handle, place: Place, word: u64) -> Option<u64> {
    let is_of_generation = word >> GENERATION_SHIFT == (handle.long() as u64 & !TAG) >> GENERATION_SHIFT;
    is_of_generation.then_some(word >> place.shift() & NOT_ISSUED).filter(|state| *state != CLOSED)
}

#[inline]
fn find(handle: Handle) -> Result<(&'static AtomicU64, Place), Stale> {
    let number = handle.long() as u32;
    let place = Place { word: number >> PLACE_BITS, place: number % PLACES };
    Ok((word(place.word).ok_or(Stale::Closed)?, place))
}

#[inline]
fn word(number: u32) -> Option<&'static AtomicU64> {
    TABLE.chunks.get(number as usize / CHUNK)?.get()?.get(number as usize % CHUNK)
}

impl Free {
    /// Returns a place that is not issued. Makes a chunk of words if there is none.
    fn take(&mut self) -> Place {
        if let Some(place) = self.places.pop() {
            return place;
        }
        let number = self.used;
        let chunk = TABLE.chunks.get(number as usize / CHUNK).expect("2^22 words of handles are in use");
        chunk.get_or_init(|| (0..CHUNK).map(|_| AtomicU64::new(1 << GENERATION_SHIFT | STATES)).collect());
        self.used += 1;
        Place { word: number, place: 0 }
    }
}

#[cfg(test)]
#[path = "untouched/tests.rs"] // the example `handle_cost` includes this file by its path
mod tests;
