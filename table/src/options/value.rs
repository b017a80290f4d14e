//! How the value of an option is written in text, as RocksDB writes and reads it.

use base::{Error, Result};
use format::checksum::ChecksumType;

/// A value that stands behind `name=` in option text.
pub trait OptionValue: Sized {
    /// # Errors
    /// Invalid argument if the text means no value of this type.
    fn parse(text: &str) -> Result<Self>;

    fn print(&self) -> String;

    /// Whether both are known to print alike, without printing them; false is always allowed.
    fn is_same(&self, _other: &Self) -> bool {
        false
    }
}

fn not_a(what: &str, text: &str) -> Error {
    Error::invalid_argument(format!("not a {what}: {text:?}"))
}

impl OptionValue for bool {
    fn parse(text: &str) -> Result<Self> {
        match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(not_a("boolean", text)),
        }
    }

    fn print(&self) -> String {
        if *self { "true" } else { "false" }.to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Digits, then perhaps one of `K M G T` (either case) for powers of 1024.
fn parse_scaled(text: &str) -> Option<i128> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        b't' | b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits
        .trim()
        .parse::<i64>()
        .map(i128::from)
        .or_else(|_| digits.trim().parse::<u64>().map(i128::from))
        .ok()?
        .checked_shl(shift)
}

macro_rules! integer_values {
    ($($int:ty),*) => {$(
        impl OptionValue for $int {
            fn parse(text: &str) -> Result<Self> {
                parse_scaled(text.trim())
                    .and_then(|n| <$int>::try_from(n).ok())
                    .ok_or_else(|| not_a(stringify!($int), text))
            }

            fn print(&self) -> String {
                self.to_string()
            }

            fn is_same(&self, other: &Self) -> bool {
                self == other
            }
        }
    )*};
}
integer_values!(i32, u32, u64, usize);

impl OptionValue for f64 {
    fn parse(text: &str) -> Result<Self> {
        text.trim().parse().map_err(|_| not_a("number", text))
    }

    fn print(&self) -> String {
        format!("{self:.6}")
    }

    fn is_same(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl OptionValue for ChecksumType {
    fn parse(text: &str) -> Result<Self> {
        ChecksumType::by_name(text).ok_or_else(|| not_a("checksum type", text))
    }

    fn print(&self) -> String {
        self.name().to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// An enum whose variants have a number (in table properties and printed options) and a word (in text).
macro_rules! option_enum {
    ($(#[$doc:meta])* $name:ident: $what:literal { $($(#[$vdoc:meta])* $variant:ident = $number:literal, $word:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $number,)* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The word in option text.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }

        impl $crate::options::OptionValue for $name {
            fn parse(text: &str) -> base::Result<Self> {
                $name::ALL.iter().copied().find(|v| v.name() == text).ok_or_else(|| {
                    base::Error::invalid_argument(format!(concat!("no such ", $what, ": {:?}"), text))
                })
            }

            fn print(&self) -> String {
                self.name().to_string()
            }

            fn is_same(&self, other: &Self) -> bool {
                self == other
            }
        }
    };
}
pub(crate) use option_enum;
