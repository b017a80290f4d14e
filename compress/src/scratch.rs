//! The output of an encoder that writes into a slice.
//!
//! Such an encoder needs room for the longest output. If the encoder wrote into the payload, the room would be cleared
//! again for each block, because the payload is cut to the length of its content.

/// Room of more bytes is freed before the next block.
const KEPT_BYTES: usize = 1 << 20;

/// Room that is cleared only once.
#[derive(Default)]
pub(crate) struct Scratch(Vec<u8>);

impl Scratch {
    /// Returns `len` bytes with any content.
    pub(crate) fn room(&mut self, len: usize) -> &mut [u8] {
        if self.0.len() < len || self.0.len() > KEPT_BYTES.max(len) {
            // New memory of the system is zero, and the allocator knows this. Growing would copy the content.
            self.0 = vec![0; len];
        }
        &mut self.0[..len]
    }

    /// Returns the bytes as a vector, for an encoder that makes its own room.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

/// Appends an output to `payload`, and returns true, if `payload` then has at most `limit` bytes.
pub(crate) fn append(payload: &mut Vec<u8>, output: &[u8], limit: usize) -> bool {
    let is_small = payload.len() + output.len() <= limit;
    if is_small {
        payload.extend_from_slice(output);
    }
    is_small
}
