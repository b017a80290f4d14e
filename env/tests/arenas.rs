//! The limit of the allocator's arenas. The limit is for the whole process, so the test has its own program.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

use std::sync::Barrier;

use ironstone_env as env;

/// Returns the number of arenas in the report of the allocator.
fn arenas() -> usize {
    let path = std::env::temp_dir().join(format!("ironstone-arenas-{}", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: both strings end with a zero byte; the file is open until `fclose`, and nothing uses it afterwards.
    unsafe {
        let file = libc::fopen(name.as_ptr(), c"w".as_ptr());
        assert!(!file.is_null());
        assert_eq!(libc::malloc_info(0, file), 0);
        libc::fclose(file);
    }
    let report = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    report.matches("<heap nr=").count()
}

#[test]
fn threads_after_the_limit_share_the_arenas_that_exist() {
    let before = arenas();
    env::posix::limit_arenas(1);
    // The threads allocate concurrently. Without the limit, each of the first threads would get its own arena.
    let barrier = Barrier::new(6);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let barrier = &barrier;
            scope.spawn(move || {
                let memory = vec![thread; 4000];
                barrier.wait();
                drop(memory);
            });
        }
    });
    assert_eq!(arenas(), before);
}
