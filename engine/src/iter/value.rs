//! The value of an iterator whose source has moved to another entry.

use base::Pinned;
use base::iter::InternalIterator;

/// Values up to this long are copied rather than pinned: a copy of this length costs less than the two
/// atomic counts of a pin.
const COPY_MAX: usize = 512;

/// A value that stays valid after its source has moved. The buffer is used again.
#[derive(Default)]
pub struct Held {
    copy: Vec<u8>,
    pin: Option<Pinned>,
}

impl Held {
    /// Takes the current value of `source` without the last `cut` bytes. With `pin`, a short value is not copied
    /// either.
    #[inline]
    pub fn take<I: InternalIterator>(&mut self, source: &I, cut: usize, pin: bool) {
        let value = source.value();
        // A damaged value may be shorter than its suffix.
        let len = value.len().saturating_sub(cut);
        if len <= COPY_MAX && !pin {
            self.pin = None;
            self.copy.clear();
            self.copy.extend_from_slice(&value[..len]);
        } else {
            self.pin = Some(source.pin_value().slice(0..len));
        }
    }

    /// Keeps a pinned value in place of the present value. Copies nothing.
    pub fn set(&mut self, value: Pinned) {
        self.pin = Some(value);
    }

    /// Copies `value`, into memory of about its length.
    pub fn copy(&mut self, value: &[u8]) {
        self.pin = None;
        self.copy.clear();
        if self.copy.capacity() > 2 * value.len() {
            self.copy = Vec::with_capacity(value.len());
        }
        self.copy.extend_from_slice(value);
    }

    /// Copies the value if it is a view into the memory of a source.
    pub fn own(&mut self) {
        if let Some(pin) = self.pin.take_if(|pin| pin.is_shared()) {
            self.copy(&pin);
        }
    }

    /// Returns the bytes of memory that the value takes.
    pub fn memory(&self) -> usize {
        self.copy.capacity() + self.pin.as_ref().map_or(0, |pin| pin.len())
    }

    /// Releases the value. Returns the memory of its buffer, or an empty buffer if the value was a view.
    pub fn reclaim(&mut self) -> Vec<u8> {
        match self.pin.take() {
            Some(pin) if !pin.is_shared() => pin.into_vec(),
            _ => Vec::new(),
        }
    }

    /// Returns the bytes that were kept last, or an empty slice if nothing was kept.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.pin {
            Some(pin) => pin,
            None => &self.copy,
        }
    }

    /// Returns the value as a view. Copies the value if `take` copied it.
    pub fn pinned(&self) -> Pinned {
        match &self.pin {
            Some(pin) => pin.clone(),
            None => Pinned::copy(&self.copy),
        }
    }
}
