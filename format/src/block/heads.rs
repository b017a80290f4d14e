//! The search array behind a block: eight bytes of each restart key.
//!
//! ```text
//! payload | u64 head[num_restarts], little-endian
//! ```
//! A head is the first eight bytes of a restart's user key after the prefix that the restart keys have
//! in common, as a number whose order is the keys' order; shorter keys are padded with zeros. Unequal
//! heads decide; equal ones decide nothing.

use std::cmp::Ordering;
use std::ops::Range;

use base::key::user_key;
use base::order::{Order, head};

use super::{Shape, entry};

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

    /// The head of what follows the common prefix.
    #[inline]
    pub(crate) fn head(self, rest: &[u8]) -> u64 {
        match self {
            HeadOrder::Bytewise => head(rest),
            HeadOrder::Reverse => !head(rest),
        }
    }

    /// How `key` stands to all keys that start with `prefix`; `Equal` if it starts so itself.
    #[inline]
    pub(crate) fn against_prefix(self, key: &[u8], prefix: &[u8]) -> Ordering {
        let order = match key.get(..prefix.len()) {
            Some(start) => start.cmp(prefix),
            None => key.cmp(prefix),
        };
        match self {
            HeadOrder::Bytewise => order,
            HeadOrder::Reverse => order.reverse(),
        }
    }
}

/// Where the array lies and what all restart keys start with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heads {
    /// Offset of the array; 0 if there is none.
    at: u32,
    /// The common prefix, inside the first entry's key.
    prefix_at: u32,
    prefix_len: u32,
    order: HeadOrder,
}

impl Heads {
    /// Builds the array behind `payload`. Blocks whose restarts do not decode, or with a single restart,
    /// get none.
    pub(super) fn append(payload: &mut Vec<u8>, shape: &Shape, order: HeadOrder) -> Heads {
        let mut heads = Heads { order, ..Heads::default() };
        let restarts = shape.num_restarts as usize;
        if restarts < 2 || u32::try_from(payload.len() + 8 * restarts).is_err() {
            return heads;
        }
        let (Some(first), Some(last)) =
            (restart_user_key(payload, shape, 0), restart_user_key(payload, shape, restarts - 1))
        else {
            return heads;
        };
        let common = payload[first.clone()].iter().zip(&payload[last]).take_while(|(a, b)| a == b).count();
        heads.prefix_at = first.start as u32;
        heads.prefix_len = common as u32;
        let at = payload.len();
        payload.reserve_exact(8 * restarts);
        for i in 0..restarts {
            let key = restart_user_key(payload, shape, i).map(|range| &payload[range]);
            let prefix = &payload[first.start..first.start + common];
            let Some(rest) = key.and_then(|key| key.strip_prefix(prefix)) else {
                payload.truncate(at);
                return heads;
            };
            let head = order.head(rest);
            payload.extend_from_slice(&head.to_le_bytes());
        }
        heads.at = at as u32;
        heads
    }

    /// The restarts among which the last one before `user_key` must be sought by comparing keys: all
    /// before the range are before the key, all from its end on are after it.
    #[inline]
    pub(super) fn narrow(&self, bytes: &[u8], shape: &Shape, user_key: &[u8]) -> Range<usize> {
        let restarts = shape.num_restarts as usize;
        let prefix_at = self.prefix_at as usize;
        let (Some(array), Some(prefix)) =
            (bytes.get(self.at as usize..), bytes.get(prefix_at..prefix_at + self.prefix_len as usize))
        else {
            return 0..restarts;
        };
        if self.at == 0 {
            return 0..restarts;
        }
        match self.order.against_prefix(user_key, prefix) {
            Ordering::Less => return 0..0,
            Ordering::Greater => return restarts..restarts,
            Ordering::Equal => {}
        }
        let sought = self.order.head(&user_key[prefix.len()..]);
        let array = array.as_chunks::<8>().0;
        let below = |h: &[u8; 8]| u64::from_le_bytes(*h) < sought;
        // Few restarts: counting has no branch to mispredict.
        let start = if array.len() <= 16 {
            array.iter().filter(|h| below(h)).count()
        } else {
            array.partition_point(below)
        };
        let ties = array[start..].iter().take_while(|h| u64::from_le_bytes(**h) == sought).count();
        start..start + ties
    }
}

/// Where the user key of restart `i` lies.
fn restart_user_key(bytes: &[u8], shape: &Shape, i: usize) -> Option<Range<usize>> {
    let key = restart_key(bytes, shape, i)?;
    let len = user_key(&bytes[key.clone()]).len();
    Some(key.start..key.start + len)
}

/// Where the key of restart `i` lies, whole as it is there.
#[inline]
pub(super) fn restart_key(bytes: &[u8], shape: &Shape, i: usize) -> Option<Range<usize>> {
    let at = shape.restart(bytes, i)?;
    let header = if shape.separated {
        entry::separated_restart_header(bytes, at)?.0
    } else {
        entry::header(bytes, at)?
    };
    let end = header.key_at + header.non_shared;
    (header.shared == 0 && end <= shape.entries_end as usize).then_some(header.key_at..end)
}
