//! Zeroed arrays under the schedule explorer, whose atomics are not valid at zero: made one by one.

/// A type for which all zero bits are a value.
///
/// # Safety
/// As the other: none of its obligations is used here.
pub(crate) unsafe trait Zeroed {
    fn zero() -> Self;

    /// Becomes zero while others read it: the system takes its memory back.
    fn fade(&self);
}

/// A fixed array of `T`, all zeros at first.
pub(crate) struct ZeroedArray<T: Zeroed>(Box<[T]>);

impl<T: Zeroed> ZeroedArray<T> {
    pub(crate) fn new(count: usize) -> Self {
        ZeroedArray((0..count).map(|_| T::zero()).collect())
    }

    pub(crate) fn on_small_pages(count: usize) -> Self {
        Self::new(count)
    }

    /// What the system does to a mapping, done to every array.
    pub(crate) fn give_back(&self) {
        self.0.iter().for_each(T::fade);
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.0
    }
}
