//! The test of the decoders of LZ4 and Snappy: drawn streams, some of them damaged, against a slow decoder.

/// What a decoder may do with the bytes of the output past the decoded length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    Untouched,
    Free,
}

/// Draws the next number.
pub(crate) fn chance(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// Flips a bit of one stream of eight, and shortens one stream of sixteen.
pub(crate) fn damage_some(stream: &mut Vec<u8>, state: &mut u64) {
    if chance(state).is_multiple_of(8) {
        let at = chance(state) % stream.len();
        stream[at] ^= 1 << (chance(state) % 8);
    }
    if chance(state).is_multiple_of(16) {
        stream.truncate(chance(state) % stream.len());
    }
}

/// Decodes drawn streams into outputs that are exact, longer, and too short. `decode_slowly` says what the answer is.
pub(crate) fn every_stream_decodes(
    stream: fn(&mut u64) -> Vec<u8>,
    decode: fn(&[u8], &mut [u8]) -> Option<usize>,
    decode_slowly: fn(&[u8], usize) -> Option<Vec<u8>>,
    past: Past,
) {
    let mut state = 3;
    let rounds = if cfg!(miri) { 60 } else { 20_000 };
    let mut whole = 0;
    for _ in 0..rounds {
        let stream = stream(&mut state);
        let full = decode_slowly(&stream, usize::MAX / 2).map_or(50, |out| out.len());
        for room in [full, full + 5, full + 100, full.saturating_sub(1)] {
            let expected = decode_slowly(&stream, room);
            whole += usize::from(expected.is_some());
            let mut out = vec![0xAA; room];
            let len = decode(&stream, &mut out);
            assert_eq!(len, expected.as_ref().map(Vec::len), "{stream:?} in {room}");
            let Some(expected) = expected else { continue };
            assert_eq!(out[..expected.len()], expected[..]);
            if past == Past::Untouched {
                assert!(out[expected.len()..].iter().all(|byte| *byte == 0xAA), "{stream:?} in {room}");
            }
        }
    }
    assert!(whole > rounds, "{whole} of {rounds} streams are well-formed");
}
