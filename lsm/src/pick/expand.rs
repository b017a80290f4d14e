//! Widening a choice of files.
