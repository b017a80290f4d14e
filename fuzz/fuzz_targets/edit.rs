//! An edit that reads is written and reads again to the same.

#![no_main]

use format::{annotate, edit::VersionEdit};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assert_eq!(annotate::edit(data).bytes, data);
    let Ok(mut edit) = VersionEdit::decode(data) else { return };
    let mut bytes = Vec::new();
    if edit.encode(0, &mut bytes).is_ok() {
        let again = VersionEdit::decode(&bytes).expect("what we wrote reads");
        edit.deleted_files.sort_unstable();
        edit.deleted_files.dedup();
        assert_eq!(again, edit);
    }
});
