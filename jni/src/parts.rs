//! Small objects: environments, limiters, compression options, compaction options.

use std::sync::Arc;

use base::Error;
use engine::options::MemtableFactory;
use env::rate::{Direction, IoPriority, Mode, RateLimiter, RateOptions};
use env::sync::Mutex;
use env::timed::TimedFs;
use env::{Env, LoweredPriority};
use ironstone::ConcurrentTaskLimiter;

use crate::fault::Fault;
use crate::handle::Handle;
use crate::java::JString;
use crate::native::{disposers, natives, rows};

static DEFAULT_ENV: Mutex<Handle> = Mutex::new(Handle::NULL);

/// Returns the handle of the default environment. All calls return the same handle until Java closes the handle, because Java
/// programs compare handles.
fn default_env() -> Handle {
    let mut default = DEFAULT_ENV.lock();
    if !default.is_live() {
        *default = Handle::new(Env::posix());
    }
    *default
}

/// Returns the handle of the default environment, if `env` is the default environment.
pub fn as_default_env(env: &Env) -> Option<Handle> {
    let posix = Env::posix();
    (Arc::ptr_eq(&env.fs, &posix.fs) && Arc::ptr_eq(&env.executor, &posix.executor)).then(default_env)
}

/// `ConfigOptions`.
#[derive(Default)]
pub struct ConfigOptions {
    pub ignore_unknown_options: bool,
    /// `None`: the default environment.
    pub env: Option<Env>,
}

rows! {
    ConfigOptions [ConfigOptions] |o|;
    setIgnoreUnknownOptions _: bool => o.ignore_unknown_options;
}

disposers! {
    RateLimiter: Arc<RateLimiter>;
    ConfigOptions: ConfigOptions;
    RocksEnv: Env;
    RocksMemEnv: Env;
    TimedEnv: Env;
    ConcurrentTaskLimiterImpl: Arc<ConcurrentTaskLimiter>;
}

natives! {
    /// Returns the default environment. Java keeps this handle until the process ends.
    fn Env_getDefaultEnvInternal[_]() -> Handle {
        default_env()
    }

    fn RateLimiter_newRateLimiterHandle[_](
        rate_bytes_per_sec: i64, refill_period_us: i64, fairness: i32, mode: i8, auto_tuned: bool
    ) -> Handle {
        let mode = match mode {
            0 => Mode::ReadsOnly,
            1 => Mode::WritesOnly,
            2 => Mode::AllIo,
            other => return Err(Fault::illegal_argument(format!("{other} is not a RateLimiterMode"))),
        };
        let options = RateOptions { refill_period_us, fairness, mode, auto_tuned, ..RateOptions::new(rate_bytes_per_sec) };
        Handle::new(Arc::new(RateLimiter::new(options, Env::posix().clock)?))
    }

    fn RateLimiter_setBytesPerSecond[_](limiter: Handle, rate: i64) {
        limiter.shared::<Arc<RateLimiter>>()?.set_bytes_per_second(rate);
    }

    fn RateLimiter_getBytesPerSecond[_](limiter: Handle) -> i64 {
        limiter.shared::<Arc<RateLimiter>>()?.bytes_per_second()
    }

    fn RateLimiter_getSingleBurstBytes[_](limiter: Handle) -> i64 {
        limiter.shared::<Arc<RateLimiter>>()?.single_burst_bytes()
    }

    fn RateLimiter_getTotalBytesThrough[_](limiter: Handle) -> i64 {
        limiter.shared::<Arc<RateLimiter>>()?.total_bytes_through(IoPriority::Total)
    }

    fn RateLimiter_getTotalRequests[_](limiter: Handle) -> i64 {
        limiter.shared::<Arc<RateLimiter>>()?.total_requests(IoPriority::Total)
    }

    /// Waits until the rate limiter permits the bytes, with the highest priority.
    fn RateLimiter_request[_](limiter: Handle, bytes: i64) {
        let limiter = limiter.shared::<Arc<RateLimiter>>()?.clone();
        let burst = limiter.single_burst_bytes();
        if bytes < 0 || bytes > burst {
            return Err(Fault::illegal_argument(format!("{bytes} bytes; a request has 0 to {burst} bytes")));
        }
        limiter.request(bytes, IoPriority::High, Direction::Write);
    }

    fn Env_getThreadPoolQueueLen[_](env: Handle, priority: i8) -> i32 {
        let len = env.shared::<Env>()?.executor.queue_len(pool(priority)?);
        i32::try_from(len).unwrap_or(i32::MAX)
    }

    fn Env_lowerThreadPoolIOPriority[_](env: Handle, priority: i8) {
        env.shared::<Env>()?.executor.lower_priority(pool(priority)?, LoweredPriority::CpuAndIo);
    }

    fn Env_lowerThreadPoolCPUPriority[_](env: Handle, priority: i8) {
        env.shared::<Env>()?.executor.lower_priority(pool(priority)?, LoweredPriority::Cpu);
    }

    fn ConfigOptions_newConfigOptions[_]() -> Handle {
        Handle::new(ConfigOptions::default())
    }

    fn ConfigOptions_setEnv[_](options: Handle, env: Handle) {
        let env = env.shared::<Env>()?.clone();
        options.exclusive::<ConfigOptions>()?.env = Some(env);
    }

    /// Has no effect: the delimiter is for texts that are written, and no Java call writes texts with these options.
    fn ConfigOptions_setDelimiter[java](options: Handle, delimiter: JString) {
        drop(options.exclusive::<ConfigOptions>()?);
        java.text(delimiter)?;
    }

    /// Has no effect: RocksDB uses this setting only for the option texts of plugins.
    fn ConfigOptions_setInputStringsEscaped[_](options: Handle, _escaped: bool) {
        drop(options.exclusive::<ConfigOptions>()?);
    }

    /// Has no effect: the level is for comparisons of options, and no Java call compares options.
    fn ConfigOptions_setSanityLevel[_](options: Handle, _level: i8) {
        drop(options.exclusive::<ConfigOptions>()?);
    }

    /// Makes an empty environment in memory. It uses the clock and the threads of the base environment.
    fn RocksMemEnv_createMemEnv[_](base: Handle) -> Handle {
        let machine = base.shared::<Env>()?.clone();
        let fs = Arc::new(env::memory::MemoryFs::new(machine.clock.clone()));
        Handle::new(Env { fs, ..machine })
    }

    /// Makes an environment that adds the times of its file calls to the perf context.
    fn TimedEnv_createTimedEnv[_](base: Handle) -> Handle {
        let base = base.shared::<Env>()?.clone();
        let fs = TimedFs::wrap(base.fs.clone());
        Handle::new(Env { fs, ..base })
    }

    /// Makes a limiter of concurrent tasks. A negative number means no limit.
    fn ConcurrentTaskLimiterImpl_newConcurrentTaskLimiterImpl0[java](name: JString, tasks_max: i32) -> Handle {
        Handle::new(ConcurrentTaskLimiter::new(java.text(name)?, tasks_max))
    }

    fn ConcurrentTaskLimiterImpl_name[java](limiter: Handle) -> JString<'j> {
        java.new_text(limiter.shared::<Arc<ConcurrentTaskLimiter>>()?.name())?
    }

    fn ConcurrentTaskLimiterImpl_setMaxOutstandingTask[_](limiter: Handle, tasks_max: i32) {
        limiter.shared::<Arc<ConcurrentTaskLimiter>>()?.set_max_outstanding_task(tasks_max);
    }

    fn ConcurrentTaskLimiterImpl_resetMaxOutstandingTask[_](limiter: Handle) {
        limiter.shared::<Arc<ConcurrentTaskLimiter>>()?.reset_max_outstanding_task();
    }

    fn ConcurrentTaskLimiterImpl_outstandingTask[_](limiter: Handle) -> i32 {
        limiter.shared::<Arc<ConcurrentTaskLimiter>>()?.outstanding_task()
    }

    fn Env_setBackgroundThreads[_](env: Handle, threads: i32, priority: i8) {
        let threads = usize::try_from(threads).unwrap_or(0);
        env.shared::<Env>()?.executor.set_threads(pool(priority)?, threads);
    }

    fn Env_getBackgroundThreads[_](env: Handle, priority: i8) -> i32 {
        env.shared::<Env>()?.executor.threads(pool(priority)?) as i32
    }

    fn Env_incBackgroundThreadsIfNeeded[_](env: Handle, threads: i32, priority: i8) {
        let threads = usize::try_from(threads).unwrap_or(0);
        env.shared::<Env>()?.executor.grow_threads(pool(priority)?, threads);
    }

    fn SkipListMemTableConfig_newMemTableFactoryHandle0[_](lookahead: i64) -> Handle {
        memtable(&format!("{{id=SkipListFactory;lookahead={lookahead};}}"))?
    }

    fn VectorMemTableConfig_newMemTableFactoryHandle[_](reserved: i64) -> Handle {
        Handle::new(MemtableFactory::Vector { count: reserved as usize })
    }

    fn HashSkipListMemTableConfig_newMemTableFactoryHandle[_](buckets: i64, height: i32, branching: i32) -> Handle {
        memtable(&format!(
            "{{id=HashSkipListRepFactory;bucket_count={buckets};skiplist_height={height};branching_factor={branching};}}"
        ))?
    }

    fn HashLinkedListMemTableConfig_newMemTableFactoryHandle[_](
        buckets: i64, huge_page_tlb_size: i64, logging_threshold: i32, log_distribution: bool, threshold_use_skiplist: i32
    ) -> Handle {
        memtable(&format!(
            "{{id=HashLinkListRepFactory;bucket_count={buckets};huge_page_size={huge_page_tlb_size};\
             logging_threshold={logging_threshold};log_when_flash={log_distribution};threshold={threshold_use_skiplist};}}"
        ))?
    }
}

/// Returns the pool of a `Priority` of Java.
fn pool(priority: i8) -> Result<env::Pool, Fault> {
    match priority {
        0 => Ok(env::Pool::Bottom),
        1 => Ok(env::Pool::Low),
        2 => Ok(env::Pool::High),
        other => Err(Fault::from(Error::not_supported(format!("threads of the priority {other}")))),
    }
}

/// Makes a memtable factory from its text in an OPTIONS file.
fn memtable(text: &str) -> Result<Handle, Fault> {
    let factory: MemtableFactory = engine::options::Value::parse(text)?;
    Ok(Handle::new(factory))
}
