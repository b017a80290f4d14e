//! A log of any bytes comes to an end.

#![no_main]

use format::wal::{Item, Reader, ReaderOptions, diagnose};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut reader = Reader::new(data, ReaderOptions { log_number: 4, ..ReaderOptions::default() });
    for _ in 0..=data.len() + 1 {
        match reader.next() {
            Ok(Item::EndOfLog) => return,
            Ok(Item::Corruption(_) | Item::TornTail { .. }) => {
                diagnose(reader.damaged());
            }
            Ok(_) => {}
            Err(e) => panic!("a slice cannot fail: {e}"),
        }
    }
    panic!("the log came to no end");
});
