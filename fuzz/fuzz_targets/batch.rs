//! A batch of any bytes gives records or an error; whole ones are annotated.

#![no_main]

use format::{annotate, batch::Batch};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(batch) = Batch::new(data) {
        let _ = batch.verify();
    }
    assert_eq!(annotate::batch(data).bytes, data);
});
