//! The order in which the files of a level are tried.
