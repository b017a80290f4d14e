//! `FlinkCompactionFilter` of frocksdb: removes entries of Flink's state whose time to live has ended.
//!
//! A value contains the time of its last access at a configured offset: 8 bytes, big-endian, in milliseconds. A list value is
//! a sequence of elements, oldest first. The filter removes the elements before the first unexpired element.
//!
//! - The filters of one column family share a configuration holder. Flink configures the holder once, possibly after the
//!   first filters exist. Until the holder is configured, a filter keeps each entry.
//! - A Java object returns the current time. The filter asks the object again after a configured number of entries.
//! - If list elements have a fixed length, the filter reads their timestamps itself. Otherwise a Java object finds the first
//!   unexpired element.
//!
//! If a Java object throws, or if the value is too short, the entry is kept. Until Java has returned a time, each entry is kept,
//! and the filter asks for the time at each entry. Facts: frocksdb
//! `utilities/flink/flink_compaction_filter.cc`.

use std::sync::Arc;

use env::Logger;
use env::logger::LogLevel;
use env::sync::{Mutex, OnceLock};
use lsm::filter::{CompactionFilter, Decision, FilterInput, FilterKind};

use crate::callbacks::FilterObject;
use crate::class::{Class, Global, Method, Value};
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::JObject;
use crate::load::callback;
use crate::logger::LoggerObject;
use crate::native::natives;

const TIMESTAMP_LEN: usize = 8;

static CURRENT_TIMESTAMP: Method =
    Class::new("org/rocksdb/FlinkCompactionFilter$TimeProvider").method("currentTimestamp", "()J");
static CREATE_LIST_FILTER: Method = Class::new("org/rocksdb/FlinkCompactionFilter$ListElementFilterFactory")
    .method("createListElementFilter", "()Lorg/rocksdb/FlinkCompactionFilter$ListElementFilter;");
static NEXT_UNEXPIRED_OFFSET: Method = Class::new("org/rocksdb/FlinkCompactionFilter$ListElementFilter")
    .method("nextUnexpiredOffset", "([BJJ)I");

/// The kind of the state of a column family. The numbers are those of `FlinkCompactionFilter.StateType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StateType {
    Disabled,
    Value,
    List,
}

/// How the filter finds the elements of a value.
enum Elements {
    /// The value is not a list.
    Whole,
    /// Each element has this many bytes and starts with its timestamp.
    Fixed(usize),
    /// A Java factory makes one object for each filter.
    Java(Global),
}

struct Config {
    state: StateType,
    timestamp_offset: usize,
    ttl: i64,
    /// The number of entries after which the filter asks Java for the time again.
    query_time_after: i64,
    elements: Elements,
}

/// The configuration that filters share. It can be set only once.
#[derive(Default)]
struct ConfigHolder {
    config: OnceLock<Config>,
}

/// The state of a filter.
struct Running {
    /// The time that Java returned last. `None` until Java returns the first time.
    now: Option<i64>,
    entries: i64,
    list_filter: Option<Global>,
}

struct FlinkFilter {
    holder: Arc<ConfigHolder>,
    time: Global,
    logger: Option<Arc<dyn Logger>>,
    running: Mutex<Running>,
}

/// Returns the timestamp at an offset. Returns `None` if the bytes are too short.
fn timestamp(bytes: &[u8], offset: usize) -> Option<i64> {
    let bytes = bytes.get(offset..)?.get(..TIMESTAMP_LEN)?;
    Some(i64::from_be_bytes(bytes.try_into().ok()?))
}

/// Returns true if the timestamp plus the time to live is in the past. Limits the time to live so that the sum does not
/// overflow.
fn is_expired(timestamp: i64, ttl: i64, now: i64) -> bool {
    let ttl = if timestamp > 0 { ttl.min(i64::MAX - timestamp) } else { ttl };
    timestamp.wrapping_add(ttl) <= now
}

/// Returns the offset of the first unexpired element. Elements have `len` bytes and start with a timestamp.
fn first_alive(list: &[u8], len: usize, ttl: i64, now: i64) -> usize {
    let mut offset = 0;
    while timestamp(list, offset).is_some_and(|timestamp| is_expired(timestamp, ttl, now)) {
        offset += len;
    }
    offset
}

impl FlinkFilter {
    /// Asks Java for the time. Keeps the old time if Java throws.
    fn update_time(&self, running: &mut Running) {
        let now = callback(|java| CURRENT_TIMESTAMP.call_long(java, self.time.object(java), &[]));
        running.now = now.or(running.now);
    }

    /// Asks Java for the offset of the first unexpired element. The whole list is kept if Java throws or returns a negative
    /// offset.
    fn ask_java(
        &self,
        factory: &Global,
        list: &[u8],
        (ttl, now): (i64, i64),
        running: &mut Running,
    ) -> Option<usize> {
        if running.list_filter.is_none() {
            running.list_filter = callback(|java| {
                let filter = CREATE_LIST_FILTER.call_object(java, factory.object(java), &[])?;
                Global::new(java, filter)
            });
        }
        let filter = running.list_filter.as_ref()?;
        let offset = callback(|java| {
            let list = java.new_bytes(list)?;
            let arguments = [list.object().into(), Value::long(ttl), Value::long(now)];
            NEXT_UNEXPIRED_OFFSET.call_int(java, filter.object(java), &arguments)
        })?;
        let found = usize::try_from(offset).ok();
        if let (None, Some(logger)) = (found, &self.logger) {
            logger.log(LogLevel::Error, format_args!("Wrong next offset in list filter: 0 -> {offset}"));
        }
        found
    }

    fn decide(&self, config: &Config, value: &[u8], kind: FilterKind, running: &mut Running) -> Decision {
        let Some(timestamp) = timestamp(value, config.timestamp_offset) else { return Decision::Keep };
        let is_decided = match config.state {
            StateType::Value => kind == FilterKind::Value,
            StateType::List => matches!(kind, FilterKind::Value | FilterKind::MergeOperand),
            _ => false,
        };
        let (ttl, Some(now)) = (config.ttl, running.now) else { return Decision::Keep };
        if !is_decided || !is_expired(timestamp, ttl, now) {
            return Decision::Keep;
        }
        let offset = match (&config.elements, config.state) {
            (Elements::Fixed(len), StateType::List) => Some(first_alive(value, *len, ttl, now)),
            (Elements::Java(factory), StateType::List) => self.ask_java(factory, value, (ttl, now), running),
            _ => return Decision::Remove,
        };
        match offset {
            None | Some(0) => Decision::Keep,
            Some(offset) if offset >= value.len() => Decision::Remove,
            Some(offset) => Decision::ChangeValue(value[offset..].to_vec()),
        }
    }
}

impl CompactionFilter for FlinkFilter {
    fn name(&self) -> &str {
        "FlinkCompactionFilter"
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        let Some(config) = self.holder.config.get() else { return Decision::Keep };
        let mut running = self.running.lock();
        if running.now.is_none() || running.entries >= config.query_time_after {
            running.entries = 0;
            self.update_time(&mut running);
        }
        running.entries += 1;
        let decision = self.decide(config, input.value, input.kind, &mut running);
        if let Some(logger) = self.logger.as_ref().filter(|logger| logger.level() == LogLevel::Debug) {
            logger.log(
                LogLevel::Debug,
                format_args!(
                    "FlinkCompactionFilter: {} value bytes, {:?}, state type {:?}, TTL {} ms, time {:?} ms: {}",
                    input.value.len(),
                    input.kind,
                    config.state,
                    config.ttl,
                    running.now,
                    word(&decision)
                ),
            );
        }
        decision
    }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Keep => "keep",
        Decision::ChangeValue(_) => "change",
        _ => "remove",
    }
}

fn state_type(number: i32) -> Outcome<StateType> {
    match number {
        0 => Ok(StateType::Disabled),
        1 => Ok(StateType::Value),
        2 => Ok(StateType::List),
        other => Err(Fault::illegal_argument(format!("{other} is not a StateType"))),
    }
}

natives! {
    fn FlinkCompactionFilter_createNewFlinkCompactionFilterConfigHolder[_]() -> Handle {
        Handle::new(Arc::<ConfigHolder>::default())
    }

    fn FlinkCompactionFilter_disposeFlinkCompactionFilterConfigHolder[_](holder: Handle) {
        holder.close_as::<Arc<ConfigHolder>>();
    }

    fn FlinkCompactionFilter_createNewFlinkCompactionFilter0[java](
        holder: Handle, time: JObject, logger: Handle
    ) -> Handle {
        let holder = holder.shared::<Arc<ConfigHolder>>()?.clone();
        let logger = match logger.is_null() {
            true => None,
            false => Some(logger.shared::<LoggerObject>()?.logger.clone()),
        };
        let running = Mutex::new(Running { now: None, entries: 0, list_filter: None });
        let filter = FlinkFilter { holder, time: Global::new(java, time)?, logger, running };
        Handle::new(FilterObject { filter: Arc::new(filter) })
    }

    /// Configures the filters of a holder. Returns false and changes nothing if the holder was configured before.
    fn FlinkCompactionFilter_configureFlinkCompactionFilter[java](
        holder: Handle, state: i32, timestamp_offset: i32, ttl: i64, query_time_after: i64, element_len: i32,
        factory: JObject
    ) -> bool {
        let elements = match usize::try_from(element_len) {
            Ok(len) if len > 0 => Elements::Fixed(len),
            _ if factory.is_null() => Elements::Whole,
            _ => Elements::Java(Global::new(java, factory)?),
        };
        let config = Config {
            state: state_type(state)?,
            timestamp_offset: usize::try_from(timestamp_offset).unwrap_or(usize::MAX),
            ttl,
            query_time_after,
            elements,
        };
        let holder = holder.shared::<Arc<ConfigHolder>>()?.clone();
        holder.config.set(config).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_expires_at_its_timestamp_and_its_time_to_live() {
        assert!(!is_expired(10, 5, 14));
        assert!(is_expired(10, 5, 15));
        assert!(!is_expired(i64::MAX - 1, 5, i64::MAX - 1), "the sum does not overflow");
        assert!(is_expired(-10, 5, -5));
    }

    #[test]
    fn a_list_loses_its_first_expired_elements() {
        let list: Vec<u8> = [1_i64, 2, 9, 3].iter().flat_map(|t| t.to_be_bytes()).collect();
        assert_eq!(first_alive(&list, 8, 1, 3), 16);
        assert_eq!(first_alive(&list, 8, 1, 1), 0);
        assert_eq!(first_alive(&list, 8, 1, 100), 32);
        assert_eq!(first_alive(&list[..20], 8, 1, 100), 16, "a torn element is kept");
    }
}
