//! randomtransaction: each transaction adds to one key in each of `--transaction_sets` sets.
//!
//! With `--transaction_db` or `--optimistic_transaction_db`, a transaction reads the keys for update and writes them.
//! Without these flags, a write batch writes the keys. Facts: RocksDB `test_util/transaction_test_util.cc`.

use std::time::Duration;

use base::{Error, Kind, Result};
use ironstone::{Transaction, WriteBatch};

use super::dice::Dice;
use super::report::Op;
use super::run::{Run, Thread};
use super::transaction_db::Transactions;

/// Runs transactions until the time or the count is over.
///
/// # Errors
/// InvalidArgument if `--transaction_sets` is not in 1 to 9999. Errors of the transactions, except conflicts.
pub fn random_transaction(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let sets = run.flags.int("transaction_sets");
    if !(1..=9999).contains(&sets) {
        return Err(Error::invalid_argument("invalid value for transaction_sets"));
    }
    let (mut done, mut aborts, mut bytes) = (0u64, 0u64, 0u64);
    let mut span = thread.span(run.counts.readwrites);
    while !span.over(1) {
        let mut insert = Insert { run, dice: &mut thread.dice, sets: sets as u64, bytes: 0 };
        let outcome = match run.transactions.begin(&run.flags, &run.write_options)? {
            None => insert.batch(),
            Some(transaction) => {
                let name = format!("txn{}-{done}", thread.tid);
                insert.transaction(&transaction, &run.transactions, name.as_bytes())
            }
        };
        bytes += insert.bytes;
        match outcome {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), Kind::Busy | Kind::TimedOut | Kind::TryAgain) => aborts += 1,
            Err(error) => return Err(error),
        }
        thread.finished(1, Op::Others);
        done += 1;
    }
    let text = match run.transactions {
        Transactions::None => format!("( batches:{done} )"),
        _ => format!("( transactions:{done} aborts:{aborts})"),
    };
    thread.stats.message(&text);
    thread.stats.bytes += bytes;
    Ok(())
}

/// The state of the transactions of one thread.
struct Insert<'a> {
    run: &'a Run,
    dice: &'a mut Dice,
    sets: u64,
    bytes: u64,
}

impl Insert<'_> {
    /// Draws one key of each set, in random order, and the number to add to each key.
    fn draw(&mut self) -> (Vec<Vec<u8>>, u64) {
        let number = self.dice.below(self.run.counts.num.max(1));
        let mut keys: Vec<_> = (1..=self.sets).map(|set| format!("{set:04}{number}").into_bytes()).collect();
        self.dice.shuffle(&mut keys);
        (keys, 1 + self.dice.below(100))
    }

    fn sleep(&mut self) {
        let most = self.run.flags.count("transaction_sleep");
        if most > 0 {
            std::thread::sleep(Duration::from_micros(self.dice.below(most)));
        }
    }

    fn batch(&mut self) -> Result<()> {
        let (keys, by) = self.draw();
        let (db, mut batch) = (self.run.db()?, WriteBatch::new());
        for key in keys {
            let sum = number(db.get_with(&key, &self.run.read_options)?.as_deref())? + by;
            self.sleep();
            self.bytes += (key.len() + sum.to_string().len()) as u64;
            batch.put(&key, sum.to_string().as_bytes());
        }
        db.write_with(&mut batch, &self.run.write_options)
    }

    fn transaction(&mut self, transaction: &Transaction, kind: &Transactions, name: &[u8]) -> Result<()> {
        let (keys, by) = self.draw();
        for key in keys {
            let sum = number(transaction.get_for_update(&key)?.as_deref())? + by;
            self.sleep();
            self.bytes += (key.len() + sum.to_string().len()) as u64;
            transaction.put(&key, sum.to_string().as_bytes())?;
        }
        if matches!(kind, Transactions::Pessimistic(_)) && self.dice.below(10) > 0 {
            transaction.set_name(name)?;
            transaction.prepare()?;
        }
        if self.dice.below(20) > 0 { transaction.commit() } else { transaction.rollback() }
    }
}

fn number(value: Option<&[u8]>) -> Result<u64> {
    let Some(value) = value else { return Ok(0) };
    let text = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    text.ok_or_else(|| Error::corruption("randomtransaction found a value that is no number"))
}
