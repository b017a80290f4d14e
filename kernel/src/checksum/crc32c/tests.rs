use super::*;

/// Computes the CRC bit by bit, according to the definition.
fn plain(data: &[u8]) -> u32 {
    let mut state = !0u32;
    for &byte in data {
        state ^= u32::from(byte);
        for _ in 0..8 {
            state = (state >> 1) ^ (gf::POLY & 0u32.wrapping_sub(state & 1));
        }
    }
    !state
}

fn noise(len: usize) -> Vec<u8> {
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    (0..len)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u8
        })
        .collect()
}

#[test]
fn known_answers() {
    assert_eq!(value(b""), 0);
    assert_eq!(value(b"123456789"), 0xe306_9283);
    assert_eq!(value(&[0; 32]), 0x8a91_36aa);
    assert_eq!(value(&[0xff; 32]), 0x62a8_ab43);
    assert_eq!(mask(value(b"a")), 0x28e4_6e78);
    assert_eq!(unmask(mask(0xdead_beef)), 0xdead_beef);
}

#[test]
fn scalar_is_the_definition() {
    let data = noise(if cfg!(miri) { 40 } else { 300 });
    for len in 0..data.len() {
        assert_eq!(!scalar::update(!0, &data[..len]), plain(&data[..len]), "length {len}");
    }
}

#[test]
fn every_path_equals_scalar() {
    let data = noise(if cfg!(miri) { 90 } else { 70_000 });
    let step = |len: usize| if len < 1200 { 1 } else { 997 };
    let mut len = 0;
    while len < data.len() {
        let part = &data[len % 13..][..len - len.min(len % 13)];
        let expected = scalar::update(0x1234_5678, part);
        assert_eq!(update(0x1234_5678, part), expected, "dispatched, length {}", part.len());
        for (name, path) in paths() {
            assert_eq!(path(0x1234_5678, part), expected, "{name}, length {}", part.len());
        }
        len += step(len);
    }
}

#[test]
fn extend_continues_and_combine_joins() {
    let len = if cfg!(miri) { 200 } else { 5000 };
    let data = noise(len);
    for cut in [0, 1, 7, 8, 100, len / 2, len - 1, len] {
        let (a, b) = data.split_at(cut);
        assert_eq!(extend(value(a), b), value(&data));
        assert_eq!(combine(value(a), value(b), b.len() as u64), value(&data));
    }
}
