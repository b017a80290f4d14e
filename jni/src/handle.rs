//! The table of the objects that the `long` handles of Java objects name.
//!
//! A Java object holds a `long`. RocksDB keeps a pointer in the `long`, so a call on a closed object reads freed memory.
//! Here the `long` is a slot number and a generation:
//!
//! ```text
//! bits 63..32  generation of the slot, 1..2^31-1     bits 31..0  number of the slot + 1     0 is the null handle
//! ```
//!
//! A slot has one atomic word. All changes of a slot are changes of this word:
//!
//! ```text
//! bits 63..32  generation     bit 31  live     bit 30  exclusive     bit 29  wanted     bits 28..0  number of users
//!
//!            insert                 enter: users + 1, if live and the generation fits; leave: users - 1
//!   free ───────────────► live ◄─────────────────────────────────────────────────────────────────────────┐
//!    ▲                     │ take: not live, users + 1                                                   │
//!    │ generation + 1      ▼                                                                             │
//!    └────────────────── dying ── the user that leaves last drops the object ────────────────────────────┘
//! ```
//!
//! A call enters the slot, works with the object, and leaves the slot. A close ends the slot: new calls fail, but running
//! calls still use the object. The last user drops the object, then frees the slot with the next generation. Therefore a
//! call on a closed handle fails, and a close does not wait for running calls. After the last generation, a slot is never
//! used again.
//!
//! A call that needs the object exclusively sets the bit `wanted` while it waits. New calls then let this call go
//! first, for a bounded number of turns: a call inside of a callback of a user of the slot must enter, because this
//! user cannot leave before. A callback does not wait forever for an object that a running call uses: the call that
//! runs the callback may be this call.
//!
//! Slots are in chunks that never move and are never freed: a stale handle always points to a valid slot.
//!
//! Not here: the objects. Their types are with the classes.

use std::any::TypeId;
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use env::sync::{Mutex, thread_local};

const LIVE: u64 = 1 << 31;
const EXCLUSIVE: u64 = 1 << 30;
const WANTED: u64 = 1 << 29;
const USERS: u64 = WANTED - 1;
/// The number of turns for which a new call lets a waiting exclusive call go first.
const TURNS_FOR_WANTED: u32 = 1000;
/// The number of turns for which a callback waits for an object that other calls use.
const TURNS_IN_CALLBACK: u32 = 10_000;
const GENERATION_SHIFT: u32 = 32;
const GENERATION_MAX: u64 = (1 << 31) - 1;
const CHUNK: usize = 1 << 12;
const CHUNKS: usize = 1 << 14;

/// The `long` of a Java object. The default is the null handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Handle(i64);

/// The reason why a handle has no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    Null,
    Closed,
    OtherType,
    /// A callback asked for an object that a running call uses.
    InUse,
}

struct Slot {
    word: AtomicU64,
    /// Written while the slot is free, by the thread that owns the slot number. Read by users of the slot.
    object: UnsafeCell<Object>,
}

#[derive(Clone, Copy)]
struct Object {
    pointer: *mut (),
    kind: Option<TypeId>,
    drop: unsafe fn(*mut ()),
}

// SAFETY: `object` is written only after `insert` has taken the slot number and before it stores the live word with
// Release. `object` is read only by users, and a user has loaded the live word with Acquire. `insert` accepts only
// `Send + Sync` objects.
unsafe impl Sync for Slot {}

struct Table {
    chunks: [AtomicPtr<Slot>; CHUNKS],
    free: Mutex<Free>,
}

struct Free {
    slots: Vec<u32>,
    used: u32,
}

static TABLE: Table = Table {
    chunks: [const { AtomicPtr::new(null_mut()) }; CHUNKS],
    free: Mutex::new(Free { slots: Vec::new(), used: 0 }),
};

/// Shared use of an object. The object lives as long as the guard.
pub struct Shared<T: 'static> {
    slot: &'static Slot,
    number: u32,
    object: PhantomData<&'static T>,
}

/// Exclusive use of an object. No other guard of the object exists.
pub struct Exclusive<T: 'static> {
    slot: &'static Slot,
    number: u32,
    object: PhantomData<&'static mut T>,
}

impl Handle {
    /// The handle of no object. Java objects have it before they are opened, and for null arguments.
    pub const NULL: Handle = Handle(0);

    /// Makes the handle from the `long` of a Java object.
    #[inline]
    pub const fn of(long: i64) -> Handle {
        Handle(long)
    }

    /// Returns the `long` for a Java object.
    #[inline]
    pub const fn long(self) -> i64 {
        self.0
    }

    /// Puts an object into the table.
    ///
    /// # Panics
    /// If 2^26 objects are live. The frame of the native converts the panic to an exception.
    pub fn new<T: Send + Sync + 'static>(object: T) -> Handle {
        let pointer = Box::into_raw(Box::new(object)).cast();
        let number = SPARE.try_with(|spare| spare.0.take()).ok().flatten();
        let number = number.unwrap_or_else(|| TABLE.free.lock().take());
        let slot = slot(number).expect("the slot was made");
        let generation = slot.word.load(Ordering::Relaxed) >> GENERATION_SHIFT;
        // SAFETY: the slot number was free, so no other thread writes the object, and no user reads the object, because
        // the word is not live.
        unsafe {
            *slot.object.get() = Object { pointer, kind: Some(TypeId::of::<T>()), drop: drop_box::<T> }
        };
        // A slot that is not live has no users, and other threads change no other bit than `wanted` in its word.
        slot.word.store((generation << GENERATION_SHIFT) | LIVE, Ordering::Release);
        Handle(((generation << GENERATION_SHIFT) | u64::from(number + 1)) as i64)
    }

    /// Returns true for [`Handle::NULL`]. A handle of a closed object is not null.
    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Uses the object together with other users. Waits while an [`Exclusive`] guard of the object exists. In a callback, the
    /// wait ends with [`Stale::InUse`].
    ///
    /// # Errors
    /// [`Stale`] if the handle is not the handle of a live object of this type.
    #[inline]
    pub fn shared<T: 'static>(self) -> Result<Shared<T>, Stale> {
        let (slot, number) = self.enter::<T>(1)?;
        Ok(Shared { slot, number, object: PhantomData })
    }

    /// Uses the object exclusively. Waits for all other users. The thread must not hold another guard of the handle, because it
    /// would wait for itself.
    ///
    /// # Errors
    /// The errors of [`Self::shared`].
    #[inline]
    pub fn exclusive<T: 'static>(self) -> Result<Exclusive<T>, Stale> {
        let (slot, number) = self.enter::<T>(EXCLUSIVE | 1)?;
        Ok(Exclusive { slot, number, object: PhantomData })
    }

    /// Closes the handle. Returns a guard that keeps the object until the guard is dropped. Each later use of the handle
    /// fails.
    ///
    /// # Errors
    /// The errors of [`Self::shared`].
    pub fn take<T: 'static>(self) -> Result<Shared<T>, Stale> {
        let guard = self.shared::<T>()?;
        let before = guard.slot.word.fetch_and(!LIVE, Ordering::AcqRel);
        if before & LIVE == 0 {
            return Err(Stale::Closed);
        }
        Ok(guard)
    }

    /// Returns true until the handle is closed.
    pub fn is_live(self) -> bool {
        let number = (self.0 as u64 & u64::from(u32::MAX)) as u32;
        let word = number.checked_sub(1).and_then(slot).map(|slot| slot.word.load(Ordering::Relaxed));
        word.is_some_and(|word| {
            word & LIVE != 0 && word >> GENERATION_SHIFT == self.0 as u64 >> GENERATION_SHIFT
        })
    }

    /// Returns true if the handle is open and its object has this type. Does not wait for an exclusive call.
    pub fn is_of_type<T: 'static>(self) -> bool {
        let Some((slot, number)) = self.join() else { return false };
        // SAFETY: this thread is a user of a live slot, so the object is written and is not written again before this thread
        // leaves.
        let kind = unsafe { (*slot.object.get()).kind };
        leave(slot, number, 1);
        kind == Some(TypeId::of::<T>())
    }

    /// Closes the handle of an object of any type. A handle that is already closed is accepted. Does not wait: if running calls
    /// use the object, the last of these calls drops the object.
    pub fn close(self) {
        if let Some((slot, number)) = self.join() {
            end(slot, number);
        }
    }

    /// Closes the handle if its object has this type. Accepts a handle that is already closed, and does not wait, as
    /// [`Self::close`].
    pub fn close_as<T: 'static>(self) {
        if let Some((slot, number)) = self.join() {
            // SAFETY: this thread is a user of a live slot, so the object is written and is not written again before this
            // thread leaves.
            let kind = unsafe { (*slot.object.get()).kind };
            match kind == Some(TypeId::of::<T>()) {
                true => end(slot, number),
                false => leave(slot, number, 1),
            }
        }
    }

    /// Becomes a user of a live slot, also while another user is exclusive. The caller must not use the object, only its type.
    fn join(self) -> Option<(&'static Slot, u32)> {
        let number = (self.0 as u64 & u64::from(u32::MAX)) as u32;
        let generation = self.0 as u64 >> GENERATION_SHIFT;
        let number = number.checked_sub(1)?;
        let slot = slot(number)?;
        let is_live = |seen: u64| seen >> GENERATION_SHIFT == generation && seen & LIVE != 0;
        let joined = |seen: u64| is_live(seen).then_some(seen + 1);
        slot.word.fetch_update(Ordering::Acquire, Ordering::Relaxed, joined).ok()?;
        Some((slot, number))
    }

    #[inline]
    fn enter<T: 'static>(self, change: u64) -> Result<(&'static Slot, u32), Stale> {
        let (slot, number) = self.enter_any(change)?;
        // SAFETY: this thread is a user of a live slot, so the object is written and is not written again before this
        // thread leaves.
        let kind = unsafe { (*slot.object.get()).kind };
        if kind == Some(TypeId::of::<T>()) {
            return Ok((slot, number));
        }
        leave(slot, number, change);
        Err(Stale::OtherType)
    }

    #[inline]
    fn enter_any(self, change: u64) -> Result<(&'static Slot, u32), Stale> {
        let number = (self.0 as u64 & u64::from(u32::MAX)) as u32;
        let generation = self.0 as u64 >> GENERATION_SHIFT;
        if number == 0 {
            return Err(Stale::Null);
        }
        let number = number - 1;
        let slot = slot(number).ok_or(Stale::Closed)?;
        let is_exclusive = change & EXCLUSIVE != 0;
        let (mut seen, mut turns) = (slot.word.load(Ordering::Relaxed), 0);
        loop {
            if seen >> GENERATION_SHIFT != generation || seen & LIVE == 0 {
                return Err(Stale::Closed);
            }
            let is_used = seen & EXCLUSIVE != 0 || (is_exclusive && seen & USERS != 0);
            if is_used || (seen & WANTED != 0 && !is_exclusive && turns < TURNS_FOR_WANTED) {
                turns += 1;
                wait_turn(slot, seen, is_exclusive, turns)?;
                seen = slot.word.load(Ordering::Relaxed);
                continue;
            }
            let mut entered = seen + change;
            if is_exclusive {
                entered &= !WANTED;
            }
            match slot.word.compare_exchange_weak(seen, entered, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok((slot, number)),
                Err(now) => seen = now,
            }
        }
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `enter` checked the type; the object lives until the last user leaves; no user is exclusive.
        unsafe { &*(*self.slot.object.get()).pointer.cast::<T>() }
    }
}

impl<T> Deref for Exclusive<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `enter` checked the type; the object lives until the last user leaves; this is the only user.
        unsafe { &*(*self.slot.object.get()).pointer.cast::<T>() }
    }
}

impl<T> DerefMut for Exclusive<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: `enter` checked the type; the object lives until the last user leaves; this is the only user.
        unsafe { &mut *(*self.slot.object.get()).pointer.cast::<T>() }
    }
}

impl<T> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        leave(self.slot, self.number, 1);
    }
}

impl<T> Drop for Exclusive<T> {
    #[inline]
    fn drop(&mut self) {
        leave(self.slot, self.number, EXCLUSIVE | 1);
    }
}

thread_local! {
    /// The number of callbacks into Java that run in this thread.
    static CALLBACKS: Cell<u32> = const { Cell::new(0) };
}

/// Runs a callback into Java. Natives that the callback calls do not wait forever for an object.
pub fn in_callback<R>(call: impl FnOnce() -> R) -> R {
    CALLBACKS.with(|count| count.set(count.get() + 1));
    let _end = EndOfCallback;
    call()
}

/// Its drop counts the callback as ended, also after a panic.
struct EndOfCallback;

impl Drop for EndOfCallback {
    fn drop(&mut self) {
        CALLBACKS.with(|count| count.set(count.get() - 1));
    }
}

/// Yields to the threads that use the object. The documentation of the Java classes forbids the concurrent use of most objects.
/// Only wrong programs and a catch-up of a secondary instance wait here.
///
/// # Errors
/// [`Stale::InUse`] after [`TURNS_IN_CALLBACK`] turns in a callback.
#[cold]
#[allow(clippy::disallowed_methods, reason = "threads of Java, not of an Env")]
fn wait_turn(slot: &Slot, seen: u64, is_exclusive: bool, turns: u32) -> Result<(), Stale> {
    if turns >= TURNS_IN_CALLBACK && CALLBACKS.with(Cell::get) > 0 {
        // The next exclusive call that waits sets the bit again.
        slot.word.fetch_and(!if is_exclusive { WANTED } else { 0 }, Ordering::Relaxed);
        return Err(Stale::InUse);
    }
    if is_exclusive && seen & WANTED == 0 {
        // The bit is set only in the word that this call saw, so that the bit cannot reach a dying slot.
        let _ = slot.word.compare_exchange(seen, seen | WANTED, Ordering::Relaxed, Ordering::Relaxed);
    }
    std::thread::yield_now();
    Ok(())
}

/// Leaves a slot. The last user of a slot that is not live drops the object.
#[inline]
fn leave(slot: &'static Slot, number: u32, change: u64) {
    let after = slot.word.fetch_sub(change, Ordering::AcqRel) - change;
    if after & (LIVE | USERS) == 0 {
        free(slot, number, after);
    }
}

/// Closes a slot and leaves it.
#[inline]
fn end(slot: &'static Slot, number: u32) {
    let ended = |seen: u64| Some((seen & !LIVE) - 1);
    let before =
        slot.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, ended).unwrap_or_else(|seen| seen);
    if before & USERS == 1 {
        free(slot, number, (before & !LIVE) - 1);
    }
}

/// Drops the object of a dying slot and frees the slot. The caller was the last user: no user enters a slot that is not
/// live, so the word no longer changes.
#[cold]
fn free(slot: &'static Slot, number: u32, word: u64) {
    // SAFETY: this thread left the slot last, so no other thread reads or writes the object.
    let object = unsafe { *slot.object.get() };
    // SAFETY: `pointer` came from `Box::into_raw` of the type of `drop`, and is dropped once for each generation.
    unsafe { (object.drop)(object.pointer) };
    let generation = word >> GENERATION_SHIFT;
    if generation < GENERATION_MAX {
        slot.word.store((generation + 1) << GENERATION_SHIFT, Ordering::Release);
        let spare = SPARE.try_with(|spare| spare.0.replace(Some(number)));
        if let Some(number) = spare.unwrap_or(Some(number)) {
            TABLE.free.lock().slots.push(number);
        }
    }
}

/// A free slot that only one thread takes. The end of the thread returns the slot to the table.
struct Spare(Cell<Option<u32>>);

impl Drop for Spare {
    fn drop(&mut self) {
        if let Some(number) = self.0.take() {
            TABLE.free.lock().slots.push(number);
        }
    }
}

thread_local! {
    /// The slot that this thread freed last. A thread that makes and closes objects in turn then takes no lock of the table.
    static SPARE: Spare = const { Spare(Cell::new(None)) };
}

impl Free {
    /// Returns the number of a free slot. Makes a chunk of slots if there is no free slot.
    fn take(&mut self) -> u32 {
        if let Some(number) = self.slots.pop() {
            return number;
        }
        let number = self.used;
        let (chunk, at) = (number as usize / CHUNK, number as usize % CHUNK);
        assert!(chunk < CHUNKS, "2^26 objects of Java are open");
        if at == 0 {
            let object = Object { pointer: null_mut(), kind: None, drop: drop_nothing };
            let slot =
                || Slot { word: AtomicU64::new(1 << GENERATION_SHIFT), object: UnsafeCell::new(object) };
            let slots: Box<[Slot]> = (0..CHUNK).map(|_| slot()).collect();
            TABLE.chunks[chunk].store(Box::leak(slots).as_mut_ptr(), Ordering::Release);
        }
        self.used += 1;
        number
    }
}

#[inline]
fn slot(number: u32) -> Option<&'static Slot> {
    let chunk = TABLE.chunks.get(number as usize / CHUNK)?.load(Ordering::Acquire);
    if chunk.is_null() {
        return None;
    }
    // SAFETY: a chunk is an array of `CHUNK` slots that is never freed, and the offset is below `CHUNK`.
    Some(unsafe { &*chunk.add(number as usize % CHUNK) })
}

/// # Safety
/// `pointer` came from `Box::into_raw` of a `Box<T>` and is not used again.
unsafe fn drop_box<T>(pointer: *mut ()) {
    // SAFETY: the contract of this function is the contract of `Box::from_raw`.
    drop(unsafe { Box::from_raw(pointer.cast::<T>()) });
}

/// # Safety
/// None. This is the drop function of a slot that was never used.
unsafe fn drop_nothing(_pointer: *mut ()) {}

/// Returns the number of live objects. For tests of leaks.
pub fn live() -> usize {
    let used = TABLE.free.lock().used;
    let is_used = |slot: &&Slot| slot.word.load(Ordering::Relaxed) & (LIVE | USERS) != 0;
    (0..used).filter_map(slot).filter(is_used).count()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_closed_handle_gives_no_object() {
        let handle = Handle::new(String::from("a"));
        assert_eq!(*handle.shared::<String>().unwrap(), "a");
        drop(handle.take::<String>().unwrap());
        assert_eq!(handle.shared::<String>().err(), Some(Stale::Closed));
        assert_eq!(handle.take::<String>().err(), Some(Stale::Closed));
        let other = Handle::new(String::from("b")); // may have the same slot, with another generation
        assert_eq!(handle.shared::<String>().err(), Some(Stale::Closed));
        drop(other.take::<String>());
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the threads of a program")]
    fn a_thread_that_ends_returns_its_spare_slot() {
        let slot_after_thread = || {
            let thread = std::thread::spawn(|| {
                let first = Handle::new(1_u64);
                first.close();
                let second = Handle::new(2_u64);
                assert_eq!(first.0 as u32, second.0 as u32, "a thread takes the slot that it freed last");
                assert_ne!(first, second);
                second.close();
                second.0 as u32 - 1
            });
            thread.join().unwrap()
        };
        // Another test can take the slot at once, but not each time.
        let is_returned = |_| {
            let number = slot_after_thread();
            TABLE.free.lock().slots.contains(&number)
        };
        assert!((0..100).any(is_returned), "the slot of an ended thread is lost");
    }

    #[test]
    fn null_and_foreign_numbers_give_no_object() {
        assert_eq!(Handle::NULL.shared::<String>().err(), Some(Stale::Null));
        for number in [-1, i64::MAX, i64::MIN, 1 << 32, 0x7fff_1234_5678] {
            assert!(Handle(number).shared::<String>().is_err());
        }
    }

    #[test]
    fn a_handle_of_another_type_gives_no_object() {
        let handle = Handle::new(7_u64);
        assert_eq!(handle.shared::<String>().err(), Some(Stale::OtherType));
        assert_eq!(handle.take::<String>().err(), Some(Stale::OtherType));
        drop(handle.take::<u64>().unwrap());
    }

    #[test]
    fn a_running_call_keeps_the_object() {
        let object = Arc::new(());
        let handle = Handle::new(object.clone());
        let running = handle.shared::<Arc<()>>().unwrap();
        drop(handle.take::<Arc<()>>().unwrap());
        assert_eq!(Arc::strong_count(&object), 2);
        assert!(handle.shared::<Arc<()>>().is_err());
        drop(running);
        assert_eq!(Arc::strong_count(&object), 1);
    }

    #[test]
    fn a_close_in_a_callback_ends_an_object_that_a_running_call_uses_exclusively() {
        let object = Arc::new(());
        let handle = Handle::new(object.clone());
        let running = handle.exclusive::<Arc<()>>().unwrap();
        in_callback(|| {
            assert_eq!(handle.shared::<Arc<()>>().err(), Some(Stale::InUse));
            handle.close_as::<String>();
            assert!(handle.is_live());
            handle.close_as::<Arc<()>>();
        });
        assert!(!handle.is_live());
        assert_eq!(Arc::strong_count(&object), 2, "the running call still uses the object");
        drop(running);
        assert_eq!(Arc::strong_count(&object), 1);
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the threads of a program")]
    fn threads_that_race_with_a_close_see_the_object_or_an_error() {
        let dropped = Arc::new(());
        for _ in 0..200 {
            let handle = Handle::new((dropped.clone(), 5_u64));
            std::thread::scope(|scope| {
                for thread in 0..3 {
                    scope.spawn(move || {
                        for _ in 0..50 {
                            if thread == 0 {
                                if let Ok(mut object) = handle.exclusive::<(Arc<()>, u64)>() {
                                    object.1 += 1;
                                }
                            } else if let Ok(object) = handle.shared::<(Arc<()>, u64)>() {
                                assert!(object.1 >= 5);
                            }
                        }
                    });
                }
                scope.spawn(move || drop(handle.take::<(Arc<()>, u64)>()));
            });
            assert!(handle.take::<(Arc<()>, u64)>().is_err());
        }
        assert_eq!(Arc::strong_count(&dropped), 1);
    }
}
