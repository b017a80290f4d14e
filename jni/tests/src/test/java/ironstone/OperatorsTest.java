// Built-in merge operators and compaction filters, and a factory that returns no filter.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rocksdb.AbstractCompactionFilter;
import org.rocksdb.AbstractCompactionFilterFactory;
import org.rocksdb.CassandraCompactionFilter;
import org.rocksdb.CassandraValueMergeOperator;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RemoveEmptyValueCompactionFilter;
import org.rocksdb.RocksDB;
import org.rocksdb.Slice;
import org.rocksdb.UInt64AddOperator;

class OperatorsTest extends InDirectory {
  private static void flushAndCompact(final RocksDB db) throws Exception {
    try (FlushOptions flush = new FlushOptions()) {
      db.flush(flush);
    }
    db.compactRange();
  }

  private static byte[] number(final long value) {
    return ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array();
  }

  @Test
  void numbersAreAdded() throws Exception {
    try (UInt64AddOperator add = new UInt64AddOperator();
         Options options = new Options().setCreateIfMissing(true).setMergeOperator(add);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      db.put(b("k"), number(40));
      db.merge(b("k"), number(2));
      assertArrayEquals(number(42), db.get(b("k")));
      flushAndCompact(db);
      db.merge(b("k"), number(-1));
      assertArrayEquals(number(41), db.get(b("k")));
    }
  }

  @Test
  void emptyValuesAreRemovedByACompaction() throws Exception {
    try (RemoveEmptyValueCompactionFilter filter = new RemoveEmptyValueCompactionFilter();
         Options options = new Options().setCreateIfMissing(true).setCompactionFilter(filter);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      db.put(b("a"), b(""));
      db.put(b("b"), b("1"));
      assertArrayEquals(b(""), db.get(b("a")));
      flushAndCompact(db);
      db.put(b("c"), b("1"));
      flushAndCompact(db);
      assertNull(db.get(b("a")));
      assertArrayEquals(b("1"), db.get(b("b")));
    }
  }

  /** Returns a column of Cassandra: mask, index, timestamp, length, value, and the seconds until the column expires. */
  private static byte[] column(final int index, final long timestamp, final String value, final int seconds) {
    final ByteBuffer bytes = ByteBuffer.allocate(14 + value.length() + (seconds > 0 ? 4 : 0));
    bytes.put((byte) (seconds > 0 ? 2 : 0)).put((byte) index).putLong(timestamp).putInt(value.length()).put(b(value));
    return (seconds > 0 ? bytes.putInt(seconds) : bytes).array();
  }

  /** Returns a row of Cassandra that is not deleted. */
  private static byte[] row(final byte[]... columns) {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(ByteBuffer.allocate(12).putInt(Integer.MAX_VALUE).putLong(Long.MIN_VALUE).array());
    for (final byte[] column : columns) {
      bytes.writeBytes(column);
    }
    return bytes.toByteArray();
  }

  @Test
  void theNewestColumnsOfCassandraRowsAreMerged() throws Exception {
    try (CassandraValueMergeOperator merge = new CassandraValueMergeOperator(1000);
         Options options = new Options().setCreateIfMissing(true).setMergeOperator(merge);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      db.merge(b("k"), row(column(1, 5, "old", 0), column(2, 9, "b", 0)));
      db.merge(b("k"), row(column(1, 7, "new", 0)));
      assertArrayEquals(row(column(1, 7, "new", 0), column(2, 9, "b", 0)), db.get(b("k")));
      flushAndCompact(db);
      assertArrayEquals(row(column(1, 7, "new", 0), column(2, 9, "b", 0)), db.get(b("k")));
    }
  }

  @Test
  void expiredColumnsOfCassandraRowsArePurged() throws Exception {
    try (CassandraCompactionFilter filter = new CassandraCompactionFilter(true, 0);
         Options options = new Options().setCreateIfMissing(true).setCompactionFilter(filter);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      final long now = TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis());
      final byte[] alive = column(2, now, "b", 1 << 20);
      db.put(b("k"), row(column(1, 1_000_000, "gone", 3), alive));
      flushAndCompact(db);
      db.put(b("l"), row(alive));
      flushAndCompact(db);
      assertArrayEquals(row(alive), db.get(b("k")));
    }
  }

  @Test
  void aFactoryThatReturnsNoFilterKeepsAllEntries() throws Exception {
    final AtomicInteger asked = new AtomicInteger();
    try (AbstractCompactionFilterFactory<AbstractCompactionFilter<Slice>> factory = new AbstractCompactionFilterFactory<>() {
           @Override
           public AbstractCompactionFilter<Slice> createCompactionFilter(final AbstractCompactionFilter.Context context) {
             asked.incrementAndGet();
             return null;
           }

           @Override
           public String name() {
             return "none";
           }
         };
         Options options = new Options().setCreateIfMissing(true).setCompactionFilterFactory(factory);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      db.put(b("a"), b("1"));
      // The Java class of the factory throws. The compaction runs in this thread, so the call has the exception.
      assertThrows(NullPointerException.class, () -> flushAndCompact(db));
      db.put(b("b"), b("2"));
      assertThrows(NullPointerException.class, () -> flushAndCompact(db));
      assertEquals(2, asked.get());
      assertArrayEquals(b("1"), db.get(b("a")));
      assertArrayEquals(b("2"), db.get(b("b")));
    }
  }
}
