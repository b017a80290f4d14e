//! Any tail of a file gives a footer or an error; a metaindex and properties of any bytes likewise.

#![no_main]

use format::footer::Footer;
use format::metaindex::Metaindex;
use format::properties::Properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = Footer::decode(data, data.len() as u64);
    let _ = Metaindex::decode(data);
    let _ = Properties::decode(data, 0);
});
