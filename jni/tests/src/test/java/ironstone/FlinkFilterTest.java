// FlinkCompactionFilter: expired values and list elements are removed. Only frocksdbjni has the class.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.rocksdb.FlinkCompactionFilter;
import org.rocksdb.FlushOptions;
import org.rocksdb.HistogramType;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.Statistics;
import org.rocksdb.StringAppendOperator;

class FlinkFilterTest extends InDirectory {
  private final AtomicLong now = new AtomicLong();

  private static byte[] elements(final int len, final long... times) {
    final ByteBuffer bytes = ByteBuffer.allocate(len * times.length);
    for (int at = 0; at < times.length; at++) {
      bytes.putLong(at * len, times[at]);
    }
    return bytes.array();
  }

  /** Writes a value, configures the filter, compacts, and returns the value. */
  private byte[] compacted(final FlinkCompactionFilter.Config config, final byte[]... operands) throws Exception {
    try (FlinkCompactionFilter.FlinkCompactionFilterFactory factory =
             new FlinkCompactionFilter.FlinkCompactionFilterFactory(now::get);
         StringAppendOperator append = new StringAppendOperator("");
         Options options = new Options().setCreateIfMissing(true).setMergeOperator(append).setCompactionFilterFactory(factory);
         RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
      if (config != null) {
        factory.configure(config);
      }
      db.put("other".getBytes(), new byte[] {1});
      if (operands.length == 1) {
        db.put("k".getBytes(), operands[0]);
      } else {
        for (final byte[] operand : operands) {
          db.merge("k".getBytes(), operand);
        }
      }
      db.flush(flush);
      db.compactRange();
      assertArrayEquals(new byte[] {1}, db.get("other".getBytes()), "a short value is kept");
      return db.get("k".getBytes());
    }
  }

  @Test
  void withoutConfigurationEachEntryIsKept() throws Exception {
    now.set(1000);
    assertArrayEquals(elements(8, 1), compacted(null, elements(8, 1)));
  }

  @Test
  void expiredValueIsRemoved() throws Exception {
    now.set(15);
    assertNull(compacted(FlinkCompactionFilter.Config.createForValue(5, 1), elements(8, 10)));
  }

  @Test
  void valueThatIsAliveIsKept() throws Exception {
    now.set(14);
    assertArrayEquals(elements(8, 10), compacted(FlinkCompactionFilter.Config.createForValue(5, 1), elements(8, 10)));
  }

  @Test
  void mapValueHasItsTimestampAfterTheFirstByte() throws Exception {
    now.set(15);
    final byte[] value = new byte[9];
    ByteBuffer.wrap(value).putLong(1, 10);
    assertNull(compacted(FlinkCompactionFilter.Config.createForMap(5, 1), value));
  }

  @Test
  void listOfFixedElementsLosesItsExpiredElements() throws Exception {
    now.set(15);
    assertArrayEquals(elements(12, 11, 3),
        compacted(FlinkCompactionFilter.Config.createForFixedElementList(5, 1, 12), elements(12, 1, 2, 11, 3)));
  }

  @Test
  void javaFindsTheFirstElementThatIsAlive() throws Exception {
    now.set(15);
    final FlinkCompactionFilter.Config config = FlinkCompactionFilter.Config.createForList(5, 1,
        () -> (list, ttl, time) -> {
          assert ttl == 5 && time == 15;
          final int found = Arrays.binarySearch(new long[] {ByteBuffer.wrap(list).getLong(9)}, 12);
          return found == 0 ? 9 : list.length;
        });
    final byte[] list = new byte[17];
    ByteBuffer.wrap(list).putLong(0, 3).putLong(9, 12);
    assertArrayEquals(Arrays.copyOfRange(list, 9, 17), compacted(config, list));
  }

  @Test
  void listIsKeptIfJavaThrows() throws Exception {
    now.set(15);
    final FlinkCompactionFilter.Config config = FlinkCompactionFilter.Config.createForList(5, 1,
        () -> (list, ttl, time) -> {
          throw new ArithmeticException("no offset");
        });
    // The compaction runs in the thread of the caller, so the caller gets the exception.
    assertThrows(ArithmeticException.class, () -> compacted(config, elements(8, 1, 2)));
    try (Options options = new Options(); RocksDB db = RocksDB.open(options, dir.toString())) {
      assertArrayEquals(elements(8, 1, 2), db.get("k".getBytes()));
    }
  }

  @Test
  void entriesAreKeptIfTheTimeThrows() throws Exception {
    final FlinkCompactionFilter.Config config = FlinkCompactionFilter.Config.createForValue(5, 1000);
    try (FlinkCompactionFilter.FlinkCompactionFilterFactory factory =
             new FlinkCompactionFilter.FlinkCompactionFilterFactory(() -> {
               throw new ArithmeticException("no time");
             });
         Options options = new Options().setCreateIfMissing(true).setCompactionFilterFactory(factory);
         RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
      factory.configure(config);
      db.put("a".getBytes(), elements(8, 10));
      db.put("b".getBytes(), elements(8, Long.MAX_VALUE));
      db.flush(flush);
      // The compaction runs in the thread of the caller, so the caller gets the exception.
      assertThrows(ArithmeticException.class, db::compactRange);
      assertArrayEquals(elements(8, 10), db.get("a".getBytes()));
      assertArrayEquals(elements(8, Long.MAX_VALUE), db.get("b".getBytes()));
    }
  }

  @Test
  void timeIsAskedAgainAfterAThrow() throws Exception {
    final AtomicLong calls = new AtomicLong();
    final FlinkCompactionFilter.Config config = FlinkCompactionFilter.Config.createForValue(5, 1000);
    try (FlinkCompactionFilter.FlinkCompactionFilterFactory factory =
             new FlinkCompactionFilter.FlinkCompactionFilterFactory(() -> {
               if (calls.getAndIncrement() == 0) throw new ArithmeticException("no time");
               return 100;
             });
         Options options = new Options().setCreateIfMissing(true).setCompactionFilterFactory(factory)
             .setLevel0FileNumCompactionTrigger(2);
         RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
      factory.configure(config);
      db.put("a".getBytes(), elements(8, 10));
      db.put("b".getBytes(), elements(8, 10));
      db.flush(flush);
      db.put("a".getBytes(), elements(8, 10));
      db.put("c".getBytes(), elements(8, 10));
      db.flush(flush);
      // The compaction of the two files runs in a thread of the engine. The first entry is kept, and each later entry is removed.
      while (!db.getProperty("rocksdb.num-files-at-level0").equals("0")) Thread.onSpinWait();
      assertArrayEquals(elements(8, 10), db.get("a".getBytes()));
      assertNull(db.get("b".getBytes()));
      assertNull(db.get("c".getBytes()));
    }
  }

  @Test
  void histogramsThatNoLongerExistAreEmpty() {
    try (Statistics statistics = new Statistics();
         Statistics without = new Statistics(EnumSet.of(HistogramType.BYTES_COMPRESSED, HistogramType.BYTES_DECOMPRESSED))) {
      for (final HistogramType type : List.of(HistogramType.BYTES_COMPRESSED, HistogramType.BYTES_DECOMPRESSED)) {
        assertEquals(0, statistics.getHistogramData(type).getCount());
        assertEquals(0, without.getHistogramData(type).getCount());
        assertTrue(statistics.getHistogramString(type).contains("Count: 0"), statistics.getHistogramString(type));
      }
    }
  }
}
