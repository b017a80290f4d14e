//! Option handles that keep rejected values.

pub use ironstone::binding::Rejected;

/// A handle with rejected options.
pub trait HasRejected {
    fn rejected(&self) -> &Rejected;

    fn rejected_mut(&mut self) -> &mut Rejected;
}

macro_rules! has_rejected {
    ($($ty:ident),* $(,)?) => {$(
        impl $crate::abi::HasRejected for $ty {
            fn rejected(&self) -> &$crate::abi::Rejected {
                &self.rejected
            }

            fn rejected_mut(&mut self) -> &mut $crate::abi::Rejected {
                &mut self.rejected
            }
        }
    )*};
}
pub(crate) use has_rejected;
