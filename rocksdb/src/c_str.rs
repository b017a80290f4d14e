//! Names that the crate `rocksdb` passes to C: [`CStrLike`]. The value that `key_may_exist_cf_opt_value` returns: [`CSlice`].

use std::convert::Infallible;
use std::ffi::{CStr, CString, NulError};
use std::ops::Deref;
use std::path::Path;

use ironstone::Pinned;

use crate::Error;

/// Returns the path, if it can be a C string.
///
/// # Errors
/// The text of the crate `rocksdb` for a path with NUL inside.
pub(crate) fn check_path(path: &Path) -> Result<&Path, Error> {
    match CString::new(path.as_os_str().as_encoded_bytes()) {
        Ok(_) => Ok(path),
        Err(error) => Err(Error::new(format!("Failed to convert path to CString: {error}"))),
    }
}

/// A name that can be converted to a C string.
///
/// Ironstone does not need C strings. The trait exists because signatures of the crate `rocksdb` name the trait.
pub trait CStrLike {
    /// The string with NUL at its end.
    type Baked: Deref<Target = CStr>;
    /// The error if the name contains NUL.
    type Error: std::fmt::Debug + std::fmt::Display;

    /// Returns the string, without a copy where possible.
    ///
    /// # Errors
    /// The name has NUL inside.
    fn bake(self) -> Result<Self::Baked, Self::Error>;

    /// Returns an owned string.
    ///
    /// # Errors
    /// The name has NUL inside.
    fn into_c_string(self) -> Result<CString, Self::Error>;
}

/// Implements the trait for the types of Rust strings.
macro_rules! text {
    ($($ty:ty),*) => {$(
        impl CStrLike for $ty {
            type Baked = CString;
            type Error = NulError;

            fn bake(self) -> Result<CString, NulError> {
                CString::new(self.as_bytes())
            }

            fn into_c_string(self) -> Result<CString, NulError> {
                CString::new(self.as_bytes())
            }
        }
    )*};
}
text!(&str, &String);

impl CStrLike for &CStr {
    type Baked = Self;
    type Error = Infallible;

    fn bake(self) -> Result<Self, Infallible> {
        Ok(self)
    }

    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self.to_owned())
    }
}

impl CStrLike for CString {
    type Baked = CString;
    type Error = Infallible;

    fn bake(self) -> Result<CString, Infallible> {
        Ok(self)
    }

    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self)
    }
}

impl<'a> CStrLike for &'a CString {
    type Baked = &'a CStr;
    type Error = Infallible;

    fn bake(self) -> Result<&'a CStr, Infallible> {
        Ok(self)
    }

    fn into_c_string(self) -> Result<CString, Infallible> {
        Ok(self.clone())
    }
}

/// A value that `key_may_exist_cf_opt_value` found without I/O.
pub struct CSlice {
    pub(crate) value: Pinned,
}

impl AsRef<[u8]> for CSlice {
    fn as_ref(&self) -> &[u8] {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_nul_inside_is_refused_at_the_position() {
        assert_eq!("foo\0bar".bake().unwrap_err().nul_position(), 3);
        assert_eq!((&String::from("foo\0")).into_c_string().unwrap_err().nul_position(), 3);
    }

    #[test]
    fn each_form_of_a_name_bakes_to_the_same_bytes() {
        let owned = CString::new("foo").unwrap();
        assert_eq!("foo".bake().unwrap().to_bytes(), b"foo");
        assert_eq!((&String::from("foo")).bake().unwrap().to_bytes(), b"foo");
        assert_eq!(owned.as_c_str().bake().unwrap().to_bytes(), b"foo");
        assert_eq!((&owned).bake().unwrap().to_bytes(), b"foo");
        assert_eq!(owned.bake().unwrap().to_bytes(), b"foo");
    }
}
