//! What tests share: scripts and goldens, keys, a reference model.

#![forbid(unsafe_code)]
