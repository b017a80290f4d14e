// Observation of a database: traces, statistics, limiters, environments.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.rocksdb.AbstractTraceWriter;
import org.rocksdb.ConcurrentTaskLimiterImpl;
import org.rocksdb.Env;
import org.rocksdb.HistogramData;
import org.rocksdb.HistogramType;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.Statistics;
import org.rocksdb.StatisticsCollector;
import org.rocksdb.StatisticsCollectorCallback;
import org.rocksdb.StatsCollectorInput;
import org.rocksdb.StatsLevel;
import org.rocksdb.TickerType;
import org.rocksdb.TimedEnv;
import org.rocksdb.TraceOptions;

class ObservationTest extends InDirectory {
  @Test
  void aCollectorReportsTickersAndHistograms() throws Exception {
    final CountDownLatch ticker = new CountDownLatch(1);
    final CountDownLatch histogram = new CountDownLatch(1);
    try (Statistics statistics = new Statistics(); Options options = new Options().setCreateIfMissing(true).setStatistics(statistics);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      db.put(b("a"), b("1"));
      db.get(b("a"));
      final StatsCollectorInput input = new StatsCollectorInput(statistics, new StatisticsCollectorCallback() {
        @Override
        public void tickerCallback(final TickerType type, final long count) {
          if (type == TickerType.NUMBER_KEYS_WRITTEN && count == 1) {
            ticker.countDown();
          }
        }

        @Override
        public void histogramCallback(final HistogramType type, final HistogramData data) {
          if (type == HistogramType.BYTES_PER_READ && data.getCount() == 1) {
            histogram.countDown();
          }
        }
      });
      final StatisticsCollector collector = new StatisticsCollector(List.of(input), 1);
      collector.start();
      ticker.await();
      histogram.await();
      collector.shutDown(60_000);
    }
  }

  /** Keeps the records of a trace. Calls the database in each write. */
  private static final class Records extends AbstractTraceWriter {
    final List<byte[]> records = new ArrayList<>();
    RocksDB db;
    boolean isClosed;

    @Override
    public void write(final Slice slice) throws RocksDBException {
      records.add(slice.data());
      db.get(b("a call of the writer is not traced"));
    }

    @Override
    public void closeWriter() {
      isClosed = true;
    }

    @Override
    public long getFileSize() {
      return records.stream().mapToLong(record -> record.length).sum();
    }

    /** Returns the types of the records, and checks their lengths. */
    List<Integer> types() {
      final List<Integer> types = new ArrayList<>();
      for (final byte[] record : records) {
        assertEquals(record.length - 13, ByteBuffer.wrap(record, 9, 4).order(ByteOrder.LITTLE_ENDIAN).getInt());
        types.add((int) record[8]);
      }
      return types;
    }
  }

  @Test
  void aTraceHasARecordForEachCall() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString());
         Records writer = new Records()) {
      writer.db = db;
      db.put(b("before"), b("1"));
      db.startTrace(new TraceOptions(), writer);
      db.put(b("a"), b("1"));
      db.get(b("a"));
      db.multiGetAsList(List.of(b("a"), b("b")));
      try (RocksIterator iterator = db.newIterator()) {
        iterator.seek(b("a"));
        iterator.seekForPrev(b("a"));
      }
      db.delete(b("a"));
      db.endTrace();
      db.put(b("after"), b("1"));
      assertEquals(List.of(1, 3, 4, 13, 5, 6, 3, 2), writer.types());
      assertTrue(new String(writer.records.get(0)).contains("Trace Version: 0.2\tRocksDB Version: 11.8\t"));
      assertTrue(writer.isClosed);
      assertThrows(RocksDBException.class, db::endTrace);
    }
  }

  @Test
  void aTraceEndsAtItsSize() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString());
         Records writer = new Records()) {
      writer.db = db;
      db.startTrace(new TraceOptions(10), writer);
      db.put(b("a"), b("1"));
      db.endTrace();
      assertEquals(List.of(1, 2), writer.types());
    }
  }

  @Test
  void aWriterThatThrowsEndsTheRecordsAndTheCallSucceeds() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString())) {
      final int[] writes = new int[1];
      final AbstractTraceWriter writer = new AbstractTraceWriter() {
        @Override
        public void write(final Slice slice) throws RocksDBException {
          writes[0]++;
          throw new RocksDBException("no room");
        }

        @Override
        public void closeWriter() {}

        @Override
        public long getFileSize() {
          return 0;
        }
      };
      db.startTrace(new TraceOptions(), writer);
      db.put(b("a"), b("1"));
      db.endTrace();
      assertEquals(1, writes[0]);
      assertArrayEquals(b("1"), db.get(b("a")));
    }
  }

  @Test
  void ignoredHistogramsStayEmptyAndEachTickerHasACount() throws Exception {
    try (Statistics statistics = new Statistics(EnumSet.of(HistogramType.DB_WRITE));
         Options options = new Options().setCreateIfMissing(true).setStatistics(statistics);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      statistics.setStatsLevel(StatsLevel.ALL);
      db.put(b("a"), b("1"));
      db.get(b("a"));
      assertEquals(0, statistics.getHistogramData(HistogramType.DB_WRITE).getCount());
      assertEquals(1, statistics.getHistogramData(HistogramType.DB_GET).getCount());
      for (final TickerType ticker : TickerType.values()) {
        if (ticker != TickerType.TICKER_ENUM_MAX) {
          assertTrue(statistics.getTickerCount(ticker) >= 0, ticker.name());
        }
      }
    }
  }

  @Test
  void aLimiterOfTasksIsUsedByAnOpen() throws Exception {
    try (ConcurrentTaskLimiterImpl limiter = new ConcurrentTaskLimiterImpl("name", 2);
         Options options = new Options().setCreateIfMissing(true).setCompactionThreadLimiter(limiter);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      db.put(b("a"), b("1"));
      db.compactRange();
      assertEquals("name", limiter.name());
      assertEquals(0, limiter.setMaxOutstandingTask(1).resetMaxOutstandingTask().outstandingTask());
      assertArrayEquals(b("1"), db.get(b("a")));
    }
  }

  @Test
  void theEnvironmentOfADatabaseIsTheDefaultOrItsOwn() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.resolve("a").toString())) {
      assertSame(Env.getDefault(), db.getEnv());
    }
    try (TimedEnv env = new TimedEnv(Env.getDefault()); Options options = new Options().setCreateIfMissing(true).setEnv(env);
         RocksDB db = RocksDB.open(options, dir.resolve("b").toString())) {
      db.put(b("a"), b("1"));
      assertTrue(db.getEnv() != Env.getDefault());
    }
  }

  @Test
  void tickersAndHistogramsHaveTheNumbersOfTheRelease() throws Exception {
    try (Statistics statistics = new Statistics(); Options options = new Options().setCreateIfMissing(true).setStatistics(statistics);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      statistics.setStatsLevel(StatsLevel.ALL);
      for (int at = 0; at < 3; at++) {
        db.put(b("k" + at), b("value"));
      }
      db.get(b("k0"));
      db.get(b("none"));
      assertEquals(3, statistics.getTickerCount(TickerType.NUMBER_KEYS_WRITTEN));
      assertEquals(2, statistics.getTickerCount(TickerType.NUMBER_KEYS_READ));
      assertEquals(5, statistics.getTickerCount(TickerType.BYTES_READ));
      assertEquals(1, statistics.getTickerCount(TickerType.MEMTABLE_HIT));
      assertEquals(1, statistics.getTickerCount(TickerType.MEMTABLE_MISS));
      assertEquals(3, statistics.getHistogramData(HistogramType.DB_WRITE).getCount());
      assertEquals(2, statistics.getHistogramData(HistogramType.DB_GET).getCount());
    }
  }
}
