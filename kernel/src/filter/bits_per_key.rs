//! Bits per key: the only setting of a filter. It is rounded as RocksDB rounds it.

/// Bits per key. The newer filters use thousandths of a bit; the legacy filter uses whole bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitsPerKey {
    millibits: u32,
}

impl BitsPerKey {
    /// Creates the setting. Returns `None` below 0.5, which means no filter. Values from 0.5 to 1 become 1.
    /// Values above 100 and NaN become 100.
    pub fn new(bits: f64) -> Option<BitsPerKey> {
        if bits < 0.5 {
            return None;
        }
        let bits = if bits < 1.0 {
            1.0
        } else if bits < 100.0 {
            bits
        } else {
            100.0
        };
        Some(BitsPerKey { millibits: (bits * 1000.0 + 0.500_001) as u32 })
    }

    /// Returns thousandths of a bit, 1000 to 100000.
    pub(crate) const fn millibits(self) -> u32 {
        self.millibits
    }

    /// Returns whole bits, rounded, 1 to 100.
    pub const fn whole(self) -> u32 {
        (self.millibits + 500) / 1000
    }
}
