//! Converts the value of an option to the form of C and Java: numbers, also for booleans and enums.

use std::time::Duration;

use base::stats::StatsLevel;
use engine::options::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CacheTier, CompactionPri, CompactionStopStyle,
    CompactionStyle, CompressionType, PrepopulateBlobCache, ReadTier, Temperature, VerifyOutputFlags,
    WalRecoveryMode,
};
use env::logger::LogLevel;
use env::rate::IoPriority;
use format::checksum::ChecksumType;
use table::options::{
    BlockSearchType, DataBlockIndexType, IndexShortening, IndexType, PinningTier, PrepopulateBlockCache,
};

use crate::{OccValidationPolicy, TxnDbWritePolicy};

/// A field of an option struct that C reads and writes as a `C`.
pub trait Place<C> {
    fn load(&self) -> C;

    /// Returns false, and changes nothing, if the number is not a value of the field.
    fn store(&mut self, value: C) -> bool;
}

/// A number of the C interface. A rejected number is kept as `f64`, which holds every `int` and enum exactly.
pub trait Number: Copy {
    fn to_f64(self) -> f64;

    fn from_f64(number: f64) -> Self;
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn to_f64(self) -> f64 {
                self as f64
            }

            fn from_f64(number: f64) -> Self {
                number as $ty
            }
        }

        impl Place<$ty> for $ty {
            fn load(&self) -> $ty {
                *self
            }

            fn store(&mut self, value: $ty) -> bool {
                *self = value;
                true
            }
        }
    )*};
}
numbers!(i8, u8, i32, u32, i64, u64, usize, f64);

impl Number for bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }

    fn from_f64(number: f64) -> Self {
        number != 0.0
    }
}

/// Fields with another number of bits. A number that the field cannot hold is not a value of the field.
macro_rules! converted {
    ($($field:ty as $c:ty),* $(,)?) => {$(
        impl Place<$c> for $field {
            fn load(&self) -> $c {
                <$c>::try_from(*self).unwrap_or(<$c>::MAX)
            }

            fn store(&mut self, value: $c) -> bool {
                <$field>::try_from(value).map(|value| *self = value).is_ok()
            }
        }
    )*};
}
converted!(
    u64 as usize,
    usize as u64,
    u8 as u32,
    i32 as i64,
    u64 as i32,
    usize as i32,
    u8 as i32,
    u64 as i64
);

/// Fields with the same number of bits and another sign. The number wraps, as in C.
macro_rules! wrapped {
    ($($field:ty as $c:ty),* $(,)?) => {$(
        impl Place<$c> for $field {
            fn load(&self) -> $c {
                *self as $c
            }

            fn store(&mut self, value: $c) -> bool {
                *self = value as $field;
                true
            }
        }
    )*};
}
wrapped!(u32 as i32, i32 as u32);

macro_rules! truth {
    ($($c:ty),*) => {$(
        impl Place<$c> for bool {
            fn load(&self) -> $c {
                <$c>::from(*self)
            }

            fn store(&mut self, value: $c) -> bool {
                *self = value != <$c>::default();
                true
            }
        }
    )*};
}
truth!(u8, i32, u32, bool);

/// Durations are microseconds in C.
impl Place<u64> for Duration {
    fn load(&self) -> u64 {
        u64::try_from(self.as_micros()).unwrap_or(u64::MAX)
    }

    fn store(&mut self, value: u64) -> bool {
        *self = Duration::from_micros(value);
        true
    }
}

/// Enums that have all their values in a list.
macro_rules! listed {
    ($($ty:ident),* $(,)?) => {$(
        impl Place<i32> for $ty {
            fn load(&self) -> i32 {
                *self as i32
            }

            fn store(&mut self, value: i32) -> bool {
                match $ty::ALL.iter().find(|known| **known as i32 == value) {
                    Some(known) => {
                        *self = *known;
                        true
                    }
                    None => false,
                }
            }
        }
    )*};
}
listed!(
    CompactionStyle,
    CompactionPri,
    CompactionStopStyle,
    WalRecoveryMode,
    Temperature,
    CacheTier,
    PrepopulateBlobCache,
    IndexType,
    BlockSearchType,
    DataBlockIndexType,
    IndexShortening,
    PrepopulateBlockCache,
    PinningTier,
    ChecksumType,
    ReadTier,
    BottommostLevelCompaction,
    BlobGarbageCollectionPolicy,
    TxnDbWritePolicy,
    OccValidationPolicy,
);

impl Place<i8> for ChecksumType {
    fn load(&self) -> i8 {
        *self as i8
    }

    fn store(&mut self, value: i8) -> bool {
        Place::<i32>::store(self, i32::from(value))
    }
}

/// Enums whose numbers are written here. The numbers are RocksDB's.
macro_rules! numbered {
    ($($ty:ty { $($number:literal = $value:expr),* $(,)? })*) => {$(
        impl Place<i32> for $ty {
            fn load(&self) -> i32 {
                match self {
                    $(value if *value == $value => $number,)*
                    _ => 0,
                }
            }

            fn store(&mut self, value: i32) -> bool {
                *self = match value {
                    $($number => $value,)*
                    _ => return false,
                };
                true
            }
        }
    )*};
}
numbered! {
    Option<IoPriority> {
        0 = Some(IoPriority::Low),
        1 = Some(IoPriority::Mid),
        2 = Some(IoPriority::High),
        3 = Some(IoPriority::User),
        4 = None,
    }
    LogLevel {
        0 = LogLevel::Debug,
        1 = LogLevel::Info,
        2 = LogLevel::Warn,
        3 = LogLevel::Error,
        4 = LogLevel::Fatal,
        5 = LogLevel::Header,
    }
    StatsLevel {
        0 = StatsLevel::DisableAll,
        1 = StatsLevel::ExceptHistogramOrTimers,
        2 = StatsLevel::ExceptTimers,
        3 = StatsLevel::ExceptDetailedTimers,
        4 = StatsLevel::ExceptTimeForMutex,
        5 = StatsLevel::All,
    }
}

impl Place<u8> for BottommostLevelCompaction {
    fn load(&self) -> u8 {
        Place::<i32>::load(self) as u8
    }

    fn store(&mut self, value: u8) -> bool {
        Place::<i32>::store(self, i32::from(value))
    }
}

impl Place<i32> for CompressionType {
    fn load(&self) -> i32 {
        i32::from(self.0)
    }

    fn store(&mut self, value: i32) -> bool {
        u8::try_from(value).map(|value| self.0 = value).is_ok()
    }
}

impl Place<i32> for VerifyOutputFlags {
    fn load(&self) -> i32 {
        self.0 as i32
    }

    fn store(&mut self, value: i32) -> bool {
        self.0 = value as u32;
        true
    }
}

/// A boolean that the setter takes as `int`.
impl Place<u8> for i32 {
    fn load(&self) -> u8 {
        u8::from(*self != 0)
    }

    fn store(&mut self, value: u8) -> bool {
        *self = i32::from(value);
        true
    }
}

/// `None` becomes 0, as in RocksDB.
impl Place<usize> for Option<usize> {
    fn load(&self) -> usize {
        self.unwrap_or(0)
    }

    fn store(&mut self, value: usize) -> bool {
        *self = Some(value);
        true
    }
}
