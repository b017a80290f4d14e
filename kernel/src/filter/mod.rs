//! Filters: bits in, bits out; no framing, no I/O.
