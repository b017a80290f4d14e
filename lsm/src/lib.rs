//! The brain of the tree: plain data in, plain data out.

#![forbid(unsafe_code)]
