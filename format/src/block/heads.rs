//! Heads: the few bytes of a key that decide most comparisons, as a number.

use std::cmp::Ordering;

use base::order::{Order, head};

/// Orders whose comparisons heads can stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeadOrder {
    #[default]
    Bytewise,
    Reverse,
}

impl HeadOrder {
    /// The order's heads, if it has any.
    pub fn of(order: &Order) -> Option<HeadOrder> {
        match order {
            Order::Bytewise => Some(HeadOrder::Bytewise),
            Order::Reverse => Some(HeadOrder::Reverse),
            Order::Custom(_) => None,
        }
    }

    /// The first eight bytes of a key, or of what follows a common prefix, as a number whose order is the
    /// keys' order. Shorter keys are padded with zeros: equal heads decide nothing.
    #[inline]
    pub(crate) fn head(self, rest: &[u8]) -> u64 {
        match self {
            HeadOrder::Bytewise => head(rest),
            HeadOrder::Reverse => !head(rest),
        }
    }

    /// The same of four bytes.
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

    /// The bytes behind a short head.
    #[inline]
    pub(crate) fn bytes_of(self, short_head: u32) -> [u8; 4] {
        match self {
            HeadOrder::Bytewise => short_head.to_be_bytes(),
            HeadOrder::Reverse => (!short_head).to_be_bytes(),
        }
    }

    /// A bytewise comparison's outcome in this order.
    #[inline]
    pub(crate) fn turn(self, bytewise: Ordering) -> Ordering {
        match self {
            HeadOrder::Bytewise => bytewise,
            HeadOrder::Reverse => bytewise.reverse(),
        }
    }

    /// How `key` stands to all keys that start with `prefix`; `Equal` if it starts so itself.
    #[inline]
    pub(crate) fn against_prefix(self, key: &[u8], prefix: &[u8]) -> Ordering {
        self.turn(match key.get(..prefix.len()) {
            Some(start) => start.cmp(prefix),
            None => key.cmp(prefix),
        })
    }
}
