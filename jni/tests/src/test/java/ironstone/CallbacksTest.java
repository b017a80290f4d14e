// Java objects that the library calls: loggers, listeners, table filters, WAL filters.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.rocksdb.AbstractEventListener;
import org.rocksdb.AbstractTableFilter;
import org.rocksdb.AbstractWalFilter;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.CompactionJobInfo;
import org.rocksdb.CompactionReason;
import org.rocksdb.CompressionType;
import org.rocksdb.Env;
import org.rocksdb.FileOperationInfo;
import org.rocksdb.FlushJobInfo;
import org.rocksdb.FlushOptions;
import org.rocksdb.FlushReason;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.Logger;
import org.rocksdb.MemTableInfo;
import org.rocksdb.OperationStage;
import org.rocksdb.OperationType;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Status;
import org.rocksdb.TableFileCreationInfo;
import org.rocksdb.TableFileCreationReason;
import org.rocksdb.TableFileDeletionInfo;
import org.rocksdb.TableProperties;
import org.rocksdb.ThreadStatus;
import org.rocksdb.ThreadType;
import org.rocksdb.WalProcessingOption;
import org.rocksdb.WriteBatch;

class CallbacksTest extends InDirectory {
  /** Keeps the lines. */
  private static class Lines extends Logger {
    final List<String> lines = Collections.synchronizedList(new ArrayList<>());

    Lines(final Options options) {
      super(options);
    }

    @Override
    protected void log(final InfoLogLevel level, final String line) {
      lines.add(level + " " + line);
    }
  }

  @Test
  void loggerTakesTheInfoLog() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); Lines logger = new Lines(options)) {
      assertEquals(InfoLogLevel.INFO_LEVEL, logger.infoLogLevel());
      options.setLogger(logger);
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put(b("k"), b("v"));
      }
      // RocksDB passes header lines to a Java logger with the level Info.
      assertFalse(logger.lines.stream().anyMatch(line -> line.contains("HEADER_LEVEL")), logger.lines.toString());
      assertTrue(logger.lines.stream().anyMatch(line -> line.startsWith("INFO_LEVEL")), logger.lines.toString());
      assertFalse(Files.exists(dir.resolve("LOG")));
    }
  }

  @Test
  void loggerGetsLinesOfItsLevelOnly() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); Lines logger = new Lines(options)) {
      logger.setInfoLogLevel(InfoLogLevel.FATAL_LEVEL);
      options.setLogger(logger);
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put(b("k"), b("v"));
      }
      assertTrue(logger.lines.stream().allMatch(line -> line.startsWith("HEADER")), logger.lines.toString());
    }
  }

  @Test
  void loggerThatThrowsFailsTheOpenAndTheDatabaseIsClosed() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); Options plain = new Options().setCreateIfMissing(true);
         Logger logger = new Logger(plain) {
           @Override
           protected void log(final InfoLogLevel level, final String line) {
             throw new ArithmeticException("no line");
           }
         }) {
      options.setLogger(logger);
      assertThrows(ArithmeticException.class, () -> RocksDB.open(options, dir.toString()).close());
      RocksDB.open(plain, dir.toString()).close();
    }
  }

  /** Records the events. */
  private static class Events extends AbstractEventListener {
    final List<String> events = Collections.synchronizedList(new ArrayList<>());
    final AtomicReference<Throwable> fault = new AtomicReference<>();
    final AtomicLong database = new AtomicLong();
    volatile CompactionJobInfo compaction;

    Events() {}

    Events(final EnabledEventCallback enabled) {
      super(enabled);
    }

    private void check(final String event, final Runnable check) {
      events.add(event);
      try {
        check.run();
      } catch (final Throwable thrown) {
        fault.compareAndSet(null, thrown);
      }
    }

    @Override
    public void onFlushBegin(final RocksDB db, final FlushJobInfo info) {
      check("flush begin", () -> assertEquals("default", info.getColumnFamilyName()));
    }

    @Override
    public void onFlushCompleted(final RocksDB db, final FlushJobInfo info) {
      check("flush completed", () -> {
        assertEquals("default", info.getColumnFamilyName());
        assertTrue(info.getFilePath().endsWith(".sst"), info.getFilePath());
        assertTrue(info.getThreadId() != 0);
        assertEquals(FlushReason.MANUAL_FLUSH, info.getFlushReason());
        assertTrue(info.getTableProperties().getNumEntries() > 0);
        assertEquals("leveldb.BytewiseComparator", info.getTableProperties().getComparatorName());
        database.set(db.getLatestSequenceNumber());
      });
    }

    @Override
    public void onCompactionBegin(final RocksDB db, final CompactionJobInfo info) {
      check("compaction begin", () -> {
        assertEquals(2, info.inputFiles().size());
        assertEquals(Set.copyOf(info.inputFiles()), info.tableProperties().keySet());
        assertEquals(CompressionType.LZ4_COMPRESSION, info.compression());
      });
    }

    @Override
    public void onCompactionCompleted(final RocksDB db, final CompactionJobInfo info) {
      check("compaction completed", () -> {
        compaction = info;
        assertArrayEquals(b("default"), info.columnFamilyName());
        assertEquals(Status.Code.Ok, info.status().getCode());
        assertEquals(CompactionReason.kManualCompaction, info.compactionReason());
        assertEquals(CompressionType.LZ4_COMPRESSION, info.compression());
        assertEquals(1, info.outputFiles().size());
        assertTrue(info.tableProperties().containsKey(info.outputFiles().get(0)));
        assertTrue(info.stats().isManualCompaction());
        assertEquals(2, info.stats().numInputFiles());
        assertEquals(4, info.stats().numInputRecords());
      });
    }

    @Override
    public void onTableFileCreated(final TableFileCreationInfo info) {
      check("created " + info.getReason(), () -> {
        assertEquals("default", info.getColumnFamilyName());
        assertEquals(Status.Code.Ok, info.getStatus().getCode());
        assertTrue(info.getFileSize() > 0);
        assertTrue(info.getFilePath().startsWith(info.getDbName()));
      });
    }

    @Override
    public void onTableFileDeleted(final TableFileDeletionInfo info) {
      check("deleted", () -> assertTrue(info.getFilePath().endsWith(".sst")));
    }

    @Override
    public void onMemTableSealed(final MemTableInfo info) {
      check("sealed", () -> assertTrue(info.getNumEntries() > 0));
    }

    @Override
    public void onColumnFamilyHandleDeletionStarted(final ColumnFamilyHandle handle) {
      check("handle closes", () -> assertEquals(0, handle.getID()));
    }

    @Override
    public boolean shouldBeNotifiedOnFileIO() {
      return true;
    }

    @Override
    public void onFileWriteFinish(final FileOperationInfo info) {
      if (!events.contains("file written")) {
        check("file written", () -> {
          assertEquals(Status.Code.Ok, info.getStatus().getCode());
          assertNotNull(info.getPath());
        });
      }
    }
  }

  @Test
  void flushReturnsAfterItsListener() throws Exception {
    final AtomicLong flushes = new AtomicLong();
    try (AbstractEventListener listener = new AbstractEventListener() {
           @Override
           public void onFlushCompleted(final RocksDB db, final FlushJobInfo info) {
             Thread.yield();
             flushes.incrementAndGet();
           }
         };
         Options options = new Options().setCreateIfMissing(true).setListeners(List.of(listener));
         RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
      for (int round = 1; round <= 20; round++) {
        db.put(b("a"), b("1"));
        db.flush(flush);
        assertEquals(round, flushes.get());
      }
    }
  }

  @Test
  void aFlushReportsThatItsFilesSlowOrStopWrites() throws Exception {
    final List<String> flushes = Collections.synchronizedList(new ArrayList<>());
    try (AbstractEventListener listener = new AbstractEventListener() {
           @Override
           public void onFlushCompleted(final RocksDB db, final FlushJobInfo info) {
             flushes.add(info.isTriggeredWritesSlowdown() + " " + info.isTriggeredWritesStop());
           }
         };
         Options options = new Options().setCreateIfMissing(true).setListeners(List.of(listener)).setDisableAutoCompactions(true)
             .setLevel0FileNumCompactionTrigger(2).setLevel0SlowdownWritesTrigger(2).setLevel0StopWritesTrigger(3);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      assertEquals(3, db.level0StopWriteTrigger());
      try (FlushOptions flush = new FlushOptions().setAllowWriteStall(true)) {
        for (int at = 0; at < 3; at++) {
          db.put(b("k"), b("v" + at));
          db.flush(flush);
        }
      }
    }
    assertEquals(List.of("false false", "true false", "true true"), flushes);
  }

  @Test
  void theListOfThreadsShowsAFlush() throws Exception {
    final List<ThreadStatus> rows = Collections.synchronizedList(new ArrayList<>());
    try (AbstractEventListener listener = new AbstractEventListener() {
           @Override
           public void onFlushBegin(final RocksDB db, final FlushJobInfo info) {
             try {
               rows.addAll(Env.getDefault().getThreadList());
             } catch (final RocksDBException thrown) {
               throw new IllegalStateException(thrown);
             }
           }
         };
         Options options =
             new Options().setCreateIfMissing(true).setEnableThreadTracking(true).setListeners(List.of(listener));
         RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
      db.put(b("a"), b("1"));
      db.flush(flush);
      ThreadStatus idle = null;
      while (idle == null) {
        idle = Env.getDefault().getThreadList().stream().filter(one -> one.getThreadType() == ThreadType.HIGH_PRIORITY
            && one.getOperationType() == OperationType.OP_UNKNOWN).findFirst().orElse(null);
      }
      assertNull(idle.getDbName());
      assertNull(idle.getCfName());
    }
    final ThreadStatus row =
        rows.stream().filter(one -> one.getOperationType() == OperationType.OP_FLUSH).findFirst().orElseThrow();
    assertEquals(ThreadType.HIGH_PRIORITY, row.getThreadType());
    assertEquals("default", row.getCfName());
    assertEquals(dir.toString(), row.getDbName());
    assertEquals(OperationStage.STAGE_FLUSH_RUN, row.getOperationStage());
    final Map<String, Long> properties =
        ThreadStatus.interpretOperationProperties(row.getOperationType(), row.getOperationProperties());
    assertTrue(properties.get("JobID") > 0 && properties.get("BytesMemtables") > 0, properties.toString());
  }

  private void work(final Options options) throws Exception {
    try (RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
      db.put(b("a"), b("1"));
      db.put(b("b"), b("1"));
      db.flush(flush);
      db.put(b("a"), b("2"));
      db.put(b("b"), b("2"));
      db.flush(flush);
      db.compactRange();
    }
  }

  @Test
  void listenerSeesFlushesAndCompactions() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); Events listener = new Events()) {
      options.setListeners(List.of(listener));
      assertSame(listener, options.listeners().get(0));
      work(options);
      if (listener.fault.get() != null) {
        throw new AssertionError(listener.fault.get());
      }
      for (final String event : new String[] {"flush begin", "flush completed", "compaction begin",
          "compaction completed", "created " + TableFileCreationReason.FLUSH, "deleted", "sealed", "file written",
          "created " + TableFileCreationReason.COMPACTION}) {
        assertTrue(listener.events.contains(event), event + " of " + listener.events);
      }
      assertEquals(4, listener.database.get(), "the database of the event is the open database");
      assertThrows(IllegalStateException.class, () -> listener.compaction.jobId());
    }
  }

  @Test
  void aListenerIsNotifiedOfTheDefaultHandleAtTheOpenAndAtTheClose() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true);
         Events listener = new Events(AbstractEventListener.EnabledEventCallback.ON_COLUMN_FAMILY_HANDLE_DELETION_STARTED)) {
      options.setListeners(List.of(listener));
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        assertEquals(List.of("handle closes"), listener.events);
      }
      assertEquals(List.of("handle closes", "handle closes"), listener.events);
      assertNull(listener.fault.get());
    }
  }

  @Test
  void listenerGetsTheEventsThatItNames() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true);
         Events listener = new Events(AbstractEventListener.EnabledEventCallback.ON_FLUSH_BEGIN)) {
      options.setListeners(List.of(listener));
      work(options);
      assertEquals(List.of("flush begin", "flush begin"), listener.events);
    }
  }

  @Test
  void listenerThatThrowsDoesNotChangeTheJob() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); AbstractEventListener listener = new AbstractEventListener() {
      @Override
      public void onFlushCompleted(final RocksDB db, final FlushJobInfo info) {
        throw new ArithmeticException("no flush");
      }
    }) {
      options.setListeners(List.of(listener));
      work(options);
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        assertArrayEquals(b("2"), db.get(b("a")));
      }
    }
  }

  @Test
  void tableFilterSkipsFiles() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true).setDisableAutoCompactions(true);
         RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
      db.put(b("a"), b("1"));
      db.put(b("b"), b("1"));
      db.flush(flush);
      db.put(b("c"), b("1"));
      db.flush(flush);
      try (AbstractTableFilter one = new AbstractTableFilter() {
             @Override
             public boolean filter(final TableProperties properties) {
               return properties.getNumEntries() == 1;
             }
           };
           ReadOptions read = new ReadOptions().setTableFilter(one); RocksIterator iterator = db.newIterator(read)) {
        iterator.seekToFirst();
        assertArrayEquals(b("c"), iterator.key());
        iterator.next();
        assertFalse(iterator.isValid());
      }
      try (AbstractTableFilter faulty = new AbstractTableFilter() {
             @Override
             public boolean filter(final TableProperties properties) {
               throw new ArithmeticException("no table");
             }
           };
           ReadOptions read = new ReadOptions().setTableFilter(faulty)) {
        assertThrows(ArithmeticException.class, () -> {
          try (RocksIterator iterator = db.newIterator(read)) {
            iterator.seekToFirst();
          }
        });
      }
    }
  }

  /** Returns the same decision for each record, or replaces each record. */
  private static final class Records extends AbstractWalFilter {
    final WalProcessingOption option;
    final boolean replaces;
    final List<Long> wals = new ArrayList<>();
    Map<String, Integer> families;
    WriteBatch record;

    Records(final WalProcessingOption option, final boolean replaces) {
      this.option = option;
      this.replaces = replaces;
    }

    @Override
    public void columnFamilyLogNumberMap(final Map<Integer, Long> wals, final Map<String, Integer> families) {
      this.families = families;
    }

    @Override
    public LogRecordFoundResult logRecordFound(
        final long wal, final String path, final WriteBatch batch, final WriteBatch replacement) {
      wals.add(wal);
      record = batch;
      if (replaces) {
        try {
          assertEquals(1, batch.count());
          replacement.put(b("k"), b("replaced"));
        } catch (final RocksDBException thrown) {
          throw new AssertionError(thrown);
        }
      }
      return new LogRecordFoundResult(option, replaces);
    }

    @Override
    public String name() {
      return "records";
    }
  }

  private byte[] recovered(final Records filter) throws Exception {
    try (Options options = new Options().setCreateIfMissing(true)) {
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put(b("k"), b("v"));
      }
      options.setWalFilter(filter);
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        return db.get(b("k"));
      }
    }
  }

  @Test
  void walFilterSeesAndReplacesRecords() throws Exception {
    try (Records filter = new Records(WalProcessingOption.CONTINUE_PROCESSING, true)) {
      assertArrayEquals(b("replaced"), recovered(filter));
      assertEquals(1, filter.wals.size());
      assertEquals(Map.of("default", 0), filter.families);
      assertThrows(IllegalStateException.class, filter.record::count);
    }
  }

  @Test
  void walFilterSkipsRecords() throws Exception {
    try (Records filter = new Records(WalProcessingOption.IGNORE_CURRENT_RECORD, false)) {
      assertNull(recovered(filter));
    }
  }
}
