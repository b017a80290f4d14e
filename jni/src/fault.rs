//! The reasons why a native fails, and the result of natives.
//!
//! A fault is a plain value. The module `throw` converts a fault to a Java exception and documents the conversion.

use base::Error;

use crate::handle::Stale;

/// The result of a native.
pub type Outcome<T> = Result<T, Fault>;

/// The reason why a native failed.
#[derive(Debug)]
pub enum Fault {
    /// An error of the engine.
    Rocks(Error),
    /// An exception is already pending in the JVM.
    Thrown,
    /// An exception of this class, with this text.
    Other(&'static str, String),
    /// A `RocksDBException` without status.
    Plain(String),
}

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Self {
        Fault::Rocks(error)
    }
}

impl From<Stale> for Fault {
    #[cold]
    fn from(stale: Stale) -> Self {
        let text = match stale {
            Stale::Null => "a native handle is 0: the object was never opened, or the argument is null",
            Stale::Closed => "the object is closed",
            Stale::InUse => "a callback uses an object that a running call uses",
            Stale::OtherType => "the native handle belongs to an object of another class",
        };
        Fault::Other("java/lang/IllegalStateException", text.to_string())
    }
}

impl Fault {
    /// Returns a `NullPointerException` for a null argument.
    #[cold]
    pub fn null() -> Fault {
        Fault::Other("java/lang/NullPointerException", "an argument is null".to_string())
    }

    /// Returns an `IndexOutOfBoundsException` with this text.
    #[cold]
    pub fn bounds(text: String) -> Fault {
        Fault::Other("java/lang/IndexOutOfBoundsException", text)
    }

    /// Returns an `IndexOutOfBoundsException` for a negative length.
    #[cold]
    pub fn negative(len: i32) -> Fault {
        Fault::bounds(format!("the length {len} is negative"))
    }

    /// A `RocksDBException` that has a text and no status, as RocksDB throws for wrong arguments.
    #[cold]
    pub fn invalid(text: &str) -> Fault {
        Fault::Plain(text.to_string())
    }

    /// Returns an `IllegalArgumentException` with this text.
    #[cold]
    pub fn illegal_argument(text: impl Into<String>) -> Fault {
        Fault::Other("java/lang/IllegalArgumentException", text.into())
    }
}
