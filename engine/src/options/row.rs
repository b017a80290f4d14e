//! One row an option, and the macro that makes struct, defaults and rows from one list.

use base::Result;

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
    /// Takes the value from option text; on an error nothing changes.
    pub set: fn(&mut T, &str) -> Result<()>,
}

impl<T: Default> Row<T> {
    /// The default as option text.
    pub fn default_text(&self) -> String {
        (self.print)(&T::default())
    }

    pub fn is_mutable(&self) -> bool {
        self.mutability == Mutability::Mutable
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
            pub const ROWS: &'static [$crate::options::Row<$ty>] = &[
                $( $crate::options::row::options!(@row $ty $kind $name [$($doc)+]), )*
            ];
        }
    };
    (@row $ty:ident $kind:ident $name:ident [$($doc:literal)+]) => {
        $crate::options::Row::<$ty> {
            name: stringify!($name),
            doc: concat!($($doc),+),
            mutability: $crate::options::row::options!(@mutability $kind),
            written: $crate::options::row::options!(@written $kind),
            print: |options| $crate::options::Value::print(&options.$name),
            set: |options, text| $crate::options::Value::update(&mut options.$name, text),
        }
    };
    (@mutability mutable) => { $crate::options::Mutability::Mutable };
    (@mutability $kind:ident) => { $crate::options::Mutability::Fixed };
    (@written unwritten) => { false };
    (@written $kind:ident) => { true };
}
pub(super) use options;
