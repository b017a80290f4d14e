use base::order::Order;

use super::*;

fn anchors(bytes: &[(u8, u64)]) -> Vec<Anchor> {
    bytes.iter().map(|&(k, bytes)| Anchor { user_key: vec![k], bytes }).collect()
}

#[test]
fn pieces_are_about_equal() {
    let order = InternalOrder::new(Order::Bytewise);
    let even = anchors(&[(b'a', 10), (b'b', 10), (b'c', 10), (b'd', 10)]);
    assert_eq!(split(&order, even.clone(), 2, 0), [b"c"]);
    assert_eq!(split(&order, even.clone(), 4, 0), [b"b", b"c", b"d"]);
    assert_eq!(split(&order, even.clone(), 1, 0).len(), 0);
    assert_eq!(split(&order, even, 4, 40).len(), 0);
    assert_eq!(split(&order, Vec::new(), 4, 0).len(), 0);
}

#[test]
fn anchors_of_one_key_count_together() {
    let order = InternalOrder::new(Order::Bytewise);
    let doubled = anchors(&[(b'b', 10), (b'a', 10), (b'b', 10), (b'a', 10)]);
    assert_eq!(split(&order, doubled, 2, 0), [b"b"]);
}
