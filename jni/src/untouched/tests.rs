//! Tests of handles without an object.

use super::*;

const COUNT: usize = if cfg!(miri) { 100 } else { 1000 };

fn make() -> Handle {
    Handle::new(String::from("a"))
}

/// Makes handles in a thread of its own: no other test issues places of the same words.
#[allow(clippy::disallowed_methods, reason = "the threads of a program")]
fn alone<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

#[test]
fn a_new_handle_has_no_object_until_it_is_touched() {
    let handle = new();
    assert!(is_compact(handle));
    assert_eq!(live(handle), Ok(Live::Untouched));
    let object = touch(handle, make).unwrap();
    assert_eq!(live(handle), Ok(Live::Touched(object)));
    assert_eq!(touch(handle, || panic!("the object exists")), Ok(object));
    close(handle);
    assert!(!object.is_live(), "the close of a handle closes its object");
}

#[test]
fn a_closed_handle_stays_closed() {
    let handles: Vec<Handle> = (0..COUNT).map(|_| new()).collect();
    assert!(handles.iter().step_by(3).all(|handle| touch(*handle, make).is_ok()));
    handles.iter().for_each(|handle| close(*handle));
    let others: Vec<Handle> = (0..COUNT).map(|_| new()).collect();
    for handle in &handles {
        assert_eq!(live(*handle), Err(Stale::Closed));
        assert_eq!(touch(*handle, make), Err(Stale::Closed));
        close(*handle);
    }
    assert!(others.iter().all(|handle| live(*handle) == Ok(Live::Untouched)));
    others.into_iter().for_each(close);
}

#[test]
fn numbers_that_no_call_made_are_closed() {
    for number in [-1, i64::MIN, i64::MIN | 1 << 32, i64::MIN | 0xffff_ffff, i64::MIN | 0x7fff_1234_5678] {
        let next = Handle::of(number ^ (1 << 40));
        assert!([Handle::of(number), next].iter().all(|handle| live(*handle).is_err()));
        close(next);
        assert_eq!(touch(next, make), Err(Stale::Closed));
    }
    let handle = new();
    let later = Handle::of(handle.long() + (1 << GENERATION_SHIFT));
    assert_eq!(live(later), Err(Stale::Closed));
    close(later);
    assert_eq!(live(handle), Ok(Live::Untouched));
    close(handle);
}

#[test]
fn places_of_a_word_that_are_not_issued_are_closed() {
    alone(|| {
        let first = new();
        let rest = PLACES - 1 - (first.long() as u32 % PLACES);
        for step in 1..=i64::from(rest) {
            assert_eq!(live(Handle::of(first.long() + step)), Err(Stale::Closed));
            close(Handle::of(first.long() + step));
            assert_eq!(touch(Handle::of(first.long() + step), make), Err(Stale::Closed));
        }
        let second = new();
        assert_eq!(live(second), Ok(Live::Untouched));
        [first, second].into_iter().for_each(close);
    });
}

#[test]
fn handles_made_and_closed_in_turn_need_no_more_words() {
    alone(|| {
        let words = |_| {
            let handle = new();
            close(handle);
            handle.long() as u32 >> PLACE_BITS
        };
        let count = if cfg!(miri) { 200 } else { 10_000 };
        let mut used: Vec<u32> = (0..count).map(words).collect();
        used.sort_unstable();
        used.dedup();
        assert!(used.len() <= 3, "{count} handles in turn used {} words", used.len());
    });
}

#[test]
fn handles_that_stay_open_need_half_a_byte_each() {
    alone(|| {
        let count = if cfg!(miri) { 1600 } else { 16_000 };
        let kept: Vec<Handle> = (0..count).map(|_| new()).collect();
        let mut words: Vec<u32> = kept.iter().map(|handle| handle.long() as u32 >> PLACE_BITS).collect();
        words.dedup();
        // Threads of other tests can leave words of which some places are issued.
        assert!(words.len() * 8 <= count / 2 + 1000, "{} words for {count} handles", words.len());
        kept.into_iter().for_each(close);
    });
}

#[test]
fn the_next_thread_issues_the_places_that_a_thread_left() {
    let left = alone(new);
    let next = Handle::of(left.long() + 1);
    // The word has the generation of `left` while `left` is open. A thread of another test may issue the place first.
    let is_issued = || {
        let (word, place) = find(next).unwrap();
        word.load(Ordering::Acquire) >> place.shift() & NOT_ISSUED != NOT_ISSUED
    };
    alone(|| {
        // The words of other tests may lie above the place that is left.
        let count = if cfg!(miri) { 3200 } else { 200_000 };
        let handles: Vec<Handle> = (0..count).take_while(|_| !is_issued()).map(|_| new()).collect();
        handles.into_iter().for_each(close);
    });
    assert!(
        is_issued() || left.long() as u32 % PLACES == PLACES - 1,
        "the places of an ended thread are lost"
    );
    close(left);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the threads of a program")]
fn touches_that_race_with_a_close_leave_no_object() {
    for _ in 0..if cfg!(miri) { 10 } else { 500 } {
        let handle = new();
        let objects: Vec<Handle> = std::thread::scope(|scope| {
            let touches: Vec<_> = (0..3).map(|_| scope.spawn(move || touch(handle, make))).collect();
            scope.spawn(move || close(handle));
            touches.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect()
        });
        assert!(objects.windows(2).all(|two| two[0] == two[1]), "a handle has one object");
        assert!(objects.iter().all(|object| !object.is_live()));
        assert_eq!(live(handle), Err(Stale::Closed));
        assert!(!TABLE.objects.lock().contains_key(&(handle.long() as u64)));
    }
}
