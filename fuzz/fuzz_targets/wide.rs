//! Entities of any bytes.

#![no_main]

use format::wide;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(columns) = wide::decode(data) {
        let mut bytes = Vec::new();
        wide::encode(&columns, &mut bytes).expect("what reads can be written");
        assert_eq!(wide::decode(&bytes).expect("what we wrote reads"), columns);
    }
});
