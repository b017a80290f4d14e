//! House rules that a machine can hold.

#![forbid(unsafe_code)]
fn main() {}
