//! The frame of all natives, and the macros that declare natives.
//!
//! ```text
//! natives! {
//!     /// What the native does.
//!     fn RocksDB_flushWal[java](db: Handle, sync: bool) { database(db)?.front.flush_wal(sync)?; }
//!     fn RocksIterator_isValid0 | RocksIterator_isValid0Jni[_](iter: Handle) -> bool { ... }
//!     fn AbstractTableFilter_createNewTableFilter[java, this]() -> Handle { ... }
//! }
//! ```
//!
//! A name is a symbol without `Java_org_rocksdb_`. Two names are the names of one native in two releases. The body returns its
//! value and uses `?` for faults. If the body fails or panics, the frame throws an exception, and the native returns zero or
//! null.

use std::any::Any;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base::Error;
use jni_sys::JNIEnv;

use crate::fault::{Fault, Outcome};
use crate::handle::{Exclusive, Handle, Shared};
use crate::java::{JBuffer, JBytes, JClass, JInts, JLongs, JObject, JObjects, JString, Java};
use crate::throw::Running;

/// An argument type: converts the value that Java passes to the value that the body gets.
pub trait Argument {
    type Raw;

    fn from_raw(raw: Self::Raw) -> Self;
}

/// A result type, with the value that a native returns after a fault.
pub trait Answer {
    type Raw;

    fn into_raw(self) -> Self::Raw;

    fn neutral() -> Self::Raw;
}

/// A handle through which the natives of [`rows`] reach an object.
pub trait Reach<T: 'static> {
    type Shared: Deref<Target = T>;

    /// Uses the object together with other users.
    ///
    /// # Errors
    /// IllegalStateException if this is not the handle of a live object of the type.
    fn reach(self) -> Outcome<Self::Shared>;

    /// Uses the object exclusively.
    ///
    /// # Errors
    /// The errors of [`Self::reach`].
    fn reach_to_change(self) -> Outcome<Exclusive<T>>;
}

impl<T: 'static> Reach<T> for Handle {
    type Shared = Shared<T>;

    #[inline]
    fn reach(self) -> Outcome<Shared<T>> {
        Ok(self.shared()?)
    }

    #[inline]
    fn reach_to_change(self) -> Outcome<Exclusive<T>> {
        Ok(self.exclusive()?)
    }
}

macro_rules! plain {
    ($($ty:ty = $neutral:expr),* $(,)?) => {$(
        impl Argument for $ty {
            type Raw = $ty;

            #[inline]
            fn from_raw(raw: $ty) -> $ty {
                raw
            }
        }

        impl Answer for $ty {
            type Raw = $ty;

            #[inline]
            fn into_raw(self) -> $ty {
                self
            }

            fn neutral() -> $ty {
                $neutral
            }
        }
    )*};
}
plain!(i8 = 0, i32 = 0, i64 = 0, f64 = 0.0, Handle = Handle::NULL, () = ());

macro_rules! references {
    ($($ty:ident),*) => {$(
        impl<'j> Argument for $ty<'j> {
            type Raw = $ty<'j>;

            #[inline]
            fn from_raw(raw: Self) -> Self {
                raw
            }
        }

        impl<'j> Answer for $ty<'j> {
            type Raw = $ty<'j>;

            #[inline]
            fn into_raw(self) -> Self {
                self
            }

            fn neutral() -> Self {
                $ty::NULL
            }
        }
    )*};
}
references!(JObject, JClass, JString, JBytes, JInts, JLongs, JObjects, JBuffer);

impl Argument for bool {
    type Raw = u8;

    #[inline]
    fn from_raw(raw: u8) -> bool {
        raw != 0
    }
}

impl Answer for bool {
    type Raw = u8;

    #[inline]
    fn into_raw(self) -> u8 {
        u8::from(self)
    }

    fn neutral() -> u8 {
        0
    }
}

/// Runs the body of a native.
///
/// # Safety
/// `env` is the environment of this thread, as the JVM passes it to a native.
#[inline]
pub unsafe fn frame<'j, R: Answer>(
    env: *mut JNIEnv,
    name: &'static str,
    body: impl FnOnce(Java<'j>) -> Outcome<R>,
) -> R::Raw {
    // SAFETY: the contract of this function; the native's frame is `'j`.
    let java = unsafe { Java::from_raw(env) };
    let _running = Running::start(java);
    match catch_unwind(AssertUnwindSafe(|| body(java))) {
        Ok(Ok(answer)) => answer.into_raw(),
        Ok(Err(fault)) => {
            crate::throw::throw(java, &fault);
            R::neutral()
        }
        Err(panic) => {
            thrown_panic(java, name, panic);
            R::neutral()
        }
    }
}

#[cold]
fn thrown_panic(java: Java<'_>, name: &str, panic: Box<dyn Any + Send>) {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_string(),
        (_, Some(text)) => text.clone(),
        _ => "no message".to_string(),
    };
    // Leak the payload: its drop could panic again, and it has only a few bytes.
    std::mem::forget(panic);
    let error = Error::aborted(format!("{name}: panic: {text}"));
    let _ = catch_unwind(AssertUnwindSafe(|| crate::throw::throw(java, &Fault::Rocks(error))));
}

/// Declares natives. The documentation of the module describes the form.
macro_rules! natives {
    () => {};
    ($(#[$doc:meta])* fn $first:ident $(| $more:ident)* [$java:tt] $arguments:tt -> $answer:ty $body:block $($rest:tt)*) => {
        $crate::native::one_native! {
            (stringify!($first)) [$(stringify!($more)),*] [$java] $arguments [$answer] $body
        }
        $crate::native::natives! { $($rest)* }
    };
    ($(#[$doc:meta])* fn $first:ident $(| $more:ident)* [$java:tt] $arguments:tt $body:block $($rest:tt)*) => {
        $crate::native::one_native! { (stringify!($first)) [$(stringify!($more)),*] [$java] $arguments [()] $body }
        $crate::native::natives! { $($rest)* }
    };
    ($(#[$doc:meta])* fn $first:ident $(| $more:ident)* [$java:tt, $this:ident] $arguments:tt -> $answer:ty $body:block
        $($rest:tt)*) => {
        $crate::native::one_native! {
            (stringify!($first)) [$(stringify!($more)),*] [$java, $this] $arguments [$answer] $body
        }
        $crate::native::natives! { $($rest)* }
    };
    ($(#[$doc:meta])* fn $first:ident $(| $more:ident)* [$java:tt, $this:ident] $arguments:tt $body:block $($rest:tt)*) => {
        $crate::native::one_native! {
            (stringify!($first)) [$(stringify!($more)),*] [$java, $this] $arguments [()] $body
        }
        $crate::native::natives! { $($rest)* }
    };
}

/// Declares one native under one or more names. The code of the native exists once: each further name is a jump to the code.
macro_rules! one_native {
    ($name:tt $more:tt [$java:tt] $arguments:tt [$answer:ty] $body:block) => {
        $crate::native::one_native! { @ $name $more [$java] [_this] $arguments [$answer] $body }
    };
    ($name:tt $more:tt [$java:tt, $this:ident] $arguments:tt [$answer:ty] $body:block) => {
        $crate::native::one_native! { @ $name $more [$java] [$this] $arguments [$answer] $body }
    };
    (@ ($name:expr) [$($more:expr),*] [$java:tt] [$this:ident] $arguments:tt [$answer:ty] $body:block) => {
        const _: () = {
            $crate::native::native_code! { ($name) [$java] [$this] $arguments [$answer] $body }
            $($crate::native::same_native! { ($more) [$this] $arguments [$answer] })*
        };
    };
}

/// Declares the function `native`, exported under a name.
macro_rules! native_code {
    (($name:expr) [$java:tt] [$this:ident] ($($x:ident: $ty:ty),* $(,)?) [$answer:ty] $body:block) => {
        #[inline(never)]
        #[allow(clippy::extra_unused_lifetimes, reason = "not each native has a reference")]
        #[unsafe(export_name = concat!("Java_org_rocksdb_", $name))]
        unsafe extern "system" fn native<'j>(
            env: *mut jni_sys::JNIEnv,
            $this: $crate::java::JObject<'j>,
            $($x: <$ty as $crate::native::Argument>::Raw,)*
        ) -> <$answer as $crate::native::Answer>::Raw {
            $(let $x = <$ty as $crate::native::Argument>::from_raw($x);)*
            #[allow(unreachable_code, unused_variables, reason = "a body may end with a return")]
            let body = move |java: $crate::java::Java<'j>| -> $crate::fault::Outcome<$answer> {
                #[allow(unused_variables)]
                let $java = java;
                #[allow(clippy::unused_unit, reason = "bodies without a value")]
                let answer: $answer = $body;
                Ok(answer)
            };
            // SAFETY: the JVM calls a native with the environment of the thread.
            unsafe { $crate::native::frame::<$answer>(env, $name, body) }
        }
    };
}

/// Exports the function `native` under a further name.
macro_rules! same_native {
    (($name:expr) [$this:ident] ($($x:ident: $ty:ty),* $(,)?) [$answer:ty]) => {
        const _: () = {
            #[allow(clippy::extra_unused_lifetimes, reason = "not each native has a reference")]
            #[unsafe(export_name = concat!("Java_org_rocksdb_", $name))]
            unsafe extern "system" fn same<'j>(
                env: *mut jni_sys::JNIEnv,
                $this: $crate::java::JObject<'j>,
                $($x: <$ty as $crate::native::Argument>::Raw,)*
            ) -> <$answer as $crate::native::Answer>::Raw {
                // SAFETY: the JVM calls this function with the arguments of `native`.
                unsafe { native(env, $this $(, $x)*) }
            }
        };
    };
}

/// Declares the setters and getters of a handle. A row is a setter and a getter in all listed classes:
///
/// ```text
/// rows! {
///     OptionSet [Options DBOptions] |o|;
///     setCreateIfMissing createIfMissing: bool => o.db.create_if_missing;
///     setLevel _: i32 => o.level;                         // a setter only
/// }
/// ```
///
/// `OptionSet by ReadHandle [...]` names the type of the handle, if this is not [`Handle`].
///
/// A setter takes the handle and the value. A getter takes the handle. [`crate::field::Field`] converts.
///
/// After `|o|`, the words `of FlushOptions (o)` name the options of a call, and the place of the options in the handle. A test then
/// compares the setters with the rows of the options: see `listed`.
macro_rules! rows {
    ($t:ident by $handle:ident $classes:tt |$o:ident| of $options:ident ($whole:expr); $($row:tt)*) => {
        $crate::native::rows! { $t by $handle $classes |$o|; $($row)* }
        $crate::native::listed! { $t $options $o ($whole); $($row)* }
    };
    ($t:ident $classes:tt |$o:ident| of $options:ident ($whole:expr); $($row:tt)*) => {
        $crate::native::rows! { $t $classes |$o|; $($row)* }
        $crate::native::listed! { $t $options $o ($whole); $($row)* }
    };
    ($t:ident by $handle:ident $classes:tt |$o:ident|; $($set:tt $get:tt: $word:ident => $place:expr;)*) => {
        $($crate::native::row! { $t ($handle) $classes $o $set $get $word ($place) })*
    };
    ($t:ident $classes:tt |$o:ident|; $($set:tt $get:tt: $word:ident => $place:expr;)*) => {
        $($crate::native::row! { $t ($crate::handle::Handle) $classes $o $set $get $word ($place) })*
    };
}

/// Lists the setters of a handle, for a test.
macro_rules! listed {
    ($t:ident $options:ident $o:ident ($whole:expr); $($set:tt $get:tt: $word:ident => $place:expr;)*) => {
        #[cfg(test)]
        impl $crate::listed::Listed for $t {
            type Options = $options;
            const SETTERS: &'static [$crate::listed::Setter<$t>] = &[$($crate::listed::Setter {
                name: stringify!($set),
                store: |$o, number| {
                    $crate::field::Field::<$word>::store(&mut $place, $crate::listed::Number::of(number))
                },
            },)*];

            fn options(&self) -> &$options {
                let $o = self;
                &$whole
            }
        }
    };
}

macro_rules! row {
    ($t:ident $handle:tt $classes:tt $o:ident $set:tt $get:tt $word:ident $place:tt) => {
        $crate::native::setter! { $t $handle $classes $o $set $word $place }
        $crate::native::getter! { $t $handle $classes $o $get $word $place }
    };
}

macro_rules! setter {
    ($t:ident $handle:tt $classes:tt $o:ident _ $word:ident $place:tt) => {};
    ($t:ident ($handle:ty) [$first:ident $($class:ident)*] $o:ident $set:ident $word:ident ($place:expr)) => {
        $crate::native::one_native! {
            (concat!(stringify!($first), "_", stringify!($set)))
            [$(concat!(stringify!($class), "_", stringify!($set))),*]
            [_java] (handle: $handle, value: $word) [()] {
                let mut guard = $crate::native::Reach::<$t>::reach_to_change(handle)?;
                let $o: &mut $t = &mut guard;
                if !$crate::field::Field::<$word>::store(&mut $place, value) {
                    return Err($crate::field::not_a_value(stringify!($set), value));
                }
            }
        }
    };
}

macro_rules! getter {
    ($t:ident $handle:tt $classes:tt $o:ident _ $word:ident $place:tt) => {};
    ($t:ident ($handle:ty) [$first:ident $($class:ident)*] $o:ident $get:ident $word:ident ($place:expr)) => {
        $crate::native::one_native! {
            (concat!(stringify!($first), "_", stringify!($get)))
            [$(concat!(stringify!($class), "_", stringify!($get))),*]
            [_java] (handle: $handle) [$word] {
                let guard = $crate::native::Reach::<$t>::reach(handle)?;
                let $o: &$t = &guard;
                $crate::field::Field::<$word>::load(&$place)
            }
        }
    };
}

/// Declares the natives that close a handle, under the names of all releases. The natives accept a closed handle.
macro_rules! disposers {
    ($($class:ident: $t:ty;)*) => {
        $($crate::native::one_native! {
            (concat!(stringify!($class), "_disposeInternal"))
            [concat!(stringify!($class), "_disposeInternalJni")]
            [_java] (handle: $crate::handle::Handle) [()] {
                handle.close_as::<$t>();
            }
        })*
    };
}

pub(crate) use {
    disposers, getter, listed, native_code, natives, one_native, row, rows, same_native, setter,
};
