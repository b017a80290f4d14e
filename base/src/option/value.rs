//! Values of options as text.

use std::time::Duration;

use super::row::Release;
use super::text::{escape, parse_list, strip_outer_braces, unescape};
use crate::{Error, Result};

/// A value that option text holds after `name=`.
pub trait Value: Sized {
    /// Reads the value from its text.
    ///
    /// # Errors
    /// InvalidArgument if the text is no value of the type. NotSupported if the text names an object of RocksDB that
    /// does not exist here.
    fn parse(text: &str) -> Result<Self>;

    /// Returns the text, as RocksDB writes the value to an OPTIONS file.
    fn print(&self) -> String;

    /// Returns the text that `release` reads. Fields that are newer than the release are left out.
    fn print_for(&self, _release: Release) -> String {
        self.print()
    }

    /// Returns true if both values are known to have the same text. Returning false is always correct.
    fn is_same(&self, _other: &Self) -> bool {
        false
    }

    /// Returns the value as a number, for the check of the range. `None` if the value is no number.
    fn number(&self) -> Option<f64> {
        None
    }

    /// Changes the value to `text`. A struct changes only the fields that the text names. After an error the value is
    /// unchanged.
    ///
    /// # Errors
    /// The errors of [`Value::parse`].
    fn update(&mut self, text: &str) -> Result<()> {
        *self = Self::parse(text)?;
        Ok(())
    }
}

/// Returns the error for text that is no value of the type `what`.
#[cold]
pub fn not_a(what: &str, text: &str) -> Error {
    let short: String = text.chars().take(60).collect();
    Error::invalid_argument(format!("not a {what}: {short:?}"))
}

impl Value for bool {
    fn parse(text: &str) -> Result<Self> {
        match text.trim() {
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

/// Returns the text of a number: a space ends the number, and the rest is dropped, as in RocksDB. `10 k` is 10.
fn number_in(text: &str) -> Option<&str> {
    text.split_whitespace().next()
}

/// Reads digits and an optional suffix `K`, `M`, `G` or `T` of either case. The suffixes are powers of 1024.
fn parse_scaled(text: &str) -> Option<i128> {
    let text = number_in(text)?;
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        b't' | b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits
        .parse::<i64>()
        .map(i128::from)
        .or_else(|_| digits.parse::<u64>().map(i128::from))
        .ok()?
        .checked_shl(shift)
}

macro_rules! integer_values {
    ($($int:ty),*) => {$(
        impl Value for $int {
            fn parse(text: &str) -> Result<Self> {
                parse_scaled(text)
                    .and_then(|n| <$int>::try_from(n).ok())
                    .ok_or_else(|| not_a(stringify!($int), text))
            }

            fn print(&self) -> String {
                self.to_string()
            }

            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }

            fn is_same(&self, other: &Self) -> bool {
                self == other
            }
        }
    )*};
}
integer_values!(u8, i32, u32, i64);

/// Numbers of 64 bits without a sign. A negative number wraps: -1 is the largest number, as in RocksDB.
macro_rules! wrapping_values {
    ($($int:ty),*) => {$(
        impl Value for $int {
            fn parse(text: &str) -> Result<Self> {
                let number = parse_scaled(text).ok_or_else(|| not_a(stringify!($int), text))?;
                match i64::try_from(number) {
                    Ok(number) => Ok(number as $int),
                    Err(_) => <$int>::try_from(number).map_err(|_| not_a(stringify!($int), text)),
                }
            }

            fn print(&self) -> String {
                self.to_string()
            }

            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }

            fn is_same(&self, other: &Self) -> bool {
                self == other
            }
        }
    )*};
}
wrapping_values!(u64, usize);

impl Value for f64 {
    fn parse(text: &str) -> Result<Self> {
        number_in(text).and_then(|number| number.parse().ok()).ok_or_else(|| not_a("number", text))
    }

    fn print(&self) -> String {
        format!("{self:.6}")
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

/// A duration is a number of microseconds.
impl Value for Duration {
    fn parse(text: &str) -> Result<Self> {
        u64::parse(text).map(Duration::from_micros)
    }

    fn print(&self) -> String {
        self.as_micros().to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.as_micros() == other.as_micros()
    }
}

impl Value for String {
    fn parse(text: &str) -> Result<Self> {
        Ok(unescape(text))
    }

    fn print(&self) -> String {
        escape(self)
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// A list has its elements between colons. An element that contains a colon is in braces. A list of structs is in
/// braces as a whole.
impl<T: Value> Value for Vec<T> {
    fn parse(text: &str) -> Result<Self> {
        parse_list(strip_outer_braces(text), ':')?.iter().map(|item| T::parse(item)).collect()
    }

    fn print(&self) -> String {
        self.print_for(Release::NEWEST)
    }

    fn print_for(&self, release: Release) -> String {
        let items = self.iter().map(|item| {
            let item = item.print_for(release);
            if item.contains(':') { format!("{{{item}}}") } else { item }
        });
        let list = items.filter(|item| !item.is_empty()).collect::<Vec<_>>().join(":");
        let braces = list.contains('=') || (self.len() > 1 && list.starts_with('{'));
        if braces { format!("{{{list}}}") } else { list }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(a, b)| a.is_same(b))
    }
}

/// Declares an enum of options: each variant has RocksDB's number and RocksDB's word in option text. A variant may say
/// the release that it came with, and the variant that older releases get instead.
#[macro_export]
macro_rules! option_words {
    ($(#[$doc:meta])* $name:ident: $what:literal {
        $($(#[$vdoc:meta])* $variant:ident = $number:literal, $word:literal
            $(, since $since:literal before $older:ident)?;)*
    }) => {
        $(#[$doc])*
        ///
        /// The discriminant of a variant is RocksDB's number of the variant.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $number,)* }

        impl $name {
            /// All variants in the order of their numbers.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// Returns the word in option text.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// Returns the variant of RocksDB's number, or `None` for a number without a variant.
            pub fn from_number(number: u8) -> Option<$name> {
                $name::ALL.iter().copied().find(|v| *v as u8 == number)
            }
        }

        impl $crate::option::Value for $name {
            fn parse(text: &str) -> $crate::Result<Self> {
                let word = text.trim();
                let all = $name::ALL.iter().copied();
                all.into_iter().find(|v| v.name() == word).ok_or_else(|| $crate::option::not_a($what, text))
            }

            fn print(&self) -> String {
                self.name().to_string()
            }

            fn print_for(&self, release: $crate::option::Release) -> String {
                match self {
                    $($($name::$variant if release < $crate::option::Release::parse($since) => {
                        $name::$older.name().to_string()
                    })?)*
                    known => known.name().to_string(),
                }
            }

            fn is_same(&self, other: &Self) -> bool {
                self == other
            }
        }
    };
}
