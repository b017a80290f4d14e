//! A compressed payload of any bytes gives a block or an error, and no more memory than it may ask for.

#![no_main]

use compress::Compression;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&kind, payload)) = data.split_first() else { return };
    let Ok(kind) = Compression::from_byte(kind) else { return };
    // The announced length is bounded by the kind's largest expansion; huge but possible ones are left out.
    if matches!(compress::uncompressed_len(kind, payload), Ok(len) if len <= 1 << 24) {
        let _ = compress::decompress(kind, payload, None);
    }
});
