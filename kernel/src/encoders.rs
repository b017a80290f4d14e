//! The tests of the encoders of LZ4 and Snappy: drawn texts of all size classes.

use crate::decoders::chance;

/// Draws a text of noise, of few different bytes, of words, of runs, or of far copies.
pub(crate) fn drawn_text(state: &mut u64, len: usize) -> Vec<u8> {
    let shape = chance(state) % 5;
    let mut text = Vec::with_capacity(len + 1000);
    while text.len() < len {
        let written = text.len();
        match shape {
            0 => text.push(chance(state) as u8),
            1 => text.push(chance(state) as u8 % 3),
            2 => text.extend_from_slice(format!("word{} ", chance(state) % 500).as_bytes()),
            3 => text.extend(std::iter::repeat_n(chance(state) as u8 % 2, 1 + chance(state) % 700)),
            _ if written < 100 => text.push(chance(state) as u8),
            _ => {
                let from = written - 1 - chance(state) % written.min(70_000);
                let end = written.min(from + 4 + chance(state) % 300);
                text.extend_from_within(from..end);
                text.extend((0..chance(state) % 20).map(|at| (at * 7) as u8));
            }
        }
    }
    text.truncate(len);
    text
}

/// Draws lengths, most of them near the limits of the size classes and of the tags.
fn lens(state: &mut u64) -> Vec<usize> {
    let mut lens: Vec<usize> = (0..60).collect();
    if cfg!(miri) {
        lens.push(400);
        return lens;
    }
    for around in [270, 8 << 10, 64 << 10] {
        lens.extend(around - 20..around + 20);
    }
    lens.extend((0..40).map(|_| chance(state) % 300_000));
    lens
}

/// Encodes into an output of `room` bytes.
pub(crate) fn into_room(
    encode: &mut dyn FnMut(&[u8], &mut [u8]) -> Option<usize>,
    text: &[u8],
    room: usize,
) -> Option<Vec<u8>> {
    let mut output = vec![0xAA; room];
    let len = encode(text, &mut output)?;
    output.truncate(len);
    Some(output)
}

/// Encodes drawn texts with one encoder, and each text with a new encoder too. `decode_slowly` follows the format.
pub(crate) fn every_text_comes_back<E: FnMut(&[u8], &mut [u8]) -> Option<usize>>(
    make: &mut dyn FnMut() -> E,
    len_max: fn(usize) -> usize,
    decode_slowly: impl Fn(&[u8]) -> Vec<u8>,
    decode: fn(&[u8], &mut [u8]) -> Option<usize>,
) {
    let mut state = 5;
    let mut shared = make();
    for len in lens(&mut state) {
        let text = drawn_text(&mut state, len);
        let stream = into_room(&mut shared, &text, len_max(len)).expect("room for each output");
        assert!(decode_slowly(&stream) == text, "{len} bytes");
        let mut back = vec![0; len];
        assert_eq!(decode(&stream, &mut back), Some(len));
        assert!(back == text, "{len} bytes");
        assert!(
            into_room(&mut make(), &text, len_max(len)) == Some(stream),
            "{len} bytes give another output"
        );
    }
}

/// Encodes drawn texts into outputs of all lengths: the output is the same, or `None` if it has no room.
pub(crate) fn short_outputs_are_refused(
    encode: &mut dyn FnMut(&[u8], &mut [u8]) -> Option<usize>,
    len_max: fn(usize) -> usize,
) {
    let mut state = 11;
    for len in [0, 1, 12, 13, 30, 100, 300, 600] {
        for _ in 0..if cfg!(miri) { 1 } else { 20 } {
            let text = drawn_text(&mut state, len);
            let stream = into_room(encode, &text, len_max(len)).expect("room for each output");
            for room in 0..len_max(len) {
                let expected = (room >= stream.len()).then_some(&stream);
                assert_eq!(into_room(encode, &text, room).as_ref(), expected, "{room} of {stream:?}");
            }
        }
    }
}
