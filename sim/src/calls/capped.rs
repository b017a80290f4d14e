//! Transactions with rare options: limits of locks and of batches, no locks at all, early writes of a batch, commit-time batches.
//!
//! ```text
//!  limits         the call past the limit fails, has no effect, and the transaction goes on
//!  no locks       a transaction writes a key that another transaction has locked; the later commit wins
//!  skip_prepare   without it, a commit of a transaction that is not prepared is rejected
//!  early writes   other readers see no entry before the commit, and none after a rollback
//!  optimistic     of two transactions that write one key, the later commit is Busy, with any number of bucket locks
//! ```
//! All calls come from one thread. The model holds the committed rows.

use std::collections::{BTreeMap, BTreeSet};

use ironstone::{
    Kind, OccValidationPolicy, OptimisticTransactionDb, OptimisticTransactionDbOptions, Options, Subcode,
    Transaction, TransactionDb, TransactionDbOptions, TransactionDbWriteOptimizations, TransactionOptions,
    TxnDbWritePolicy, WriteBatch, WriteOptions,
};
use testkit::chance::Chance;

use super::{Setting, World, key, same, scan, told, value};

/// The largest number of locks, if the database has a limit.
const LOCKS_MAX: usize = 4;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A database with transactions, and its model.
pub(super) struct Capped {
    options: Options,
    transactions: TransactionDbOptions,
    db: Option<TransactionDb>,
    /// The number of bucket locks of optimistic transactions.
    occ_lock_buckets: u32,
    rows: Rows,
    optimistic_rows: Rows,
    names: u64,
}

impl Capped {
    /// Opens the database. The seed chooses the write policy, the limit of locks, and whether the database takes locks.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting, chance: &mut Chance) -> Result<Capped, String> {
        let mut options = setting.options.clone();
        options.update("unordered_write=false;inplace_update_support=false").map_err(told("options"))?;
        let policies = [
            TxnDbWritePolicy::WriteCommitted,
            TxnDbWritePolicy::WritePrepared,
            TxnDbWritePolicy::WriteUnprepared,
        ];
        let write_policy = policies[(seed / super::WORLDS % 3) as usize];
        let transactions = TransactionDbOptions {
            max_num_locks: if chance.percent(50) { LOCKS_MAX as i64 } else { -1 },
            num_stripes: *chance.pick(&[0, 1, 3, 16]),
            skip_concurrency_control: chance.percent(20),
            use_per_key_point_lock_mgr: chance.percent(50),
            write_policy,
            rollback_merge_operands: write_policy != TxnDbWritePolicy::WriteCommitted,
            transaction_lock_timeout: 0,
            default_lock_timeout: 0,
            ..Default::default()
        };
        let occ_lock_buckets = *chance.pick(&[0, 16, 100, 1 << 20]);
        let (rows, optimistic_rows) = Default::default();
        let mut world =
            Capped { options, transactions, db: None, occ_lock_buckets, rows, optimistic_rows, names: 0 };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let opened = TransactionDb::open_with("/db", self.options.clone(), self.transactions.clone(), None);
        self.db = Some(opened.map_err(told("open"))?);
        Ok(())
    }

    fn db(&self) -> &TransactionDb {
        self.db.as_ref().expect("open between operations")
    }

    fn policy(&self) -> TxnDbWritePolicy {
        self.transactions.write_policy
    }

    fn begin(&self, options: TransactionOptions) -> Result<Transaction, String> {
        self.db().begin_with(&WriteOptions::default(), &options).map_err(told("begin"))
    }

    /// Gives a transaction a name, and prepares it.
    fn prepare(&mut self, transaction: &Transaction) -> Result<(), String> {
        self.name(transaction)?;
        transaction.prepare().map_err(told("prepare"))
    }

    fn name(&mut self, transaction: &Transaction) -> Result<(), String> {
        self.names += 1;
        transaction.set_name(format!("{}", self.names).as_bytes()).map_err(told("set_name"))
    }

    /// Commits a transaction that put these rows, or rolls it back.
    fn end(&mut self, transaction: Transaction, own: Rows, chance: &mut Chance) -> Result<(), String> {
        if chance.percent(30) {
            return transaction.rollback().map_err(told("rollback"));
        }
        transaction.commit().map_err(told("commit"))?;
        self.rows.extend(own);
        Ok(())
    }

    /// Locks more keys than the limit allows.
    fn lock_many(&mut self, chance: &mut Chance) -> Result<(), String> {
        let transactions =
            [self.begin(TransactionOptions::default())?, self.begin(TransactionOptions::default())?];
        let (mut held, mut own) = (BTreeSet::new(), [Rows::new(), Rows::new()]);
        for _ in 0..3 * LOCKS_MAX {
            let (at, key, value) = (chance.below(2) as usize, key(chance), value(chance));
            let (is_mine, is_held) = (own[at].contains_key(&key), held.contains(&key));
            let is_full = self.transactions.max_num_locks > 0 && held.len() >= LOCKS_MAX;
            let expected = match (is_mine, is_held) {
                (true, _) => Ok(()),
                (false, true) => Err((Kind::TimedOut, Subcode::LockTimeout)),
                (false, false) if is_full => Err((Kind::Aborted, Subcode::LockLimit)),
                (false, false) => Ok(()),
            };
            let done = transactions[at].put(&key, &value).map_err(|error| (error.kind(), error.subcode()));
            same(&format!("put with {} locks", held.len()), &done, &expected)?;
            if done.is_ok() {
                held.insert(key.clone());
                own[at].insert(key, value);
            }
        }
        same("locks", &self.db().lock_status_data().len(), &held.len())?;
        for (transaction, own) in transactions.into_iter().zip(own) {
            self.end(transaction, own, chance)?;
        }
        same("locks of no transaction", &self.db().lock_status_data().len(), &0)
    }

    /// Writes more bytes than the limit allows.
    fn write_many(&mut self, chance: &mut Chance) -> Result<(), String> {
        let most = 100 + chance.below(400) as usize;
        let transaction =
            self.begin(TransactionOptions { max_write_batch_size: most, ..Default::default() })?;
        let (mut own, mut bytes) = (Rows::new(), 0);
        for n in 0..LOCKS_MAX {
            let (key, value) = (format!("many{n}").into_bytes(), value(chance));
            let done = transaction.put(&key, &value).map_err(|error| (error.kind(), error.subcode()));
            let size = transaction.to_batch().data_size();
            same("the batch is below the limit", &(size <= most), &true)?;
            let is_large = bytes + key.len() + value.len() > most;
            match done {
                Ok(()) => {
                    same("a batch beyond the limit", &is_large, &false)?;
                    bytes += key.len() + value.len();
                    own.insert(key, value);
                }
                // A record has a header, and a section of a prepared transaction has marks.
                Err(refused) => {
                    same("a write beyond the limit", &refused, &(Kind::Aborted, Subcode::MemoryLimit))?;
                    let left = most.saturating_sub(bytes + key.len() + value.len());
                    same("room for the record", &(left > 100), &false)?;
                    let found = transaction.get(&key).map_err(told("get"))?;
                    same("a rejected write", &found.as_deref(), &self.rows.get(&key).map(Vec::as_slice))?;
                }
            }
        }
        self.end(transaction, own, chance)
    }

    /// Writes a key that another transaction has locked.
    fn write_unlocked(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (name, first, second) = (key(chance), value(chance), value(chance));
        let owner = self.begin(TransactionOptions::default())?;
        owner.put(&name, &first).map_err(told("put"))?;
        let free = self.begin(TransactionOptions { skip_concurrency_control: true, ..Default::default() })?;
        free.put(&name, &second).map_err(told("put without locks"))?;
        same("locks", &self.db().lock_status_data().len(), &1)?;
        owner.commit().map_err(told("commit"))?;
        free.commit().map_err(told("commit without locks"))?;
        self.rows.insert(name, second);
        Ok(())
    }

    /// Commits a transaction that must be prepared, also with the largest numbers of a deadlock search.
    fn prepare_first(&mut self, chance: &mut Chance) -> Result<(), String> {
        let options = TransactionOptions {
            skip_prepare: false,
            deadlock_detect: chance.percent(50),
            deadlock_detect_depth: *chance.pick(&[1, 50]),
            deadlock_timeout_us: *chance.pick(&[0, 500]),
            ..Default::default()
        };
        let transaction = self.begin(options)?;
        let (name, value) = (key(chance), value(chance));
        transaction.put(&name, &value).map_err(told("put"))?;
        let early = transaction.commit().map_err(|error| error.subcode());
        same("commit without prepare", &early, &Err(Subcode::TxnNotPrepared))?;
        self.prepare(&transaction)?;
        self.end(transaction, Rows::from([(name, value)]), chance)
    }

    /// Puts rows into the batch that is written with the commit.
    fn commit_time(&mut self, chance: &mut Chance) -> Result<(), String> {
        let allowed = chance.percent(70);
        let options = TransactionOptions {
            use_only_the_last_commit_time_batch_for_recovery: allowed,
            ..Default::default()
        };
        let transaction = self.begin(options)?;
        let (name, first, late) = (key(chance), value(chance), value(chance));
        transaction.put(&name, &first).map_err(told("put"))?;
        self.prepare(&transaction)?;
        let late_name = [b"late", &name[..]].concat();
        transaction.with_commit_time_batch(|batch| {
            batch.put(&late_name, &late);
        });
        let done = transaction.commit().map_err(|error| error.kind());
        if !allowed && self.policy() != TxnDbWritePolicy::WriteCommitted {
            same("commit with a commit-time batch", &done, &Err(Kind::InvalidArgument))?;
            return transaction.rollback().map_err(told("rollback"));
        }
        same("commit with a commit-time batch", &done, &Ok(()))?;
        self.rows.extend([(name, first), (late_name, late)]);
        Ok(())
    }

    /// Writes a transaction whose batch goes to the database before the commit, or into memtables of its own.
    fn write_early(&mut self, chance: &mut Chance) -> Result<(), String> {
        let is_unprepared = self.policy() == TxnDbWritePolicy::WriteUnprepared;
        let is_committed = self.policy() == TxnDbWritePolicy::WriteCommitted;
        let (threshold, bytes) = (*chance.pick(&[-1, 0, 1, 60]), *chance.pick(&[0, 1, 500]));
        let options = TransactionOptions {
            write_batch_flush_threshold: threshold,
            large_txn_commit_optimize_byte_threshold: bytes,
            ..Default::default()
        };
        let is_rejected = threshold > 0 && !is_unprepared || bytes > 0 && !is_committed;
        let begun = self.db().begin_with(&WriteOptions::default(), &options);
        let transaction = match begun {
            Err(error) if is_rejected => return same("begin", &error.kind(), &Kind::NotSupported),
            begun => begun.map_err(told("begin"))?,
        };
        same("begin with an option of another policy", &is_rejected, &false)?;
        self.name(&transaction)?;
        let mut own = Rows::new();
        for n in 0..LOCKS_MAX {
            let (key, value) = (format!("early{n}").into_bytes(), value(chance));
            transaction.put(&key, &value).map_err(told("put"))?;
            own.insert(key.clone(), value);
            let seen = self.db().get(&key).map_err(told("get"))?;
            same("a row before its commit", &seen.as_deref(), &self.rows.get(&key).map(Vec::as_slice))?;
            let found = transaction.get(&key).map_err(told("get of the transaction"))?;
            same("a row of the transaction", &found.as_deref(), &own.get(&key).map(Vec::as_slice))?;
        }
        if chance.percent(40) {
            transaction.prepare().map_err(told("prepare"))?;
        }
        self.end(transaction, own, chance)?;
        self.compare()
    }

    /// Writes a batch with a range deletion.
    fn delete_range(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (a, b) = (key(chance), key(chance));
        let (begin, end) = (a.clone().min(b.clone()), a.max(b));
        if begin == end {
            return Ok(());
        }
        let mut batch = WriteBatch::new();
        batch.delete_range(&begin, &end);
        let how = TransactionDbWriteOptimizations {
            // A database without locks takes range deletions without this option too.
            skip_concurrency_control: self.transactions.skip_concurrency_control || chance.percent(70),
            skip_duplicate_key_check: chance.percent(70),
        };
        let is_committed = self.policy() == TxnDbWritePolicy::WriteCommitted;
        let is_allowed = how.skip_concurrency_control && (is_committed || how.skip_duplicate_key_check);
        let done = self.db().write_with_optimizations(&mut batch, &WriteOptions::default(), &how);
        same(&format!("range deletion with {how:?}: {done:?}"), &done.is_ok(), &is_allowed)?;
        if is_allowed {
            self.rows.retain(|key, _| *key < begin || *key >= end);
        }
        Ok(())
    }

    /// Two optimistic transactions write one key.
    fn conflict(&mut self, chance: &mut Chance) -> Result<(), String> {
        let options = OptimisticTransactionDbOptions {
            validate_policy: *chance
                .pick(&[OccValidationPolicy::ValidateParallel, OccValidationPolicy::ValidateSerial]),
            occ_lock_buckets: self.occ_lock_buckets,
            ..Default::default()
        };
        let opened = OptimisticTransactionDb::open_with("/optimistic", self.options.clone(), options, None);
        let db = opened.map_err(told("open of optimistic transactions"))?;
        let (name, values) = (key(chance), [value(chance), value(chance)]);
        let pair = [db.begin(), db.begin()];
        for (transaction, value) in pair.iter().zip(&values) {
            transaction.put(&name, value).map_err(told("put"))?;
            transaction.put(format!("{}", transaction.id().get()).as_bytes(), value).map_err(told("put"))?;
        }
        pair[0].commit().map_err(told("commit"))?;
        let late = pair[1].commit().map_err(|error| error.kind());
        same("the later commit", &late, &Err(Kind::Busy))?;
        self.optimistic_rows.insert(name, values[0].clone());
        self.optimistic_rows.insert(format!("{}", pair[0].id().get()).into_bytes(), values[0].clone());
        drop(pair);
        same("optimistic rows", &scan(&db)?, &self.optimistic_rows)?;
        db.close().map_err(told("close"))
    }

    fn reopen(&mut self) -> Result<(), String> {
        if let Some(db) = self.db.take() {
            db.close().map_err(told("close"))?;
        }
        self.open()
    }
}

impl World for Capped {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        let db = self.db();
        match chance.below(100) {
            0..20 => {
                let (key, value) = (key(chance), value(chance));
                db.put(&key, &value).map_err(told("put"))?;
                self.rows.insert(key, value);
                Ok(())
            }
            20..35 => self.lock_many(chance),
            35..48 => self.write_many(chance),
            48..58 => self.write_unlocked(chance),
            58..66 => self.prepare_first(chance),
            66..74 => self.commit_time(chance),
            74..86 => self.write_early(chance),
            86..90 => self.delete_range(chance),
            90..92 => self.conflict(chance),
            92 => self.reopen(),
            93..96 => db.flush().map_err(told("flush")),
            96..98 => db.compact_range(None, None, &Default::default()).map_err(told("compact")),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        let db = self.db();
        same("rows", &scan(db)?, &self.rows)?;
        same("locks", &db.lock_status_data().len(), &0)?;
        same("prepared transactions", &db.all_prepared_transactions().len(), &0)
    }
}
