//! Decides whether the restart keys of a block are spread evenly enough for interpolation search.
//!
//! The rule: skip the bytes that all restart keys share, and read the next eight bytes of each user key as
//! a number. The block is uniform if the gaps between neighbours vary little (standard deviation divided by
//! mean is below the threshold). The sums are computed in RocksDB's order, so that both engines set the
//! same bit.

use base::coding::get_varint32;
use base::key::TRAILER_LEN;

use super::{BlockBuilder, common_prefix};

/// Returns the standard deviation of the gaps divided by their mean. Returns `None` if it cannot be computed.
pub(super) fn variation(block: &BlockBuilder) -> Option<f64> {
    if block.restarts.len() < 3 {
        return None;
    }
    let keys = || block.restarts.iter().map(|&at| restart_key(block, at as usize));
    let (Some(Some(first)), Some(Some(last))) = (keys().next(), keys().next_back()) else { return None };
    let prefix = common_prefix(first, last);
    let trailer = if block.config.user_keys { 0 } else { TRAILER_LEN };
    let mut gaps = Gaps::default();
    for key in keys() {
        let user_key = key.and_then(|key| key.get(..key.len().checked_sub(trailer)?))?;
        gaps.add(base::order::head(user_key.get(prefix..).unwrap_or_default()));
    }
    gaps.variation()
}

fn restart_key(block: &BlockBuilder, at: usize) -> Option<&[u8]> {
    let mut rest = block.buffer.get(at..)?;
    let mut lengths = [0u32; 4];
    let fields = 2 + usize::from(!block.config.delta_values) + usize::from(block.config.separated);
    for length in &mut lengths[..fields] {
        let (value, taken) = get_varint32(rest)?;
        *length = value;
        rest = &rest[taken..];
    }
    rest.get(..lengths[1] as usize)
}

/// The running mean and variance of the differences between successive numbers, by Welford's method.
#[derive(Default)]
struct Gaps {
    previous: u64,
    keys: u64,
    mean: f64,
    squares: f64,
}

impl Gaps {
    fn add(&mut self, key: u64) {
        if self.keys > 0 {
            let gap = key.wrapping_sub(self.previous) as f64;
            let delta = gap - self.mean;
            self.mean += delta / self.keys as f64;
            self.squares += delta * (gap - self.mean);
        }
        self.previous = key;
        self.keys += 1;
    }

    fn variation(&self) -> Option<f64> {
        let gaps = self.keys.saturating_sub(1);
        (gaps >= 2 && self.mean > 0.0).then(|| (self.squares / gaps as f64).sqrt() / self.mean)
    }
}
