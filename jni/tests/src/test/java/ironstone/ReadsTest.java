// Reads into direct buffers, reads that may be wrong, perf counters, and calls on ranges of files.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rocksdb.ByteBufferGetStatus;
import org.rocksdb.FlushOptions;
import org.rocksdb.Holder;
import org.rocksdb.KeyMayExist;
import org.rocksdb.Options;
import org.rocksdb.PerfContext;
import org.rocksdb.PerfLevel;
import org.rocksdb.PlainTableConfig;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

class ReadsTest extends InDirectory {
  private RocksDB open(final Options options) throws Exception {
    return RocksDB.open(options.setCreateIfMissing(true).setDisableAutoCompactions(true), dir.toString());
  }

  private static void flush(final RocksDB db) throws Exception {
    try (FlushOptions flush = new FlushOptions()) {
      db.flush(flush);
    }
  }

  private static ByteBuffer direct(final String text) {
    final ByteBuffer buffer = ByteBuffer.allocateDirect(text.length());
    buffer.put(b(text)).flip();
    return buffer;
  }

  private static byte[] bytes(final ByteBuffer buffer) {
    final byte[] bytes = new byte[buffer.remaining()];
    buffer.duplicate().get(bytes);
    return bytes;
  }

  @Test
  void valuesOfManyKeysGoIntoDirectBuffers() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      db.put(b("a"), b("1"));
      flush(db);
      db.put(b("b"), b("long value"));
      final List<ByteBuffer> values = List.of(ByteBuffer.allocateDirect(4), ByteBuffer.allocateDirect(4), ByteBuffer.allocateDirect(4));
      final List<ByteBufferGetStatus> found =
          db.multiGetByteBuffers(List.of(direct("a"), direct("b"), direct("c")), values);
      assertEquals(Status.Code.Ok, found.get(0).status.getCode());
      assertArrayEquals(b("1"), bytes(found.get(0).value));
      assertEquals(Status.Code.Ok, found.get(1).status.getCode());
      assertEquals(10, found.get(1).requiredSize);
      assertArrayEquals(b("long"), bytes(found.get(1).value));
      assertEquals(Status.Code.NotFound, found.get(2).status.getCode());
      assertNull(found.get(2).value);
    }
  }

  @Test
  void aKeyOfAMemtableMayExistWithItsValue() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      db.put(b("key"), b("value"));
      final Holder<byte[]> holder = new Holder<>();
      assertTrue(db.keyMayExist(b("key"), holder));
      assertArrayEquals(b("value"), holder.getValue());
      assertFalse(db.keyMayExist(b("none"), holder));
      assertNull(holder.getValue());
      assertTrue(db.keyMayExist(b("<key>"), 1, 3, null));
      assertTrue(db.keyMayExist(direct("key")));
      final ByteBuffer value = ByteBuffer.allocateDirect(3);
      final KeyMayExist may = db.keyMayExist(direct("key"), value);
      assertEquals(KeyMayExist.KeyMayExistEnum.kExistsWithValue, may.exists);
      assertEquals(5, may.valueLength);
      assertArrayEquals(b("val"), bytes(value));
      assertThrows(IndexOutOfBoundsException.class, () -> db.keyMayExist(b("key"), 1, 3, null));
    }
  }

  @Test
  void perfCountersCountTheReadsOfTheThread() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      db.put(b("a"), b("1"));
      flush(db);
      db.setPerfLevel(PerfLevel.ENABLE_COUNT);
      assertEquals(PerfLevel.ENABLE_COUNT, db.getPerfLevel());
      try {
        final PerfContext context = db.getPerfContext();
        context.reset();
        assertEquals(0, context.getReadBytes());
        db.get(b("a"));
        assertEquals(1, context.getBlockReadCount());
        db.get(b("a"));
        assertEquals(1, context.getBlockReadCount());
        assertTrue(context.getBlockCacheHitCount() > 0);
        context.reset();
        assertEquals(0, context.getBlockReadCount());
      } finally {
        db.setPerfLevel(PerfLevel.DISABLE);
      }
    }
  }

  @Test
  void filesInsideOfARangeAreDeleted() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      for (final String key : new String[] {"a", "m"}) {
        db.put(b(key), b("1"));
        flush(db);
      }
      db.promoteL0(2);
      db.deleteFilesInRanges(db.getDefaultColumnFamily(), List.of(b("l"), b("z")), true);
      assertArrayEquals(b("1"), db.get(b("a")));
      assertNull(db.get(b("m")));
      assertEquals("1", db.getProperty("rocksdb.num-files-at-level2"));
    }
  }

  @Test
  void filesOfLevelZeroArePromoted() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      for (final String key : new String[] {"a", "m"}) {
        db.put(b(key), b("1"));
        flush(db);
      }
      db.promoteL0(db.getDefaultColumnFamily(), 2);
      assertEquals("0", db.getProperty("rocksdb.num-files-at-level0"));
      assertEquals("2", db.getProperty("rocksdb.num-files-at-level2"));
      db.put(b("a"), b("2"));
      flush(db);
      assertThrows(RocksDBException.class, () -> db.promoteL0(2));
    }
  }

  @Test
  void aColumnFamilyIsClippedToARange() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      for (final String key : new String[] {"a", "b", "c", "d"}) {
        db.put(b(key), b(key));
      }
      db.clipColumnFamily(db.getDefaultColumnFamily(), b("b"), b("d"));
      assertNull(db.get(b("a")));
      assertArrayEquals(b("b"), db.get(b("b")));
      assertArrayEquals(b("c"), db.get(b("c")));
      assertNull(db.get(b("d")));
    }
  }

  @Test
  void plainTablesHoldTheEntries() throws Exception {
    final PlainTableConfig config = new PlainTableConfig().setKeySize(3).setBloomBitsPerKey(8).setHashTableRatio(0.5);
    try (Options options = new Options().setAllowMmapReads(true).useFixedLengthPrefixExtractor(1).setTableFormatConfig(config)) {
      assertEquals("PlainTable", options.tableFactoryName());
      try (RocksDB db = open(options)) {
        db.put(b("abc"), b("1"));
        flush(db);
        assertArrayEquals(b("1"), db.get(b("abc")));
        assertNull(db.get(b("abd")));
        db.put(b("longer"), b("2"));
        assertThrows(RocksDBException.class, () -> flush(db));
      }
    }
  }
}
