//! The natives that Ironstone does not implement. Each throws a `RocksDBException` with the code NotSupported and its name.
//!
//! If a native had no symbol, its call would throw `UnsatisfiedLinkError`, and programs do not expect this error. So each native
//! of the four releases has a symbol. When a native is implemented, it must be removed from this list: the compiler rejects a
//! symbol that exists twice.
//!
//! ```text
//! refused! { i64: Checkpoint_newCheckpoint ...; }   // throws, and returns zero
//! ```
//!
//! The functions declare no arguments after the object. This is safe because the caller of a C function removes the arguments.
//! The JVM looks up the short name of a native before the name with the argument types, so a short name in the list must not
//! hide an implemented native.
//!
//! Facts: the `native` methods of the classes of the four releases; the JNI specification, chapter 2 (names of natives).

use base::Error;
use jni_sys::JNIEnv;

use crate::java::JObject;
use crate::native::{Answer, frame};

/// Throws NotSupported with the name of the native, and returns the neutral value.
///
/// # Safety
/// `env` is the environment of this thread, as the JVM passes it to a native.
#[cold]
unsafe fn refuse<R: Answer>(env: *mut JNIEnv, name: &'static str) -> R::Raw {
    // SAFETY: the contract of this function.
    unsafe { frame::<R>(env, name, |_| Err(Error::not_supported(text_of(name)).into())) }
}

/// Returns the class and the method of a symbol, without the arguments: `Transaction.put` of `Transaction_put__J_3BI`.
fn text_of(symbol: &str) -> String {
    symbol.split("__").next().unwrap_or(symbol).replacen('_', ".", 1)
}

/// Exports natives that throw. A row is the type of the result, and names without `Java_org_rocksdb_`.
macro_rules! refused {
    ($($answer:ty: $($name:ident)+;)*) => {
        $($(const _: () = {
            #[allow(clippy::extra_unused_lifetimes, reason = "not each native returns a reference")]
            #[unsafe(export_name = concat!("Java_org_rocksdb_", stringify!($name)))]
            unsafe extern "system" fn native<'j>(env: *mut JNIEnv, _: JObject<'j>) -> <$answer as Answer>::Raw {
                // SAFETY: the JVM calls a native with the environment of the thread.
                unsafe { refuse::<$answer>(env, stringify!($name)) }
            }
        };)+)*

        #[cfg(test)]
        const REFUSED: &[&str] = &[$($(stringify!($name),)+)*];
    };
}

refused! {
    i64:
        LiveFileMetaData_newLiveFileMetaDataHandle;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{REFUSED, text_of};

    /// The modules whose natives have names with arguments, or whose names are written out.
    const SOURCES: &[&str] = &[
        include_str!("batch.rs"),
        include_str!("cache.rs"),
        include_str!("call_options.rs"),
        include_str!("callbacks.rs"),
        include_str!("cassandra.rs"),
        include_str!("comparator.rs"),
        include_str!("db/admin.rs"),
        include_str!("db/mod.rs"),
        include_str!("db/open.rs"),
        include_str!("db/read.rs"),
        include_str!("db/tracing.rs"),
        include_str!("db/write.rs"),
        include_str!("filters.rs"),
        include_str!("flink.rs"),
        include_str!("iterator.rs"),
        include_str!("job_info.rs"),
        include_str!("listener.rs"),
        include_str!("logger.rs"),
        include_str!("options/components.rs"),
        include_str!("options/factories.rs"),
        include_str!("options/files.rs"),
        include_str!("options/groups.rs"),
        include_str!("options/mod.rs"),
        include_str!("options/retired.rs"),
        include_str!("options/retired_setters.rs"),
        include_str!("parts.rs"),
        include_str!("perf.rs"),
        include_str!("settings.rs"),
        include_str!("slice.rs"),
        include_str!("space.rs"),
        include_str!("statistics.rs"),
        include_str!("table.rs"),
        include_str!("thread_status.rs"),
        include_str!("trace.rs"),
        include_str!("transactions/state.rs"),
        include_str!("variants.rs"),
    ];

    /// Returns the symbols that the sources declare with `natives!`, without `Java_org_rocksdb_`.
    fn built() -> BTreeSet<&'static str> {
        let lines = SOURCES.iter().flat_map(|text| text.lines());
        let heads = lines
            .filter_map(|line| line.trim_start().strip_prefix("fn ")?.split_once('['))
            .map(|(head, _)| head);
        heads
            .flat_map(|head| head.split(" | "))
            .filter(|name| name.contains('_') && !name.contains('('))
            .collect()
    }

    #[test]
    fn a_native_is_listed_once() {
        let names: BTreeSet<_> = REFUSED.iter().collect();
        assert_eq!(names.len(), REFUSED.len());
    }

    #[test]
    fn a_native_of_the_list_is_not_built() {
        let built = built();
        assert!(built.contains("RocksDB_flushWal"), "the sources were read");
        let both: Vec<_> = REFUSED.iter().filter(|name| built.contains(**name)).collect();
        assert!(both.is_empty(), "built and listed: {both:?}");
    }

    #[test]
    fn a_short_name_of_the_list_hides_no_built_native() {
        let listed: BTreeSet<_> = REFUSED.iter().copied().collect();
        let built = built();
        let with_arguments = built.iter().filter_map(|name| name.split_once("__"));
        let hidden: Vec<_> = with_arguments.filter(|(short, _)| listed.contains(short)).collect();
        assert!(hidden.is_empty(), "hidden: {hidden:?}");
    }

    #[test]
    fn the_text_names_the_class_and_the_method() {
        assert_eq!(text_of("Transaction_put__J_3BII"), "Transaction.put");
        assert_eq!(text_of("Checkpoint_newCheckpoint"), "Checkpoint.newCheckpoint");
    }
}
