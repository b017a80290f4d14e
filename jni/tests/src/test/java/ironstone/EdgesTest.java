// Edge results of calls: unusual arguments, and objects at the end of their use. The expected results are those of RocksDB.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.rocksdb.AbstractWalFilter;
import org.rocksdb.BackupEngine;
import org.rocksdb.BackupEngineOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Env;
import org.rocksdb.EnvOptions;
import org.rocksdb.HistogramType;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Snapshot;
import org.rocksdb.Statistics;
import org.rocksdb.Status;
import org.rocksdb.TickerType;
import org.rocksdb.Transaction;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

class EdgesTest extends InDirectory {
  private RocksDB open(final Options options) throws Exception {
    return RocksDB.open(options.setCreateIfMissing(true), dir.resolve("db").toString());
  }

  private static Status.Code codeOf(final Executable call) {
    return assertThrows(RocksDBException.class, call).getStatus().getCode();
  }

  @Test
  void aNegativeNumberKeepsAllBackups() throws Exception {
    final Path place = Files.createDirectory(dir.resolve("backups"));
    try (BackupEngineOptions settings = new BackupEngineOptions(place.toString()); Options options = new Options();
         BackupEngine engine = BackupEngine.open(Env.getDefault(), settings); RocksDB db = open(options)) {
      engine.createNewBackup(db);
      engine.createNewBackup(db);
      engine.purgeOldBackups(-1);
      assertEquals(2, engine.getBackupInfo().size());
      assertEquals(Status.Code.NotFound, codeOf(() -> engine.deleteBackup(-1)));
      engine.purgeOldBackups(0);
      assertEquals(0, engine.getBackupInfo().size());
    }
  }

  @Test
  void eachValueOfTheEnumsOfStatisticsIsReadAndIgnored() throws Exception {
    try (Statistics statistics = new Statistics()) {
      for (final TickerType ticker : TickerType.values()) {
        assertEquals(0, statistics.getTickerCount(ticker), ticker::name);
        assertEquals(0, statistics.getAndResetTickerCount(ticker), ticker::name);
      }
      for (final HistogramType histogram : HistogramType.values()) {
        assertEquals(0, statistics.getHistogramData(histogram).getCount(), histogram::name);
      }
      assertTrue(statistics.getHistogramString(HistogramType.HISTOGRAM_ENUM_MAX).startsWith("Count: 0 "));
    }
    new Statistics(EnumSet.allOf(HistogramType.class)).close();
  }

  @Test
  void aTransactionReleasesAnOldSnapshot() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); TransactionDBOptions settings = new TransactionDBOptions();
         TransactionDB db = TransactionDB.open(options, settings, dir.resolve("locks").toString());
         WriteOptions write = new WriteOptions(); Transaction txn = db.beginTransaction(write)) {
      for (int round = 0; round < 5; ++round) {
        db.put(b("k"), b("v" + round));
        txn.setSnapshot();
        final Snapshot snapshot = txn.getSnapshot();
        assertEquals(snapshot.getSequenceNumber(), txn.getSnapshot().getSequenceNumber());
        assertEquals("1", db.getProperty("rocksdb.num-snapshots"));
      }
      txn.clearSnapshot();
      assertEquals("0", db.getProperty("rocksdb.num-snapshots"));
      txn.setSnapshot();
      assertNotNull(txn.getSnapshot());
      txn.commit();
      db.beginTransaction(write, txn);
      assertEquals("0", db.getProperty("rocksdb.num-snapshots"));
    }
  }

  @Test
  void aTransactionHasOneHandle() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); TransactionDBOptions settings = new TransactionDBOptions();
         WriteOptions write = new WriteOptions()) {
      final String path = dir.resolve("locks").toString();
      try (TransactionDB db = TransactionDB.open(options, settings, path)) {
        final Transaction txn = db.beginTransaction(write);
        txn.setName("transfer");
        assertEquals(txn.getNativeHandle(), db.getTransactionByName("transfer").getNativeHandle());
        txn.put(b("k"), b("v"));
        txn.prepare();
        assertEquals(txn.getNativeHandle(), db.getAllPreparedTransactions().get(0).getNativeHandle());
      }
      try (TransactionDB db = TransactionDB.open(options, settings, path)) {
        final Transaction found = db.getTransactionByName("transfer");
        assertEquals(found.getNativeHandle(), db.getAllPreparedTransactions().get(0).getNativeHandle());
        assertEquals(found.getNativeHandle(), db.getTransactionByName("transfer").getNativeHandle());
        found.commit();
        assertArrayEquals(b("v"), db.get(b("k")));
      }
    }
  }

  @Test
  void multiGetReturnsNullForAKeyWhoseReadFails() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options); ReadOptions limited = new ReadOptions().setValueSizeSoftLimit(5)) {
      db.put(b("a"), b("1234567890"));
      db.put(b("b"), b("1234567890"));
      assertEquals(2, db.multiGetAsList(Arrays.asList(b("a"), b("b"))).stream().filter(Objects::nonNull).count());
      assertNull(db.multiGetAsList(limited, Arrays.asList(b("a"), b("b"))).get(1));
    }
  }

  @Test
  void optionsOfFilesHaveNoDirectWritesOfADatabase() {
    try (DBOptions db = new DBOptions().setUseDirectIoForFlushAndCompaction(true).setUseDirectReads(true);
         EnvOptions files = new EnvOptions(db)) {
      assertFalse(files.useDirectWrites());
      assertTrue(files.useDirectReads());
    }
  }

  @Test
  void aDatabaseWithUpdatesInPlaceHasNoSnapshots() throws Exception {
    try (Options options = new Options().setInplaceUpdateSupport(true).setAllowConcurrentMemtableWrite(false); RocksDB db = open(options)) {
      assertNull(db.getSnapshot());
    }
  }

  @Test
  void closeWithErrorsReportsASnapshotThatIsNotReleased() throws Exception {
    try (Options options = new Options()) {
      final RocksDB db = open(options);
      db.put(b("k"), b("v"));
      assertNotNull(db.getSnapshot());
      assertEquals("Cannot close DB with unreleased snapshot.", assertThrows(RocksDBException.class, db::closeE).getMessage());
      final RocksDB again = open(options);
      assertArrayEquals(b("v"), again.get(b("k")));
      again.releaseSnapshot(again.getSnapshot());
      again.closeE();
    }
  }

  /** Keeps the arguments of `markNoop`. */
  private static final class Noops extends WriteBatch.Handler {
    final List<Boolean> noops = new ArrayList<>();

    @Override public void put(final int family, final byte[] key, final byte[] value) {}
    @Override public void put(final byte[] key, final byte[] value) {}
    @Override public void merge(final int family, final byte[] key, final byte[] value) {}
    @Override public void merge(final byte[] key, final byte[] value) {}
    @Override public void delete(final int family, final byte[] key) {}
    @Override public void delete(final byte[] key) {}
    @Override public void singleDelete(final int family, final byte[] key) {}
    @Override public void singleDelete(final byte[] key) {}
    @Override public void deleteRange(final int family, final byte[] begin, final byte[] end) {}
    @Override public void deleteRange(final byte[] begin, final byte[] end) {}
    @Override public void logData(final byte[] blob) {}
    @Override public void putBlobIndex(final int family, final byte[] key, final byte[] value) {}
    @Override public void markBeginPrepare() {}
    @Override public void markEndPrepare(final byte[] xid) {}
    @Override public void markNoop(final boolean isEmpty) { noops.add(isEmpty); }
    @Override public void markRollback(final byte[] xid) {}
    @Override public void markCommit(final byte[] xid) {}
    @Override public void markCommitWithTimestamp(final byte[] xid, final byte[] timestamp) {}
  }

  @Test
  void aHandlerHearsWhetherAPartOfABatchIsEmpty() throws Exception {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0});
    final byte noop = 13;
    bytes.write(new byte[] {noop, 9, 1, 1, 'k', 1, 'v', 10, 1, 'x', noop, 11, 1, 'x', noop, 3, 1, 'l', noop, noop});
    try (WriteBatch batch = new WriteBatch(bytes.toByteArray()); Noops handler = new Noops()) {
      batch.iterate(handler);
      assertEquals(List.of(true, true, true, false, true), handler.noops);
    }
  }

  /** Keeps the sizes of the batches that recovery shows. */
  private static final class Sizes extends AbstractWalFilter {
    final List<Long> sizes = new ArrayList<>();

    @Override public void columnFamilyLogNumberMap(final Map<Integer, Long> wals, final Map<String, Integer> names) {}

    @Override
    public LogRecordFoundResult logRecordFound(final long wal, final String file, final WriteBatch batch, final WriteBatch changed) {
      sizes.add(batch.getDataSize());
      return LogRecordFoundResult.CONTINUE_UNCHANGED;
    }

    @Override public String name() { return "sizes"; }
  }

  @Test
  void aWalFilterGetsTheBatchesThatTheApplicationWrote() throws Exception {
    try (Options options = new Options().setAvoidFlushDuringShutdown(true); Sizes filter = new Sizes()) {
      try (RocksDB db = open(options)) {
        db.put(b("a"), b("1"));
        db.put(b("b"), b("2"));
      }
      options.setWalFilter(filter);
      open(options).close();
      assertEquals(List.of(17L, 17L), filter.sizes);
    }
  }

  /** A character of four bytes in UTF-8: in a Java text, and in the escapes of `printf`. */
  private static final String FACE = "\uD83D\uDE00";
  private static final String FACE_UTF8 = "\\360\\237\\230\\200";
  /** The name that RocksDB's natives make of the character: two surrogates of three bytes each. Java cannot name such a directory. */
  private static final String FACE_OF_ROCKSDB = "\\355\\240\\275\\355\\270\\200";

  /** Runs a command of a shell in the directory of the test. Returns its exit code. */
  private int shell(final String command) throws Exception {
    return new ProcessBuilder("sh", "-c", command).directory(dir.toFile()).inheritIO().start().waitFor();
  }

  @Test
  void aPathWithACharacterOfFourBytesNamesADirectoryInUtf8() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true)) {
      RocksDB.open(options, dir + "/" + FACE).close();
      assertEquals(0, shell("test -f \"$(printf '" + FACE_UTF8 + "')\"/CURRENT"));
      options.setErrorIfExists(true);
      final RocksDBException error = assertThrows(RocksDBException.class, () -> RocksDB.open(options, dir + "/" + FACE));
      assertTrue(error.getMessage().contains(FACE), error.getMessage());
    }
  }

  @Test
  void anOpenFindsTheDatabaseThatRocksDbMadeAtAPathWithACharacterOfFourBytes() throws Exception {
    final String path = dir + "/" + FACE;
    try (Options options = new Options().setCreateIfMissing(true)) {
      try (RocksDB db = RocksDB.open(options, dir + "/plain")) {
        db.put(b("key"), b("value"));
      }
      assertEquals(0, shell("mv plain \"$(printf '" + FACE_OF_ROCKSDB + "')\""));
      options.setCreateIfMissing(false);
      assertEquals(List.of("default"), RocksDB.listColumnFamilies(options, path).stream().map(String::new).toList());
      try (RocksDB db = RocksDB.open(options, path)) {
        assertEquals("value", new String(db.get(b("key"))));
      }
      try (RocksDB db = RocksDB.openReadOnly(options, path)) {
        assertEquals("value", new String(db.get(b("key"))));
      }
      RocksDB.destroyDB(path, options);
      assertTrue(RocksDB.listColumnFamilies(options, path).isEmpty());
    }
  }
}
