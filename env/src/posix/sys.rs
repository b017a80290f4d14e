//! The system calls that `std` does not have, each a few safe lines around one call.

use std::cell::Cell;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::fs::{Pattern, WriteLife};

#[cfg(target_os = "linux")]
pub(super) const O_DIRECT: i32 = libc::O_DIRECT;
#[cfg(not(target_os = "linux"))]
pub(super) const O_DIRECT: i32 = 0;

fn check(code: libc::c_int) -> io::Result<()> {
    if code == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns the wall time in seconds since 1970, as the last tick of the system saw it. 0 if the system has no such clock.
/// Cost: a tenth of a read of the exact clock. With glibc, `time` takes a third of the coarse clock's instructions.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn wall_seconds() -> u64 {
    // SAFETY: with a null pointer, the call only returns the time.
    let seconds = unsafe { libc::time(std::ptr::null_mut()) };
    seconds.max(0) as u64
}

/// Returns the wall time in seconds since 1970, as the last tick of the system saw it. 0 if the system has no such clock.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn wall_seconds() -> u64 {
    #[cfg(target_os = "linux")]
    const CLOCK: libc::clockid_t = libc::CLOCK_REALTIME_COARSE;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: libc::clockid_t = libc::CLOCK_REALTIME;
    let mut t = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call writes one timespec to the pointer and keeps nothing.
    let code = unsafe { libc::clock_gettime(CLOCK, t.as_mut_ptr()) };
    if code != 0 {
        return 0;
    }
    // SAFETY: the call succeeded, so it has filled the value.
    let t = unsafe { t.assume_init() };
    t.tv_sec.max(0) as u64
}

/// Returns the processor time of this thread, in nanoseconds.
pub fn thread_cpu_nanos() -> u64 {
    let mut t = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call writes one timespec to the pointer and keeps nothing.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, t.as_mut_ptr()) };
    if code != 0 {
        return 0;
    }
    // SAFETY: the call succeeded, so it has filled the value.
    let t = unsafe { t.assume_init() };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

thread_local! {
    /// The context switches and the result of the last [`thread_wait_nanos`] of this thread.
    static LAST_WAIT: Cell<(Option<u64>, u64)> = const { Cell::new((None, 0)) };
}

/// Returns the time in which this thread was ready to run and waited for a processor, in nanoseconds. 0 if the system
/// does not report this time. Source: the second number of Linux's `schedstat`.
///
/// Cost: one system call. If the thread lost its processor since the last call, three more calls open, read and close the
/// file, which takes microseconds. A thread that kept its processor did not wait for one.
pub fn thread_wait_nanos() -> u64 {
    let switches = thread_switches();
    let (before, nanos) = LAST_WAIT.with(Cell::get);
    if switches.is_some() && switches == before {
        return nanos;
    }
    let nanos = read_wait_nanos();
    LAST_WAIT.with(|last| last.set((switches, nanos)));
    nanos
}

fn read_wait_nanos() -> u64 {
    let mut text = [0; 80];
    let read = File::open("/proc/thread-self/schedstat").and_then(|mut file| file.read(&mut text));
    let text = read.ok().and_then(|n| std::str::from_utf8(&text[..n]).ok()).unwrap_or_default();
    text.split_ascii_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns how often this thread lost or gave up its processor. `None` if the system does not count this for a thread.
fn thread_switches() -> Option<u64> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the call writes one `rusage` to the pointer and keeps nothing.
        let code = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        // SAFETY: an `rusage` consists of integers, for which zeros are a value, and the call may have filled it.
        let usage = unsafe { usage.assume_init() };
        (code == 0).then_some(usage.ru_nvcsw as u64 + usage.ru_nivcsw as u64)
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    None
}

/// Returns the seconds to add to universal time for the local time of the machine at `at_seconds`.
pub fn local_offset_seconds(at_seconds: u64) -> i64 {
    let at = at_seconds as libc::time_t;
    let mut tm = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are to live values of the right type; the call keeps neither.
    let out = unsafe { libc::localtime_r(&at, tm.as_mut_ptr()) };
    if out.is_null() {
        return 0;
    }
    // SAFETY: a `tm` of zeros is valid, and the call has filled it.
    let tm = unsafe { tm.assume_init() };
    // The field is a C `long`, which has fewer bits on other systems.
    #[allow(clippy::useless_conversion)]
    i64::from(tm.tm_gmtoff)
}

/// Returns the number of the calling thread, as RocksDB's info log shows it.
pub fn thread_id() -> u64 {
    // SAFETY: no arguments, cannot fail.
    (unsafe { libc::pthread_self() }) as u64
}

/// Returns the number of this process, for messages only.
pub fn process_id() -> u32 {
    std::process::id()
}

/// Returns the free memory of the C library's allocator to the system. Walks over all free chunks, and locks each arena in turn:
/// about a millisecond for 60 MiB. Does nothing for other allocators.
pub fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: the call takes a number, locks the data that it uses, and returns only pages without allocated memory.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Limits the number of arenas of the C library's allocator. After the limit is reached, a new thread shares an existing arena. The
/// limit is for the whole process, and only the first call has an effect. Does nothing for other allocators.
///
/// Each arena keeps the memory that was free in it at any time. With eight threads and a block cache of 52 MiB, 24 to 33 MiB were free
/// in all arenas, and 6 to 10 MiB in one arena.
pub fn limit_arenas(arenas: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: the call takes two numbers and stores the second number under the lock of the allocator.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, i32::try_from(arenas.max(1)).unwrap_or(i32::MAX));
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    let _ = arenas;
}

/// Returns 64 random bits of the system.
pub fn entropy() -> u64 {
    let mut bytes = [0; 8];
    if super::read::read_random_device(&mut bytes).is_err() {
        // Without the device (a bare chroot), use the keys of the standard hasher, which are random too.
        use std::hash::{BuildHasher, RandomState};
        return RandomState::new().hash_one(std::process::id());
    }
    u64::from_le_bytes(bytes)
}

/// Reads `length` bytes into `buffer`, in the place of its content. The buffer has fewer bytes afterwards if the file ends
/// before. Repeats interrupted and short calls.
pub(super) fn read_to(file: &File, offset: u64, length: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    #[cfg(not(target_os = "linux"))]
    use libc::{off_t as Offset, pread};
    #[cfg(target_os = "linux")]
    use libc::{off64_t as Offset, pread64 as pread};

    buffer.clear();
    buffer.reserve(length);
    while buffer.len() < length {
        let done = buffer.len();
        let room = &mut buffer.spare_capacity_mut()[..length - done];
        let at = offset.saturating_add(done as u64) as Offset;
        // SAFETY: the descriptor is open while `file` is borrowed. `room` is borrowed mutably; the call writes at most its
        // length of bytes there, reads none of them, and keeps no pointer.
        let got = unsafe { pread(file.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), at) };
        match usize::try_from(got) {
            Ok(0) => break,
            // SAFETY: the call has written the first `got` bytes of `room`, which begins at `done`. `room` ends inside of
            // the capacity, and `got` is at most its length.
            Ok(got) => unsafe { buffer.set_len(done + got) },
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
    Ok(())
}

/// The outcome of a read that does not wait for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoWait {
    /// The buffer is full.
    Read,
    /// A byte is not in the page cache, the file ends before, or the read failed.
    NotRead,
    /// The file system has no such read.
    NotSupported,
}

/// Fills the buffer from the page cache, without a wait for the device. Systems other than Linux with glibc have no such read.
pub(super) fn read_in_memory(file: &File, offset: u64, buffer: &mut [u8]) -> NoWait {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: the descriptor is open while `file` is borrowed. `part` is one live vector whose memory is `buffer`, which is
        // borrowed mutably; the call writes at most its length of bytes there and keeps no pointer.
        let got =
            unsafe { libc::preadv2(file.as_raw_fd(), &part, 1, offset as libc::off_t, libc::RWF_NOWAIT) };
        match usize::try_from(got) {
            Ok(got) if got == buffer.len() => NoWait::Read,
            Ok(_) => NoWait::NotRead,
            Err(_) => match io::Error::last_os_error().raw_os_error() {
                Some(libc::EOPNOTSUPP | libc::ENOSYS) => NoWait::NotSupported,
                _ => NoWait::NotRead,
            },
        }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    {
        let _ = (file, offset, buffer);
        NoWait::NotSupported
    }
}

/// Returns true if the file system is a tmpfs, which keeps its files in memory: a read then waits for no device.
pub(super) fn is_tmpfs(file: &File) -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        let mut s = MaybeUninit::<libc::statfs>::uninit();
        // SAFETY: the descriptor is open while `file` is borrowed, and the call writes one `statfs` to the pointer.
        if unsafe { libc::fstatfs(file.as_raw_fd(), s.as_mut_ptr()) } != 0 {
            return false;
        }
        // SAFETY: the call succeeded, so the value is written.
        unsafe { s.assume_init() }.f_type == libc::TMPFS_MAGIC
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    {
        let _ = file;
        false
    }
}

/// Passes advice to the system. Returns true if the system accepts the advice.
pub(super) fn advise(file: &File, offset: u64, length: u64, pattern: Pattern) -> bool {
    #[cfg(target_os = "linux")]
    {
        let advice = match pattern {
            Pattern::Normal => libc::POSIX_FADV_NORMAL,
            Pattern::Random => libc::POSIX_FADV_RANDOM,
            Pattern::Sequential => libc::POSIX_FADV_SEQUENTIAL,
            Pattern::WillNeed => libc::POSIX_FADV_WILLNEED,
            Pattern::DontNeed => libc::POSIX_FADV_DONTNEED,
        };
        // SAFETY: the descriptor is open while `file` is borrowed; no memory is passed.
        let code = unsafe {
            libc::posix_fadvise(file.as_raw_fd(), offset as libc::off_t, length as libc::off_t, advice)
        };
        code == 0
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, offset, length, pattern);
        false
    }
}

/// Reserves space without a change of the size. Returns false if the system cannot reserve space.
pub(super) fn allocate(file: &File, offset: u64, length: u64) -> bool {
    fallocate(file, offset, length, false)
}

/// Frees the space of a range without a change of the size.
pub(super) fn punch(file: &File, offset: u64, length: u64) -> bool {
    fallocate(file, offset, length, true)
}

fn fallocate(file: &File, offset: u64, length: u64, punch: bool) -> bool {
    #[cfg(target_os = "linux")]
    {
        let punch = if punch { libc::FALLOC_FL_PUNCH_HOLE } else { 0 };
        // SAFETY: the descriptor is open while `file` is borrowed; no memory is passed.
        let code = unsafe {
            libc::fallocate(
                file.as_raw_fd(),
                libc::FALLOC_FL_KEEP_SIZE | punch,
                offset as libc::off_t,
                length as libc::off_t,
            )
        };
        code == 0
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, offset, length, punch);
        false
    }
}

pub(super) fn range_sync(file: &File, offset: u64, length: u64, strict: bool) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let (offset, length, flags) = if strict {
            let wait = libc::SYNC_FILE_RANGE_WAIT_BEFORE;
            (0, offset + length, wait | libc::SYNC_FILE_RANGE_WRITE)
        } else {
            (offset, length, libc::SYNC_FILE_RANGE_WRITE)
        };
        // SAFETY: the descriptor is open while `file` is borrowed; no memory is passed.
        let outcome =
            check(unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, length as i64, flags) });
        match outcome {
            // Some file systems lack the call. The call promises no durability, so the error can be ignored.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::ESPIPE)) => Ok(()),
            other => other,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, offset, length, strict);
        Ok(())
    }
}

/// Gives the device the expected life of the data. Errors are ignored.
pub(super) fn set_write_life(file: &File, life: WriteLife) {
    #[cfg(target_os = "linux")]
    if life != WriteLife::NotSet {
        // Not in the libc crate: F_LINUX_SPECIFIC_BASE + 12.
        const F_SET_RW_HINT: libc::c_int = 1024 + 12;
        let hint = life as u64;
        // SAFETY: the descriptor is open while `file` is borrowed; the kernel reads one u64 from the
        // pointer during the call.
        unsafe { libc::fcntl(file.as_raw_fd(), F_SET_RW_HINT, &hint) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, life);
}

/// Returns the free bytes of the file system of `path`. Bytes that are reserved for the superuser count only if the
/// process runs as superuser.
pub(super) fn free_space(path: &Path) -> io::Result<u64> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let mut s = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `name` is a C string and `s` room for one statvfs, both alive during the call.
    check(unsafe { libc::statvfs(name.as_ptr(), s.as_mut_ptr()) })?;
    // SAFETY: the call succeeded, so it has filled the value.
    let s = unsafe { s.assume_init() };
    // SAFETY: no arguments, cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let blocks = if root { s.f_bfree } else { s.f_bavail };
    // The fields have fewer bits on other systems.
    #[allow(clippy::useless_conversion)]
    Ok(u64::from(s.f_bsize).saturating_mul(u64::from(blocks)))
}

fn whole_file_lock() -> libc::flock {
    // SAFETY: `flock` is a C struct of integers; all zeros is a value of it.
    let mut l: libc::flock = unsafe { std::mem::zeroed() };
    l.l_type = libc::F_WRLCK as _;
    l.l_whence = libc::SEEK_SET as _;
    l
}

/// Takes a write lock on the whole file without waiting.
pub(super) fn lock_whole(file: &File) -> io::Result<()> {
    let l = whole_file_lock();
    // SAFETY: the descriptor is open while `file` is borrowed; the call reads one flock.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &l) })
}

/// Returns the process that holds a lock on the file, or `None`.
pub(super) fn lock_holder(file: &File) -> Option<i32> {
    let mut l = whole_file_lock();
    // SAFETY: the descriptor is open while `file` is borrowed; the call reads and writes one flock.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &mut l) }).ok()?;
    (i32::from(l.l_type) != i32::from(libc::F_UNLCK as libc::c_short)).then_some(l.l_pid)
}

/// Returns the name of this machine; `None` if the system returns no name, or a name that is not UTF-8.
pub(super) fn host_name() -> Option<String> {
    let mut name = [0u8; 256];
    // SAFETY: the pointer and the length belong to one live array. The length excludes the last byte, so a zero byte
    // follows the name, even if the name is cut off.
    check(unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) }).ok()?;
    let len = name.iter().position(|byte| *byte == 0)?;
    String::from_utf8(name[..len].to_vec()).ok()
}

/// Lowers the priority of the calling thread: niceness 19, and with `io` the idle class of the disk. Errors are
/// ignored.
pub(crate) fn lower_thread_priority(io: bool) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: plain numbers in and out; on Linux `who` 0 of PRIO_PROCESS is the calling thread.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
        if io {
            const WHO_PROCESS: libc::c_long = 1;
            const CLASS_IDLE: libc::c_long = 3 << 13;
            // SAFETY: plain numbers in and out; `who` 0 is the calling thread.
            unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0 as libc::c_long, CLASS_IDLE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = io;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_processor_is_what_the_system_reports() {
        let mut compared = 0;
        for _ in 0..1000 {
            std::thread::yield_now();
            let before = thread_switches();
            let (waited, again, read) = (thread_wait_nanos(), thread_wait_nanos(), read_wait_nanos());
            if before.is_some() && before == thread_switches() {
                assert_eq!((waited, again), (read, read));
                compared += 1;
            }
        }
        assert!(
            compared > 0 || cfg!(any(not(target_os = "linux"), miri)),
            "the thread never kept its processor"
        );
    }
}
