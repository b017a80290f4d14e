//! Conversion between the fields of options and the numbers of Java.
//!
//! Java has no unsigned numbers, so `long` and `int` hold the bits of `size_t`, `uint64_t` and `uint32_t`. -1 therefore means
//! the largest number, as in RocksDB. An enum is a `byte` with the number of the C interface (`ironstone::binding`).

use engine::options::{
    CompactionPri, CompactionStopStyle, CompactionStyle, CompressionType, PrepopulateBlobCache, ReadTier,
    WalRecoveryMode,
};
use env::logger::LogLevel;
use ironstone::binding::Place;

use crate::fault::Fault;

/// A field whose getter and setter in Java use the type `J`.
pub trait Field<J> {
    fn load(&self) -> J;

    /// Stores the number. Returns false and changes nothing if the field cannot hold the number.
    fn store(&mut self, value: J) -> bool;
}

macro_rules! bits {
    ($($field:ty as $java:ty),* $(,)?) => {$(
        impl Field<$java> for $field {
            fn load(&self) -> $java {
                *self as $java
            }

            fn store(&mut self, value: $java) -> bool {
                *self = value as $field;
                true
            }
        }
    )*};
}
bits!(
    bool as bool,
    f64 as f64,
    i32 as i32,
    u32 as i32,
    u32 as i64,
    i64 as i64,
    u64 as i64,
    usize as i64,
    usize as i32,
    u64 as i32,
    i8 as i8,
);

macro_rules! enums {
    ($($ty:ty),* $(,)?) => {$(
        impl Field<i8> for $ty {
            fn load(&self) -> i8 {
                Place::<i32>::load(self) as i8
            }

            fn store(&mut self, value: i8) -> bool {
                Place::<i32>::store(self, i32::from(value))
            }
        }
    )*};
}
enums!(
    CompactionPri,
    CompactionStopStyle,
    CompactionStyle,
    LogLevel,
    PrepopulateBlobCache,
    ReadTier,
    WalRecoveryMode,
);

impl Field<i8> for CompressionType {
    fn load(&self) -> i8 {
        if *self == CompressionType::DISABLE { 0x7f } else { self.0 as i8 }
    }

    fn store(&mut self, value: i8) -> bool {
        *self = if value == 0x7f { CompressionType::DISABLE } else { CompressionType(value as u8) };
        true
    }
}

/// Returns the exception of a setter whose argument is not a value of the option.
#[cold]
pub fn not_a_value(setter: &str, value: impl std::fmt::Display) -> Fault {
    Fault::illegal_argument(format!("{setter}: {value} is not a value of this option"))
}
