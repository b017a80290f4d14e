//! `c_api!` declares C functions; `accessors!` declares setters and getters. `cargo xtask header` reads the same text and
//! writes `rocksdb/c.h`.
//!
//! ```text
//! c_api! {
//!     /// The comment of the function in the header.
//!     fn rocksdb_put(db: at rocksdb_t, options: in rocksdb_writeoptions_t, key: bytes, val: bytes, err) {
//!         ...          // a body of type Result<()>, because the function has `err`
//!     }
//! }
//! ```
//! A parameter is one word of this table. The body sees the type of the last column.
//!
//! | parameter | C | body |
//! |---|---|---|
//! | `x: in T` | `const T* x` | `&T`; null is an error |
//! | `x: at T` | `T* x` | `&T`; null is an error |
//! | `x: mut T`, `x: cmut T` | `T* x`, `const T* x` | `&mut T`; null is an error |
//! | `x: maybe T`, `x: inmaybe T` | `T* x`, `const T* x` | `Option<&T>` |
//! | `x: own T`, `x: cown T` | `T* x`, `const T* x` | `Option<Box<T>>`: the function destroys the handle |
//! | `x: bytes` | `const char* x, size_t x_len` | `&[u8]` |
//! | `x: bound` | `const char* x, size_t x_len` | `Option<&[u8]>`: null of any length is `None` |
//! | `x: mbound` | `char* x, size_t x_len` | `Option<&[u8]>` |
//! | `x: text`, `x: path` | `const char* x` | `&str`, `&Path` |
//! | `x: flag` | `unsigned char x` | `bool` |
//! | `x: bool`, `x: i32`, `x: u64`, ... | `bool`, `int`, `uint64_t` | the same |
//! | `x: out T` | `T* x` | `Out<T>` |
//! | `x: slices`, `x: islices` | count (`size_t`, `int`), pointers, lengths | `Slices` |
//! | `x: keys` | as for `slices` | `Keys`: the count, and the slices or their error |
//! | `x: ranges` | `int` count, starts, lengths, limits, lengths | `(usize, Ranges)` |
//! | `x: raw(P)` | the pointer type `P` | `P` |
//! | `x: call F` | the function type `F` | `Option<F>` |
//! | `err` | `char** errptr` | an error of the body goes there |

/// Declares C functions. See the head of this file.
macro_rules! c_api {
    ($($(#[$meta:meta])* fn $name:ident ( $($params:tt)* ) $(-> $ret:ty)? $body:block)*) => {
        $($crate::abi::macros::c_fn! {
            [$(#[$meta])*] $name [$crate::abi::macros::ret_type!($($ret)?)] $body
            [] [] [$crate::abi::Report::default()] plain [$($params)*,]
        })*
    };
}

/// Declares C functions of a feature that Ironstone does not have. A function with `err` reports `Not implemented: NAME`. A
/// function without `err` returns zero or a null pointer.
macro_rules! c_missing {
    ($($(#[$meta:meta])* fn $name:ident ( $($params:tt)* ) $(-> $ret:ty)? ;)*) => {
        $($crate::abi::macros::c_fn! {
            [$(#[$meta])* #[allow(unused_variables, unused_mut)]]
            $name [$crate::abi::macros::ret_type!($($ret)?)] {}
            [] [] [$crate::abi::Report::default()] missing [$($params)*,]
        })*
    };
}

macro_rules! ret_type {
    () => {
        ()
    };
    ($ret:ty) => {
        $ret
    };
}

/// Converts each parameter to C parameters and a `let` statement, then writes the function.
macro_rules! c_fn {
    // All parameters are converted: write the function.
    ([$($meta:tt)*] $name:ident [$ret:ty] $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident [$(,)?]) => {
        $($meta)*
        #[doc = "\n# Safety\nThe arguments follow the rules at the head of `rocksdb/c.h`."]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($c)*) -> <$ret as $crate::abi::Return>::C {
            const FUNCTION: &str = stringify!($name);
            let report = $err;
            let body = || -> base::Result<$ret> {
                $($let)*
                $crate::abi::macros::c_body!($mode FUNCTION $body)
            };
            // SAFETY: `errptr` is null or the caller's, which the header requires to be null or from `malloc`. The
            // database is null or live: a function that destroys its database does not report to it.
            unsafe { $crate::abi::guard::<$ret>(FUNCTION, report, body) }
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident [err $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* errptr: *mut *mut std::ffi::c_char,] [$($let)*] [$err.to(errptr)]
            $mode [@fallible $($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block $c:tt $let:tt [$err:expr] plain [@fallible , $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! { $m $name $ret $body $c $let [$err] fallible [$($rest)*] }
    };
    ($m:tt $name:ident $ret:tt $body:block $c:tt $let:tt [$err:expr] missing [@fallible , $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! { $m $name $ret $body $c $let [$err] missing [$($rest)*] }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: at rocksdb_t, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body
            [$($c)* $x: *mut rocksdb_t,]
            [$($let)* let $x = $crate::abi::macros::c_value!(at rocksdb_t $x FUNCTION);]
            [$err.or_log_of($x)] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: $kind:ident $t:ident, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body
            [$($c)* $x: $crate::abi::macros::c_type!($kind $t),]
            [$($let)* let $x = $crate::abi::macros::c_value!($kind $t $x FUNCTION);]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: bytes, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* $x: *const std::ffi::c_char, len: usize,]
            // SAFETY: rule 11 of the header: `len` initialized bytes. No thread changes the bytes during the call. The slice is used only until
            // the call returns.
            [$($let)* let $x: &[u8] = unsafe { $crate::abi::arguments::bytes($x, len)? };]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: mbound, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* $x: *mut std::ffi::c_char, len: usize,]
            [$($let)* let $x: Option<&[u8]> = match $x.is_null() {
                true => None,
                // SAFETY: the pointer is not null. Rule 11 of the header: `len` initialized bytes that no thread changes during the call.
                false => Some(unsafe { $crate::abi::arguments::bytes($x, len)? }),
            };]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: bound, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* $x: *const std::ffi::c_char, len: usize,]
            [$($let)* let $x: Option<&[u8]> = match $x.is_null() {
                true => None,
                // SAFETY: the pointer is not null. Rule 11 of the header: `len` initialized bytes that no thread changes during the call.
                false => Some(unsafe { $crate::abi::arguments::bytes($x, len)? }),
            };]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: text, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* $x: *const std::ffi::c_char,]
            // SAFETY: rule 11 of the header: null, or a string with a NUL at its end. No thread changes the string during the call.
            [$($let)* let $x: &str = unsafe { $crate::abi::arguments::text($x)? };]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: path, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* $x: *const std::ffi::c_char,]
            // SAFETY: rule 11 of the header: null, or a string with a NUL at its end. No thread changes the string during the call.
            [$($let)* let $x: &std::path::Path = unsafe { $crate::abi::arguments::path($x)? };]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: char, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* $x: std::ffi::c_char,] [$($let)*] [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: flag, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* $x: u8,] [$($let)* let $x: bool = $x != 0;]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: slices, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body
            [$($c)* count: usize, $x: *const *const std::ffi::c_char, lens: *const usize,]
            // SAFETY: rule 11 of the header: `count` initialized pointers and lengths, and each pointer has as many initialized bytes as its length
            // says. No thread changes them during the call.
            [$($let)* let $x = unsafe { $crate::abi::Slices::new(count, $x, lens)? };]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: keys, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body
            [$($c)* count: usize, $x: *const *const std::ffi::c_char, lens: *const usize,]
            // SAFETY: rule 11 of the header: `count` initialized pointers and lengths, and each pointer has as many initialized bytes as its length
            // says. No thread changes them during the call.
            [$($let)* let $x = unsafe { $crate::abi::Keys::new(count, $x, lens) };]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: islices, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body
            [$($c)* count: i32, $x: *const *const std::ffi::c_char, lens: *const usize,]
            [$($let)*
                let count = $crate::abi::arguments::count(count)?;
                // SAFETY: rule 11 of the header: `count` initialized pointers and lengths, and each pointer has as many initialized bytes as its length
                // says. No thread changes them during the call.
                let $x = unsafe { $crate::abi::Slices::new(count, $x, lens)? };]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: ranges, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body
            [$($c)* count: i32,
                starts: *const *const std::ffi::c_char, start_lens: *const usize,
                limits: *const *const std::ffi::c_char, limit_lens: *const usize,]
            [$($let)*
                let count = $crate::abi::arguments::count(count)?;
                // SAFETY: rule 11 of the header: four arrays of `count` initialized items, and each pointer has as many initialized bytes as
                // its length says. No thread changes them during the call.
                let $x = unsafe {
                    $crate::abi::Ranges {
                        starts: $crate::abi::Slices::new(count, starts, start_lens)?,
                        limits: $crate::abi::Slices::new(count, limits, limit_lens)?,
                    }
                };]
            [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: raw($ty:ty), $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* $x: $ty,] [$($let)*] [$err] $mode [$($rest)*]
        }
    };
    ($m:tt $name:ident $ret:tt $body:block [$($c:tt)*] [$($let:tt)*] [$err:expr] $mode:ident
        [$x:ident: $number:ident, $($rest:tt)*]) => {
        $crate::abi::macros::c_fn! {
            $m $name $ret $body [$($c)* $x: $number,] [$($let)*] [$err] $mode [$($rest)*]
        }
    };
}

macro_rules! c_body {
    (plain $function:ident $body:block) => {
        Ok($body)
    };
    (fallible $function:ident $body:block) => {
        $body
    };
    (missing $function:ident $body:block) => {
        Err(base::Error::not_supported($function))
    };
}

/// The C type of a parameter that is declared with two words, such as `in T`.
macro_rules! c_type {
    (in $t:ident) => { *const $t };
    (cmut $t:ident) => { *const $t };
    (cown $t:ident) => { *const $t };
    (inmaybe $t:ident) => { *const $t };
    (call $t:ident) => { Option<$t> };
    ($kind:ident $t:ident) => { *mut $t };
}

/// The value that the body gets for a parameter that is declared with two words.
macro_rules! c_value {
    (shared $t:ident $x:ident $function:ident) => {{
        // SAFETY: null, or a live handle (rule 1 of the header). The library made the handle, so the handle is aligned and initialized. No
        // other thread changes or destroys the handle during the call (rule 6).
        let reference: Option<&$t> = unsafe { $x.as_ref() };
        reference.ok_or_else(|| $crate::abi::guard::null_argument($function, stringify!($x)))?
    }};
    (in $t:ident $x:ident $function:ident) => {
        $crate::abi::macros::c_value!(shared $t $x $function)
    };
    (mut $t:ident $x:ident $function:ident) => {
        $crate::abi::macros::c_value!(exclusive $t $x $function)
    };
    (at $t:ident $x:ident $function:ident) => {
        $crate::abi::macros::c_value!(shared $t $x $function)
    };
    (exclusive $t:ident $x:ident $function:ident) => {{
        // SAFETY: null, or a live handle. The library made the handle, so the handle is aligned and initialized. No other argument is
        // the same handle (rule 1 of the header), and no other thread uses the handle during the call (rule 6).
        let reference: Option<&mut $t> = unsafe { $x.as_mut() };
        reference.ok_or_else(|| $crate::abi::guard::null_argument($function, stringify!($x)))?
    }};
    (cmut $t:ident $x:ident $function:ident) => {{
        // SAFETY: null, or a live handle. The library made the handle, so the handle is aligned and initialized. No other argument is
        // the same handle (rule 1 of the header), and no other thread uses the handle during the call (rule 6).
        let reference: Option<&mut $t> = unsafe { $x.cast_mut().as_mut() };
        reference.ok_or_else(|| $crate::abi::guard::null_argument($function, stringify!($x)))?
    }};
    (maybe $t:ident $x:ident $function:ident) => {{
        // SAFETY: null, or a live handle (rule 1 of the header). The library made the handle, so the handle is aligned and initialized. No
        // other thread changes or destroys the handle during the call (rule 6).
        let reference: Option<&$t> = unsafe { $x.as_ref() };
        reference
    }};
    (inmaybe $t:ident $x:ident $function:ident) => {
        $crate::abi::macros::c_value!(maybe $t $x $function)
    };
    (own $t:ident $x:ident $function:ident) => {{
        // SAFETY: the header requires null, or a live handle from this library that no other thread uses and that the
        // program does not use again. Every handle comes from `Box::into_raw`.
        let handle: Option<Box<$t>> = (!$x.is_null()).then(|| unsafe { Box::from_raw($x) });
        handle
    }};
    (cown $t:ident $x:ident $function:ident) => {{
        // SAFETY: the header requires null, or a live handle from this library that no other thread uses and that the
        // program does not use again. Every handle comes from `Box::into_raw`, so it may be changed: only its C type
        // is const.
        let handle: Option<Box<$t>> = (!$x.is_null()).then(|| unsafe { Box::from_raw($x.cast_mut()) });
        handle
    }};
    (out $t:ident $x:ident $function:ident) => {
        // SAFETY: rule 11 of the header: null, or an aligned, writable place, live until the call returns. Only this call uses the place.
        unsafe { $crate::abi::Out::new($x) }
    };
    (call $t:ident $x:ident $function:ident) => {
        $x
    };
}

/// Declares the setters and getters of one handle, one row each:
///
/// ```text
/// accessors! {
///     rocksdb_readoptions_t, "rocksdb_readoptions_", |o|;
///     fill_cache: flag => o.options.fill_cache;          // set_fill_cache, get_fill_cache
///     disable: i32 / flag => o.disable;                  // the setter takes int, the getter returns unsigned char
///     hash_ratio: f64 / none => o.hash_ratio;            // a setter only
/// }
/// ```
///
/// After `|o|`, the words `of ReadOptions` name the options of a call in the field `options` of the handle. A test then compares
/// the accessors with the rows of the options: see `listed`.
macro_rules! accessors {
    ($t:ident, $prefix:literal, |$o:ident| of $options:ident; $($(#[$meta:meta])* $field:ident: $set:ident $(/ $get:ident)? => $place:expr;)*) => {
        accessors! { $t, $prefix, |$o|; $($(#[$meta])* $field: $set $(/ $get)? => $place;)* }

        #[cfg(test)]
        impl $crate::abi::listed::Listed for $t {
            type Options = $options;
            const PREFIX: &'static str = $prefix;
            const ACCESSORS: &'static [$crate::abi::listed::Accessor<$t>] = &[$($crate::abi::listed::Accessor {
                name: stringify!($field),
                store: |$o, number| {
                    let value: $crate::abi::macros::first_word!($set $($get)?) = $crate::abi::place::Number::from_f64(number);
                    $crate::abi::Place::store(&mut $place, value)
                },
            },)*];

            fn options(&self) -> &$options {
                &self.options
            }
        }
    };
    ($t:ident, $prefix:literal, |$o:ident|; $($(#[$meta:meta])* $field:ident: $set:ident $(/ $get:ident)? => $place:expr;)*) => {
        $(
            $crate::abi::macros::setter!($t, $prefix, $o, $field, $set, $place);
            $crate::abi::macros::getter!($t, $prefix, $o, $field, [$set] [$($get)?], $place);
        )*
    };
}

macro_rules! setter {
    ($t:ident, $prefix:literal, $o:ident, $field:ident, none, $place:expr) => {};
    ($t:ident, $prefix:literal, $o:ident, $field:ident, $set:ident, $place:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!($prefix, "set_", stringify!($field)))]
            unsafe extern "C" fn set(handle: *mut $t, value: $crate::abi::macros::word!($set)) {
                const FUNCTION: &str = concat!($prefix, "set_", stringify!($field));
                let body = || -> base::Result<()> {
            let $o = $crate::abi::macros::c_value!(exclusive $t handle FUNCTION);
                    let place = &mut $place;
                    if $crate::abi::Place::<$crate::abi::macros::word!($set)>::store(place, value) {
                        $crate::abi::HasRejected::rejected_mut($o).remove(stringify!($field));
                    } else {
                        let number = $crate::abi::place::Number::to_f64(value);
                        $crate::abi::HasRejected::rejected_mut($o).insert(stringify!($field), number);
                    }
                    Ok(())
                };
                // SAFETY: the error place is null, which the contract of `guard` allows: it writes no error.
                unsafe { $crate::abi::guard::<()>(FUNCTION, $crate::abi::Report::default(), body) }
            }
        };
    };
}

macro_rules! getter {
    ($t:ident, $prefix:literal, $o:ident, $field:ident, [$set:ident] [none], $place:expr) => {};
    ($t:ident, $prefix:literal, $o:ident, $field:ident, [$set:ident] [], $place:expr) => {
        $crate::abi::macros::getter!($t, $prefix, $o, $field, [$set][$set], $place);
    };
    ($t:ident, $prefix:literal, $o:ident, $field:ident, [$set:ident] [$get:ident], $place:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!($prefix, "get_", stringify!($field)))]
            unsafe extern "C" fn get(handle: *const $t) -> $crate::abi::macros::word!($get) {
                const FUNCTION: &str = concat!($prefix, "get_", stringify!($field));
                let body = || -> base::Result<$crate::abi::macros::word!($get)> {
            let $o = $crate::abi::macros::c_value!(shared $t handle FUNCTION);
                    let number = $crate::abi::HasRejected::rejected($o).number(stringify!($field));
                    Ok(match number {
                        Some(number) => $crate::abi::place::Number::from_f64(number),
                        None => $crate::abi::Place::<$crate::abi::macros::word!($get)>::load(&$place),
                    })
                };
                // SAFETY: the error place is null, which the contract of `guard` allows: it writes no error.
                unsafe { $crate::abi::guard(FUNCTION, $crate::abi::Report::default(), body) }
            }
        };
    };
}

/// The C type for the type word of a row.
macro_rules! word {
    (flag) => {
        u8
    };
    (char) => {
        i8
    };
    ($number:ident) => {
        $number
    };
}

/// The C type of the setter of a row, or of the getter if the row has no setter.
#[cfg(test)]
macro_rules! first_word {
    (none $get:ident) => {
        $crate::abi::macros::word!($get)
    };
    ($set:ident $($get:ident)?) => {
        $crate::abi::macros::word!($set)
    };
}

/// Declares a handle of plain options: the struct, its defaults, its lifetime, and one row for each option.
///
/// ```text
/// plain_options! {
///     /// Options of transactions.
///     rocksdb_transaction_options_t, "rocksdb_transaction_options_";
///     @create rocksdb_transaction_options_create, rocksdb_transaction_options_destroy;
///     set_snapshot: flag = false;
/// }
/// ```
macro_rules! plain_options {
    (
        $(#[$doc:meta])* $t:ident, $prefix:literal;
        $(@create $create:ident, $destroy:ident;)?
        $(@with { $($other:ident: $type:ty = $value:expr;)* })?
        $($(#[$meta:meta])* $field:ident: $set:ident $(/ $get:ident)? = $default:expr;)*
    ) => {
        $(#[$doc])*
        pub struct $t {
            $($(pub(crate) $other: $type,)*)?
            $(pub(crate) $field: $crate::abi::macros::field!($set),)*
            pub(crate) rejected: $crate::abi::Rejected,
        }
        $crate::abi::rejected::has_rejected!($t);

        impl Default for $t {
            /// Returns RocksDB's defaults.
            fn default() -> Self {
                $t { $($($other: $value,)*)? $($field: $default,)* rejected: $crate::abi::Rejected::default() }
            }
        }

        $(lifetime!($t, $create, $destroy);)?

        accessors! {
            $t, $prefix, |o|;
            $($(#[$meta])* $field: $set $(/ $get)? => o.$field;)*
        }
    };
}

/// The field type for the type word of a row.
macro_rules! field {
    (flag) => {
        bool
    };
    ($number:ident) => {
        $number
    };
}

/// Declares functions that create and destroy a handle.
macro_rules! lifetime {
    ($t:ident, $create:ident, $destroy:ident) => {
        c_api! {
            /// Creates the handle with the defaults.
            fn $create() -> Owned<$t> {
                Owned($t::default())
            }

            /// Destroys the handle. Accepts null.
            fn $destroy(handle: own $t) {
                drop(handle)
            }
        }
    };
}

/// Declares functions that return one value of a handle: `name: type => expression;`.
macro_rules! facts {
    ($t:ident, $prefix:literal, |$o:ident|; $($(#[$meta:meta])* $name:ident: $ret:ty => $value:expr;)*) => {
        $(
            const _: () = {
                #[unsafe(export_name = concat!($prefix, stringify!($name)))]
                unsafe extern "C" fn get(handle: *const $t) -> <$ret as $crate::abi::Return>::C {
                    const FUNCTION: &str = concat!($prefix, stringify!($name));
                    let body = || -> base::Result<$ret> {
                        #[allow(unused_variables)]
                        let $o = $crate::abi::macros::c_value!(shared $t handle FUNCTION);
                        Ok($value)
                    };
                    // SAFETY: the error place is null, which the contract of `guard` allows: it writes no error.
                    unsafe { $crate::abi::guard::<$ret>(FUNCTION, $crate::abi::Report::default(), body) }
                }
            };
        )*
    };
}

/// Declares functions that return a byte string of a handle and its length: `name => expression;`.
macro_rules! byte_facts {
    ($t:ident, $prefix:literal, |$o:ident|; $($(#[$meta:meta])* $name:ident => $value:expr;)*) => {
        $(
            const _: () = {
                #[unsafe(export_name = concat!($prefix, stringify!($name)))]
                unsafe extern "C" fn get(handle: *const $t, len: *mut usize) -> *const std::ffi::c_char {
                    const FUNCTION: &str = concat!($prefix, stringify!($name));
                    let body = || -> base::Result<$crate::abi::Text> {
                        let len = $crate::abi::macros::c_value!(out usize len FUNCTION);
                        #[allow(unused_variables)]
                        let $o = $crate::abi::macros::c_value!(shared $t handle FUNCTION);
                        let bytes: &[u8] = $value;
                        len.set(bytes.len());
                        Ok($crate::abi::Text::bytes(bytes))
                    };
                    // SAFETY: the error place is null, which the contract of `guard` allows: it writes no error.
                    unsafe { $crate::abi::guard::<$crate::abi::Text>(FUNCTION, $crate::abi::Report::default(), body) }
                }
            };
        )*
    };
}

#[cfg(test)]
pub(crate) use first_word;
pub(crate) use {c_body, c_fn, c_type, c_value, field, getter, ret_type, setter, word};
