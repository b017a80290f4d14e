//! A bank: transfers with two-phase commit, a backup while they run, bulk-loaded accounts, statements in blob files, and
//! a secondary that follows.
//!
//! ```text
//!  cargo run --example bank DIR TRANSFERS
//!
//!  DIR/data      default · accounts (account ─► balance) · ledger (transfer ─► text) · statements (transfer ─► blob)
//!  DIR/backups   one incremental backup for each run       DIR/restored   the newest backup, restored and checked
//! ```
//! Invariants: the balances always add up to the same sum, in each view of the secondary and in each backup too. Each
//! transfer of the ledger has its statement. Each run leaves one transfer prepared, and the next run commits this transfer.
//! `bank.c` is the same program on RocksDB's C API; each program continues the directory of the other.

#![allow(clippy::disallowed_methods, reason = "a program")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ironstone::{
    BackupEngine, BackupEngineOptions, Db, FamilyDescriptor, IngestExternalFileOptions, Kind, LockMode,
    Options, ReadOptions, RestoreOptions, Result, Secondary, SstFileWriter, Transaction, TransactionDb,
    TransactionDbOptions, TransactionOptions, Validation, WriteOptions,
};

const ACCOUNTS: u64 = 500;
const OPENING_BALANCE: u64 = 1000;
const WRITERS: u64 = 4;
const STATEMENT_BYTES: usize = 2000;
const FAMILIES: [&str; 4] = ["default", "accounts", "ledger", "statements"];

/// The work of one run, and the content of the database after the run.
#[derive(Debug, PartialEq, Eq)]
pub struct Report {
    /// Transfers that the run before left prepared, and this run committed.
    pub recovered: u64,
    /// Transfers in the ledger.
    pub transfers: u64,
    /// Views of the secondary that were checked.
    pub views: u64,
    /// Transfers in the ledger of the newest backup.
    pub in_backup: u64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, dir, transfers] = &arguments[..] else {
        eprintln!("usage: bank DIR TRANSFERS");
        std::process::exit(2);
    };
    match run(Path::new(dir), transfers.parse().unwrap_or(1000)) {
        Ok(report) => println!("{report:?}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// Opens the bank in `dir`, creates the accounts if there are none, runs `transfers` transfers, and checks everything.
///
/// # Errors
/// Each error of the database. An invariant that does not hold panics.
pub fn run(dir: &Path, transfers: u64) -> Result<Report> {
    std::fs::create_dir_all(dir).expect("the directory of the bank");
    let at = |name: &str| dir.join(name);
    let bank = Bank::open(at("data"))?;
    let recovered = bank.commit_recovered()?;
    bank.load_accounts(&at("accounts.sst"))?;
    let secondary = Secondary::open(at("data"), options())?;
    let backups = BackupEngine::open(BackupEngineOptions::new(at("backups")), &options().db.env)?;
    let views = bank.work(transfers, &secondary, &backups)?;

    bank.leave_one_prepared()?;
    let count = check(&bank.db);
    secondary.try_catch_up_with_primary()?;
    assert_eq!(check(&secondary.view()), count, "the secondary has every transfer");
    bank.db.verify_checksum()?;
    bank.db.close()?;
    let in_backup = restore(&backups, &at("restored"))?;
    Ok(Report { recovered, transfers: count, views, in_backup })
}

/// The options of the database: small memtables, so that a short run flushes and compacts.
fn options() -> Options {
    let mut options = Options::default();
    let text = "create_if_missing=true;create_missing_column_families=true;allow_2pc=true;write_buffer_size=65536;\
                level0_file_num_compaction_trigger=2";
    options.update(text).expect("valid options");
    options
}

/// The column families. Values of `statements` go to blob files.
fn families() -> Vec<FamilyDescriptor> {
    let describe = |name: &str| {
        let mut options = options();
        if name == "statements" {
            let text = "enable_blob_files=true;min_blob_size=512;enable_blob_garbage_collection=true";
            options.update(text).expect("valid options");
        }
        FamilyDescriptor::new(name, options.family)
    };
    FAMILIES.into_iter().map(describe).collect()
}

fn account(number: u64) -> Vec<u8> {
    format!("account-{number:06}").into_bytes()
}

/// One transfer: the amount, and the accounts by number.
#[derive(Clone, Copy)]
struct Transfer {
    number: u64,
    from: u64,
    to: u64,
    amount: u64,
}

impl Transfer {
    /// Returns the transfer of this number. The number decides accounts and amount, so both programs make the same
    /// transfers.
    fn new(number: u64) -> Transfer {
        let from = number * 7919 % ACCOUNTS;
        Transfer { number, from, to: (from + 1 + number % (ACCOUNTS - 1)) % ACCOUNTS, amount: number % 20 }
    }

    fn name(&self) -> Vec<u8> {
        format!("transfer-{:08}", self.number).into_bytes()
    }

    /// Returns the number of the transfer with this name.
    fn number_of(name: &[u8]) -> u64 {
        parse(name.strip_prefix(b"transfer-").expect("the name of a transfer"))
    }

    fn text(&self) -> String {
        format!("{} from {} to {};", self.amount, self.from, self.to)
    }

    /// Returns the text, repeated up to the length of a statement.
    fn statement(&self) -> Vec<u8> {
        self.text().bytes().cycle().take(STATEMENT_BYTES).collect()
    }
}

/// The open database.
struct Bank {
    db: TransactionDb,
    next: AtomicU64,
}

impl Bank {
    fn open(path: PathBuf) -> Result<Bank> {
        let transactions = TransactionDbOptions::default();
        let db = TransactionDb::open_with(path, options(), transactions, Some(families()))?;
        Ok(Bank { db, next: AtomicU64::new(0) })
    }

    /// Commits the transfer that the previous run left prepared. New transfers continue after the newest number.
    fn commit_recovered(&self) -> Result<u64> {
        let prepared = self.db.all_prepared_transactions();
        for transaction in &prepared {
            transaction.commit()?;
        }
        let mut newest = self.db.family("ledger")?.iter()?;
        newest.seek_to_last();
        let next = if newest.valid() { Transfer::number_of(newest.key()) + 1 } else { 0 };
        self.next.store(next, Ordering::Relaxed);
        newest.status()?;
        Ok(prepared.len() as u64)
    }

    /// Writes all accounts to an SST file and ingests the file, if there are no accounts.
    fn load_accounts(&self, path: &Path) -> Result<()> {
        let accounts = self.db.family("accounts")?;
        if accounts.get(&account(0))?.is_some() {
            return Ok(());
        }
        let options = options();
        let mut file = SstFileWriter::create(path, &options.db, &options.family)?;
        for number in 0..ACCOUNTS {
            file.put(&account(number), OPENING_BALANCE.to_string().as_bytes())?;
        }
        file.finish()?;
        let how = IngestExternalFileOptions { move_files: true, ..IngestExternalFileOptions::default() };
        accounts.ingest_external_files([path], &how)
    }

    /// Runs the transfers on several threads. This thread takes a backup and follows with the secondary until the
    /// writers end. Returns how many views of the secondary were checked.
    fn work(&self, transfers: u64, secondary: &Secondary, backups: &BackupEngine) -> Result<u64> {
        let end = self.next.load(Ordering::Relaxed) + transfers;
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|_| {
                    scope.spawn(|| {
                        loop {
                            let number = self.next.fetch_add(1, Ordering::Relaxed);
                            if number >= end {
                                return Ok(());
                            }
                            self.transfer(Transfer::new(number))?;
                        }
                    })
                })
                .collect();
            backups.create_new_backup(&self.db)?;
            let mut views = 0;
            while views == 0 || writers.iter().any(|writer| !writer.is_finished()) {
                match secondary.try_catch_up_with_primary() {
                    Ok(()) => views += 1,
                    // The writer deleted files during each attempt.
                    Err(error) if error.kind() == Kind::TryAgain => continue,
                    Err(error) => return Err(error),
                }
                check(&secondary.view());
            }
            for writer in writers {
                writer.join().expect("a writer")?;
            }
            self.next.store(end, Ordering::Relaxed);
            Ok(views)
        })
    }

    /// Prepares and commits one transfer. Starts again after a deadlock or a timeout.
    fn transfer(&self, transfer: Transfer) -> Result<()> {
        loop {
            match self.prepare(transfer).and_then(|transaction| transaction.commit()) {
                Err(error) if matches!(error.kind(), Kind::Busy | Kind::TimedOut) => continue,
                result => return result,
            }
        }
    }

    /// Locks both accounts, writes the new balances, the ledger and the statement, and prepares.
    fn prepare(&self, transfer: Transfer) -> Result<Transaction> {
        let how = TransactionOptions { deadlock_detect: true, ..TransactionOptions::default() };
        let transaction = self.db.begin_with(&WriteOptions::default(), &how)?;
        let accounts = self.db.family("accounts")?;
        let balance = |number: u64| -> Result<u64> {
            let (key, options) = (account(number), ReadOptions::default());
            let value = transaction.get_for_update_in(
                &accounts,
                &key,
                &options,
                LockMode::Exclusive,
                Validation::Check,
            )?;
            Ok(parse(&value.expect("an account")))
        };
        let (from, to) = (balance(transfer.from)?, balance(transfer.to)?);
        let amount = transfer.amount.min(from);
        transaction.put_in(&accounts, &account(transfer.from), (from - amount).to_string().as_bytes())?;
        transaction.put_in(&accounts, &account(transfer.to), (to + amount).to_string().as_bytes())?;
        let (ledger, statements) = (self.db.family("ledger")?, self.db.family("statements")?);
        transaction.put_in(&ledger, &transfer.name(), transfer.text().as_bytes())?;
        transaction.put_in(&statements, &transfer.name(), &transfer.statement())?;
        transaction.set_name(&transfer.name())?;
        transaction.prepare()?;
        Ok(transaction)
    }

    /// Prepares one more transfer, and drops its handle: the transfer waits in the WAL for the next run.
    fn leave_one_prepared(&self) -> Result<()> {
        let transfer = Transfer::new(self.next.load(Ordering::Relaxed));
        drop(self.prepare(transfer)?);
        Ok(())
    }
}

fn parse(value: &[u8]) -> u64 {
    let text = std::str::from_utf8(value).expect("a number");
    text.parse().expect("a number")
}

/// Checks the invariants in one state of the database. Returns the number of transfers in the ledger.
fn check(db: &Db) -> u64 {
    let accounts = db.family("accounts").expect("accounts");
    let ledger = db.family("ledger").expect("ledger");
    let statements = db.family("statements").expect("statements");
    let families = [accounts, ledger, statements];
    let mut iters =
        db.iterators(&families, &ReadOptions::default()).expect("iterators at one sequence number");
    iters.iter_mut().for_each(|iter| iter.seek_to_first());
    let [accounts, ledger, statements] = &mut iters[..] else { unreachable!() };
    let (mut sum, mut count) = (0, 0);
    while accounts.valid() {
        sum += parse(accounts.value());
        accounts.next();
    }
    while ledger.valid() {
        let transfer = Transfer::new(Transfer::number_of(ledger.key()));
        statements.status().expect("every statement is readable");
        assert_eq!(ledger.value(), transfer.text().as_bytes(), "transfer {}", transfer.number);
        assert_eq!(statements.key(), ledger.key(), "transfer {} has no statement", transfer.number);
        assert!(statements.value() == transfer.statement(), "transfer {}", transfer.number);
        count += 1;
        ledger.next();
        statements.next();
    }
    for iter in &iters {
        iter.status().expect("every entry is readable");
    }
    assert!(!iters[2].valid(), "a statement without a transfer");
    assert_eq!(sum, ACCOUNTS * OPENING_BALANCE, "money came or went");
    count
}

/// Restores the newest backup, and checks the invariants there. Returns the number of transfers in its ledger.
fn restore(backups: &BackupEngine, dir: &Path) -> Result<u64> {
    backups.restore_db_from_latest_backup(dir, dir, &RestoreOptions::default())?;
    let restored = Bank::open(dir.to_path_buf())?;
    for transaction in restored.db.all_prepared_transactions() {
        transaction.rollback()?;
    }
    let count = check(&restored.db);
    restored.db.close()?;
    Ok(count)
}
