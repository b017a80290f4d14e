//! The one setting of a filter, rounded as RocksDB rounds it.

/// Bits a key: in thousandths for the newer filters, whole for the legacy one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitsPerKey {
    millibits: u32,
}

impl BitsPerKey {
    /// `None` below half a bit: no filter. From there to one it counts as one; from 100 on (and NaN) as 100.
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

    /// Thousandths of a bit, 1000 to 100000.
    pub const fn millibits(self) -> u32 {
        self.millibits
    }

    /// Whole bits, rounded: 1 to 100.
    pub const fn whole(self) -> u32 {
        (self.millibits + 500) / 1000
    }
}
