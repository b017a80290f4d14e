use std::sync::Arc;

use base::SequenceNumber;
use base::key::{InternalOrder, ValueType, pack};
use base::order::Order;

use super::*;
use crate::arena::Arena;

fn entries(order: Order) -> Entries {
    Entries { arena: Arena::new(), order: InternalOrder::new(order), protection: 0, shows_keys: true }
}

fn add(tree: &Tree, entries: &Entries, hint: &mut Ref, key: &[u8], seq: u64) {
    let place = entries.store(key, pack(SequenceNumber::new(seq), ValueType::Value as u8), b"v").unwrap();
    // SAFETY: the entry was just stored in the entries of the tree.
    assert!(unsafe { tree.insert(entries, place, hint) }.unwrap());
}

/// Checks the invariants of all levels of a tree without writers. Returns the number of entries.
fn check(tree: &Tree, entries: &Entries) -> usize {
    let mut leftmost = tree.root();
    loop {
        let level = tree.node(entries, leftmost).level();
        assert_eq!(tree.node(entries, leftmost).low(), 0, "the leftmost node has no lower bound");
        let (mut place, mut before, mut count, mut nodes) = (leftmost, 0, 0, 0);
        while place != 0 {
            let node = tree.node(entries, place);
            let snap = node.snap();
            assert_eq!(node.level(), level);
            assert!(snap.len() > 0 || tree.nodes_on(0) == 1, "no node stays empty");
            if before != 0 {
                assert_eq!(node.prev(), before, "in a quiet tree the left neighbour is known");
            }
            check_items(entries, node, &snap);
            if snap.next != 0 {
                assert_eq!(tree.node(entries, snap.next).low(), snap.high, "bounds of neighbours meet");
            }
            count += snap.len();
            nodes += 1;
            (before, place) = (place, snap.next);
        }
        assert_eq!(tree.nodes_on(usize::from(level)), nodes);
        if level == 0 {
            assert_eq!(leftmost, tree.first);
            return count;
        }
        assert_eq!(tree.nodes_on(usize::from(level) - 1), count as u64, "every node is known one level up");
        let node = tree.node(entries, leftmost);
        leftmost = node.item(&node.snap(), 0);
    }
}

fn check_items(entries: &Entries, node: &Node, snap: &Snap) {
    let mut last: Option<(Ref, u32)> = None;
    for i in 0..snap.len() {
        let key = node.key_of(entries, node.item(snap, i));
        let head = node.head(snap, i);
        if key == 0 {
            assert!(i == 0 && node.low() == 0 && head == 0);
            continue;
        }
        let user_key = user_key_at(entries, key);
        assert!(user_key.starts_with(snap.prefix()), "{user_key:?} in {:?}", snap.prefix());
        assert_eq!(head, entries.head(user_key, snap.skip()));
        // SAFETY: the tree has no writers, and returned these entries.
        unsafe {
            if let Some((before, before_head)) = last {
                assert!(before_head <= head);
                assert!(entries.compare(before, &entries.target_of(key)).is_lt());
            }
            if node.low() != 0 {
                assert!(entries.compare(node.low(), &entries.target_of(key)).is_le());
            }
            if snap.next != 0 {
                assert!(entries.compare(key, &entries.target_of(snap.high)).is_lt());
            }
        }
        last = Some((key, head));
    }
}

fn scattered(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

#[test]
fn every_pattern_keeps_the_invariants() {
    let n: u64 = if cfg!(miri) { 40 } else { 20_000 };
    let long = "a beginning that is longer than a node can take off its keys/";
    type Pattern = Box<dyn Fn(u64) -> Vec<u8>>;
    let patterns: Vec<(&str, Pattern)> = vec![
        ("ascending", Box::new(|i| i.to_be_bytes().to_vec())),
        ("descending", Box::new(move |i| (n - i).to_be_bytes().to_vec())),
        ("ascending digits", Box::new(|i| format!("user{i:08}").into_bytes())),
        ("two ascending runs", Box::new(|i| format!("{}/{i:06}", i % 2).into_bytes())),
        ("scattered", Box::new(|i| scattered(i).to_be_bytes().to_vec())),
        ("scattered digits", Box::new(|i| format!("table/7/row/{:014}", scattered(i)).into_bytes())),
        ("long beginnings", Box::new(move |i| format!("{long}{:014}", scattered(i)).into_bytes())),
        ("ever longer", Box::new(|i| vec![b'x'; (i % 300) as usize + 1])),
        ("inwards", Box::new(move |i| if i % 2 == 0 { i } else { 2 * n - i }.to_be_bytes().to_vec())),
        ("outwards", Box::new(move |i| if i % 2 == 0 { n + i } else { n - i }.to_be_bytes().to_vec())),
        ("one key", Box::new(|_| b"k".to_vec())),
        ("few keys", Box::new(|i| format!("key{}", scattered(i) % 5).into_bytes())),
        ("short", Box::new(|i| scattered(i).to_be_bytes()[6..][..(i % 3) as usize].to_vec())),
    ];
    for order in [Order::Bytewise, Order::Reverse] {
        for (name, key) in &patterns {
            let entries = entries(order.clone());
            let tree = Tree::new(&entries);
            let mut hint = 0;
            for i in 0..n {
                add(&tree, &entries, &mut hint, &key(i), i + 1);
            }
            assert_eq!(check(&tree, &entries) as u64, n, "{name}");
            for i in (0..n).step_by(97) {
                let key = key(i);
                let target = entries.target(&key, pack(SequenceNumber::new(i + 1), ValueType::Value as u8));
                let found = tree.find(&entries, &target, Bound::AtOrAfter);
                let mut seen = None;
                tree.visit(&entries, found, |entry, _| {
                    seen = Some((entry.user_key().to_vec(), entry.trailer()));
                    false
                });
                assert_eq!(seen, Some((key.clone(), target.trailer)), "{name}");
            }
        }
    }
}

#[test]
fn ascending_and_descending_runs_fill_their_leaves() {
    let n: u64 = if cfg!(miri) { 160 } else { 20_000 };
    for descending in [false, true] {
        let entries = entries(Order::Bytewise);
        let tree = Tree::new(&entries);
        let mut hint = 0;
        for i in 0..n {
            let key = if descending { n - i } else { i };
            add(&tree, &entries, &mut hint, format!("user{key:012}").as_bytes(), i + 1);
        }
        let fill = n as f64 / (tree.nodes_on(0) * CAP as u64) as f64;
        assert!(fill > 0.8, "{fill}");
    }
}

#[test]
fn concurrent_threads_keep_the_invariants() {
    let per_thread: u64 = if cfg!(miri) { 60 } else { 20_000 };
    const THREADS: u64 = 4;
    let rounds = if cfg!(miri) { 1 } else { 4 };
    for round in 0..rounds {
        let shared = Arc::new(entries(Order::Bytewise));
        let tree = Arc::new(Tree::new(&shared));
        std::thread::scope(|scope| {
            for t in 0..THREADS {
                let (tree, entries) = (&tree, &shared);
                scope.spawn(move || {
                    let mut hint = 0;
                    for i in 0..per_thread {
                        let i = i * THREADS + t;
                        let key = match round {
                            0 => format!("{i:08}"),
                            1 => format!("user/{:014}", scattered(i)),
                            2 => format!("hot{}", i % 3),
                            _ => format!("{t}/{i:08}"),
                        };
                        add(tree, entries, &mut hint, key.as_bytes(), i + 1);
                    }
                });
            }
        });
        assert_eq!(check_loose(&tree, &shared) as u64, THREADS * per_thread);
    }
}

/// Checks only the invariants that readers rely on, like `check`, because neighbours may be known late here.
fn check_loose(tree: &Tree, entries: &Entries) -> usize {
    let (mut place, mut count) = (tree.first, 0);
    while place != 0 {
        let node = tree.node(entries, place);
        let snap = node.snap();
        check_items(entries, node, &snap);
        if snap.next != 0 {
            let next = tree.node(entries, snap.next);
            assert_eq!(next.low(), snap.high);
            // The nodes from `prev` of the right neighbour on must lead to this node.
            let mut left = next.prev();
            while tree.node(entries, left).snap().next != snap.next {
                left = tree.node(entries, left).snap().next;
                assert_ne!(left, 0, "a left neighbour that is not on the left");
            }
            assert_eq!(left, place);
        }
        count += snap.len();
        place = snap.next;
    }
    count
}
