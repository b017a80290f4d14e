//! Values that are objects: an option names an object, and the object is made from its name.

use std::sync::Arc;

use super::row::Release;
use super::text::parse_map;
use super::value::{Value, not_a};
use crate::order::{BuiltinPrefix, Order, PrefixExtractor};
use crate::stats::Statistics;
use crate::{Error, Result};

/// RocksDB's text for no object.
const NULLPTR: &str = "nullptr";

/// Returns true if the text says that there is no object.
pub fn is_null(text: &str) -> bool {
    matches!(text.trim(), "" | NULLPTR)
}

/// Splits `{id=name;option=value;..}` into the id and the options. A text without `=` is an id alone. Inside an option
/// string the braces are removed already.
///
/// # Errors
/// InvalidArgument if the text has options but no id.
pub fn id_and_options(text: &str) -> Result<(String, Vec<(String, String)>)> {
    let text = text.trim();
    if !text.contains('=') {
        return Ok((text.trim_matches(['{', '}']).trim().to_string(), Vec::new()));
    }
    let mut options = parse_map(text)?;
    let at = options.iter().position(|(name, _)| name == "id");
    let at = at.ok_or_else(|| Error::invalid_argument(format!("object without an id: {text:?}")))?;
    let (_, id) = options.remove(at);
    Ok((id, options))
}

/// Makes an object that has no options of its own from its text: `{id=name}`, or the name alone. `what` is the kind of object.
///
/// # Errors
/// NotSupported if `by_name` does not know the name, also if the text has options. InvalidArgument if the object is known and the text has
/// options.
pub fn object_by_name<T>(what: &str, text: &str, by_name: impl FnOnce(&str) -> Option<T>) -> Result<T> {
    let (id, options) = id_and_options(text)?;
    let object = by_name(&id).ok_or_else(|| no_such(what, &id))?;
    match options.first() {
        None => Ok(object),
        Some((name, _)) => Err(no_such_option(&id, name)),
    }
}

/// Returns the error for an option that the object `id` does not have.
#[cold]
pub fn no_such_option(id: &str, name: &str) -> Error {
    Error::invalid_argument(format!("no such option of {id}: {name:?}"))
}

/// Returns the error for the name of an object that cannot be made.
#[cold]
pub fn no_such(what: &str, name: &str) -> Error {
    Error::not_supported(format!("{what} {name:?}"))
}

/// A value that can be absent: option text then says `nullptr`. `Option` of the value is a [`Value`].
pub trait Nullable: Sized {
    /// Reads the text of a value that is present.
    ///
    /// # Errors
    /// The errors of [`Value::parse`].
    fn parse_some(text: &str) -> Result<Self>;

    /// Returns the text.
    fn print_some(&self) -> String;

    /// Returns true if both are known to have the same text.
    fn is_same_some(&self, _other: &Self) -> bool {
        false
    }
}

impl<T: Nullable> Value for Option<T> {
    fn parse(text: &str) -> Result<Self> {
        if is_null(text) { Ok(None) } else { T::parse_some(text).map(Some) }
    }

    fn print(&self) -> String {
        self.as_ref().map_or_else(|| NULLPTR.to_string(), T::print_some)
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (None, None) => true,
            (Some(a), Some(b)) => a.is_same_some(b),
            _ => false,
        }
    }
}

/// An interface whose objects options name, for example a merge operator. `Arc` of the interface is a [`Value`].
pub trait Object {
    /// Makes the object that the text names.
    ///
    /// # Errors
    /// NotSupported if no object here has this name. InvalidArgument if the options of the object are wrong.
    fn make(text: &str) -> Result<Arc<Self>>;

    /// Returns the text that makes the object again.
    fn option_text(&self) -> String;

    /// Returns the text that `release` reads. Default: the text of all releases.
    fn option_text_for(&self, _release: Release) -> String {
        self.option_text()
    }
}

impl<T: ?Sized + Object> Nullable for Arc<T> {
    fn parse_some(text: &str) -> Result<Self> {
        T::make(text)
    }

    fn print_some(&self) -> String {
        self.as_ref().option_text()
    }

    fn is_same_some(&self, other: &Self) -> bool {
        Arc::ptr_eq(self, other)
    }
}

impl<T: ?Sized + Object> Value for Arc<T> {
    fn parse(text: &str) -> Result<Self> {
        T::make(text)
    }

    fn print(&self) -> String {
        self.as_ref().option_text()
    }

    fn print_for(&self, release: Release) -> String {
        self.as_ref().option_text_for(release)
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(self, other)
    }
}

impl Nullable for usize {
    fn parse_some(text: &str) -> Result<Self> {
        usize::parse(text)
    }

    fn print_some(&self) -> String {
        self.print()
    }

    fn is_same_some(&self, other: &Self) -> bool {
        self == other
    }
}

/// A key or a timestamp. The text has two hexadecimal digits for each byte, after `0x`.
impl Nullable for Vec<u8> {
    fn parse_some(text: &str) -> Result<Self> {
        let digits = text.trim().strip_prefix("0x").filter(|digits| digits.len().is_multiple_of(2));
        let digits = digits.ok_or_else(|| not_a("list of bytes", text))?.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |pair: &[u8]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
        digits.chunks_exact(2).map(byte).collect::<Option<_>>().ok_or_else(|| not_a("list of bytes", text))
    }

    fn print_some(&self) -> String {
        self.iter().fold("0x".to_string(), |text, byte| text + &format!("{byte:02x}"))
    }

    fn is_same_some(&self, other: &Self) -> bool {
        self == other
    }
}

impl Value for Order {
    fn parse(text: &str) -> Result<Self> {
        object_by_name("comparator", text, Order::by_name)
    }

    fn print(&self) -> String {
        self.name().to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Object for dyn PrefixExtractor {
    /// RocksDB reads no object from `{id=rocksdb.FixedPrefix;length=3}`: the length is a part of the id.
    fn make(text: &str) -> Result<Arc<Self>> {
        object_by_name("prefix extractor", text, |name| {
            BuiltinPrefix::parse(name).map(|prefix| Arc::new(prefix) as Arc<dyn PrefixExtractor>)
        })
    }

    fn option_text(&self) -> String {
        self.name()
    }
}

/// The text makes new statistics with all counters at 0.
impl Object for Statistics {
    fn make(text: &str) -> Result<Arc<Self>> {
        object_by_name("statistics", text, |name| {
            (name == "BasicStatistics").then(|| Arc::new(Statistics::new()))
        })
    }

    fn option_text(&self) -> String {
        "BasicStatistics".to_string()
    }
}
