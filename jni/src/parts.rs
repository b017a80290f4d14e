//! Small objects: slices, environments, limiters, compression options, compaction options.

use std::sync::Arc;

use base::Error;
use engine::options::MemtableFactory;
use env::Env;
use env::rate::{Direction, IoPriority, Mode, RateLimiter, RateOptions};
use env::sync::Mutex;
use env::timed::TimedFs;
use ironstone::ConcurrentTaskLimiter;

use crate::class::{Class, Method, Value};
use crate::fault::Fault;
use crate::handle::Handle;
use crate::java::{JBuffer, JBytes, JObject, JString, Part};
use crate::native::{disposers, natives, rows};

static ALLOCATE: Method =
    Class::new("java/nio/ByteBuffer").static_method("allocateDirect", "(I)Ljava/nio/ByteBuffer;");

/// `Slice` and `DirectSlice`: a copy of bytes. A prefix can be removed from the slice.
pub struct SliceObject {
    bytes: Vec<u8>,
    start: usize,
}

impl SliceObject {
    /// Makes a slice that owns these bytes.
    pub fn copied(bytes: Vec<u8>) -> Self {
        SliceObject { bytes, start: 0 }
    }

    /// Returns the bytes without the removed prefix.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// `Env`.
pub struct EnvObject(pub Env);

static DEFAULT_ENV: Mutex<Handle> = Mutex::new(Handle::NULL);

/// Returns the handle of the default environment. All calls return the same handle until Java closes the handle, because Java
/// programs compare handles.
fn default_env() -> Handle {
    let mut default = DEFAULT_ENV.lock();
    if !default.is_live() {
        *default = Handle::new(EnvObject(Env::posix()));
    }
    *default
}

/// Returns the handle of the default environment, if `env` is the default environment.
pub fn as_default_env(env: &Env) -> Option<Handle> {
    let posix = Env::posix();
    (Arc::ptr_eq(&env.fs, &posix.fs) && Arc::ptr_eq(&env.executor, &posix.executor)).then(default_env)
}

/// `RateLimiter`.
pub struct RateLimiterObject(pub Arc<RateLimiter>);

/// `ConcurrentTaskLimiterImpl`.
pub struct TaskLimiter(pub Arc<ConcurrentTaskLimiter>);

/// A memtable factory that a `MemTableConfig` made. It is later moved into options.
pub struct MemtableConfig(pub MemtableFactory);

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
    RateLimiter: RateLimiterObject;
    ConfigOptions: ConfigOptions;
    RocksEnv: EnvObject;
    RocksMemEnv: EnvObject;
    TimedEnv: EnvObject;
    ConcurrentTaskLimiterImpl: TaskLimiter;
    AbstractSlice: SliceObject;
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
        Handle::new(RateLimiterObject(Arc::new(RateLimiter::new(options, Env::posix().clock)?)))
    }

    fn RateLimiter_setBytesPerSecond[_](limiter: Handle, rate: i64) {
        limiter.shared::<RateLimiterObject>()?.0.set_bytes_per_second(rate);
    }

    fn RateLimiter_getBytesPerSecond[_](limiter: Handle) -> i64 {
        limiter.shared::<RateLimiterObject>()?.0.bytes_per_second()
    }

    fn RateLimiter_getSingleBurstBytes[_](limiter: Handle) -> i64 {
        limiter.shared::<RateLimiterObject>()?.0.single_burst_bytes()
    }

    fn RateLimiter_getTotalBytesThrough[_](limiter: Handle) -> i64 {
        limiter.shared::<RateLimiterObject>()?.0.total_bytes_through(IoPriority::Total)
    }

    fn RateLimiter_getTotalRequests[_](limiter: Handle) -> i64 {
        limiter.shared::<RateLimiterObject>()?.0.total_requests(IoPriority::Total)
    }

    /// Waits until the rate limiter permits the bytes, with the highest priority.
    fn RateLimiter_request[_](limiter: Handle, bytes: i64) {
        let limiter = limiter.shared::<RateLimiterObject>()?.0.clone();
        let burst = limiter.single_burst_bytes();
        if bytes < 0 || bytes > burst {
            return Err(Fault::illegal_argument(format!("{bytes} bytes; a request has 0 to {burst} bytes")));
        }
        limiter.request(bytes, IoPriority::High, Direction::Write);
    }

    fn Env_getThreadPoolQueueLen[_](env: Handle, priority: i8) -> i32 {
        let len = env.shared::<EnvObject>()?.0.executor.queue_len(pool(priority)?);
        i32::try_from(len).unwrap_or(i32::MAX)
    }

    fn Env_lowerThreadPoolIOPriority[_](env: Handle, priority: i8) {
        env.shared::<EnvObject>()?.0.executor.lower_priority(pool(priority)?, true);
    }

    fn Env_lowerThreadPoolCPUPriority[_](env: Handle, priority: i8) {
        env.shared::<EnvObject>()?.0.executor.lower_priority(pool(priority)?, false);
    }

    fn ConfigOptions_newConfigOptions[_]() -> Handle {
        Handle::new(ConfigOptions::default())
    }

    fn ConfigOptions_setEnv[_](options: Handle, env: Handle) {
        let env = env.shared::<EnvObject>()?.0.clone();
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
        let machine = base.shared::<EnvObject>()?.0.clone();
        let fs = Arc::new(env::memory::MemoryFs::new(machine.clock.clone()));
        Handle::new(EnvObject(Env { fs, ..machine }))
    }

    /// Makes an environment that adds the times of its file calls to the perf context.
    fn TimedEnv_createTimedEnv[_](base: Handle) -> Handle {
        let base = base.shared::<EnvObject>()?.0.clone();
        let fs = TimedFs::wrap(base.fs.clone());
        Handle::new(EnvObject(Env { fs, ..base }))
    }

    /// Makes a limiter of concurrent tasks. A negative number means no limit.
    fn ConcurrentTaskLimiterImpl_newConcurrentTaskLimiterImpl0[java](name: JString, tasks_max: i32) -> Handle {
        Handle::new(TaskLimiter(ConcurrentTaskLimiter::new(java.text(name)?, tasks_max)))
    }

    fn ConcurrentTaskLimiterImpl_name[java](limiter: Handle) -> JString<'j> {
        java.new_text(limiter.shared::<TaskLimiter>()?.0.name())?
    }

    fn ConcurrentTaskLimiterImpl_setMaxOutstandingTask[_](limiter: Handle, tasks_max: i32) {
        limiter.shared::<TaskLimiter>()?.0.set_max_outstanding_task(tasks_max);
    }

    fn ConcurrentTaskLimiterImpl_resetMaxOutstandingTask[_](limiter: Handle) {
        limiter.shared::<TaskLimiter>()?.0.reset_max_outstanding_task();
    }

    fn ConcurrentTaskLimiterImpl_outstandingTask[_](limiter: Handle) -> i32 {
        limiter.shared::<TaskLimiter>()?.0.outstanding_task()
    }

    fn Env_setBackgroundThreads[_](env: Handle, threads: i32, priority: i8) {
        let threads = usize::try_from(threads).unwrap_or(0);
        env.shared::<EnvObject>()?.0.executor.set_threads(pool(priority)?, threads);
    }

    fn Env_getBackgroundThreads[_](env: Handle, priority: i8) -> i32 {
        env.shared::<EnvObject>()?.0.executor.threads(pool(priority)?) as i32
    }

    fn Env_incBackgroundThreadsIfNeeded[_](env: Handle, threads: i32, priority: i8) {
        let threads = usize::try_from(threads).unwrap_or(0);
        env.shared::<EnvObject>()?.0.executor.grow_threads(pool(priority)?, threads);
    }

    fn SkipListMemTableConfig_newMemTableFactoryHandle0[_](lookahead: i64) -> Handle {
        memtable(&format!("{{id=SkipListFactory;lookahead={lookahead};}}"))?
    }

    fn VectorMemTableConfig_newMemTableFactoryHandle[_](reserved: i64) -> Handle {
        Handle::new(MemtableConfig(MemtableFactory::Vector { count: reserved as usize }))
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

    fn AbstractSlice_createNewSliceFromString[java](text: JString) -> Handle {
        Handle::new(SliceObject::copied(java.text(text)?.into_bytes()))
    }

    fn AbstractSlice_size0[_](slice: Handle) -> i32 {
        slice.shared::<SliceObject>()?.bytes().len() as i32
    }

    fn AbstractSlice_empty0[_](slice: Handle) -> bool {
        slice.shared::<SliceObject>()?.bytes().is_empty()
    }

    fn AbstractSlice_compare0[_](slice: Handle, other: Handle) -> i32 {
        let (slice, other) = (slice.shared::<SliceObject>()?, other.shared::<SliceObject>()?);
        slice.bytes().cmp(other.bytes()) as i32
    }

    fn AbstractSlice_startsWith0[_](slice: Handle, other: Handle) -> bool {
        let (slice, other) = (slice.shared::<SliceObject>()?, other.shared::<SliceObject>()?);
        slice.bytes().starts_with(other.bytes())
    }

    fn AbstractSlice_toString0[java](slice: Handle, hex: bool) -> JString<'j> {
        let slice = slice.shared::<SliceObject>()?;
        let text = match hex {
            true => slice.bytes().iter().map(|byte| format!("{byte:02X}")).collect(),
            false => String::from_utf8_lossy(slice.bytes()).into_owned(),
        };
        java.new_text(&text)?
    }

    fn Slice_createNewSlice0[java](data: JBytes, offset: i32) -> Handle {
        let bytes = java.bytes(data)?;
        let start = usize::try_from(offset).ok().filter(|start| *start <= bytes.len());
        let start = start.ok_or_else(|| Fault::bounds(format!("offset {offset} of {} bytes", bytes.len())))?;
        Handle::new(SliceObject::copied(bytes[start..].to_vec()))
    }

    fn Slice_createNewSlice1[java](data: JBytes) -> Handle {
        Handle::new(SliceObject::copied(java.bytes(data)?))
    }

    fn Slice_data0[java](slice: Handle) -> JBytes<'j> {
        java.new_bytes(slice.shared::<SliceObject>()?.bytes())?
    }

    fn Slice_clear0 | DirectSlice_clear0[_](slice: Handle, _internal: bool, _offset: i64) {
        *slice.exclusive::<SliceObject>()? = SliceObject::copied(Vec::new());
    }

    fn Slice_removePrefix0 | DirectSlice_removePrefix0[_](slice: Handle, len: i32) {
        let mut slice = slice.exclusive::<SliceObject>()?;
        let len = usize::try_from(len).ok().filter(|len| *len <= slice.bytes().len());
        slice.start += len.ok_or_else(|| Fault::bounds("the prefix is longer than the slice".to_string()))?;
    }

    /// Does nothing: the bytes are freed together with the slice.
    fn Slice_disposeInternalBuf | DirectSlice_disposeInternalBuf[_](_slice: Handle, _offset: i64) {}

    fn DirectSlice_createNewDirectSlice0[java](data: JBuffer, len: i32) -> Handle {
        java.with_direct(data, Part { offset: 0, len }, |bytes| Ok(Handle::new(SliceObject::copied(bytes.to_vec()))))?
    }

    /// Makes a slice of the bytes before the first zero byte of the buffer, as RocksDB does.
    fn DirectSlice_createNewDirectSlice1[java](data: JBuffer) -> Handle {
        let len = i32::try_from(java.direct_capacity(data)?).unwrap_or(i32::MAX);
        java.with_direct(data, Part { offset: 0, len }, |bytes| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            Ok(Handle::new(SliceObject::copied(bytes[..end].to_vec())))
        })?
    }

    /// Returns a buffer with a copy of the bytes. A buffer over the memory of the slice would be invalid after its close.
    fn DirectSlice_data0[java](slice: Handle) -> JObject<'j> {
        let slice = slice.shared::<SliceObject>()?;
        let len = i32::try_from(slice.bytes().len()).unwrap_or(i32::MAX);
        let buffer = ALLOCATE.call_static_object(java, &[Value::int(len)])?;
        // SAFETY: the descriptor of the method returns a ByteBuffer.
        java.fill_direct(unsafe { JBuffer::from_raw(buffer.raw()) }, Part { offset: 0, len }, slice.bytes())?;
        buffer
    }

    fn DirectSlice_get0[_](slice: Handle, offset: i32) -> i8 {
        let slice = slice.shared::<SliceObject>()?;
        let byte = usize::try_from(offset).ok().and_then(|at| slice.bytes().get(at).copied());
        byte.ok_or_else(|| Fault::bounds(format!("offset {offset} of {} bytes", slice.bytes().len())))? as i8
    }

    fn DirectSlice_setLength0[_](slice: Handle, len: i32) {
        let mut slice = slice.exclusive::<SliceObject>()?;
        let len = usize::try_from(len).ok().filter(|len| *len <= slice.bytes().len());
        let len = len.ok_or_else(|| Fault::bounds("the length is longer than the slice".to_string()))?;
        let end = slice.start + len;
        slice.bytes.truncate(end);
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
    Ok(Handle::new(MemtableConfig(engine::options::Value::parse(text)?)))
}
