//! A directory as one input of the fuzzer. A file is stored as the length of its name (1 byte), its name,
//! the length of its content (3 bytes, little-endian) and its content. A length past the end of the input
//! takes the remaining bytes.

pub fn write<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        out.push(name.len() as u8);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes()[..3]);
        out.extend_from_slice(bytes);
    }
    out
}

/// Reads an archive. Skips names that are no plain file names.
pub fn read(mut bytes: &[u8]) -> Vec<(&str, &[u8])> {
    let mut out = Vec::new();
    while let Some((&name_len, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at(rest.len().min(usize::from(name_len)));
        let Some((len, rest)) = rest.split_first_chunk::<3>() else { break };
        let len = usize::from(len[0]) | usize::from(len[1]) << 8 | usize::from(len[2]) << 16;
        let (content, rest) = rest.split_at(rest.len().min(len));
        if let Ok(name) = std::str::from_utf8(name)
            && !name.is_empty()
            && !name.contains(['/', '\0'])
            && name != "."
            && name != ".."
        {
            out.push((name, content));
        }
        bytes = rest;
    }
    out
}
