//! Names that parse print to names that parse alike.

#![no_main]

use format::names::{FileName, parse_current, parse_identity};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = parse_current(data);
    let _ = parse_identity(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(name) = FileName::parse(text) {
        assert_eq!(FileName::parse(&name.to_string()), Some(name));
    }
});
