//! Tests of the index of plain tables and of the layout of rows.
