//! Names of properties: [`PropName`] is borrowed, [`PropertyName`] is owned.
//!
//! In the crate `rocksdb`, `PropName` is an unsized type. Here it is a sized type with the same methods, because a sized type
//! needs no `unsafe` code.

use std::borrow::{Borrow, Cow};
use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::fmt;
use std::ops::Deref;

use crate::CStrLike;

/// The name of a property. The constants of [`crate::properties`] are of this type.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropName(Cow<'static, CStr>);

impl PropName {
    pub(crate) const fn of(name: &'static CStr) -> PropName {
        PropName(Cow::Borrowed(name))
    }

    /// Returns the name with NUL at its end.
    #[inline]
    pub fn as_c_str(&self) -> &CStr {
        &self.0
    }

    /// Returns the name as text.
    #[inline]
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default() // each name is made from text
    }
}

impl Deref for PropName {
    type Target = CStr;

    #[inline]
    fn deref(&self) -> &CStr {
        self.as_c_str()
    }
}

impl ToOwned for PropName {
    type Owned = PropertyName;

    fn to_owned(&self) -> PropertyName {
        PropertyName(PropName(Cow::Owned(self.as_c_str().to_owned())))
    }
}

impl PartialEq<CStr> for PropName {
    fn eq(&self, other: &CStr) -> bool {
        self.as_c_str() == other
    }
}

impl PartialEq<str> for PropName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<PropName> for CStr {
    fn eq(&self, other: &PropName) -> bool {
        self == other.as_c_str()
    }
}

impl PartialEq<PropName> for str {
    fn eq(&self, other: &PropName) -> bool {
        self == other.as_str()
    }
}

impl<'a> CStrLike for &'a PropName {
    type Baked = &'a CStr;
    type Error = Infallible;

    fn bake(self) -> Result<&'a CStr, Infallible> {
        Ok(self.as_c_str())
    }

    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self.as_c_str().to_owned())
    }
}

/// A property name that is built at run time, for example the name with a level number.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyName(PropName);

impl PropertyName {
    /// Returns the name of a property of a level.
    pub(crate) fn of_level(name: &str, level: usize) -> PropertyName {
        let text = CString::new(format!("rocksdb.{name}{level}")).unwrap_or_default(); // no NUL inside
        PropertyName(PropName(Cow::Owned(text)))
    }

    /// Returns the name with NUL at its end.
    #[inline]
    pub fn into_c_string(self) -> CString {
        self.0.0.into_owned()
    }

    /// Returns the name as text.
    #[inline]
    pub fn into_string(self) -> String {
        self.as_str().to_string()
    }
}

impl Deref for PropertyName {
    type Target = PropName;

    #[inline]
    fn deref(&self) -> &PropName {
        &self.0
    }
}

impl Borrow<PropName> for PropertyName {
    fn borrow(&self) -> &PropName {
        self
    }
}

impl PartialEq<CString> for PropertyName {
    fn eq(&self, other: &CString) -> bool {
        self.as_c_str() == other.as_c_str()
    }
}

impl PartialEq<String> for PropertyName {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other.as_str()
    }
}

impl PartialEq<PropertyName> for CString {
    fn eq(&self, other: &PropertyName) -> bool {
        self.as_c_str() == other.as_c_str()
    }
}

impl PartialEq<PropertyName> for String {
    fn eq(&self, other: &PropertyName) -> bool {
        self.as_str() == other.as_str()
    }
}

impl CStrLike for PropertyName {
    type Baked = CString;
    type Error = Infallible;

    fn bake(self) -> Result<CString, Infallible> {
        Ok(self.into_c_string())
    }

    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(PropertyName::into_c_string(self))
    }
}

impl<'a> CStrLike for &'a PropertyName {
    type Baked = &'a CStr;
    type Error = Infallible;

    fn bake(self) -> Result<&'a CStr, Infallible> {
        Ok(self.as_c_str())
    }

    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self.as_c_str().to_owned())
    }
}

/// Implements the traits that both types of names have.
macro_rules! shown {
    ($($ty:ty),*) => {$(
        impl AsRef<CStr> for $ty {
            fn as_ref(&self) -> &CStr {
                self.as_c_str()
            }
        }

        impl AsRef<str> for $ty {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self.as_str(), f)
            }
        }

        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self.as_str(), f)
            }
        }
    )*};
}
shown!(PropName, PropertyName);
