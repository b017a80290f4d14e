// Transactions of both kinds: locks, conflicts, save points, prepared transactions, deadlocks, all overloads of the calls on keys.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rocksdb.AbstractTransactionNotifier;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.OptimisticTransactionDB;
import org.rocksdb.OptimisticTransactionOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Snapshot;
import org.rocksdb.Status;
import org.rocksdb.StringAppendOperator;
import org.rocksdb.Transaction;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.TransactionOptions;
import org.rocksdb.TxnDBWritePolicy;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

class TransactionsTest extends InDirectory {
  private static ByteBuffer direct(final String text) {
    final ByteBuffer buffer = ByteBuffer.allocateDirect(32);
    buffer.put(b(text)).flip();
    return buffer;
  }

  private TransactionDB open(final Options options, final TransactionDBOptions settings) throws Exception {
    return TransactionDB.open(options.setCreateIfMissing(true), settings, dir.resolve("locks").toString());
  }

  private static Status.Code codeOf(final org.junit.jupiter.api.function.Executable call) {
    return assertThrows(RocksDBException.class, call).getStatus().getCode();
  }

  @Test
  void optionsReturnWhatWasSet() {
    try (TransactionDBOptions db = new TransactionDBOptions(); TransactionOptions txn = new TransactionOptions();
         OptimisticTransactionOptions optimistic = new OptimisticTransactionOptions()) {
      assertEquals(-1, db.getMaxNumLocks());
      assertEquals(16, db.getNumStripes());
      assertEquals(1000, db.getTransactionLockTimeout());
      assertEquals(1000, db.getDefaultLockTimeout());
      assertEquals(TxnDBWritePolicy.WRITE_COMMITTED, db.getWritePolicy());
      assertEquals(7, db.setMaxNumLocks(7).getMaxNumLocks());
      assertEquals(3, db.setNumStripes(3).getNumStripes());
      assertEquals(5, db.setTransactionLockTimeout(5).getTransactionLockTimeout());
      assertEquals(6, db.setDefaultLockTimeout(6).getDefaultLockTimeout());
      assertEquals(TxnDBWritePolicy.WRITE_PREPARED, db.setWritePolicy(TxnDBWritePolicy.WRITE_PREPARED).getWritePolicy());
      assertFalse(txn.isSetSnapshot());
      assertEquals(-1, txn.getLockTimeout());
      assertEquals(-1, txn.getExpiration());
      assertEquals(50, txn.getDeadlockDetectDepth());
      assertEquals(0, txn.getMaxWriteBatchSize());
      assertTrue(txn.setSetSnapshot(true).isSetSnapshot());
      assertTrue(txn.setDeadlockDetect(true).isDeadlockDetect());
      assertEquals(9, txn.setLockTimeout(9).getLockTimeout());
      assertEquals(8, txn.setExpiration(8).getExpiration());
      assertEquals(7, txn.setDeadlockDetectDepth(7).getDeadlockDetectDepth());
      assertEquals(6, txn.setMaxWriteBatchSize(6).getMaxWriteBatchSize());
      assertTrue(optimistic.setSetSnapshot(true).isSetSnapshot());
    }
  }

  @Test
  void everyOverloadOfAWriteIsSeenAndCommitted() throws Exception {
    final List<ColumnFamilyHandle> families = new ArrayList<>();
    try (StringAppendOperator append = new StringAppendOperator(',');
         ColumnFamilyOptions family = new ColumnFamilyOptions().setMergeOperator(append);
         DBOptions options = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true);
         TransactionDBOptions settings = new TransactionDBOptions(); WriteOptions write = new WriteOptions();
         ReadOptions read = new ReadOptions();
         TransactionDB db = TransactionDB.open(options, settings, dir.resolve("families").toString(),
             List.of(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, family), new ColumnFamilyDescriptor(b("f"), family)),
             families)) {
      final ColumnFamilyHandle f = families.get(1);
      try (Transaction txn = db.beginTransaction(write)) {
        txn.put(b("a"), b("1"));
        txn.put(f, b("a"), b("2"));
        txn.put(direct("b"), direct("3"));
        txn.put(f, direct("b"), direct("4"));
        txn.put(new byte[][] {b("c"), b("d")}, new byte[][] {b("5"), b("6")});
        txn.put(f, new byte[][] {b("c"), b("d")}, new byte[][] {b("7"), b("8")});
        txn.merge(b("m"), b("1"));
        txn.merge(f, b("m"), b("2"));
        txn.merge(direct("m"), direct("3"));
        txn.merge(f, direct("m"), direct("4"));
        txn.putUntracked(b("u"), b("9"));
        txn.putUntracked(f, b("u"), b("10"));
        txn.putUntracked(new byte[][] {b("v"), b("w")}, new byte[][] {b("1"), b("1")});
        txn.putUntracked(f, new byte[][] {b("v"), b("w")}, new byte[][] {b("1"), b("2")});
        txn.mergeUntracked(b("m"), b("5"));
        txn.mergeUntracked(f, b("m"), b("6"));
        txn.mergeUntracked(direct("m"), direct("7"));
        txn.mergeUntracked(f, direct("m"), direct("8"));
        txn.put(b("x"), b("0"));
        txn.delete(b("x"));
        txn.put(f, b("x"), b("0"));
        txn.delete(f, b("x"));
        txn.put(b("xy"), b("0"));
        txn.delete(new byte[][] {b("x"), b("y")});
        txn.put(b("y"), b("0"));
        txn.singleDelete(b("y"));
        txn.put(f, b("y"), b("0"));
        txn.singleDelete(f, b("y"));
        txn.singleDelete(new byte[][] {b("y"), b("z")});
        txn.deleteUntracked(b("z"));
        txn.deleteUntracked(f, b("z"));
        txn.deleteUntracked(new byte[][] {b("z"), b("z")});
        txn.deleteUntracked(f, new byte[][] {b("z"), b("z")});
        txn.putLogData(b("log"));
        assertArrayEquals(b("1"), txn.get(read, b("a")));
        assertArrayEquals(b("2"), txn.get(read, f, b("a")));
        assertArrayEquals(b("56"), txn.get(read, b("cd")));
        assertArrayEquals(b("1,3,5,7"), txn.get(read, b("m")));
        assertArrayEquals(b("2,4,6,8"), txn.get(read, f, b("m")));
        assertNull(txn.get(read, b("x")));
        final byte[] value = new byte[1];
        assertEquals(2, txn.get(read, b("cd"), value).requiredSize);
        assertArrayEquals(b("5"), value);
        assertEquals(Status.Code.NotFound, txn.get(read, b("none"), value).status.getCode());
        assertEquals(1, txn.get(read, f, b("b"), value).requiredSize);
        final ByteBuffer out = ByteBuffer.allocateDirect(8);
        assertEquals(1, txn.get(read, f, direct("b"), out).requiredSize);
        assertEquals('4', out.get(0));
        assertArrayEquals(new byte[][] {b("1"), null, b("3")}, txn.multiGet(read, new byte[][] {b("a"), b("none"), b("b")}));
        assertArrayEquals(new byte[][] {b("1"), b("2")},
            txn.multiGetAsList(read, List.of(families.get(0), f), List.of(b("a"), b("a"))).toArray());
        assertArrayEquals(new byte[][] {b("1")}, txn.multiGetForUpdate(read, new byte[][] {b("a")}));
        assertArrayEquals(new byte[][] {b("2")}, txn.multiGetForUpdateAsList(read, List.of(f), List.of(b("a"))).toArray());
        assertEquals(15, txn.getNumPuts());
        assertEquals(8, txn.getNumMerges());
        assertEquals(10, txn.getNumDeletes());
        assertNull(db.get(b("a")));
        try (RocksIterator iterator = txn.getIterator(read, f)) {
          final StringBuilder keys = new StringBuilder();
          for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
            keys.append(new String(iterator.key())).append('=').append(new String(iterator.value())).append(' ');
          }
          iterator.status();
          assertEquals("a=2 b=4 cd=78 m=2,4,6,8 u=10 vw=12 ", keys.toString());
        }
        txn.commit();
      }
      assertArrayEquals(b("1"), db.get(b("a")));
      assertArrayEquals(b("2,4,6,8"), db.get(f, b("m")));
      assertNull(db.get(b("y")));
    }
  }

  @Test
  void aReadForUpdateOfSeveralKeysStopsAtTheFirstLockedKey() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions().setDefaultLockTimeout(1);
         WriteOptions write = new WriteOptions(); ReadOptions read = new ReadOptions(); TransactionDB db = open(options, settings);
         TransactionOptions quick = new TransactionOptions().setLockTimeout(1);
         Transaction first = db.beginTransaction(write); Transaction second = db.beginTransaction(write, quick)) {
      first.put(b("b"), b("1"));
      final byte[][] keys = {b("a"), b("b"), b("c")};
      assertThrows(RocksDBException.class, () -> second.multiGetForUpdate(read, keys));
      // The call stopped at the second key, so only the first key is locked.
      assertThrows(RocksDBException.class, () -> db.put(write, b("a"), b("2")));
      db.put(write, b("c"), b("2"));
    }
  }

  @Test
  void aLockedKeyTimesOutOtherWriters() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions().setDefaultLockTimeout(1);
         WriteOptions write = new WriteOptions(); ReadOptions read = new ReadOptions(); TransactionDB db = open(options, settings);
         TransactionOptions quick = new TransactionOptions().setLockTimeout(1);
         Transaction first = db.beginTransaction(write); Transaction second = db.beginTransaction(write, quick)) {
      first.put(b("k"), b("1"));
      final RocksDBException timeout = assertThrows(RocksDBException.class, () -> second.put(b("k"), b("2")));
      assertEquals(Status.Code.TimedOut, timeout.getStatus().getCode());
      assertEquals(Status.SubCode.LockTimeout, timeout.getStatus().getSubCode());
      assertEquals(Status.Code.TimedOut, codeOf(() -> db.put(b("k"), b("3"))));
      assertEquals(Status.Code.TimedOut, codeOf(() -> second.getForUpdate(read, b("k"), true)));
      assertEquals("k", db.getLockStatusData().get(0L).getKey());
      assertTrue(db.getLockStatusData().get(0L).isExclusive());
      assertArrayEquals(new long[] {first.getID()}, db.getLockStatusData().get(0L).getTransactionIDs());
      assertArrayEquals(new long[] {first.getID()}, second.getWaitingTxns().getTransactionIds());
      assertEquals("k", second.getWaitingTxns().getKey());
      first.rollback();
      second.put(b("k"), b("2"));
      second.commit();
      assertArrayEquals(b("2"), db.get(b("k")));
      assertTrue(db.getLockStatusData().isEmpty());
      assertEquals(Transaction.TransactionState.COMMITED, second.getState());
    }
  }

  @Test
  void undoneReadsReleaseTheirLocks() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions();
         WriteOptions write = new WriteOptions(); ReadOptions read = new ReadOptions(); TransactionDB db = open(options, settings);
         Transaction txn = db.beginTransaction(write); Transaction other = db.beginTransaction(write)) {
      other.setLockTimeout(1);
      final ColumnFamilyHandle family = db.getDefaultColumnFamily();
      assertNull(txn.getForUpdate(read, b("k"), true));
      assertEquals(Status.Code.TimedOut, codeOf(() -> other.put(b("k"), b("1"))));
      txn.undoGetForUpdate(b("k"));
      other.put(b("k"), b("1"));
      txn.getForUpdate(read, family, b("l"), new byte[1], true);
      txn.undoGetForUpdate(family, b("l"));
      other.put(b("l"), b("1"));
      assertThrows(RocksDBException.class, () -> txn.put(family, b("m"), b("1"), true));
      txn.getForUpdate(read, family, direct("m"), ByteBuffer.allocateDirect(1), true);
      txn.put(family, b("m"), b("1"), true);
      txn.merge(family, b("m"), b("1"), true);
      txn.delete(family, b("m"), true);
      txn.singleDelete(family, b("m"), true);
    }
  }

  @Test
  void savePointsSnapshotsAndIndexingFollowTheTransaction() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions();
         WriteOptions write = new WriteOptions(); ReadOptions read = new ReadOptions(); TransactionDB db = open(options, settings);
         Transaction txn = db.beginTransaction(write)) {
      assertNull(txn.getSnapshot());
      txn.setSnapshot();
      final Snapshot snapshot = txn.getSnapshot();
      assertEquals(db.getLatestSequenceNumber(), snapshot.getSequenceNumber());
      db.put(b("changed"), b("1"));
      assertEquals(Status.Code.Busy, codeOf(() -> txn.put(b("changed"), b("2"))));
      try (ReadOptions old = new ReadOptions().setSnapshot(snapshot)) {
        assertNull(txn.get(old, b("changed")));
      }
      txn.clearSnapshot();
      assertNull(txn.getSnapshot());
      txn.setSnapshotOnNextOperation();
      txn.put(b("a"), b("1"));
      assertTrue(txn.getSnapshot().getSequenceNumber() > 0);
      txn.setSavePoint();
      txn.put(b("a"), b("2"));
      txn.rollbackToSavePoint();
      assertArrayEquals(b("1"), txn.get(read, b("a")));
      assertEquals(Status.Code.NotFound, codeOf(txn::rollbackToSavePoint));
      txn.disableIndexing();
      txn.put(b("hidden"), b("1"));
      assertNull(txn.get(read, b("hidden")));
      txn.enableIndexing();
      assertEquals(2, txn.getWriteBatch().count());
      assertArrayEquals(b("1"), txn.getWriteBatch().getFromBatch(new DBOptions(), b("a")));
      try (WriteBatch batch = new WriteBatch()) {
        batch.put(b("rebuilt"), b("1"));
        txn.rebuildFromWriteBatch(batch);
      }
      assertFalse(txn.getWriteOptions().sync());
      txn.getWriteOptions().setSync(true);
      txn.commit();
      assertArrayEquals(b("1"), db.get(b("hidden")));
      assertArrayEquals(b("1"), db.get(b("rebuilt")));
      assertTrue(txn.getId() > 0);
      assertTrue(txn.getElapsedTime() >= 0);
    }
  }

  @Test
  void aNotifierSeesTheSnapshotOfTheNextOperation() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions(); WriteOptions write = new WriteOptions();
         TransactionDB db = open(options, settings); Transaction txn = db.beginTransaction(write)) {
      final List<Long> seen = new ArrayList<>();
      final AbstractTransactionNotifier notifier = new AbstractTransactionNotifier() {
        @Override
        public void snapshotCreated(final Snapshot snapshot) {
          seen.add(snapshot.getSequenceNumber());
        }
      };
      db.put(b("a"), b("1"));
      txn.setSnapshotOnNextOperation(notifier);
      assertEquals(List.of(), seen);
      txn.put(b("b"), b("1"));
      txn.put(b("c"), b("1"));
      assertEquals(List.of(db.getLatestSequenceNumber()), seen);
      notifier.close();
    }
  }

  @Test
  void aTransactionOwnsTheSnapshotThatItsNotifierReceived() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions(); WriteOptions write = new WriteOptions();
         TransactionDB db = open(options, settings); ReadOptions read = new ReadOptions()) {
      final List<Snapshot> received = new ArrayList<>();
      final AbstractTransactionNotifier notifier = new AbstractTransactionNotifier() {
        @Override
        public void snapshotCreated(final Snapshot snapshot) {
          received.add(snapshot);
        }
      };
      db.put(b("a"), b("1"));
      try (Transaction txn = db.beginTransaction(write); Transaction other = db.beginTransaction(write)) {
        txn.setSnapshotOnNextOperation(notifier);
        txn.put(b("b"), b("1"));
        other.setSnapshotOnNextOperation(notifier);
        other.put(b("c"), b("1"));
        notifier.close();
        read.setSnapshot(received.get(0));
        db.put(b("a"), b("2"));
        assertArrayEquals(b("1"), txn.get(read, b("a")));
        assertArrayEquals(b("1"), db.get(read, b("a")));
        assertEquals(txn.getSnapshot().getSequenceNumber(), received.get(0).getSequenceNumber());
        txn.clearSnapshot();
        assertThrows(RocksDBException.class, () -> db.get(read, b("a")));
        read.setSnapshot(received.get(1));
        other.setSnapshotOnNextOperation();
        assertArrayEquals(b("1"), db.get(read, b("a")));
        other.put(b("d"), b("1"));
        assertThrows(RocksDBException.class, () -> db.get(read, b("a")));
      }
    }
  }

  @Test
  void aSavePointKeepsTheSnapshotOfItsTransaction() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions(); WriteOptions write = new WriteOptions();
         TransactionDB db = open(options, settings); Transaction txn = db.beginTransaction(write); ReadOptions first = new ReadOptions();
         ReadOptions second = new ReadOptions()) {
      db.put(b("a"), b("1"));
      txn.setSnapshot();
      txn.setSavePoint();
      first.setSnapshot(txn.getSnapshot());
      db.put(b("a"), b("2"));
      txn.setSnapshot();
      second.setSnapshot(txn.getSnapshot());
      db.put(b("a"), b("3"));
      assertArrayEquals(b("1"), txn.get(first, b("a")));
      assertArrayEquals(b("2"), txn.get(second, b("a")));
      txn.rollbackToSavePoint();
      assertArrayEquals(b("1"), txn.get(first, b("a")));
      assertThrows(RocksDBException.class, () -> txn.get(second, b("a")));
      txn.setSavePoint();
      txn.clearSnapshot();
      assertArrayEquals(b("1"), txn.get(first, b("a")));
      txn.rollback();
      assertThrows(RocksDBException.class, () -> db.get(first, b("a")));
    }
  }

  @Test
  void aNotifierThatCallsItsOwnTransactionGetsAnError() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions(); WriteOptions write = new WriteOptions();
         TransactionDB db = open(options, settings); Transaction txn = db.beginTransaction(write);
         Transaction other = db.beginTransaction(write)) {
      final List<RocksDBException> thrown = new ArrayList<>();
      final AbstractTransactionNotifier notifier = new AbstractTransactionNotifier() {
        @Override
        public void snapshotCreated(final Snapshot snapshot) {
          thrown.add(assertThrows(RocksDBException.class, () -> txn.put(b("b"), b("2"))));
          assertDoesNotThrow(() -> other.put(b("c"), b("1")));
        }
      };
      txn.setSnapshotOnNextOperation(notifier);
      txn.put(b("a"), b("1"));
      txn.commit();
      other.commit();
      assertEquals(Status.Code.InvalidArgument, thrown.get(0).getStatus().getCode());
      assertArrayEquals(b("1"), db.get(b("a")));
      assertNull(db.get(b("b")));
      assertArrayEquals(b("1"), db.get(b("c")));
      notifier.close();
    }
  }

  @Test
  void theNumberOfATransactionIsTheNumberInItsLocks() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions(); WriteOptions write = new WriteOptions();
         TransactionDB db = open(options, settings); Transaction txn = db.beginTransaction(write)) {
      txn.put(b("a"), b("1"));
      assertArrayEquals(new long[] {txn.getId()}, db.getLockStatusData().get(0L).getTransactionIDs());
      assertEquals(0, txn.getLogNumber());
      txn.setLogNumber(-7);
      assertEquals(-7, txn.getLogNumber());
    }
  }

  @Test
  void preparedTransactionsSurviveAReopen() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions(); WriteOptions write = new WriteOptions()) {
      try (TransactionDB db = open(options, settings)) {
        final Transaction txn = db.beginTransaction(write);
        assertEquals("", txn.getName());
        txn.setName("transfer");
        assertEquals("transfer", txn.getName());
        txn.put(b("k"), b("1"));
        assertEquals(0, txn.getLogNumber());
        txn.prepare();
        assertTrue(txn.getLogNumber() > 0);
        txn.getCommitTimeWriteBatch().put(b("at"), b("commit"));
        assertEquals(Transaction.TransactionState.PREPARED, txn.getState());
        assertEquals("transfer", db.getTransactionByName("transfer").getName());
        assertNull(db.getTransactionByName("other"));
        txn.commit();
        assertArrayEquals(b("commit"), db.get(b("at")));
        final Transaction open = db.beginTransaction(write);
        open.setName("left");
        open.put(b("left"), b("1"));
        open.prepare();
      }
      try (TransactionDB db = open(options, settings)) {
        assertArrayEquals(b("1"), db.get(b("k")));
        assertNull(db.get(b("left")));
        final List<Transaction> prepared = db.getAllPreparedTransactions();
        assertEquals(1, prepared.size());
        assertEquals("left", prepared.get(0).getName());
        prepared.get(0).commit();
        assertArrayEquals(b("1"), db.get(b("left")));
      }
    }
  }

  /** A commit that fails keeps the commit-time batch, and the next commit writes the batch. A commit that succeeds empties it. */
  @Test
  void failedCommitKeepsTheCommitTimeBatch() throws Exception {
    try (Options options = new Options().setWriteBufferSize(65536).setMaxWriteBufferNumber(2); TransactionDBOptions settings = new TransactionDBOptions();
         WriteOptions write = new WriteOptions().setNoSlowdown(true); TransactionDB db = open(options, settings)) {
      final Transaction txn = db.beginTransaction(write);
      txn.setName("transfer");
      txn.put(b("k"), b("1"));
      txn.getCommitTimeWriteBatch().put(b("at"), b("commit"));
      txn.prepare();
      db.pauseBackgroundWork();
      assertEquals(Status.Code.Incomplete, codeOf(() -> {
        for (int i = 0; i < 10_000; i++) {
          db.put(write, b("fill" + i), new byte[1000]);
        }
      }));
      assertEquals(Status.Code.Incomplete, codeOf(txn::commit));
      assertEquals(1, txn.getCommitTimeWriteBatch().count());
      db.continueBackgroundWork();
      try (WriteOptions waits = new WriteOptions()) {
        txn.setWriteOptions(waits);
        txn.commit();
      }
      assertEquals(0, txn.getCommitTimeWriteBatch().count());
      assertArrayEquals(b("1"), db.get(b("k")));
      assertArrayEquals(b("commit"), db.get(b("at")));
    }
  }

  @Test
  void deadlocksAreFoundAndReported() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions().setTransactionLockTimeout(60_000);
         WriteOptions write = new WriteOptions(); TransactionDB db = open(options, settings);
         TransactionOptions detect = new TransactionOptions().setDeadlockDetect(true);
         Transaction first = db.beginTransaction(write, detect); Transaction second = db.beginTransaction(write, detect)) {
      assertTrue(first.isDeadlockDetect());
      first.put(b("a"), b("1"));
      second.put(b("b"), b("2"));
      final Thread waiter = new Thread(() -> {
        try {
          first.put(b("b"), b("1"));
        } catch (final RocksDBException expected) {
          throw new IllegalStateException(expected);
        }
      });
      waiter.start();
      while (first.getWaitingTxns().getTransactionIds().length == 0) Thread.onSpinWait();
      final RocksDBException deadlock = assertThrows(RocksDBException.class, () -> second.put(b("a"), b("2")));
      assertEquals(Status.Code.Busy, deadlock.getStatus().getCode());
      assertEquals(Status.SubCode.Deadlock, deadlock.getStatus().getSubCode());
      second.rollback();
      waiter.join();
      assertEquals(1, db.getDeadlockInfoBuffer().length);
      assertFalse(db.getDeadlockInfoBuffer()[0].isEmpty());
      db.setDeadlockInfoBufferSize(0);
      assertEquals(0, db.getDeadlockInfoBuffer().length);
    }
  }

  @Test
  void optimisticTransactionsConflictAtCommit() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); WriteOptions write = new WriteOptions();
         OptimisticTransactionOptions snapshot = new OptimisticTransactionOptions().setSetSnapshot(true);
         OptimisticTransactionDB db = OptimisticTransactionDB.open(options, dir.resolve("optimistic").toString())) {
      Transaction txn = db.beginTransaction(write, snapshot);
      txn.put(b("k"), b("1"));
      db.put(b("k"), b("2"));
      assertEquals(Status.Code.Busy, codeOf(txn::commit));
      txn.rollback();
      final Transaction again = db.beginTransaction(write, txn);
      assertEquals(txn, again);
      again.put(b("k"), b("3"));
      again.commit();
      assertArrayEquals(b("3"), db.getBaseDB().get(b("k")));
      db.getBaseDB().put(b("base"), b("1"));
      assertArrayEquals(b("1"), db.get(b("base")));
      txn = db.beginTransaction(write, snapshot, again);
      txn.put(b("k"), b("4"));
      txn.close();
      assertArrayEquals(b("3"), db.get(b("k")));
    }
  }

  @Test
  void closedTransactionsThrow() throws Exception {
    try (Options options = new Options(); TransactionDBOptions settings = new TransactionDBOptions(); WriteOptions write = new WriteOptions();
         ReadOptions read = new ReadOptions()) {
      final TransactionDB db = open(options, settings);
      final Transaction closed = db.beginTransaction(write);
      closed.put(b("k"), b("1"));
      final RocksIterator iterator = closed.getIterator(read);
      closed.close();
      assertThrows(IllegalStateException.class, () -> closed.put(b("k"), b("1")));
      assertThrows(IllegalStateException.class, closed::commit);
      final Transaction open = db.beginTransaction(write);
      open.put(b("k"), b("2"));
      open.getWriteBatch();
      db.close();
      assertThrows(IllegalStateException.class, open::commit);
      assertThrows(IllegalStateException.class, () -> open.get(read, b("k")));
      assertThrows(IllegalStateException.class, iterator::seekToFirst);
      iterator.close();
      open.close();
      open.close();
    }
  }

  @Test
  void aFamilyOfAnotherDatabaseIsRejected() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); TransactionDBOptions settings = new TransactionDBOptions();
         WriteOptions write = new WriteOptions(); TransactionDB db = open(options, settings);
         RocksDB other = RocksDB.open(options, dir.resolve("other").toString());
         ColumnFamilyHandle foreign = other.getDefaultColumnFamily(); Transaction txn = db.beginTransaction(write)) {
      assertEquals(Status.Code.InvalidArgument, codeOf(() -> txn.put(foreign, b("k"), b("1"))));
      assertEquals(Status.Code.InvalidArgument, codeOf(() -> db.put(foreign, b("k"), b("1"))));
      assertTrue(Arrays.equals(RocksDB.DEFAULT_COLUMN_FAMILY, foreign.getName()));
    }
  }
}
