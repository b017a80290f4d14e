//! OPTIONS text of any kind.

#![no_main]

use format::options_ini;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = options_ini::parse(text);
    let _ = options_ini::parse_map(text);
    let _ = options_ini::parse_list(text, ':');
});
