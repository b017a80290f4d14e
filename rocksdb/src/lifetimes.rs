//! Programs that must not compile: a value that uses a database cannot live longer than the database.
//!
//! Each example is a test. The code of the error is compared where rustdoc can compare codes.
//!
//! An iterator:
//!
//! ```compile_fail,E0597
//! let _iter = {
//!     let db = rocksdb::DB::open_default("data").unwrap();
//!     db.iterator(rocksdb::IteratorMode::Start)
//! };
//! ```
//!
//! A snapshot:
//!
//! ```compile_fail,E0597
//! let _snapshot = {
//!     let db = rocksdb::DB::open_default("data").unwrap();
//!     db.snapshot()
//! };
//! ```
//!
//! A checkpoint:
//!
//! ```compile_fail,E0597
//! let _checkpoint = {
//!     let db = rocksdb::DB::open_default("data").unwrap();
//!     rocksdb::checkpoint::Checkpoint::new(&db)
//! };
//! ```
//!
//! A list of databases for a report of their memory:
//!
//! ```compile_fail,E0597
//! let mut builder = rocksdb::perf::MemoryUsageBuilder::new().unwrap();
//! {
//!     let db = rocksdb::DB::open_default("data").unwrap();
//!     builder.add_db(&db);
//! }
//! let _usage = builder.build().unwrap();
//! ```
//!
//! A transaction:
//!
//! ```compile_fail,E0597
//! use rocksdb::{SingleThreaded, TransactionDB};
//!
//! let _txn = {
//!     let db = TransactionDB::<SingleThreaded>::open_default("data").unwrap();
//!     db.transaction()
//! };
//! ```
//!
//! A snapshot of a database with transactions:
//!
//! ```compile_fail,E0597
//! use rocksdb::{SingleThreaded, TransactionDB};
//!
//! let _snapshot = {
//!     let db = TransactionDB::<SingleThreaded>::open_default("data").unwrap();
//!     db.snapshot()
//! };
//! ```
//!
//! A snapshot of a transaction:
//!
//! ```compile_fail,E0597
//! use rocksdb::{SingleThreaded, TransactionDB};
//!
//! let db = TransactionDB::<SingleThreaded>::open_default("data").unwrap();
//! let _snapshot = {
//!     let txn = db.transaction();
//!     txn.snapshot()
//! };
//! ```
//!
//! In the thread mode `SingleThreaded`, creating a column family needs `&mut` access:
//!
//! ```compile_fail,E0596
//! use rocksdb::{DBWithThreadMode, Options, SingleThreaded};
//!
//! let db = DBWithThreadMode::<SingleThreaded>::open_default("data").unwrap();
//! let shared = &db;
//! shared.create_cf("users", &Options::default()).unwrap();
//! ```
