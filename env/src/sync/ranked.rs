//! Locks with a rank. A thread takes locks in the order of their ranks.
//!
//! Two threads that take two locks in different orders can wait for each other forever. With ranks, no such circle of
//! waits exists. The check is compiled in if [`INVARIANTS`] is true: a thread that takes a lock of a rank below or equal to
//! the rank of a lock that it holds panics, with the names of both locks. Without the check, a ranked lock costs the same as
//! a [`Mutex`]. The idea is that of `lockdep` in the Linux kernel.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use base::invariant::INVARIANTS;

use super::{Condvar, Mutex, MutexGuard, thread_local};

/// The position of a lock in the order of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// A thread that holds a lock takes only locks with a larger level.
    pub level: u8,
    /// The name that a panic shows.
    pub name: &'static str,
    /// True if a thread may hold two locks of this rank. Another lock, of a lower level, then orders the threads.
    pub shared: bool,
}

impl Rank {
    /// Returns a rank of which a thread holds at most one lock.
    pub const fn new(level: u8, name: &'static str) -> Rank {
        Rank { level, name, shared: false }
    }

    /// Returns a rank of which a thread may hold several locks.
    pub const fn several(level: u8, name: &'static str) -> Rank {
        Rank { level, name, shared: true }
    }
}

thread_local! {
    /// The ranks of the locks that this thread holds.
    static HELD: RefCell<Vec<Rank>> = const { RefCell::new(Vec::new()) };
}

/// A lock with a rank.
#[derive(Debug)]
pub struct RankedMutex<T> {
    rank: &'static Rank,
    inner: Mutex<T>,
}

impl<T> RankedMutex<T> {
    /// Makes a lock with this rank.
    pub fn new(rank: &'static Rank, value: T) -> Self {
        RankedMutex { rank, inner: Mutex::new(value) }
    }

    /// Waits for the lock, and takes the lock.
    ///
    /// # Panics
    /// If the checks are compiled in, and the thread holds a lock that must be taken after this lock.
    #[inline]
    pub fn lock(&self) -> RankedGuard<'_, T> {
        // The check comes before the wait: a wrong order panics, also if it would wait forever.
        let held = Held::begin(self.rank);
        RankedGuard { guard: self.inner.lock(), _held: held }
    }

    /// Returns the value. The borrow proves that no thread holds the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

/// Holds a ranked lock until the drop.
pub struct RankedGuard<'a, T> {
    guard: MutexGuard<'a, T>,
    /// Dropped after the guard.
    _held: Held,
}

impl<T> RankedGuard<'_, T> {
    /// Releases the lock, waits for a notification of `condvar` or until `limit` has passed, and takes the lock again.
    pub fn wait_for(&mut self, condvar: &Condvar, limit: Duration) {
        condvar.wait_for(&mut self.guard, limit);
    }
}

impl<T> Deref for RankedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for RankedGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// An entry of [`HELD`] until the drop. Empty if the checks are not compiled in.
struct Held {
    rank: &'static Rank,
}

impl Held {
    #[inline]
    fn begin(rank: &'static Rank) -> Held {
        if INVARIANTS {
            enter(rank);
        }
        Held { rank }
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        if INVARIANTS {
            leave(self.rank);
        }
    }
}

/// Removes the lock from the list of the thread.
fn leave(rank: &'static Rank) {
    let _ = HELD.try_with(|held| {
        let mut held = held.borrow_mut();
        if let Some(at) = held.iter().rposition(|own| *own == *rank) {
            held.remove(at);
        }
    });
}

/// Checks the order, and records the lock as held.
fn enter(rank: &'static Rank) {
    // A thread that is ending has no list: its destructors are not checked.
    let _ = HELD.try_with(|held| {
        let mut held = held.borrow_mut();
        let wrong = held.iter().find(|own| own.level > rank.level || **own == *rank && !rank.shared).copied();
        if let Some(own) = wrong {
            drop(held);
            panic!("the lock {} is taken while the thread holds the lock {}", rank.name, own.name);
        }
        held.push(*rank);
    });
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    static FIRST: Rank = Rank::new(1, "first");
    static SECOND: Rank = Rank::new(2, "second");
    static ROWS: Rank = Rank::several(3, "rows");

    #[test]
    fn locks_may_be_taken_in_the_order_of_their_ranks() {
        let (first, second) = (RankedMutex::new(&FIRST, 1), RankedMutex::new(&SECOND, 2));
        for _ in 0..2 {
            let a = first.lock();
            let b = second.lock();
            assert_eq!((*a, *b), (1, 2));
            // The locks may be released in any order.
            drop(a);
            drop(b);
        }
    }

    #[test]
    #[should_panic(expected = "the lock first is taken while the thread holds the lock second")]
    fn a_lock_in_the_wrong_order_panics_where_it_is_taken() {
        let (first, second) = (RankedMutex::new(&FIRST, 1), RankedMutex::new(&SECOND, 2));
        let _second = second.lock();
        let _first = first.lock();
    }

    #[test]
    #[should_panic(expected = "the lock first is taken while the thread holds the lock first")]
    fn two_locks_of_one_rank_are_refused() {
        let (one, other) = (RankedMutex::new(&FIRST, 1), RankedMutex::new(&FIRST, 1));
        let _one = one.lock();
        let _other = other.lock();
    }

    #[test]
    fn several_locks_of_a_shared_rank_may_be_taken() {
        let (one, other) = (RankedMutex::new(&ROWS, 1), RankedMutex::new(&ROWS, 1));
        let _one = one.lock();
        assert_eq!(*other.lock(), 1);
    }

    #[test]
    fn a_release_allows_an_earlier_lock_again() {
        let (first, second) = (RankedMutex::new(&FIRST, 1), RankedMutex::new(&SECOND, 2));
        drop(second.lock());
        assert_eq!(*first.lock(), 1);
    }
}
