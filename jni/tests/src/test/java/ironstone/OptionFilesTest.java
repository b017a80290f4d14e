// Options in files, partitioners, collectors, names of thread states, timestamps of compactions.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Env;
import org.rocksdb.FlushOptions;
import org.rocksdb.IndexType;
import org.rocksdb.OperationStage;
import org.rocksdb.OperationType;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstPartitionerFixedPrefixFactory;
import org.rocksdb.StateType;
import org.rocksdb.Status;
import org.rocksdb.ThreadStatus;
import org.rocksdb.ThreadType;

class OptionFilesTest extends InDirectory {
  @Test
  void optionsAreReadFromProperties() {
    final Properties family = new Properties();
    family.put("write_buffer_size", "112");
    family.put("max_write_buffer_number", "13");
    try (ColumnFamilyOptions options = ColumnFamilyOptions.getColumnFamilyOptionsFromProps(family)) {
      assertEquals(112, options.writeBufferSize());
      assertEquals(13, options.maxWriteBufferNumber());
    }
    final Properties database = new Properties();
    database.put("max_background_jobs", "17");
    database.put("bytes_per_sync", "4096");
    try (DBOptions options = DBOptions.getDBOptionsFromProps(database)) {
      assertEquals(17, options.maxBackgroundJobs());
      assertEquals(4096, options.bytesPerSync());
    }
    final Properties unknown = new Properties();
    unknown.put("no_such_option", "1");
    assertNull(ColumnFamilyOptions.getColumnFamilyOptionsFromProps(unknown));
    assertNull(DBOptions.getDBOptionsFromProps(unknown));
    try (ConfigOptions ignoring = new ConfigOptions().setIgnoreUnknownOptions(true)) {
      unknown.put("max_background_jobs", "5");
      try (DBOptions options = DBOptions.getDBOptionsFromProps(ignoring, unknown)) {
        assertEquals(5, options.maxBackgroundJobs());
      }
    }
    assertThrows(IllegalArgumentException.class, () -> DBOptions.getDBOptionsFromProps(new Properties()));
  }

  @Test
  void theOptionsOfADatabaseAreReadFromItsFile() throws Exception {
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (BloomFilter filter = new BloomFilter(9); ColumnFamilyOptions plain = new ColumnFamilyOptions();
         ColumnFamilyOptions family = new ColumnFamilyOptions().setWriteBufferSize(123 << 10).setTableFormatConfig(
             new BlockBasedTableConfig().setBlockSize(5000).setIndexType(IndexType.kTwoLevelIndexSearch).setFilterPolicy(filter));
         DBOptions options = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true).setMaxBackgroundJobs(7)) {
      RocksDB.open(options, dir.toString(), List.of(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, plain),
          new ColumnFamilyDescriptor(b("f"), family)), handles).close();
    }
    final String file = OptionsUtil.getLatestOptionsFileName(dir.toString(), Env.getDefault());
    assertTrue(file.startsWith("OPTIONS-"), file);
    for (final boolean latest : new boolean[] {true, false}) {
      final List<ColumnFamilyDescriptor> families = new ArrayList<>();
      try (ConfigOptions how = new ConfigOptions().setIgnoreUnknownOptions(false).setInputStringsEscaped(true).setEnv(Env.getDefault());
           DBOptions options = new DBOptions()) {
        if (latest) {
          OptionsUtil.loadLatestOptions(how, dir.toString(), options, families);
        } else {
          OptionsUtil.loadOptionsFromFile(how, dir.resolve(file).toString(), options, families);
        }
        assertEquals(7, options.maxBackgroundJobs());
        assertEquals(2, families.size());
        assertArrayEquals(b("f"), families.get(1).getName());
        assertEquals(123 << 10, families.get(1).getOptions().writeBufferSize());
        final BlockBasedTableConfig table = (BlockBasedTableConfig) families.get(1).getOptions().tableFormatConfig();
        assertEquals(5000, table.blockSize());
        assertEquals(IndexType.kTwoLevelIndexSearch, table.indexType());
        assertTrue(table.filterPolicy() instanceof BloomFilter);
        families.get(1).getOptions().setTableFormatConfig(table);
        final List<ColumnFamilyHandle> again = new ArrayList<>();
        RocksDB.open(options, dir.toString(), families, again).close();
      }
    }
    final RocksDBException none =
        assertThrows(RocksDBException.class, () -> OptionsUtil.getLatestOptionsFileName(dir.resolve("none").toString(), Env.getDefault()));
    assertTrue(none.getStatus().getCode() == Status.Code.NotFound || none.getStatus().getCode() == Status.Code.IOError);
  }

  @Test
  void aPartitionerCutsFilesAtThePrefix() throws Exception {
    try (SstPartitionerFixedPrefixFactory partitioner = new SstPartitionerFixedPrefixFactory(1);
         Options options = new Options().setCreateIfMissing(true).setSstPartitionerFactory(partitioner);
         RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
      for (int round = 0; round < 2; round++) {
        for (final String key : List.of("a1", "a2", "b1", "c1")) db.put(b(key), b("v"));
        db.flush(flush);
      }
      db.compactRange();
      assertEquals(3, db.getLiveFilesMetaData().size());
    }
  }

  /** The class of the collectors is not in 8.10.0. */
  @Test
  void aCollectorMarksFilesWithManyDeletions() throws Exception {
    final Class<?> type;
    try {
      type = Class.forName("org.rocksdb.TablePropertiesCollectorFactory");
    } catch (final ClassNotFoundException old) {
      return;
    }
    final Method create = type.getMethod("NewCompactOnDeletionCollectorFactory", long.class, long.class, double.class);
    final AutoCloseable collector = (AutoCloseable) create.invoke(null, 10, 10, 0.5);
    try (Options options = new Options().setCreateIfMissing(true)) {
      Options.class.getMethod("setTablePropertiesCollectorFactory", List.class).invoke(options, List.of(collector));
      assertEquals(1, ((List<?>) Options.class.getMethod("tablePropertiesCollectorFactory").invoke(options)).size());
      try (RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
        db.put(b("a"), b("1"));
        db.flush(flush);
        assertEquals("[CompactOnDeletionCollector]",
            db.getPropertiesOfAllTables().values().iterator().next().getPropertyCollectorsNames());
      }
    }
    collector.close();
  }

  @Test
  void statesOfThreadsHaveNames() {
    assertEquals("High Pri", ThreadStatus.getThreadTypeName(ThreadType.HIGH_PRIORITY));
    assertEquals("Compaction", ThreadStatus.getOperationName(OperationType.OP_COMPACTION));
    assertEquals("FlushJob::Run", ThreadStatus.getOperationStageName(OperationStage.STAGE_FLUSH_RUN));
    assertEquals("Mutex Wait", ThreadStatus.getStateName(StateType.STATE_MUTEX_WAIT));
    assertEquals("JobID", ThreadStatus.getOperationPropertyName(OperationType.OP_FLUSH, 0));
    assertNull(ThreadStatus.getOperationPropertyName(OperationType.OP_FLUSH, 3));
    assertNull(ThreadStatus.getOperationName(OperationType.OP_UNKNOWN));
    assertNull(ThreadStatus.microsToString(0));
    assertEquals("12.345 ms", ThreadStatus.microsToString(12345));
    assertEquals(Map.of("JobID", 1L, "BytesMemtables", 2L, "BytesWritten", 3L),
        ThreadStatus.interpretOperationProperties(OperationType.OP_FLUSH, new long[] {1, 2, 3}));
    assertEquals(2L, ThreadStatus.interpretOperationProperties(OperationType.OP_COMPACTION,
        new long[] {1, (1L << 32) + 2, 2, 0, 0, 0}).get("OutputLevel"));
  }

  @Test
  void theTimestampOfACompactionIsReadBack() {
    try (CompactRangeOptions options = new CompactRangeOptions()) {
      assertNull(options.fullHistoryTSLow());
      options.setFullHistoryTSLow(new CompactRangeOptions.Timestamp(3, 4));
      assertEquals(new CompactRangeOptions.Timestamp(3, 4), options.fullHistoryTSLow());
    }
  }
}
