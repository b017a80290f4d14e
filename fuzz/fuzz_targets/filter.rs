//! A filter of any bytes answers any hash; a batch answers as the single queries do.

#![no_main]

use kernel::filter::Filter;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let filter = Filter::parse(data);
    let hashes: Vec<u64> = data.chunks(8).take(64).map(|c| filter.hash(c)).collect();
    let mut answers = vec![false; hashes.len()];
    filter.may_match_batch(data, &hashes, &mut answers);
    for (hash, answer) in hashes.iter().zip(answers) {
        assert_eq!(filter.may_match(data, *hash), answer);
    }
});
