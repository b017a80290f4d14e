//! Heads: the first bytes of a key as a number, which decides most comparisons.

use std::cmp::Ordering;

use base::order::{Order, head};

/// The orders in which the comparison of heads agrees with the comparison of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeadOrder {
    /// Keys ascend by bytes. The head is the first eight bytes as a big-endian integer.
    #[default]
    Bytewise,
    /// Keys descend by bytes. The head is the complement of the bytewise head.
    Reverse,
}

impl HeadOrder {
    /// Returns the head order of an order, or `None` for a custom order.
    pub fn of(order: &Order) -> Option<HeadOrder> {
        match order {
            Order::Bytewise => Some(HeadOrder::Bytewise),
            Order::Reverse => Some(HeadOrder::Reverse),
            Order::Custom(_) => None,
        }
    }

    /// Returns the first eight bytes of a key, or of the part after a common prefix, as a number. The order
    /// of the numbers is the order of the keys. Shorter keys are padded with zeros. Equal heads do not imply
    /// equal keys.
    #[inline]
    pub(crate) fn head(self, rest: &[u8]) -> u64 {
        match self {
            HeadOrder::Bytewise => head(rest),
            HeadOrder::Reverse => !head(rest),
        }
    }

    /// Returns the head of the first four bytes.
    #[inline]
    pub(crate) fn short_head(self, rest: &[u8]) -> u32 {
        let bytes = match rest.first_chunk::<4>() {
            Some(bytes) => *bytes,
            None => {
                let mut bytes = [0; 4];
                bytes[..rest.len()].copy_from_slice(rest);
                bytes
            }
        };
        match self {
            HeadOrder::Bytewise => u32::from_be_bytes(bytes),
            HeadOrder::Reverse => !u32::from_be_bytes(bytes),
        }
    }

    /// Returns the bytes of a short head.
    #[inline]
    pub(crate) fn bytes_of(self, short_head: u32) -> [u8; 4] {
        match self {
            HeadOrder::Bytewise => short_head.to_be_bytes(),
            HeadOrder::Reverse => (!short_head).to_be_bytes(),
        }
    }

    /// Returns the outcome of a bytewise comparison in this order.
    #[inline]
    pub(crate) fn turn(self, bytewise: Ordering) -> Ordering {
        match self {
            HeadOrder::Bytewise => bytewise,
            HeadOrder::Reverse => bytewise.reverse(),
        }
    }

    /// Compares `key` with all keys that start with `prefix`. Returns `Equal` if `key` starts with `prefix`.
    #[inline]
    pub(crate) fn against_prefix(self, key: &[u8], prefix: &[u8]) -> Ordering {
        self.turn(match key.get(..prefix.len()) {
            Some(start) => start.cmp(prefix),
            None => key.cmp(prefix),
        })
    }
}
