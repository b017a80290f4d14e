//! Zeroed arrays for the schedule explorer. Its atomics are not valid as zero bits, so each element is
//! constructed.

/// A type for which all zero bits are a value.
///
/// # Safety
/// An implementation has no obligations in this build. In other builds, the trait of the same name has obligations.
pub(crate) unsafe trait Zeroed {
    fn zero() -> Self;

    /// Sets the value to zero while other threads read it, as if the system took its memory back.
    fn fade(&self);
}

/// A fixed array of `T`, all zeros at first.
pub(crate) struct ZeroedArray<T: Zeroed>(Box<[T]>);

impl<T: Zeroed> ZeroedArray<T> {
    pub(crate) fn new(count: usize) -> Self {
        ZeroedArray((0..count).map(|_| T::zero()).collect())
    }

    pub(crate) fn try_new(count: usize) -> Option<Self> {
        Some(Self::new(count))
    }

    pub(crate) fn on_small_pages(count: usize) -> Self {
        Self::new(count)
    }

    /// Sets every element to zero, as the system does to a mapping.
    pub(crate) fn give_back(&self) {
        self.0.iter().for_each(T::fade);
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.0
    }
}
