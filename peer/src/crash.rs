//! Tells the crash of a thread of RocksDB from a crash of this program.
//!
//! Both engines share the process, so the exit status names only a signal. The handler of the signal reports RocksDB if both facts hold:
//!
//! ```text
//!  the name of the thread starts with "rocksdb:"      a thread for background jobs; both engines use these names
//!  the instruction is in the file of RocksDB's library  no code of this program, and no function that both engines call
//! ```
//! Every other crash counts as a crash of this program. Examples are the crash of a caller of RocksDB, a crash in a function
//! of the C library, and an abort. The handler changes only the report: the process still ends by the signal.

#[cfg(target_os = "linux")]
pub use self::linux::report_crashes;

/// The first word of the line that reports a crash of a thread of RocksDB. The name of the thread follows.
pub const CRASHED: &str = "C";

/// Does nothing: on this system, each crash counts as a crash of this program.
#[cfg(not(target_os = "linux"))]
pub fn report_crashes(_library: &std::path::Path) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use libc::{c_int, c_void, siginfo_t};

    use super::CRASHED;

    /// The signals of a fault of an instruction.
    const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
    /// The start of the names of the threads for background jobs.
    const PREFIX: &[u8] = b"rocksdb:";
    /// The length of a thread name in the kernel, with its last zero.
    const NAME_LEN: usize = 16;

    /// The addresses of the instructions of RocksDB's library.
    static LIBRARY: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

    /// Installs a signal handler. After this call, a crash of a background thread in this loaded library writes one line to standard output
    /// before the process ends: [`CRASHED`], and the name of the thread. The caller calls this function once, after the library is loaded
    /// and before its first thread starts.
    pub fn report_crashes(library: &Path) {
        let Some((begin, end)) = instructions_of(library) else { return };
        LIBRARY[0].store(begin, Ordering::Relaxed);
        LIBRARY[1].store(end, Ordering::Relaxed);
        for signal in SIGNALS {
            // SAFETY: all bytes of `sigaction` may be zero. The handler has the type that `SA_SIGINFO` requires, and calls only
            // functions that a handler may call. Both pointers are valid during the call, or null where null is allowed.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }

    /// Returns the range of the executable parts of a loaded file.
    #[allow(clippy::disallowed_methods, reason = "the address space of the rig itself")]
    fn instructions_of(file: &Path) -> Option<(usize, usize)> {
        let file = std::fs::canonicalize(file).ok()?;
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let parts = maps.lines().filter(|line| line.ends_with(&*file.to_string_lossy()));
        let parts = parts.filter_map(|line| {
            let mut words = line.split_whitespace();
            let (begin, end) = words.next()?.split_once('-')?;
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            words.next()?.contains('x').then_some((number(begin)?, number(end)?))
        });
        parts.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Writes the line if the facts name RocksDB, and ends the process by the signal.
    extern "C" fn handle(signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
        let mut name = [0u8; NAME_LEN];
        // SAFETY: the call writes at most 16 bytes, the length of the array.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        let at = instruction(context);
        let library = LIBRARY[0].load(Ordering::Relaxed)..LIBRARY[1].load(Ordering::Relaxed);
        if name.starts_with(PREFIX) && library.contains(&at) {
            let mut line = [0u8; NAME_LEN + 8];
            let mut len = 0;
            let name = name.iter().take_while(|byte| **byte != 0);
            for byte in CRASHED.as_bytes().iter().chain(b" ").chain(name).chain(b"\n") {
                line[len] = *byte;
                len += 1;
            }
            // SAFETY: the first `len` bytes of the array are readable. `write` may be called in a handler.
            unsafe { libc::write(libc::STDOUT_FILENO, line.as_ptr().cast(), len) };
        }
        // The signal is blocked in its handler. It comes again at the end of the handler, and then ends the process.
        // SAFETY: `raise` has no preconditions, and may be called in a handler.
        unsafe { libc::raise(signal) };
    }

    /// Returns the address of the instruction that caused the signal. 0 on other machines: then no crash is reported.
    fn instruction(context: *mut c_void) -> usize {
        // SAFETY: the third argument of a handler with `SA_SIGINFO` points to the `ucontext_t` of the interrupted thread.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        #[cfg(target_arch = "x86_64")]
        return context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        #[cfg(target_arch = "aarch64")]
        return context.uc_mcontext.pc as usize;
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        return 0;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
