//! Tests of the table of handles.

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
fn a_close_as_another_type_keeps_the_object() {
    let handles = [Handle::new(7_u64), Handle::new(String::from("a"))];
    handles.iter().for_each(|handle| handle.close_as::<u32>());
    assert!(handles[0].is_of_type::<u64>() && handles[1].is_of_type::<String>());
    handles.iter().for_each(|handle| handle.close_as::<u64>());
    assert!(!handles[0].is_live() && handles[1].is_live());
    handles.iter().for_each(|handle| handle.close_as::<String>());
    assert!(!handles[1].is_live());
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
fn a_close_returns_an_object_that_no_call_uses() {
    let object = Arc::new(5_u64);
    let handles = [Handle::new(object.clone()), Handle::new(object.clone())];
    assert!(handles[0].close_into::<Arc<String>>().is_none() && handles[0].is_live());
    assert!(handles[0].close_into::<Arc<u64>>().is_some_and(|closed| Arc::ptr_eq(&closed, &object)));
    assert!(handles[0].close_into::<Arc<u64>>().is_none());
    let running = handles[1].shared::<Arc<u64>>().unwrap();
    assert!(handles[1].close_into::<Arc<u64>>().is_none() && !handles[1].is_live());
    assert_eq!(Arc::strong_count(&object), 2, "the running call still uses the object");
    drop(running);
    assert_eq!(Arc::strong_count(&object), 1);
    let large = Handle::new([7_u64; 9]);
    assert_eq!(large.close_into::<[u64; 9]>(), Some([7; 9]), "an object in a box");
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
    let (rounds, calls) = if cfg!(miri) { (5, 5) } else { (200, 50) };
    for _ in 0..rounds {
        let handle = Handle::new((dropped.clone(), 5_u64));
        std::thread::scope(|scope| {
            for thread in 0..3 {
                scope.spawn(move || {
                    for _ in 0..calls {
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
