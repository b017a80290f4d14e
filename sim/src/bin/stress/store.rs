//! The database of an epoch: without transactions, or with transactions of one kind.
//!
//! Each kind has its own directory, because a WAL with prepared sections can be opened only with the write policy that
//! wrote the sections. A database of the kind `toggled` keeps its timestamps out of SST files, and an open may turn the timestamps
//! on or off. A database of the kind `dated` has transactions that commit at a timestamp. Other column families of databases with
//! transactions have no timestamps.

use std::path::{Path, PathBuf};

use env::Env;
use ironstone::{
    Db, Family, OptimisticTransactionDb, OptimisticTransactionDbOptions, OptimisticTransactionOptions,
    Transaction, TransactionDb, TransactionDbOptions, TransactionOptions, TxnDbWritePolicy, WriteOptions,
};
use ironstone_sim::life;
use ironstone_sim::sample::Timestamps;
use ironstone_sim::stamp::Stamp;
use testkit::chance::Chance;

/// The kind of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Plain,
    Toggled,
    Optimistic,
    Committed,
    Dated,
    Prepared,
    Unprepared,
}

impl Kind {
    const NAMES: [(Kind, &str); 7] = [
        (Kind::Plain, "plain"),
        (Kind::Toggled, "toggled"),
        (Kind::Optimistic, "optimistic"),
        (Kind::Committed, "committed"),
        (Kind::Dated, "dated"),
        (Kind::Prepared, "prepared"),
        (Kind::Unprepared, "unprepared"),
    ];

    /// Returns the kind with this name, if there is one.
    pub fn parse(name: &str) -> Option<Kind> {
        Self::NAMES.iter().find(|(_, own)| *own == name).map(|(kind, _)| *kind)
    }

    /// Returns the name of the kind. The name is also the name of the directory.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).map_or("plain", |(_, name)| name)
    }

    /// Draws a kind. Half of the databases have no transactions.
    pub fn draw(chance: &mut Chance) -> Kind {
        match chance.percent(50) {
            true => *chance.pick(&[Kind::Plain, Kind::Plain, Kind::Toggled]),
            false => Self::NAMES[2 + chance.below(5) as usize].0,
        }
    }

    /// Returns true if the database has transactions.
    pub fn has_transactions(self) -> bool {
        !matches!(self, Kind::Plain | Kind::Toggled)
    }

    /// Returns the directory of the database below the directory of the campaign.
    pub fn dir(self, campaign: &Path) -> PathBuf {
        campaign.join(self.name())
    }

    fn policy(self) -> TxnDbWritePolicy {
        match self {
            Kind::Prepared => TxnDbWritePolicy::WritePrepared,
            Kind::Unprepared => TxnDbWritePolicy::WriteUnprepared,
            _ => TxnDbWritePolicy::WriteCommitted,
        }
    }
}

/// An open database.
pub enum Store {
    Plain(Db),
    Pessimistic(TransactionDb),
    Optimistic(OptimisticTransactionDb),
}

impl std::ops::Deref for Store {
    type Target = Db;

    fn deref(&self) -> &Db {
        match self {
            Store::Plain(db) => db,
            Store::Pessimistic(db) => db.base(),
            Store::Optimistic(db) => db.base(),
        }
    }
}

impl Store {
    /// Opens the database with options as text. Commits or rolls back each prepared transaction that recovery found, by
    /// the chance of `seed`.
    ///
    /// # Errors
    /// The error of the open, or of the end of a transaction.
    pub fn open(
        kind: Kind,
        dir: &Path,
        text: &str,
        env: Env,
        seed: u64,
    ) -> ironstone::Result<(Store, Vec<Family>)> {
        if !kind.has_transactions() {
            let timestamps = match kind {
                Kind::Toggled => Timestamps::Off.next(&mut Chance::new(seed)),
                _ => Timestamps::Persisted,
            };
            let opened = life::open(dir, text, timestamps, env);
            return opened.map(|(db, families)| (Store::Plain(db), families));
        }
        let timestamps = if kind == Kind::Dated { Timestamps::Persisted } else { Timestamps::None };
        // Databases with transactions reject these options.
        let text = format!("{text}unordered_write=false;inplace_update_support=false;");
        let (options, families) = life::descriptors(&text, timestamps, env)?;
        let families = Some(families);
        let store = if kind == Kind::Optimistic {
            let transactions = OptimisticTransactionDbOptions::default();
            Store::Optimistic(OptimisticTransactionDb::open_with(dir, options, transactions, families)?)
        } else {
            let transactions =
                TransactionDbOptions { write_policy: kind.policy(), ..TransactionDbOptions::default() };
            let db = TransactionDb::open_with(dir, options, transactions, families)?;
            let chance = &mut Chance::new(seed);
            for transaction in db.all_prepared_transactions() {
                if kind == Kind::Dated {
                    transaction.set_commit_timestamp(Stamp::next(&db).time())?;
                }
                if chance.percent(50) { transaction.commit() } else { transaction.rollback() }?;
            }
            Store::Pessimistic(db)
        };
        let families =
            life::FAMILIES.iter().map(|name| store.family(name)).collect::<ironstone::Result<Vec<_>>>()?;
        if kind == Kind::Dated {
            life::forget_history(&store, &families)?;
        }
        Ok((store, families))
    }

    /// Returns true if the database has transactions. Such a database takes no range deletions.
    pub fn has_transactions(&self) -> bool {
        !matches!(self, Store::Plain(_))
    }

    /// Returns true if a transaction can be prepared.
    pub fn prepares(&self) -> bool {
        matches!(self, Store::Pessimistic(_))
    }

    /// Begins a transaction. Returns `None` if the database has no transactions.
    ///
    /// # Errors
    /// The error of the begin.
    pub fn begin(
        &self,
        options: &WriteOptions,
        chance: &mut Chance,
    ) -> ironstone::Result<Option<Transaction>> {
        let set_snapshot = chance.percent(30);
        match self {
            Store::Plain(_) => Ok(None),
            Store::Pessimistic(db) => {
                let own = TransactionOptions {
                    set_snapshot,
                    deadlock_detect: chance.percent(30),
                    ..TransactionOptions::default()
                };
                db.begin_with(options, &own).map(Some)
            }
            Store::Optimistic(db) => {
                Ok(Some(db.begin_with(options, &OptimisticTransactionOptions { set_snapshot })))
            }
        }
    }
}
