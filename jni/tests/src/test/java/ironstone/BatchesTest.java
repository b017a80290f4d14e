// Batches with an index and their iterators; the iteration over a batch with a handler; the content flags of a batch.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.Status;
import org.rocksdb.WBWIRocksIterator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteBatchWithIndex;
import org.rocksdb.WriteOptions;

class BatchesTest extends InDirectory {
  private static ByteBuffer direct(final String text) {
    final ByteBuffer buffer = ByteBuffer.allocateDirect(16);
    buffer.put(b(text)).flip();
    return buffer;
  }

  /** Writes down the calls. */
  private static final class Log extends WriteBatch.Handler {
    final List<String> calls = new ArrayList<>();
    int left = Integer.MAX_VALUE;
    boolean fails;

    private void add(final String call, final int family, final byte[]... bytes) throws RocksDBException {
      final StringBuilder text = new StringBuilder(call).append(' ').append(family);
      for (final byte[] part : bytes) text.append(' ').append(new String(part));
      calls.add(text.toString());
      if (fails) throw new RocksDBException(new Status(Status.Code.Aborted, Status.SubCode.None, "the handler fails"));
    }

    @Override public void put(final int family, final byte[] key, final byte[] value) throws RocksDBException { add("put", family, key, value); }
    @Override public void put(final byte[] key, final byte[] value) { calls.add("no"); }
    @Override public void merge(final int family, final byte[] key, final byte[] value) throws RocksDBException { add("merge", family, key, value); }
    @Override public void merge(final byte[] key, final byte[] value) { calls.add("no"); }
    @Override public void delete(final int family, final byte[] key) throws RocksDBException { add("delete", family, key); }
    @Override public void delete(final byte[] key) { calls.add("no"); }
    @Override public void singleDelete(final int family, final byte[] key) throws RocksDBException { add("single", family, key); }
    @Override public void singleDelete(final byte[] key) { calls.add("no"); }
    @Override public void deleteRange(final int family, final byte[] begin, final byte[] end) throws RocksDBException { add("range", family, begin, end); }
    @Override public void deleteRange(final byte[] begin, final byte[] end) { calls.add("no"); }
    @Override public void logData(final byte[] blob) { calls.add("log " + new String(blob)); }
    @Override public void putBlobIndex(final int family, final byte[] key, final byte[] value) { calls.add("no"); }
    @Override public void markBeginPrepare() { calls.add("begin"); }
    @Override public void markEndPrepare(final byte[] xid) { calls.add("end"); }
    @Override public void markNoop(final boolean empty) { calls.add("noop"); }
    @Override public void markRollback(final byte[] xid) { calls.add("rollback"); }
    @Override public void markCommit(final byte[] xid) { calls.add("commit"); }
    @Override public void markCommitWithTimestamp(final byte[] xid, final byte[] ts) { calls.add("commit"); }
    @Override public boolean shouldContinue() { return left-- > 0; }
  }

  @Test
  void aHandlerSeesTheRecordsInOrder() throws Exception {
    try (WriteBatch batch = new WriteBatch(); Log log = new Log(); Log short_ = new Log(); Log faulty = new Log()) {
      assertFalse(batch.hasPut());
      batch.put(b("a"), b("1"));
      batch.merge(b("b"), b("2"));
      batch.delete(b("c"));
      batch.singleDelete(b("d"));
      batch.deleteRange(b("e"), b("f"));
      batch.putLogData(b("x"));
      batch.iterate(log);
      assertEquals(List.of("put 0 a 1", "merge 0 b 2", "delete 0 c", "single 0 d", "range 0 e f", "log x"), log.calls);
      assertTrue(batch.hasPut() && batch.hasMerge() && batch.hasDelete() && batch.hasSingleDelete() && batch.hasDeleteRange());
      assertFalse(batch.hasBeginPrepare() || batch.hasEndPrepare() || batch.hasCommit() || batch.hasRollback());
      short_.left = 2;
      batch.iterate(short_);
      assertEquals(2, short_.calls.size());
      faulty.fails = true;
      assertThrows(RocksDBException.class, () -> batch.iterate(faulty));
      assertEquals(1, faulty.calls.size());
    }
  }

  @Test
  void theTerminationPointSaysWhatTheWalGets() throws Exception {
    try (WriteBatch batch = new WriteBatch()) {
      assertEquals(0, batch.getWalTerminationPoint().getCount());
      batch.put(b("a"), b("1"));
      batch.markWalTerminationPoint();
      batch.delete(b("b"));
      final WriteBatch.SavePoint point = batch.getWalTerminationPoint();
      assertEquals(1, point.getCount());
      assertEquals(2, point.getContentFlags());
      assertEquals(12 + 5, point.getSize());
    }
  }

  @Test
  void anIndexedBatchIsReadOnTopOfTheDatabase() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString());
         ColumnFamilyHandle family = db.createColumnFamily(new ColumnFamilyDescriptor(b("f")));
         WriteBatchWithIndex batch = new WriteBatchWithIndex(true); ReadOptions read = new ReadOptions();
         WriteOptions write = new WriteOptions(); DBOptions dbOptions = new DBOptions()) {
      db.put(b("a"), b("old"));
      db.put(b("b"), b("base"));
      db.put(b("c"), b("gone"));
      batch.put(b("a"), b("new"));
      batch.put(family, b("a"), b("family"));
      batch.put(direct("d"), direct("direct"));
      batch.delete(b("c"));
      batch.singleDelete(b("s"));
      batch.putLogData(b("log"));
      assertEquals(5, batch.count());
      assertArrayEquals(b("new"), batch.getFromBatch(dbOptions, b("a")));
      assertArrayEquals(b("family"), batch.getFromBatch(family, dbOptions, b("a")));
      assertNull(batch.getFromBatch(dbOptions, b("b")));
      assertArrayEquals(b("base"), batch.getFromBatchAndDB(db, read, b("b")));
      assertNull(batch.getFromBatchAndDB(db, read, b("c")));
      assertArrayEquals(b("family"), batch.getFromBatchAndDB(db, family, read, b("a")));
      final StringBuilder seen = new StringBuilder();
      final RocksIterator base = db.newIterator();
      try (RocksIterator iterator = batch.newIteratorWithBase(base)) {
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
          seen.append(new String(iterator.key())).append('=').append(new String(iterator.value())).append(' ');
        }
        iterator.status();
      }
      assertEquals("a=new b=base d=direct ", seen.toString());
      base.close();
      assertEquals(5, batch.getWriteBatch().count());
      assertEquals(5, batch.getWriteBatch().count());
      db.write(write, batch);
      assertArrayEquals(b("new"), db.get(b("a")));
      assertArrayEquals(b("family"), db.get(family, b("a")));
      assertNull(db.get(b("c")));
    }
  }

  @Test
  void iteratorsOfManyFamiliesKeepTheirOwnBoundsUnderABatch() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString());
         Slice bound = new Slice("c"); ReadOptions read = new ReadOptions().setIterateUpperBound(bound);
         WriteBatchWithIndex batch = new WriteBatchWithIndex(true)) {
      db.put(b("a"), b("base"));
      db.put(b("d"), b("outside"));
      batch.put(b("b"), b("new"));
      batch.put(b("c"), b("new"));
      final RocksIterator base = db.newIterators(List.of(db.getDefaultColumnFamily()), read).get(0);
      try (RocksIterator iterator = batch.newIteratorWithBase(base)) {
        final StringBuilder seen = new StringBuilder();
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
          seen.append(new String(iterator.key())).append(' ');
        }
        iterator.status();
        assertEquals("a b c ", seen.toString());
      }
      base.close();
    }
  }

  @Test
  void theIteratorShowsTheRecordsByKey() throws Exception {
    try (WriteBatchWithIndex batch = new WriteBatchWithIndex()) {
      batch.put(b("c"), b("3"));
      batch.put(b("a"), b("1"));
      batch.merge(b("b"), b("2"));
      batch.delete(b("d"));
      batch.singleDelete(b("e"));
      try (WBWIRocksIterator iterator = batch.newIterator()) {
        final StringBuilder seen = new StringBuilder();
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
          final WBWIRocksIterator.WriteEntry entry = iterator.entry();
          seen.append(entry.getType()).append(' ').append(entry.getKey()).append(' ');
        }
        assertEquals("PUT a MERGE b PUT c DELETE d SINGLE_DELETE e ", seen.toString());
        iterator.seek(b("b"));
        assertEquals(WBWIRocksIterator.WriteType.MERGE, iterator.entry().getType());
        final ByteBuffer key = iterator.entry().getKey().data();
        assertEquals(1, key.remaining());
        assertEquals('b', key.get(0));
        assertEquals("2", iterator.entry().getValue().toString());
        iterator.seekForPrev(b("cc"));
        assertEquals("c", iterator.entry().getKey().toString());
        iterator.prev();
        assertEquals("b", iterator.entry().getKey().toString());
        iterator.seekToLast();
        assertEquals("e", iterator.entry().getKey().toString());
        iterator.status();
      }
    }
  }

  @Test
  void savePointsAndLimitsUndoWrites() throws Exception {
    try (WriteBatchWithIndex batch = new WriteBatchWithIndex()) {
      batch.put(b("a"), b("1"));
      batch.setSavePoint();
      batch.put(b("b"), b("2"));
      batch.rollbackToSavePoint();
      assertEquals(1, batch.count());
      assertThrows(RocksDBException.class, batch::rollbackToSavePoint);
      batch.setSavePoint();
      batch.popSavePoint();
      assertThrows(RocksDBException.class, batch::popSavePoint);
      batch.setMaxBytes(20);
      assertThrows(RocksDBException.class, () -> batch.put(b("large"), new byte[100]));
      assertEquals(1, batch.count());
      final RocksDBException ranges = assertThrows(RocksDBException.class, () -> batch.deleteRange(b("a"), b("b")));
      assertEquals(Status.Code.NotSupported, ranges.getStatus().getCode());
      batch.clear();
      assertEquals(0, batch.count());
    }
  }

  @Test
  void closedBatchesThrow() throws Exception {
    final WriteBatchWithIndex batch = new WriteBatchWithIndex();
    batch.put(b("a"), b("1"));
    final WBWIRocksIterator iterator = batch.newIterator();
    final WriteBatch plain = batch.getWriteBatch();
    batch.close();
    assertThrows(IllegalStateException.class, () -> batch.put(b("a"), b("1")));
    assertThrows(IllegalStateException.class, plain::count);
    iterator.seekToFirst();
    iterator.close();
  }

  @Test
  void aBatchOfDamagedBytesFailsOnlyAtItsUse() throws Exception {
    final byte[] wrongCount = {0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 1, 'a', 1, 'b', 0, 1, 'c'};
    final byte[] cut = {0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 1, 'a', 1, 'b', 1, 1, 'c'};
    try (Options options = new Options().setCreateIfMissing(true); WriteOptions write = new WriteOptions();
         RocksDB db = RocksDB.open(options, dir.toString())) {
      for (final byte[] bytes : new byte[][] {wrongCount, cut}) {
        try (WriteBatch batch = new WriteBatch(bytes); Log log = new Log()) {
          assertEquals(bytes[8], batch.count());
          assertArrayEquals(bytes, batch.data());
          assertEquals(bytes.length, batch.getDataSize());
          assertTrue(batch.hasPut());
          final String text = bytes == cut ? "bad WriteBatch Put" : "WriteBatch has wrong count";
          assertEquals(text, assertThrows(RocksDBException.class, () -> db.write(write, batch)).getMessage());
          assertEquals(text, assertThrows(RocksDBException.class, () -> batch.iterate(log)).getMessage());
          assertEquals("put 0 a b", log.calls.get(0));
          batch.clear();
          batch.put(b("k"), b("v"));
          db.write(write, batch);
        }
      }
      assertArrayEquals(b("v"), db.get(b("k")));
      assertNull(db.get(b("a")));
    }
  }

  @Test
  void boundsOfTheBaseDoNotLimitTheBatch() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString());
         WriteBatchWithIndex batch = new WriteBatchWithIndex(true); Slice upper = new Slice("c");
         ReadOptions bounded = new ReadOptions().setIterateUpperBound(upper)) {
      db.put(b("b"), b("1"));
      db.put(b("d"), b("1"));
      batch.put(b("a"), b("2"));
      batch.put(b("e"), b("2"));
      for (final boolean states : new boolean[] {false, true}) {
        final RocksIterator base = db.newIterator(bounded);
        try (RocksIterator iterator = states ? batch.newIteratorWithBase(base, bounded) : batch.newIteratorWithBase(base)) {
          final StringBuilder keys = new StringBuilder();
          for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) keys.append(new String(iterator.key()));
          iterator.status();
          assertEquals(states ? "ab" : "abe", keys.toString());
        }
      }
    }
  }
}
