//! Bytes with what they mean beside them: for golden tests, dumps and the inspector.
