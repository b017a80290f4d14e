//! Tests the publishing protocol of a node under all schedules, and under all values that the memory model
//! allows a load to return. `RUSTFLAGS='--cfg loom' LOOM_MAX_PREEMPTIONS=3 cargo test --release -p
//! ironstone-mem --lib schedules`

use loom::sync::Arc;
use loom::thread;

use base::key::InternalOrder;

use super::node::Node;
use crate::arena::Arena;
use crate::rep::entry::Entries;

fn place(node: &Node, position: usize, item: u32) {
    let locked = node.lock();
    locked.place(&node.snap(), position, item, item);
}

/// Returns the items of the node, or `None` if a writer changed the node during the read.
fn read(node: &Node) -> Option<Vec<u32>> {
    let snap = node.snap();
    let items: Vec<(u32, u32)> =
        (0..snap.len()).map(|i| (node.head(&snap, i), node.item(&snap, i))).collect();
    node.unchanged(snap.state).then(|| {
        assert!(
            items.iter().all(|(head, item)| head == item),
            "a head belongs to the item of another key: {items:?}"
        );
        items.iter().map(|i| i.1).collect()
    })
}

#[test]
fn a_reader_sees_one_state_of_a_node_that_fills() {
    loom::model(|| {
        let node = Arc::new(Node::explored());
        let writer = {
            let node = node.clone();
            thread::spawn(move || {
                place(&node, 0, 10);
                place(&node, 0, 5);
                place(&node, 1, 7);
            })
        };
        if let Some(items) = read(&node) {
            assert!([&[][..], &[10], &[5, 10], &[5, 7, 10]].contains(&&items[..]), "{items:?}");
        }
        writer.join().unwrap();
        assert_eq!(read(&node), Some(vec![5, 7, 10]));
    });
}

#[test]
fn a_reader_sees_one_state_of_a_node_that_is_split_and_reuses_slots() {
    loom::model(|| {
        let entries = Entries {
            arena: Arena::new(),
            order: InternalOrder::new(base::Order::Bytewise),
            protection: 0,
            shows_keys: true,
        };
        let node = Arc::new(Node::explored());
        place(&node, 0, 5);
        place(&node, 1, 8);
        let writer = {
            let node = node.clone();
            thread::spawn(move || {
                {
                    let locked = node.lock();
                    locked.cut(&entries, &node.snap(), 1, 9, 0);
                }
                place(&node, 0, 3);
            })
        };
        if let Some(items) = read(&node) {
            assert!([&[5, 8][..], &[5], &[3, 5]].contains(&&items[..]), "{items:?}");
        }
        writer.join().unwrap();
        assert_eq!(read(&node), Some(vec![3, 5]));
    });
}

#[test]
fn two_writers_exclude_each_other() {
    loom::model(|| {
        let node = Arc::new(Node::explored());
        let other = {
            let node = node.clone();
            thread::spawn(move || place(&node, 0, 1))
        };
        {
            let locked = node.lock();
            let snap = node.snap();
            locked.place(&snap, snap.len(), 2, 2);
        }
        other.join().unwrap();
        assert_eq!(read(&node), Some(vec![1, 2]));
    });
}
