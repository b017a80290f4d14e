//! One row an option, and the macro that makes struct, defaults and rows from one list.

use base::Result;
use base::map::HashMap;
use format::options_ini::{Line, Lines};
use table::options::{BlockBasedTableOptions, OPTIONS, OptionRow};

use super::family::TableFactory;

/// When an option may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutability {
    /// At open only.
    Fixed,
    /// Also while the database is open.
    Mutable,
}

/// One option of `T`.
pub struct Row<T: 'static> {
    pub name: &'static str,
    /// What the struct's field says of it.
    pub doc: &'static str,
    pub mutability: Mutability,
    /// Whether it stands in OPTIONS files.
    pub written: bool,
    pub print: fn(&T) -> String,
    /// Whether both are known to have the same text, without making it; false tells nothing.
    pub is_same: fn(&T, &T) -> bool,
    /// Takes the value from option text; on an error nothing changes.
    pub set: fn(&mut T, &str) -> Result<()>,
}

/// What is worked out once of all rows of a kind of options.
pub(super) struct Known {
    /// The defaults as option text, in the order of the rows.
    pub texts: Vec<String>,
    /// Whether the default's line reads as its text, and this as the default.
    read_back: Vec<bool>,
    /// Where each name is among the rows.
    pub places: HashMap<&'static str, usize>,
}

impl Known {
    pub fn of<T: Default>(rows: &'static [Row<T>]) -> Known {
        let default = T::default();
        let texts: Vec<String> = rows.iter().map(|row| (row.print)(&default)).collect();
        let reads_back = |(row, text): (&Row<T>, &String)| {
            let mut read = T::default();
            reads_as(row.name, text) && (row.set)(&mut read, text).is_ok() && !row.differs(&default, &read)
        };
        Known {
            read_back: rows.iter().zip(&texts).map(reads_back).collect(),
            places: rows.iter().map(|row| row.name).zip(0..).collect(),
            texts,
        }
    }

    /// The options of block-based tables.
    pub fn of_tables() -> Known {
        let default = BlockBasedTableOptions::default();
        let texts: Vec<String> = OPTIONS.iter().map(|row| (row.print)(&default)).collect();
        let reads_back = |(row, text): (&OptionRow, &String)| {
            let mut read = TableFactory::default();
            let set = reads_as(row.name, text) && read.set(row.name, text).is_ok();
            set && read.block_based().is_some_and(|read| (row.print)(read) == *text)
        };
        Known {
            read_back: OPTIONS.iter().zip(&texts).map(reads_back).collect(),
            places: OPTIONS.iter().map(|row| row.name).zip(0..).collect(),
            texts,
        }
    }

    /// The text of the default of the row at `at`, if its line, as it is written, reads back as the default. No line is
    /// written for an empty text.
    pub fn default_read_back(&self, at: usize) -> Option<&str> {
        (self.read_back[at] || self.texts[at].is_empty()).then_some(&self.texts[at])
    }
}

/// Whether the line that is written for the statement reads as such.
fn reads_as(name: &str, value: &str) -> bool {
    let line = format!("  {name}={value}\n");
    matches!(Lines::new(&line).next(), Ok(Some(Line::Statement { name: n, value: v })) if n == name && v == value)
}

impl<T: Default> Row<T> {
    /// The default as option text.
    pub fn default_text(&self) -> String {
        (self.print)(&T::default())
    }

    pub fn is_mutable(&self) -> bool {
        self.mutability == Mutability::Mutable
    }

    /// Whether the texts differ.
    pub fn differs(&self, a: &T, b: &T) -> bool {
        !(self.is_same)(a, b) && (self.print)(a) != (self.print)(b)
    }
}

/// `fixed` and `mutable` options stand in OPTIONS files, `unwritten` (mutable: no) are read only;
/// `component`s are fields without a row.
macro_rules! options {
    (
        $(#[$meta:meta])* $ty:ident;
        $( $(#[doc = $doc:literal])+ $kind:ident $name:ident: $fty:ty = $default:expr; )*
        components
        $( $(#[doc = $cdoc:literal])+ $cname:ident: $cty:ty = $cdefault:expr; )*
    ) => {
        $(#[$meta])*
        #[derive(Clone)]
        #[allow(non_snake_case)]
        pub struct $ty {
            $( $(#[doc = $doc])+ pub $name: $fty, )*
            $( $(#[doc = $cdoc])+ pub $cname: $cty, )*
        }

        impl Default for $ty {
            fn default() -> Self {
                $ty { $($name: $default,)* $($cname: $cdefault,)* }
            }
        }

        impl $ty {
            /// Every option that has a text.
            pub const ROWS: &'static [$crate::Row<$ty>] = &[
                $( $crate::row::options!(@row $ty $kind $name [$($doc)+]), )*
            ];
        }
    };
    (@row $ty:ident $kind:ident $name:ident [$($doc:literal)+]) => {
        $crate::Row::<$ty> {
            name: stringify!($name),
            doc: concat!($($doc),+),
            mutability: $crate::row::options!(@mutability $kind),
            written: $crate::row::options!(@written $kind),
            print: |options| $crate::Value::print(&options.$name),
            is_same: |a, b| $crate::Value::is_same(&a.$name, &b.$name),
            set: |options, text| $crate::Value::update(&mut options.$name, text),
        }
    };
    (@mutability mutable) => { $crate::Mutability::Mutable };
    (@mutability $kind:ident) => { $crate::Mutability::Fixed };
    (@written unwritten) => { false };
    (@written $kind:ident) => { true };
}
pub(super) use options;
