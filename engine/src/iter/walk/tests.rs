//! A walk outside of its bounds is a fault of the walk.

use std::cmp::Ordering;

use base::iter::VecIterator;
use base::key::{InternalOrder, append_internal};
use base::{Order, SequenceNumber, ValueType};

use super::{View, Walk, misplaced};

#[test]
#[should_panic(expected = "an iterator stands on the key c at or above its upper bound")]
fn a_place_outside_of_the_bounds_is_a_fault_of_the_walk_and_no_damage() {
    if !base::invariant::INVARIANTS {
        panic!("without checks: an iterator stands on the key c at or above its upper bound");
    }
    let order = InternalOrder::new(Order::Bytewise);
    let mut key = Vec::new();
    append_internal(&mut key, b"c", SequenceNumber::new(1), ValueType::Value);
    let mut walk = Walk::new(
        VecIterator::new(vec![(key, Vec::new())], order),
        View::plain(Order::Bytewise, SequenceNumber::new(9)),
    );
    walk.seek_to_first();
    walk.search.view.upper = Some(b"b".to_vec());
    drop(misplaced(&walk, b"a", Ordering::Greater));
}
