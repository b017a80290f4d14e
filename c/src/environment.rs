//! Environments: files and threads of a database; paths; options of files.

use std::path::Path;
use std::sync::Arc;

use engine::options::DbPath;
use env::rng::SeededRng;
use env::{Env, LoweredPriority, Pool};

use crate::abi::rejected::has_rejected;
use crate::abi::{Owned, Rejected};
use crate::rate_limiter::rocksdb_ratelimiter_t;

/// An environment that databases share.
pub struct rocksdb_env_t {
    pub(crate) env: Env,
}

/// A directory for SST files, and the target size of the files in the directory, in bytes.
pub struct rocksdb_dbpath_t {
    pub(crate) path: DbPath,
}

/// Options of the files of SST file writers and traces.
pub struct rocksdb_envoptions_t {
    use_mmap_reads: bool,
    use_mmap_writes: bool,
    use_direct_reads: bool,
    use_direct_writes: bool,
    allow_fallocate: bool,
    fd_cloexec: bool,
    bytes_per_sync: u64,
    strict_bytes_per_sync: bool,
    fallocate_with_keep_size: bool,
    compaction_readahead_size: usize,
    writable_file_max_buffer_size: usize,
    rejected: Rejected,
}
has_rejected!(rocksdb_envoptions_t);

impl Default for rocksdb_envoptions_t {
    /// Returns RocksDB's defaults.
    fn default() -> Self {
        rocksdb_envoptions_t {
            use_mmap_reads: false,
            use_mmap_writes: false,
            use_direct_reads: false,
            use_direct_writes: false,
            allow_fallocate: true,
            fd_cloexec: true,
            bytes_per_sync: 0,
            strict_bytes_per_sync: false,
            fallocate_with_keep_size: true,
            compaction_readahead_size: 2 << 20,
            writable_file_max_buffer_size: 1 << 20,
            rejected: Rejected::default(),
        }
    }
}

lifetime!(rocksdb_envoptions_t, rocksdb_envoptions_create, rocksdb_envoptions_destroy);

accessors! {
    rocksdb_envoptions_t, "rocksdb_envoptions_", |o|;
    use_mmap_reads: flag => o.use_mmap_reads;
    use_mmap_writes: flag => o.use_mmap_writes;
    use_direct_reads: flag => o.use_direct_reads;
    use_direct_writes: flag => o.use_direct_writes;
    allow_fallocate: flag => o.allow_fallocate;
    fd_cloexec: flag => o.fd_cloexec;
    bytes_per_sync: u64 => o.bytes_per_sync;
    strict_bytes_per_sync: flag => o.strict_bytes_per_sync;
    fallocate_with_keep_size: flag => o.fallocate_with_keep_size;
    compaction_readahead_size: usize => o.compaction_readahead_size;
    writable_file_max_buffer_size: usize => o.writable_file_max_buffer_size;
}

fn set_threads(env: &rocksdb_env_t, pool: Pool, count: i32) {
    env.env.executor.set_threads(pool, usize::try_from(count).unwrap_or(0));
}

fn threads(env: &rocksdb_env_t, pool: Pool) -> i32 {
    i32::try_from(env.env.executor.threads(pool)).unwrap_or(i32::MAX)
}

c_api! {
    /// Returns a handle of the environment of the machine. All handles share its threads.
    fn rocksdb_create_default_env() -> Owned<rocksdb_env_t> {
        Owned(rocksdb_env_t { env: Env::posix() })
    }

    /// Creates an environment whose files are in memory. The files are freed with the last handle that uses the environment.
    fn rocksdb_create_mem_env() -> Owned<rocksdb_env_t> {
        let real = Env::posix();
        let fs = Arc::new(env::memory::MemoryFs::new(real.clock.clone()));
        Owned(rocksdb_env_t { env: Env { fs, rng: Arc::new(SeededRng::real()), ..real } })
    }

    /// Destroys the handle. Databases that use the environment keep it. Accepts null.
    fn rocksdb_env_destroy(env: own rocksdb_env_t) {
        drop(env)
    }

    /// Sets the threads for compactions.
    fn rocksdb_env_set_background_threads(env: mut rocksdb_env_t, count: i32) {
        set_threads(env, Pool::Low, count);
    }

    fn rocksdb_env_get_background_threads(env: in rocksdb_env_t) -> i32 {
        threads(env, Pool::Low)
    }

    /// Sets the threads for compactions.
    fn rocksdb_env_set_low_priority_background_threads(env: mut rocksdb_env_t, count: i32) {
        set_threads(env, Pool::Low, count);
    }

    fn rocksdb_env_get_low_priority_background_threads(env: in rocksdb_env_t) -> i32 {
        threads(env, Pool::Low)
    }

    /// Sets the threads for flushes.
    fn rocksdb_env_set_high_priority_background_threads(env: mut rocksdb_env_t, count: i32) {
        set_threads(env, Pool::High, count);
    }

    fn rocksdb_env_get_high_priority_background_threads(env: in rocksdb_env_t) -> i32 {
        threads(env, Pool::High)
    }

    /// Sets the threads for compactions of the bottommost level.
    fn rocksdb_env_set_bottom_priority_background_threads(env: mut rocksdb_env_t, count: i32) {
        set_threads(env, Pool::Bottom, count);
    }

    fn rocksdb_env_get_bottom_priority_background_threads(env: in rocksdb_env_t) -> i32 {
        threads(env, Pool::Bottom)
    }

    /// Does nothing: the close of a database already waits for its background jobs.
    fn rocksdb_env_join_all_threads(env: mut rocksdb_env_t) {
        let _ = env;
    }

    /// Lowers the I/O priority of the threads of the pool for compactions.
    fn rocksdb_env_lower_thread_pool_io_priority(env: mut rocksdb_env_t) {
        env.env.executor.lower_priority(Pool::Low, LoweredPriority::CpuAndIo);
    }

    /// Lowers the I/O priority of the threads of the pool for flushes.
    fn rocksdb_env_lower_high_priority_thread_pool_io_priority(env: mut rocksdb_env_t) {
        env.env.executor.lower_priority(Pool::High, LoweredPriority::CpuAndIo);
    }

    /// Lowers the CPU priority of the threads of the pool for compactions.
    fn rocksdb_env_lower_thread_pool_cpu_priority(env: mut rocksdb_env_t) {
        env.env.executor.lower_priority(Pool::Low, LoweredPriority::Cpu);
    }

    /// Lowers the CPU priority of the threads of the pool for flushes.
    fn rocksdb_env_lower_high_priority_thread_pool_cpu_priority(env: mut rocksdb_env_t) {
        env.env.executor.lower_priority(Pool::High, LoweredPriority::Cpu);
    }

    /// Creates a directory. The parent must exist. It is not an error if the directory exists.
    fn rocksdb_create_dir_if_missing(env: mut rocksdb_env_t, path: path, err) {
        create_dir_if_missing(&env.env, path)
    }

    /// Creates a path for SST files, with the target size of the files in the directory, in bytes.
    fn rocksdb_dbpath_create(path: path, target_size: u64) -> Owned<rocksdb_dbpath_t> {
        Owned(rocksdb_dbpath_t { path: DbPath { path: path.to_path_buf(), target_size } })
    }

    fn rocksdb_dbpath_destroy(path: own rocksdb_dbpath_t) {
        drop(path)
    }

    /// Has no effect: SST file writers are not limited.
    fn rocksdb_envoptions_set_rate_limiter(options: mut rocksdb_envoptions_t, limiter: maybe rocksdb_ratelimiter_t) {
        let _ = (options, limiter);
    }
}

fn create_dir_if_missing(env: &Env, path: &Path) -> base::Result<()> {
    if env.fs.exists(path)? && env.fs.is_dir(path)? {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty())
        && !env.fs.exists(parent)?
    {
        // RocksDB's text names this operation, not the operation of `rocksdb_create_dir`.
        return Err(base::Error::io(
            "creating a directory",
            path,
            std::io::Error::from_raw_os_error(libc::ENOENT),
        ));
    }
    env.fs.create_dir(path)
}
