//! `codecs OPERATION`: encodes or decodes blocks of text many times, for `.ci/instructions`, which counts the instructions of one block.
//!
//! ```text
//! lz4-encode lz4-decode snappy-encode snappy-decode
//! ```
//! The blocks come from one seed. Only the function [`measured`] is counted.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;

use ironstone_kernel::{lz4, snappy};

const ROUNDS: usize = 2000;
const BLOCK: usize = 16 << 10;
/// The number of different blocks of text.
const BLOCKS: usize = 50;

/// Runs the rounds of an operation. Only the instructions of this function are counted.
#[inline(never)]
fn measured(mut operation: impl FnMut(usize)) {
    (0..ROUNDS).for_each(&mut operation);
}

/// Returns blocks of a text: 500 words of 2 to 9 letters, of which a few are frequent.
fn text() -> Vec<Vec<u8>> {
    let mut state = 7u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut words = Vec::new();
    for _ in 0..500 {
        let len = 2 + below(8);
        let word: Vec<u8> = (0..len).map(|_| b"etaoinshrdlcumwfgypb"[below(20) as usize]).collect();
        words.push(word);
    }
    let mut block = || {
        let mut block = Vec::with_capacity(BLOCK + 16);
        while block.len() < BLOCK {
            // The product of two numbers is small more often than large.
            let at = below(500) * below(500) / 500;
            block.extend_from_slice(&words[at as usize]);
            block.extend_from_slice(if below(12) == 0 { b". " } else { b" " });
        }
        block.truncate(BLOCK);
        block
    };
    (0..BLOCKS).map(|_| block()).collect()
}

/// Encodes or decodes the first slice into the second slice. Returns the length.
type Codec<'a> = &'a mut dyn FnMut(&[u8], &mut [u8]) -> Option<usize>;

/// Counts the encoding or, with `decodes`, the decoding of blocks.
fn run(encode: Codec<'_>, decode: Codec<'_>, decodes: bool) {
    let texts = text();
    let mut room = vec![0; 2 * BLOCK];
    let mut streams = Vec::new();
    for text in &texts {
        let len = encode(text, &mut room).expect("enough room");
        assert!((BLOCK / 4..BLOCK / 5 * 4).contains(&len), "{len} bytes: the block is no text");
        streams.push(room[..len].to_vec());
    }
    if decodes {
        measured(|i| assert_eq!(decode(black_box(&streams[i % BLOCKS]), &mut room), Some(BLOCK)));
        assert_eq!(room[..BLOCK], texts[(ROUNDS - 1) % BLOCKS]);
    } else {
        measured(|i| {
            let len = encode(black_box(&texts[i % BLOCKS]), &mut room);
            assert_eq!(len, Some(streams[i % BLOCKS].len()));
        });
    }
}

fn main() {
    // `cargo bench` passes `--bench`, and `cargo test` passes nothing.
    let Some(operation) = std::env::args().skip(1).find(|argument| !argument.starts_with('-')) else {
        return;
    };
    let decodes = operation.ends_with("-decode");
    match operation.as_str() {
        "lz4-encode" | "lz4-decode" => {
            let mut encoder = lz4::Encoder::new(1);
            run(&mut |text, out| encoder.encode(text, out), &mut lz4::decode, decodes);
        }
        "snappy-encode" | "snappy-decode" => {
            let mut encoder = snappy::Encoder::default();
            run(&mut |text, out| encoder.encode(text, out), &mut snappy::decode, decodes);
        }
        other => panic!("{other} is not one of the operations"),
    }
    println!("{ROUNDS}");
}
