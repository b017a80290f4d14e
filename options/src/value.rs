//! How values stand in option text.

use base::{Error, Result};
use env::logger::LogLevel;
use format::options_ini;
use table::options::OptionValue;

/// A value that can be written behind `name=`.
pub trait Value: Sized {
    /// # Errors
    /// InvalidArgument if the text means no value of the type; NotSupported if it names something that
    /// exists in RocksDB but not here.
    fn parse(text: &str) -> Result<Self>;

    fn print(&self) -> String;

    /// Whether both are known to print alike, without printing them; false is always allowed.
    fn is_same(&self, _other: &Self) -> bool {
        false
    }

    /// Takes the value from `text`; a struct changes only the fields that are named. On an error nothing
    /// changes.
    ///
    /// # Errors
    /// As [`Value::parse`].
    fn update(&mut self, text: &str) -> Result<()> {
        *self = Self::parse(text)?;
        Ok(())
    }
}

#[cold]
pub(super) fn not_a(what: &str, text: &str) -> Error {
    let short: String = text.chars().take(60).collect();
    Error::invalid_argument(format!("not a {what}: {short:?}"))
}

macro_rules! as_in_tables {
    ($($ty:ty),*) => {$(
        impl Value for $ty {
            fn parse(text: &str) -> Result<Self> {
                <$ty as OptionValue>::parse(text.trim())
            }

            fn print(&self) -> String {
                OptionValue::print(self)
            }

            fn is_same(&self, other: &Self) -> bool {
                OptionValue::is_same(self, other)
            }
        }
    )*};
}
as_in_tables!(bool, i32, u32, u64, usize, f64);

/// Through the wider type that has the suffixes.
macro_rules! narrower {
    ($($ty:ty),*) => {$(
        impl Value for $ty {
            fn parse(text: &str) -> Result<Self> {
                let n = <u64 as OptionValue>::parse(text.trim())?;
                <$ty>::try_from(n).map_err(|_| not_a(stringify!($ty), text))
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
narrower!(u8);

impl Value for i64 {
    fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let n = <u64 as OptionValue>::parse(digits)?;
        let n = i64::try_from(n).map_err(|_| not_a("i64", text))?;
        Ok(if negative { -n } else { n })
    }

    fn print(&self) -> String {
        self.to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Value for String {
    fn parse(text: &str) -> Result<Self> {
        Ok(options_ini::unescape(text))
    }

    fn print(&self) -> String {
        options_ini::escape(self)
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// A list: elements behind colons, in braces where they have colons themselves; a list of structs stands
/// in braces as a whole.
impl<T: Value> Value for Vec<T> {
    fn parse(text: &str) -> Result<Self> {
        options_ini::parse_list(options_ini::strip_outer_braces(text), ':')?
            .iter()
            .map(|item| T::parse(item))
            .collect()
    }

    fn print(&self) -> String {
        let items = self.iter().map(|item| {
            let item = item.print();
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

impl Value for LogLevel {
    fn parse(text: &str) -> Result<Self> {
        let levels = (0..6).filter_map(LogLevel::from_number);
        levels.into_iter().find(|l| l.option_name() == text.trim()).ok_or_else(|| not_a("log level", text))
    }

    fn print(&self) -> String {
        self.option_name().to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// A struct's fields as `{name=value;...}`: parsed in any order, unnamed ones keep their value. `expand`
/// splits the text into names and values; it knows the struct's older forms.
macro_rules! struct_value {
    ($ty:ident, $expand:path; $($field:ident),* ; ignored $($ignored:literal),*) => {
        impl $ty {
            /// Sets one field from its text.
            ///
            /// # Errors
            /// InvalidArgument for no such field or no such value.
            pub fn set(&mut self, name: &str, text: &str) -> base::Result<()> {
                match name {
                    $(stringify!($field) => self.$field = $crate::Value::parse(text)?,)*
                    $($ignored => {})*
                    _ => {
                        return Err(base::Error::invalid_argument(format!(
                            concat!("Could not find option: ", stringify!($ty), ".{}"), name
                        )));
                    }
                }
                Ok(())
            }

            /// The text of one field.
            pub fn get(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($field) => Some($crate::Value::print(&self.$field)),)*
                    _ => None,
                }
            }

        }

        impl $crate::Value for $ty {
            fn parse(text: &str) -> base::Result<Self> {
                let mut value = <$ty>::default();
                value.update(text)?;
                Ok(value)
            }

            fn update(&mut self, text: &str) -> base::Result<()> {
                let mut changed = self.clone();
                for (name, value) in $expand(text)? {
                    changed.set(&name, &value)?;
                }
                *self = changed;
                Ok(())
            }

            fn print(&self) -> String {
                let mut out = String::from("{");
                $(
                    out.push_str(concat!(stringify!($field), "="));
                    out.push_str(&$crate::Value::print(&self.$field));
                    out.push(';');
                )*
                out.push('}');
                out
            }

            fn is_same(&self, other: &Self) -> bool {
                true $(&& $crate::Value::is_same(&self.$field, &other.$field))*
            }
        }
    };
}
pub(super) use struct_value;
