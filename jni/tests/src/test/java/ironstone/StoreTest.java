// The calls that stores make: keys, families, batches, iterators, snapshots, errors, direct buffers.
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
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Snapshot;
import org.rocksdb.Status;
import org.rocksdb.StringAppendOperator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

class StoreTest extends InDirectory {
  @Test
  void keysAreReadBackFromFamilies() throws Exception {
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (BloomFilter filter = new BloomFilter(10); LRUCache cache = new LRUCache(1 << 20);
         ColumnFamilyOptions family = new ColumnFamilyOptions().setTableFormatConfig(
             new BlockBasedTableConfig().setFilterPolicy(filter).setBlockCache(cache));
         DBOptions options = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true)) {
      final List<ColumnFamilyDescriptor> families = List.of(
          new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, family), new ColumnFamilyDescriptor(b("one"), family));
      try (RocksDB db = RocksDB.open(options, dir.toString(), families, handles); FlushOptions flush = new FlushOptions()) {
        db.put(handles.get(1), b("k"), b("v"));
        db.flush(flush, handles.get(1));
        assertArrayEquals(b("v"), db.get(handles.get(1), b("k")));
        assertNull(db.get(b("k")));
        assertArrayEquals(b("one"), handles.get(1).getName());
        assertEquals(1, handles.get(1).getID());
        assertTrue(cache.getUsage() > 0);
        assertEquals(2, db.getLongProperty("rocksdb.num-snapshots") + 2);
      }
      assertEquals(2, RocksDB.listColumnFamilies(new Options(), dir.toString()).size());
    }
  }

  @Test
  void batchesAndIteratorsSeeKeysInOrder() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString());
         WriteOptions write = new WriteOptions(); WriteBatch batch = new WriteBatch()) {
      for (int at = 9; at >= 0; at--) batch.put(b("k" + at), b("v" + at));
      batch.delete(b("k5"));
      assertEquals(11, batch.count());
      db.write(write, batch);
      final Snapshot snapshot = db.getSnapshot();
      db.deleteRange(b("k0"), b("k3"));
      try (ReadOptions old = new ReadOptions().setSnapshot(snapshot); RocksIterator iterator = db.newIterator(old)) {
        int count = 0;
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) count++;
        assertEquals(9, count);
        iterator.seek(b("k5"));
        assertArrayEquals(b("k6"), iterator.key());
        iterator.seekForPrev(b("k5"));
        assertArrayEquals(b("v4"), iterator.value());
        iterator.status();
      }
      db.releaseSnapshot(snapshot);
      assertNull(db.get(b("k1")));
      assertEquals(List.of(), db.multiGetAsList(List.of()));
      assertArrayEquals(b("v7"), db.multiGetAsList(List.of(b("k1"), b("k7"))).get(1));
    }
  }

  @Test
  void directBuffersAndArraysGetWhatFits() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString());
         ReadOptions read = new ReadOptions(); WriteOptions write = new WriteOptions()) {
      final ByteBuffer key = ByteBuffer.allocateDirect(8);
      key.put(b("key")).flip();
      final ByteBuffer value = ByteBuffer.allocateDirect(8);
      value.put(b("value")).flip();
      db.put(write, key, value);
      final byte[] small = new byte[2];
      assertEquals(5, db.get(b("key"), small));
      assertArrayEquals(b("va"), small);
      assertEquals(RocksDB.NOT_FOUND, db.get(b("none"), small));
      key.rewind();
      final ByteBuffer out = ByteBuffer.allocateDirect(16);
      assertEquals(5, db.get(read, key, out));
      assertThrows(IndexOutOfBoundsException.class, () -> db.get(b("key"), 2, 9));
    }
  }

  @Test
  void mergesAppend() throws Exception {
    try (StringAppendOperator operator = new StringAppendOperator(';');
         Options options = new Options().setCreateIfMissing(true).setMergeOperator(operator);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      db.merge(b("k"), b("a"));
      db.merge(b("k"), b("b"));
      assertArrayEquals(b("a;b"), db.get(b("k")));
    }
  }

  @Test
  void errorsHaveStatus() {
    try (Options options = new Options()) {
      final RocksDBException error =
          assertThrows(RocksDBException.class, () -> RocksDB.open(options, dir.resolve("none").toString()));
      assertEquals(Status.Code.InvalidArgument, error.getStatus().getCode());
      assertTrue(error.getMessage().contains("create_if_missing"), error.getMessage());
    }
  }

  @Test
  void optionsReturnWhatWasSet() {
    try (Options options = new Options(); DBOptions db = new DBOptions(); ColumnFamilyOptions family = new ColumnFamilyOptions()) {
      assertEquals(-1, options.maxOpenFiles());
      assertEquals(64 << 20, family.writeBufferSize());
      assertEquals(123, db.setMaxBackgroundJobs(123).maxBackgroundJobs());
      assertFalse(db.setParanoidChecks(false).paranoidChecks());
      assertEquals(0.5, family.setMemtablePrefixBloomSizeRatio(0.5).memtablePrefixBloomSizeRatio());
      try (Options both = new Options(db, family)) {
        assertEquals(123, both.maxBackgroundJobs());
        assertEquals(0.5, both.memtablePrefixBloomSizeRatio());
      }
    }
  }
}
