//! Functions of features that Ironstone does not have.
//!
//! The functions exist, so programs link. A function with `errptr` reports `Not implemented: NAME`. All other functions
//! return zero or a null pointer.

/// Declares handles that no function creates.
macro_rules! opaque {
    ($($name:ident),* $(,)?) => {
        $(
            /// A handle of a feature that Ironstone does not have. No function creates it.
            pub struct $name {
                _private: (),
            }
        )*
    };
}

mod others;

pub use others::{rocksdb_memory_allocator_t, rocksdb_table_properties_collector_factory_t};
