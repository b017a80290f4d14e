//! Many small inputs in one file: for each its length (4 bytes, little-endian), then its bytes.

pub fn pack<'a>(inputs: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for input in inputs {
        out.extend_from_slice(&(input.len() as u32).to_le_bytes());
        out.extend_from_slice(input);
    }
    out
}

/// Returns the inputs. An incomplete input at the end is skipped.
pub fn unpack(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut out = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk::<4>() {
        let Some((input, rest)) = rest.split_at_checked(u32::from_le_bytes(*len) as usize) else { break };
        out.push(input);
        bytes = rest;
    }
    out
}
