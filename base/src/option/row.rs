//! One row per option, and the macro that makes the struct, the defaults and the rows from one list.

use super::range;
use crate::Result;

/// A release of RocksDB: major and minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub u32, pub u32);

impl Release {
    /// The oldest release that rows name. An option of this release may be older.
    pub const OLDEST: Release = Release(5, 18);
    /// The release that Ironstone follows.
    pub const NEWEST: Release = Release(11, 8);

    /// Reads `X.Y`, in constant expressions.
    ///
    /// # Panics
    /// If the text is not two numbers with a point between them.
    pub const fn parse(text: &str) -> Release {
        let bytes = text.as_bytes();
        let (mut parts, mut at, mut i) = ([0u32; 2], 0, 0);
        while i < bytes.len() {
            match bytes[i] {
                b'.' => at += 1,
                digit => {
                    assert!(digit.is_ascii_digit());
                    parts[at] = parts[at] * 10 + (digit - b'0') as u32;
                }
            }
            i += 1;
        }
        assert!(at == 1);
        Release(parts[0], parts[1])
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Says when an option may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutability {
    /// At open only.
    Fixed,
    /// At open, and while the database is open.
    Mutable,
    /// With each call: the option is a part of the options of a call.
    Call,
}

/// One option of the struct `T`.
pub struct Row<T: 'static> {
    /// RocksDB's name.
    pub name: &'static str,
    /// The doc of the field: effect, special values, and what else a user must know.
    pub doc: &'static str,
    /// The Rust type of the field.
    pub ty: &'static str,
    /// The unit of the value, for example `bytes`. Empty if the value has no unit.
    pub unit: &'static str,
    /// The accepted numbers as a range ([`Row::accepts`]), or the accepted words. Empty if each value of the type is accepted.
    pub range: &'static str,
    /// States whether the option can change while the database is open.
    pub mutability: Mutability,
    /// True if OPTIONS files hold the option.
    pub written: bool,
    /// The first release whose OPTIONS files hold the option. For an option of a call: the first release that has the
    /// option. [`Release::OLDEST`] stands for older releases too.
    pub since: Release,
    /// Returns the text of the value.
    pub print: fn(&T) -> String,
    /// Returns the text of the value that a release reads.
    pub print_for: fn(&T, Release) -> String,
    /// Returns the number, or `None` for a value that is no number.
    pub number: fn(&T) -> Option<f64>,
    /// Returns true if both values are known to have the same text. If the result is false, the texts may still be
    /// equal.
    pub is_same: fn(&T, &T) -> bool,
    /// Sets the value from its text. After an error nothing is changed.
    pub set: fn(&mut T, &str) -> Result<()>,
}

impl<T: Default> Row<T> {
    /// Returns the text of the default.
    pub fn default_text(&self) -> String {
        (self.print)(&T::default())
    }

    /// Returns true if the option may change while the database is open.
    pub fn is_mutable(&self) -> bool {
        self.mutability == Mutability::Mutable
    }

    /// Returns true if the texts of the two values differ.
    pub fn differs(&self, a: &T, b: &T) -> bool {
        !(self.is_same)(a, b) && (self.print)(a) != (self.print)(b)
    }
}

impl<T> Row<T> {
    /// Returns true if the value is in the range of the row. A value that is no number is in the range.
    pub fn accepts(&self, options: &T) -> bool {
        (self.number)(options).is_none_or(|number| range::contains(self.range, number))
    }
}

/// One component of a struct of options: an object of the program. A component has no text.
pub struct Component {
    /// The name of the field.
    pub name: &'static str,
    /// The doc of the field.
    pub doc: &'static str,
    /// The first release that has the component. [`Release::OLDEST`] stands for older releases too.
    pub since: Release,
}

/// Declares a struct of options. Each row makes a field, its default, and a [`Row`](crate::option::Row) of `ROWS`.
///
/// ```text
/// /// Doc of the option.
/// mutable name: type = default, unit: "bytes", range: "1 and more", since: "9.4";
/// ```
/// `fixed` and `mutable` options are in OPTIONS files. `unwritten` options have a text and are not in OPTIONS files.
/// The fields after `components` have no row. They are in `COMPONENTS`.
///
/// `options! { calls; .. }` declares the options of a call. Each row has the kind `call`, and the default is the constant
/// `DEFAULT`.
#[macro_export]
macro_rules! options {
    (@mutability mutable) => { $crate::option::Mutability::Mutable };
    (@mutability call) => { $crate::option::Mutability::Call };
    (@mutability $kind:ident) => { $crate::option::Mutability::Fixed };
    (@written unwritten) => { false };
    (@written hidden) => { false };
    (@written call) => { false };
    (@written $kind:ident) => { true };
    (@default made $ty:ident $fields:tt) => {
        impl Default for $ty {
            fn default() -> Self {
                $ty $fields
            }
        }
    };
    (@default constant $ty:ident $fields:tt) => {
        impl $ty {
            /// The default value of each option.
            pub const DEFAULT: $ty = $ty $fields;
        }

        impl Default for $ty {
            fn default() -> Self {
                $ty::DEFAULT
            }
        }
    };
    (
        @make $how:ident
        $(#[$meta:meta])* $ty:ident;
        $( $(#[doc = $doc:literal])+ $kind:ident $name:ident: $fty:ty = $default:expr
            $(, unit: $unit:literal)? $(, range: $range:literal)? $(, since: $since:literal)?; )*
        components
        $( $(#[doc = $cdoc:literal])+ $cname:ident: $cty:ty = $cdefault:expr $(, since: $csince:literal)?; )*
    ) => {
        $(#[$meta])*
        ///
        /// The default value has the default of each option.
        #[derive(Clone)]
        #[allow(non_snake_case)]
        pub struct $ty {
            $(
                $(#[doc = $doc])+
                $(#[doc = concat!("\n\nUnit: ", $unit, ".")])?
                $(#[doc = concat!("\n\nRange: ", $range, ".")])?
                #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")]
                pub $name: $fty,
            )*
            $( $(#[doc = $cdoc])+ pub $cname: $cty, )*
        }

        $crate::options!(@default $how $ty { $($name: $default,)* $($cname: $cdefault,)* });

        impl $ty {
            /// The options that have no text.
            pub const COMPONENTS: &'static [$crate::option::Component] = &[$(
                $crate::option::Component {
                    name: stringify!($cname),
                    doc: concat!($($cdoc),+),
                    since: [$($crate::option::Release::parse($csince),)? $crate::option::Release::OLDEST][0],
                },
            )*];

            /// All options that have a text.
            pub const ROWS: &'static [$crate::option::Row<$ty>] = &[$(
                $crate::option::Row::<$ty> {
                    name: stringify!($name),
                    doc: concat!($($doc),+),
                    ty: stringify!($fty),
                    unit: concat!($($unit)?),
                    range: concat!($($range)?),
                    mutability: $crate::options!(@mutability $kind),
                    written: $crate::options!(@written $kind),
                    since: [$($crate::option::Release::parse($since),)? $crate::option::Release::OLDEST][0],
                    print: |options| $crate::option::Value::print(&options.$name),
                    print_for: |options, release| $crate::option::Value::print_for(&options.$name, release),
                    number: |options| $crate::option::Value::number(&options.$name),
                    is_same: |a, b| $crate::option::Value::is_same(&a.$name, &b.$name),
                    set: |options, text| $crate::option::Value::update(&mut options.$name, text),
                },
            )*];
        }
    };
    (@ $($options:tt)*) => { compile_error!("the text is no list of options"); };
    (calls; $($options:tt)*) => { $crate::options!(@make constant $($options)*); };
    ($($options:tt)*) => { $crate::options!(@make made $($options)*); };
}
