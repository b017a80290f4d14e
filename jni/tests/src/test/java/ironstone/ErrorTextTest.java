// Errors have RocksDB's texts: programs compare the message and the state of the status. The texts are those of RocksDB's library.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.rocksdb.Checkpoint;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.CompactionOptions;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.EnvOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.IngestExternalFileOptions;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.MutableColumnFamilyOptions;
import org.rocksdb.MutableDBOptions;
import org.rocksdb.OptimisticTransactionDB;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.ReadOptions;
import org.rocksdb.ReadTier;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.SanityLevel;
import org.rocksdb.Slice;
import org.rocksdb.SstFileReader;
import org.rocksdb.SstFileWriter;
import org.rocksdb.Status;
import org.rocksdb.Transaction;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

class ErrorTextTest extends InDirectory {
  private static void assertFails(final Status.Code code, final String text, final Executable call) {
    final RocksDBException thrown = assertThrows(RocksDBException.class, call);
    assertEquals(text, thrown.getMessage());
    assertEquals(code, thrown.getStatus().getCode());
    assertEquals(text, thrown.getStatus().getState());
  }

  private static void assertInvalid(final String text, final Executable call) {
    assertFails(Status.Code.InvalidArgument, text, call);
  }

  @Test
  void filesThatAreMissingAreNamedWithTheTextOfTheSystem() {
    final String absent = dir.resolve("absent").toString();
    assertFails(Status.Code.IOError,
        "While opening a file for sequentially reading: " + absent + "/CURRENT: No such file or directory",
        () -> RocksDB.openReadOnly(absent));
    assertFails(Status.Code.IOError, "While mkdir if missing: /proc/none/x: No such file or directory",
        () -> RocksDB.open("/proc/none/x"));
    try (Options options = new Options(); EnvOptions files = new EnvOptions(); SstFileWriter writer = new SstFileWriter(files, options)) {
      assertFails(Status.Code.IOError, "While open a file for appending: " + absent + "/x.sst: No such file or directory",
          () -> writer.open(absent + "/x.sst"));
    }
  }

  @Test
  void wrongCallsHaveTheMessageAlone() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.resolve("db").toString());
         WriteOptions write = new WriteOptions(); ReadOptions read = new ReadOptions();
         IngestExternalFileOptions ingest = new IngestExternalFileOptions(); CompactionOptions compaction = new CompactionOptions()) {
      final ColumnFamilyHandle family = db.createColumnFamily(new ColumnFamilyDescriptor(b("cf")));
      assertInvalid("Column family already exists", () -> db.createColumnFamily(new ColumnFamilyDescriptor(b("cf"))));
      db.dropColumnFamily(family);
      assertInvalid("Invalid column family specified in write batch", () -> db.put(family, b("a"), b("b")));
      assertInvalid("Column family already dropped!\n", () -> db.dropColumnFamily(family));
      family.close();
      assertInvalid("external_files[0] is empty", () -> db.ingestExternalFile(List.of(), ingest));
      assertInvalid("Specified compaction input file /000099.sst does not exist in column family default.",
          () -> db.compactFiles(compaction, List.of("/000099.sst"), 1, -1, null));
      assertInvalid("Output level cannot be negative.", () -> db.compactFiles(compaction, List.of("/000099.sst"), -3, -1, null));
      assertInvalid("empty input", () -> db.setOptions(MutableColumnFamilyOptions.builder().build()));
      assertInvalid("empty input", () -> db.setDBOptions(MutableDBOptions.builder().build()));
      read.setTimestamp(new Slice("12345678"));
      assertInvalid("cannot call this method on column family default that does not enable timestamp", () -> db.get(read, b("a")));
      final Checkpoint checkpoint = Checkpoint.create(db);
      checkpoint.createCheckpoint(dir.resolve("copy").toString());
      assertInvalid("Directory exists", () -> checkpoint.createCheckpoint(dir.resolve("copy").toString()));
      assertInvalid("invalid checkpoint directory name", () -> checkpoint.createCheckpoint(""));
      assertFails(Status.Code.Corruption, "WriteBatch has wrong count",
          () -> db.write(write, new WriteBatch(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0})));
      final RocksDBException heap =
          assertThrows(RocksDBException.class, () -> db.delete(write, ByteBuffer.wrap(b("a"))));
      assertEquals("Invalid key argument", heap.getMessage());
    }
  }

  @Test
  void aFileIsNotCompactedToAHigherLevel() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString());
         FlushOptions flush = new FlushOptions(); CompactionOptions compaction = new CompactionOptions()) {
      db.put(b("a"), b("1"));
      db.flush(flush);
      db.compactRange();
      final LiveFileMetaData file = db.getLiveFilesMetaData().get(0);
      assertEquals(6, file.level());
      assertInvalid("Cannot compact file to up level, input file: " + file.fileName() + " level 6 > output level 1",
          () -> db.compactFiles(compaction, List.of(file.fileName()), 1, -1, null));
    }
  }

  @Test
  void readsAndReadOnlyOpensHaveRocksDbsTexts() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); DBOptions how = new DBOptions(); FlushOptions flush = new FlushOptions();
         ReadOptions cached = new ReadOptions().setReadTier(ReadTier.BLOCK_CACHE_TIER)) {
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put(b("a"), b("1"));
        db.flush(flush);
        assertFails(Status.Code.Incomplete, "no blocking io", () -> db.get(cached, b("a")));
        db.put(b("a"), b("2"));
      }
      try (RocksDB db = RocksDB.openReadOnly(options, dir.toString())) {
        assertFails(Status.Code.NotSupported, "Not supported operation in read only mode.", () -> db.merge(b("a"), b("3")));
      }
      assertFails(Status.Code.Corruption,
          "The db was opened in readonly mode with error_if_wal_file_exists flag but a non-empty WAL file already exists",
          () -> RocksDB.openReadOnly(how, dir.toString(), List.of(new ColumnFamilyDescriptor(b("default"))), new ArrayList<>(), true));
    }
  }

  @Test
  void optionsFilesAndBatchesThatDoNotReadHaveRocksDbsTexts() throws Exception {
    final Path file = dir.resolve("OPTIONS");
    final String head = "[Version]\n  rocksdb_version=11.8.1\n  options_file_version=1.1\n[DBOptions]\n";
    try (ConfigOptions config = new ConfigOptions(); DBOptions options = new DBOptions()) {
      Files.writeString(file, head + "  no_such=1\n[CFOptions \"default\"]\n");
      assertInvalid("Extra option not recognized: no_such",
          () -> OptionsUtil.loadOptionsFromFile(config, file.toString(), options, new ArrayList<>()));
      Files.writeString(file, head + "no statement\n");
      assertInvalid("[RocksDBOptionsParser Error] : A valid statement must have a '='. (at line 5)",
          () -> OptionsUtil.loadOptionsFromFile(config, file.toString(), options, new ArrayList<>()));
      Files.writeString(file, head);
      assertFails(Status.Code.Corruption, "A RocksDB Option file must have a single CFOptions:default section",
          () -> OptionsUtil.loadOptionsFromFile(config, file.toString(), options, new ArrayList<>()));
    }
    try (Options options = new Options().setCreateIfMissing(true); WriteOptions write = new WriteOptions();
         RocksDB db = RocksDB.open(options, dir.resolve("db").toString())) {
      assertFails(Status.Code.Corruption, "unknown WriteBatch tag: 127",
          () -> db.write(write, new WriteBatch(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 127})));
    }
  }

  @Test
  void negativeNumbersOfOptionsWrapAsInRocksDB() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString())) {
      db.setOptions(MutableColumnFamilyOptions.parse("periodic_compaction_seconds=-2").build());
      db.put(b("a"), b("b"));
      assertEquals("b", new String(db.get(b("a"))));
    }
  }

  @Test
  void fileThatIsNoTableIsNamed() throws Exception {
    final Path garbage = Files.writeString(dir.resolve("garbage"), "x".repeat(100));
    final Path empty = Files.writeString(dir.resolve("empty"), "");
    try (Options options = new Options(); SstFileReader reader = new SstFileReader(options)) {
      assertFails(Status.Code.Corruption,
          "Bad table magic number: expected 9863518390377041911, found 8680820740569200760 in " + garbage,
          () -> reader.open(garbage.toString()));
      assertFails(Status.Code.Corruption, "file is too short (0 bytes) to be an sstable: " + empty, () -> reader.open(empty.toString()));
    }
  }

  @Test
  void rangeDeletionOfATransactionDatabaseHasNoText() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); TransactionDBOptions how = new TransactionDBOptions();
         TransactionDB db = TransactionDB.open(options, how, dir.toString())) {
      final RocksDBException thrown = assertThrows(RocksDBException.class, () -> db.deleteRange(b("a"), b("b")));
      assertEquals("NotSupported", thrown.getMessage());
      try (WriteOptions write = new WriteOptions(); WriteBatch batch = new WriteBatch()) {
        batch.deleteRange(b("a"), b("b"));
        assertInvalid("DeleteRangeCF not implemented", () -> db.write(write, batch));
      }
    }
    try (Options options = new Options().setCreateIfMissing(true);
         OptimisticTransactionDB db = OptimisticTransactionDB.open(options, dir.resolve("optimistic").toString())) {
      assertEquals("NotSupported", assertThrows(RocksDBException.class, () -> db.deleteRange(b("a"), b("b"))).getMessage());
    }
  }

  @Test
  void theLimitOfLocksHasNoText() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); WriteOptions write = new WriteOptions();
         TransactionDBOptions how = new TransactionDBOptions().setMaxNumLocks(1);
         TransactionDB db = TransactionDB.open(options, how, dir.toString()); Transaction transaction = db.beginTransaction(write)) {
      transaction.put(b("a"), b("1"));
      final RocksDBException thrown = assertThrows(RocksDBException.class, () -> transaction.put(b("b"), b("1")));
      assertEquals("Aborted(LockLimit)", thrown.getMessage());
    }
  }

  @Test
  void allSettingsOfConfigOptionsAreAccepted() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true)) {
      RocksDB.open(options, dir.toString()).close();
    }
    for (final SanityLevel level : SanityLevel.values()) {
      try (ConfigOptions config = new ConfigOptions().setSanityLevel(level).setDelimiter(",").setInputStringsEscaped(false);
           DBOptions options = new DBOptions()) {
        final List<ColumnFamilyDescriptor> families = new ArrayList<>();
        OptionsUtil.loadLatestOptions(config, dir.toString(), options, families);
        assertTrue(options.createIfMissing());
        assertEquals(1, families.size());
      }
    }
  }
}
