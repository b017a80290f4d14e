//! Transactions of both engines side by side: the same random calls on two transaction databases.
//!
//! A life has one write policy. Up to three transactions are open at the same time and use the same few keys, so calls meet
//! locks and changes after a snapshot. A crash copies both open directories; the copies must have the same prepared
//! transactions, which the life then commits or rolls back.
//!
//! Left out, because RocksDB answers wrongly ([`differences.md`](../../../../docs/differences.md)): writes after prepare, and, with
//! the write-unprepared policy, merges and rollbacks.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use ironstone::{
    LockMode, Options, ReadOptions, TransactionDbOptions, TransactionOptions, TxnDbWritePolicy, Validation,
    WriteOptions,
};
use peer::{Library, WritePolicy, Writing};
use testkit::chance::Chance;

use crate::work::Beat;
use crate::{ours, theirs, watch};

/// The largest number of open transactions.
const SLOTS: usize = 3;

/// The number of operations that a failure shows.
const SHOWN: usize = 60;

/// Bytes above which a transaction of the write-unprepared policy writes its batch.
const THRESHOLD: i64 = 100;

/// Without compactions, so that an open database can be copied.
const OPTIONS: &str = "create_if_missing=true;merge_operator=stringappend;disable_auto_compactions=true;\
                       write_buffer_size=1048576;";

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// A transaction of each engine.
struct Pair {
    ours: ironstone::Transaction,
    theirs: peer::Transaction,
    prepared: bool,
    save_points: u64,
}

/// A database of each engine.
struct Life<'a> {
    library: &'a Library,
    dirs: [PathBuf; 2],
    policy: TxnDbWritePolicy,
    open: Option<(ironstone::TransactionDb, peer::TransactionDb)>,
    slots: [Option<Pair>; SLOTS],
    chance: Chance,
    /// The number of names and of directories that were used.
    names: u64,
    story: VecDeque<String>,
    compared: u64,
}

/// Runs the life of a seed with `len` operations. Returns the number of compared answers.
///
/// # Errors
/// Both answers, and the last operations.
pub fn run(library: &Library, dir: &Path, seed: u64, len: usize, beat: &mut Beat) -> Result<u64, String> {
    let mut chance = Chance::new(seed ^ 0x7478_6e73);
    let policies = [
        TxnDbWritePolicy::WriteCommitted,
        TxnDbWritePolicy::WriteCommitted,
        TxnDbWritePolicy::WritePrepared,
        TxnDbWritePolicy::WriteUnprepared,
    ];
    let policy = *chance.pick(&policies);
    let mut life = Life {
        library,
        dirs: [dir.join("ours"), dir.join("theirs")],
        policy,
        open: None,
        slots: [None, None, None],
        chance,
        names: 0,
        story: VecDeque::new(),
        compared: 0,
    };
    let done = life.open().and_then(|()| {
        (1..=len).try_for_each(|number| {
            beat.tell();
            watch::begin(number, None);
            life.step()
        })
    });
    let done = done.and_then(|()| life.end());
    let story = life.story.iter().map(|line| format!("  {line}\n")).collect::<String>();
    done.map(|()| life.compared).map_err(|words| format!("{policy:?}: {words}\n{story}"))
}

/// Both codes for a transaction that must be tried again: a memtable that a check needs may be gone in one engine only.
fn again(code: String) -> String {
    if code == "Operation failed. Try again." { "Resource busy".to_string() } else { code }
}

fn our<T>(outcome: ironstone::Result<T>) -> Result<T, String> {
    outcome.map_err(|error| again(ours::code(&error)))
}

fn their<T>(outcome: peer::Result<T>) -> Result<T, String> {
    outcome.map_err(|words| again(theirs::code(words)))
}

impl Life<'_> {
    fn tell(&mut self, line: String) {
        if self.story.len() == SHOWN {
            self.story.pop_front();
        }
        self.story.push_back(line);
    }

    /// Compares two answers, and adds them to the story.
    fn same<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        ours: &T,
        theirs: &T,
    ) -> Result<(), String> {
        self.compared += 1;
        self.tell(what.to_string());
        if ours == theirs { Ok(()) } else { Err(format!("{what}: ours {ours:?}, theirs {theirs:?}")) }
    }

    fn open(&mut self) -> Result<(), String> {
        let mut options = Options::default();
        let keeps = ["", "avoid_flush_during_shutdown=true;"][self.chance.below(2) as usize];
        let text = format!("{OPTIONS}{keeps}");
        options.update(&text).map_err(|error| error.to_string())?;
        let threshold = if self.policy == TxnDbWritePolicy::WriteUnprepared { THRESHOLD } else { 0 };
        let transactions = TransactionDbOptions {
            write_policy: self.policy,
            default_write_batch_flush_threshold: threshold,
            transaction_lock_timeout: peer::LOCK_TIMEOUT_MS,
            default_lock_timeout: peer::LOCK_TIMEOUT_MS,
            ..TransactionDbOptions::default()
        };
        let policy = match self.policy {
            TxnDbWritePolicy::WriteCommitted => WritePolicy::Committed,
            TxnDbWritePolicy::WritePrepared => WritePolicy::Prepared,
            TxnDbWritePolicy::WriteUnprepared => WritePolicy::Unprepared,
        };
        let ours = ironstone::TransactionDb::open(&self.dirs[0], options, transactions);
        let ours = ours.map_err(|error| format!("open: ours {error}"))?;
        let theirs =
            peer::TransactionDb::open_with_threshold(self.library, &self.dirs[1], &text, policy, threshold);
        let theirs = theirs.map_err(|words| format!("open: theirs {words}"))?;
        self.open = Some((ours, theirs));
        Ok(())
    }

    fn both(&self) -> Result<&(ironstone::TransactionDb, peer::TransactionDb), String> {
        self.open.as_ref().ok_or_else(|| "the databases are closed".to_string())
    }

    /// Returns false with the write-unprepared policy. After a rollback of entries that were written before prepare, RocksDB's readers
    /// can see these entries, and its conflict checks can find them.
    fn rolls_back(&self) -> bool {
        self.policy != TxnDbWritePolicy::WriteUnprepared
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key{}", self.chance.below(12)).into_bytes()
    }

    fn step(&mut self) -> Result<(), String> {
        let slot = self.chance.below(SLOTS as u64) as usize;
        match self.chance.below(100) {
            0..70 => match self.slots[slot].take() {
                None => self.begin(slot),
                Some(pair) => {
                    let (pair, done) = self.act(slot, pair);
                    self.slots[slot] = pair;
                    done
                }
            },
            70..80 => self.put(),
            80..88 => self.get(),
            88..92 => self.scan(),
            92..96 => {
                let (ours, theirs) = self.both()?;
                let ours = our(ours.flush());
                watch::enter_theirs();
                let (ours, theirs) = (ours, their(theirs.flush()));
                watch::leave();
                self.same("flush", &ours, &theirs)
            }
            96..98 => self.crash(),
            _ => self.reopen(),
        }
    }

    fn begin(&mut self, slot: usize) -> Result<(), String> {
        let set_snapshot = self.chance.percent(40);
        let own = TransactionOptions { set_snapshot, ..TransactionOptions::default() };
        self.names += 1;
        let name = format!("transaction{}", self.names).into_bytes();
        let (ours, theirs) = self.both()?;
        let ours = our(ours.begin_with(&WriteOptions::default(), &own))?;
        let mut theirs = theirs.begin_with(Writing::default(), set_snapshot);
        let (ours_named, theirs_named) = (our(ours.set_name(&name)), their(theirs.set_name(&name)));
        self.same(&format!("{slot}: begin, snapshot {set_snapshot}"), &ours_named, &theirs_named)?;
        self.slots[slot] = Some(Pair { ours, theirs, prepared: false, save_points: 0 });
        Ok(())
    }

    /// Makes one call of a transaction. Returns the transaction if it has not ended.
    fn act(&mut self, slot: usize, mut pair: Pair) -> (Option<Pair>, Result<(), String>) {
        let draw = self.chance.below(100);
        if draw < 82 {
            let done =
                if pair.prepared { self.read(slot, &mut pair) } else { self.change(slot, draw, &mut pair) };
            return (Some(pair), done);
        }
        let (what, ours, theirs) = match draw {
            _ if draw < 94 || !self.rolls_back() => {
                ("commit", our(pair.ours.commit()), their(pair.theirs.commit()))
            }
            _ => ("rollback", our(pair.ours.rollback()), their(pair.theirs.rollback())),
        };
        let done = self.same(&format!("{slot}: {what}"), &ours, &theirs);
        if ours.is_err() || theirs.is_err() {
            // RocksDB's library crashes if a named transaction is destroyed after its commit failed.
            std::mem::forget(pair);
        }
        (None, done)
    }

    fn change(&mut self, slot: usize, draw: u64, pair: &mut Pair) -> Result<(), String> {
        let key = self.key();
        let text = key.escape_ascii().to_string();
        match draw {
            0..34 => {
                let value = self.chance.bytes(1 + draw as usize);
                let (ours, theirs) = (our(pair.ours.put(&key, &value)), their(pair.theirs.put(&key, &value)));
                let what = format!("{slot}: put {text} = {}", value.escape_ascii());
                self.same(&what, &ours, &theirs)
            }
            34..44 => {
                let (ours, theirs) = (our(pair.ours.delete(&key)), their(pair.theirs.delete(&key)));
                self.same(&format!("{slot}: delete {text}"), &ours, &theirs)
            }
            44..52 if self.policy != TxnDbWritePolicy::WriteUnprepared => {
                let operand = format!("m{}", self.compared).into_bytes();
                let (ours, theirs) =
                    (our(pair.ours.merge(&key, &operand)), their(pair.theirs.merge(&key, &operand)));
                self.same(&format!("{slot}: merge {text}"), &ours, &theirs)
            }
            52..58 => {
                pair.ours.set_save_point();
                pair.theirs.set_save_point();
                pair.save_points += 1;
                self.tell(format!("{slot}: save point"));
                Ok(())
            }
            58..64 if self.rolls_back() => {
                let ours = our(pair.ours.rollback_to_save_point());
                let theirs = their(pair.theirs.rollback_to_save_point());
                pair.save_points = pair.save_points.saturating_sub(1);
                self.same(&format!("{slot}: rollback to save point"), &ours, &theirs)
            }
            64..72 => {
                let (ours, theirs) = (our(pair.ours.prepare()), their(pair.theirs.prepare()));
                pair.prepared = ours.is_ok();
                self.same(&format!("{slot}: prepare"), &ours, &theirs)
            }
            _ => self.read(slot, pair),
        }
    }

    fn read(&mut self, slot: usize, pair: &mut Pair) -> Result<(), String> {
        let key = self.key();
        let text = key.escape_ascii().to_string();
        let lock = match self.chance.below(4) {
            0 => {
                let mut iter = our(pair.ours.iter())?;
                iter.seek_to_first();
                let mut rows = Rows::new();
                while iter.valid() {
                    rows.push((iter.key().to_vec(), iter.value().to_vec()));
                    iter.next();
                }
                let ours = our(iter.status()).map(|()| rows);
                let theirs = their(pair.theirs.rows());
                return self.same(&format!("{slot}: scan"), &ours, &theirs);
            }
            1 if !pair.prepared => Some(self.chance.percent(60)),
            _ => None,
        };
        let ours = match lock {
            None => pair.ours.get(&key),
            Some(exclusive) => {
                let family = self.both()?.0.default_family();
                let mode = if exclusive { LockMode::Exclusive } else { LockMode::Shared };
                pair.ours.get_for_update_in(&family, &key, &ReadOptions::default(), mode, Validation::Check)
            }
        };
        let ours = our(ours).map(|value| value.map(|value| value.to_vec()));
        let theirs = their(pair.theirs.get(&key, lock));
        self.same(&format!("{slot}: get {text}, lock {lock:?}"), &ours, &theirs)
    }

    fn put(&mut self) -> Result<(), String> {
        let (key, value) = (self.key(), self.chance.bytes(8));
        let (ours, theirs) = self.both()?;
        let (ours, theirs) =
            (our(ours.put(&key, &value)), their(theirs.put(&key, &value, Writing::default())));
        let what = format!("put {} = {}", key.escape_ascii(), value.escape_ascii());
        self.same(&what, &ours, &theirs)
    }

    fn get(&mut self) -> Result<(), String> {
        let key = self.key();
        let (ours, theirs) = self.both()?;
        let ours = our(ours.get(&key)).map(|value| value.map(|value| value.to_vec()));
        let theirs = their(theirs.get(&key));
        self.same(&format!("get {}", key.escape_ascii()), &ours, &theirs)
    }

    fn scan(&mut self) -> Result<(), String> {
        let (ours, theirs) = self.both()?;
        let rows =
            ours.range::<[u8], _>(..).map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())));
        let ours = our(rows.collect::<ironstone::Result<Rows>>());
        let theirs = their(theirs.rows());
        self.same("scan", &ours, &theirs)
    }

    /// Ends the process of both engines, as far as the files show: copies the directories, and opens the copies.
    fn crash(&mut self) -> Result<(), String> {
        self.names += 1;
        let before = self.dirs.clone();
        for (dir, old) in self.dirs.iter_mut().zip(&before) {
            *dir = old.with_extension(self.names.to_string());
            copy(old, dir).map_err(|error| format!("copy of {}: {error}", old.display()))?;
        }
        self.tell("crash".to_string());
        self.slots = [None, None, None];
        self.open = None;
        before.iter().for_each(|dir| drop(std::fs::remove_dir_all(dir)));
        self.open()?;
        self.decide()?;
        self.scan()
    }

    /// Commits or rolls back the prepared transactions that both engines found.
    fn decide(&mut self) -> Result<(), String> {
        let (ours, theirs) = self.both()?;
        let (ours, mut theirs) = (ours.all_prepared_transactions(), theirs.take_prepared());
        theirs.sort_by_key(peer::Transaction::name);
        let names = |theirs: &[peer::Transaction]| theirs.iter().map(|t| t.name()).collect::<Vec<_>>();
        let (our_names, their_names) = (ours.iter().map(|t| t.name()).collect::<Vec<_>>(), names(&theirs));
        self.same("prepared transactions", &our_names, &their_names)?;
        for (ours, mut theirs) in ours.into_iter().zip(theirs) {
            let (what, (ours, theirs)) = match self.chance.percent(50) || !self.rolls_back() {
                true => ("commit", (our(ours.commit()), their(theirs.commit()))),
                false => ("rollback", (our(ours.rollback()), their(theirs.rollback()))),
            };
            self.same(&format!("{what} after the crash"), &ours, &theirs)?;
        }
        Ok(())
    }

    /// Ends all transactions, and closes and opens both databases.
    fn reopen(&mut self) -> Result<(), String> {
        for slot in 0..SLOTS {
            let Some(mut pair) = self.slots[slot].take() else { continue };
            let (what, (ours, theirs)) = match self.rolls_back() {
                true => ("rollback", (our(pair.ours.rollback()), their(pair.theirs.rollback()))),
                false => ("commit", (our(pair.ours.commit()), their(pair.theirs.commit()))),
            };
            self.same(&format!("{slot}: {what} before the close"), &ours, &theirs)?;
        }
        self.open = None;
        self.tell("reopen".to_string());
        self.open()?;
        self.decide()?;
        self.scan()
    }

    fn end(&mut self) -> Result<(), String> {
        self.crash()?;
        self.reopen()
    }
}

/// Copies the files of an open database.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        match std::fs::copy(entry.path(), to.join(entry.file_name())) {
            // An obsolete file was deleted during the copy.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            copied => drop(copied?),
        }
    }
    Ok(())
}
