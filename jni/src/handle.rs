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
//! Slots are in chunks that never move and are never freed: a stale handle always points to a valid slot. An object of at most
//! one word is in the slot, and another object is in a box.
//!
//! A slot has a second word for [`Owner`]s, which close the objects of a database. An owner lists the slots of its objects:
//!
//! ```text
//! bits 63..1  the owner that lists the slot     bit 0  the owner owns the object of the slot
//! ```
//!
//! The end of an object does not change the list. If the next object of the slot has the same owner, the slot is in the list
//! already. So a thread that makes and closes objects of one database in turn does not take the lock of the list.
//!
//! Not here: the objects. Their types are with the classes.

use std::any::TypeId;
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
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
    /// See [`Owner`]. Written as `object` is, and read by each thread.
    owner: AtomicU64,
    /// The type of the object. Written as `object` is, and read by each thread.
    kind: AtomicPtr<Kind>,
    /// Written while the slot is free, by the thread that owns the slot number. Read by users of the slot.
    object: UnsafeCell<Place>,
}

/// The object, or the pointer of its box: see [`is_inline`].
type Place = MaybeUninit<*mut ()>;

struct Kind {
    id: TypeId,
    /// Drops the object of a place.
    drop: unsafe fn(Place),
}

// SAFETY: `object` is written only after `new_in` has taken the slot number and before it stores the live word with
// Release. `object` is read only by users, and a user has loaded the live word with Acquire. `new_in` accepts only
// `Send + Sync` objects.
unsafe impl Sync for Slot {}

impl Kind {
    const fn of<T: 'static>() -> &'static Kind {
        const { &Kind { id: TypeId::of::<T>(), drop: drop_place::<T> } }
    }
}

/// Returns true if objects of this type are in the slot, and not in a box.
const fn is_inline<T>() -> bool {
    size_of::<T>() <= size_of::<Place>() && align_of::<T>() <= align_of::<Place>()
}

impl Slot {
    /// Returns true if the object of the slot has this type. The answer belongs to the generation that the slot has before and after
    /// the call.
    #[inline]
    fn is_of_type<T: 'static>(&self) -> bool {
        let kind: *const Kind = self.kind.load(Ordering::Relaxed);
        let of = Kind::of::<T>();
        // SAFETY: a pointer that is not null came from `Kind::of`, which returns static references.
        std::ptr::eq(kind, of) || unsafe { kind.as_ref() }.is_some_and(|kind| kind.id == of.id)
    }

    /// Returns the object.
    ///
    /// # Safety
    /// The calling thread is a user of the slot, the object has the type `T`, and is not written during the use of the pointer.
    #[inline]
    unsafe fn object<T>(&self) -> *mut T {
        let place = self.object.get();
        match is_inline::<T>() {
            true => place.cast(),
            // SAFETY: a user of the slot can read the place, which holds the pointer of a box.
            false => unsafe { (*place).assume_init() }.cast(),
        }
    }
}

/// A list of slots, whose objects are closed together. The number of the list is unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(u64);

impl Owner {
    /// The owner of objects that are closed by the program alone.
    const NONE: Owner = Owner(0);

    /// Makes an owner with a new number.
    pub fn unique() -> Owner {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Owner(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Returns true if the slot is in the list of this owner, and not in a newer list of another owner.
    pub fn lists(self, slot_number: u32) -> bool {
        slot(slot_number).is_some_and(|slot| slot.owner.load(Ordering::Relaxed) >> 1 == self.0)
    }

    /// Returns the handle of the object of a slot, if this owner owns an open object there.
    pub fn handle(self, slot_number: u32) -> Option<Handle> {
        let slot = slot(slot_number)?;
        let word = slot.word.load(Ordering::Acquire);
        // If the slot gets another owner after the load of the word, the generation of the handle is stale.
        let is_owned = word & LIVE != 0 && slot.owner.load(Ordering::Relaxed) == self.0 << 1 | 1;
        is_owned.then(|| Handle::at(slot_number, word >> GENERATION_SHIFT))
    }
}

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

    fn at(number: u32, generation: u64) -> Handle {
        Handle(((generation << GENERATION_SHIFT) | u64::from(number + 1)) as i64)
    }

    /// Returns the number of the slot. Not for the null handle.
    pub fn slot_number(self) -> u32 {
        (self.0 as u32).wrapping_sub(1)
    }

    /// Puts an object into the table.
    ///
    /// # Panics
    /// If 2^26 objects are live. The frame of the native converts the panic to an exception.
    pub fn new<T: Send + Sync + 'static>(object: T) -> Handle {
        Self::new_in(object, Owner::NONE).0
    }

    /// Puts an object of an owner into the table. Returns true if the owner has the slot in its list. If not, the caller adds the
    /// slot to the list.
    ///
    /// # Panics
    /// The panics of [`Self::new`].
    pub fn new_in<T: Send + Sync + 'static>(object: T, owner: Owner) -> (Handle, bool) {
        let place = match is_inline::<T>() {
            true => {
                let mut place = Place::uninit();
                // SAFETY: the place has the size and the alignment of the object, or more.
                unsafe { place.as_mut_ptr().cast::<T>().write(object) };
                place
            }
            false => Place::new(Box::into_raw(Box::new(object)).cast()),
        };
        let number = SPARE.try_with(|spare| spare.0.take()).ok().flatten();
        let number = number.unwrap_or_else(|| TABLE.free.lock().take());
        let slot = slot(number).expect("the slot was made");
        let generation = slot.word.load(Ordering::Relaxed) >> GENERATION_SHIFT;
        let lister = slot.owner.load(Ordering::Relaxed) >> 1;
        let owner_word = if owner == Owner::NONE { lister << 1 } else { owner.0 << 1 | 1 };
        slot.owner.store(owner_word, Ordering::Relaxed);
        slot.kind.store(std::ptr::from_ref(Kind::of::<T>()).cast_mut(), Ordering::Relaxed);
        // SAFETY: the slot number was free, so no other thread writes the object, and no user reads the object, because
        // the word is not live.
        unsafe { *slot.object.get() = place }
        // A slot that is not live has no users, and other threads change no other bit than `wanted` in its word.
        slot.word.store((generation << GENERATION_SHIFT) | LIVE, Ordering::Release);
        (Self::at(number, generation), lister == owner.0)
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
        slot(self.slot_number()).is_some_and(|slot| self.is_live_in(slot.word.load(Ordering::Relaxed)))
    }

    /// Returns true if the handle is open and its object has this type. Does not wait for an exclusive call.
    pub fn is_of_type<T: 'static>(self) -> bool {
        let slot = slot(self.slot_number());
        let is_live = |slot: &&Slot| self.is_live_in(slot.word.load(Ordering::Acquire));
        // The type belongs to the generation of the handle, if the handle is live before and after.
        slot.filter(is_live).is_some_and(|slot| slot.is_of_type::<T>() && self.is_live())
    }

    /// Closes the handle of an object of any type. A handle that is already closed is accepted. Does not wait: if running calls
    /// use the object, the last of these calls drops the object.
    pub fn close(self) {
        if let Some(ended) = self.end_if(|_| true) {
            ended.free();
        }
    }

    /// Closes the handle if its object has this type. Accepts a handle that is already closed, and does not wait, as
    /// [`Self::close`].
    pub fn close_as<T: 'static>(self) {
        if let Some(ended) = self.end_if(Slot::is_of_type::<T>) {
            ended.free();
        }
    }

    /// Closes the handle as [`Self::close_as`]. Returns the object. `None` if running calls use the object: the last of these calls
    /// drops the object.
    pub fn close_into<T: 'static>(self) -> Option<T> {
        let ended = self.end_if(Slot::is_of_type::<T>)?;
        // SAFETY: the slot has no users, so no other thread reads or writes the object.
        let place = unsafe { *ended.slot.object.get() };
        // SAFETY: `end_if` checked the type of the object. `reuse` lets the slot get another object, so the place is not used again.
        let object = unsafe { take_place::<T>(place) };
        ended.reuse();
        Some(object)
    }

    /// Ends the slot of the handle. Returns the slot if it has no users.
    #[inline]
    fn end_if(self, is_right: impl Fn(&Slot) -> bool) -> Option<Ended> {
        let number = self.slot_number();
        let slot = slot(number)?;
        // The change fails if the slot has another generation than during the check of the type.
        let ended = |seen| (self.is_live_in(seen) && is_right(slot)).then_some(seen & !LIVE);
        let before = slot.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, ended).ok()?;
        (before & USERS == 0).then_some(Ended { slot, number, word: before & !LIVE })
    }

    fn is_live_in(self, word: u64) -> bool {
        word & LIVE != 0 && word >> GENERATION_SHIFT == self.0 as u64 >> GENERATION_SHIFT
    }

    #[inline]
    fn enter<T: 'static>(self, change: u64) -> Result<(&'static Slot, u32), Stale> {
        let (slot, number) = self.enter_any(change)?;
        if slot.is_of_type::<T>() {
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
        // Mostly, the object has no other user.
        let mut seen = slot.word.load(Ordering::Relaxed);
        let idle = generation << GENERATION_SHIFT | LIVE;
        if seen == idle {
            match slot.word.compare_exchange(idle, idle + change, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok((slot, number)),
                Err(now) => seen = now,
            }
        }
        self.enter_busy(slot, seen, change)?;
        Ok((slot, number))
    }

    /// Enters a slot whose word was not the word of an open object without users.
    #[inline(never)]
    fn enter_busy(self, slot: &'static Slot, mut seen: u64, change: u64) -> Result<(), Stale> {
        let is_exclusive = change & EXCLUSIVE != 0;
        let mut turns = 0;
        loop {
            if !self.is_live_in(seen) {
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
                Ok(_) => return Ok(()),
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
        unsafe { &*self.slot.object::<T>() }
    }
}

impl<T> Deref for Exclusive<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `enter` checked the type; the object lives until the last user leaves; this is the only user.
        unsafe { &*self.slot.object::<T>() }
    }
}

impl<T> DerefMut for Exclusive<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: `enter` checked the type; the object lives until the last user leaves; this is the only user.
        unsafe { &mut *self.slot.object::<T>() }
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
        Ended { slot, number, word: after }.free();
    }
}

/// A slot that is not live and has no users: no user enters the slot, so its word no longer changes. One thread has it.
struct Ended {
    slot: &'static Slot,
    number: u32,
    word: u64,
}

impl Ended {
    /// Drops the object and frees the slot.
    #[cold]
    fn free(self) {
        // SAFETY: the slot has no users, so no other thread reads or writes the object.
        let place = unsafe { *self.slot.object.get() };
        // SAFETY: the slot was live, so the pointer came from `Kind::of`, which returns static references.
        let kind = unsafe { &*self.slot.kind.load(Ordering::Relaxed) };
        // SAFETY: the place has an object of the type of `drop`, and is dropped once for each generation.
        unsafe { (kind.drop)(place) };
        self.reuse();
    }

    /// Frees the slot, whose object is gone.
    fn reuse(self) {
        let generation = self.word >> GENERATION_SHIFT;
        if generation < GENERATION_MAX {
            self.slot.word.store((generation + 1) << GENERATION_SHIFT, Ordering::Release);
            let spare = SPARE.try_with(|spare| spare.0.replace(Some(self.number)));
            if let Some(number) = spare.unwrap_or(Some(self.number)) {
                TABLE.free.lock().slots.push(number);
            }
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
            let slot = || Slot {
                word: AtomicU64::new(1 << GENERATION_SHIFT),
                owner: AtomicU64::new(0),
                kind: AtomicPtr::new(null_mut()),
                object: UnsafeCell::new(Place::uninit()),
            };
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

/// Returns an object.
///
/// # Safety
/// The place has an object of the type `T`, as [`Handle::new_in`] wrote it. The place is not used again.
unsafe fn take_place<T>(place: Place) -> T {
    match is_inline::<T>() {
        // SAFETY: the place has an object of this type.
        true => unsafe { place.as_ptr().cast::<T>().read() },
        // SAFETY: the place has the pointer of a box of this type.
        false => *unsafe { Box::from_raw(place.assume_init().cast::<T>()) },
    }
}

/// Drops an object.
///
/// # Safety
/// The contract of [`take_place`].
unsafe fn drop_place<T>(place: Place) {
    // SAFETY: the caller promises what `take_place` asks: the place has an object of this type, and nothing uses the place again.
    drop(unsafe { take_place::<T>(place) });
}

/// Returns the number of live objects. For tests of leaks.
pub fn live() -> usize {
    let used = TABLE.free.lock().used;
    let is_used = |slot: &&Slot| slot.word.load(Ordering::Relaxed) & (LIVE | USERS) != 0;
    (0..used).filter_map(slot).filter(is_used).count()
}

#[cfg(test)]
#[path = "handle/tests.rs"] // the example `handle_cost` includes this file by its path
mod tests;
