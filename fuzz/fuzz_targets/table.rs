//! A whole table file of any bytes opens or is refused; what opens is scanned, searched and verified.

#![no_main]

use std::path::Path;
use std::sync::Arc;

use base::iter::InternalIterator;
use env::{Env, ReadHints};
use table::sst::{OpenOptions, ReadCtx, Reader};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let env = Env::memory(1);
    let path = Path::new("/000001.sst");
    if env.fs.write_all(path, data, false).is_err() {
        return;
    }
    let Ok(file) = env.fs.open_random(path, &ReadHints::default()) else { return };
    // Checksums are not checked, so that damage reaches the decoders behind them.
    let ctx = ReadCtx { verify_checksums: false, ..ReadCtx::default() };
    let Ok(reader) = Reader::open(file, data.len() as u64, &OpenOptions::default()) else { return };
    let reader = Arc::new(reader);
    let mut iter = reader.iter(&ctx);
    iter.seek_to_first();
    let mut left = 4 * data.len() + 64;
    while iter.valid() && left > 0 {
        let _ = (iter.key().len(), iter.value().len());
        iter.next();
        left -= 1;
    }
    let _ = (iter.status(), reader.range_tombstones().len(), reader.verify_checksums(&ctx));
});
