// Caches: the priority pools of an LRU cache, wrong ratios, the clock cache.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.HyperClockCache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

class CacheTest extends InDirectory {
  private static final int KEYS = 400;

  private static byte[] key(final String prefix, final int at) {
    return b(String.format("%s%06d", prefix, at));
  }

  /** Reads file A, then all blocks of file B, then file A again. Returns the index misses of the last read. */
  private long indexMissesAfterAScan(final Cache cache, final String name) throws Exception {
    try (Statistics statistics = new Statistics(); FlushOptions flush = new FlushOptions();
         Options options = new Options().setCreateIfMissing(true).setStatistics(statistics).setDisableAutoCompactions(true)
             .setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache).setBlockSize(1024)
                 .setCacheIndexAndFilterBlocks(true).setCacheIndexAndFilterBlocksWithHighPriority(true));
         RocksDB db = RocksDB.open(options, dir.resolve(name).toString())) {
      final byte[] value = new byte[1000];
      final Random random = new Random(1);
      for (final String prefix : new String[] {"a", "b"}) {
        for (int at = 0; at < (prefix.equals("a") ? 1 : KEYS); at++) {
          random.nextBytes(value);
          db.put(key(prefix, at), value);
        }
        db.flush(flush);
      }
      assertEquals(1000, db.get(key("a", 0)).length);
      for (int at = 0; at < KEYS; at++) {
        assertEquals(1000, db.get(key("b", at)).length);
      }
      final long before = statistics.getTickerCount(TickerType.BLOCK_CACHE_INDEX_MISS);
      assertEquals(1000, db.get(key("a", 0)).length);
      return statistics.getTickerCount(TickerType.BLOCK_CACHE_INDEX_MISS) - before;
    }
  }

  @Test
  void aPoolOfHighPriorityKeepsIndexBlocksDuringAScan() throws Exception {
    try (LRUCache onePool = new LRUCache(100 << 10, 0, false, 0.0, 0.0);
         LRUCache pools = new LRUCache(100 << 10, 0, false, 0.6, 0.2)) {
      assertEquals(1, indexMissesAfterAScan(onePool, "one"));
      assertEquals(0, indexMissesAfterAScan(pools, "pools"));
    }
  }

  @Test
  void wrongPoolRatiosThrow() {
    assertThrows(RocksDBException.class, () -> new LRUCache(1 << 20, 0, false, 1.5).close());
    assertThrows(RocksDBException.class, () -> new LRUCache(1 << 20, 0, false, -0.1).close());
    assertThrows(RocksDBException.class, () -> new LRUCache(1 << 20, 0, false, 0.6, 0.5).close());
  }

  @Test
  void theClockCacheHoldsBlocksWithinItsCapacity() throws Exception {
    for (final long charge : new long[] {0, 1024}) {
      try (HyperClockCache cache = new HyperClockCache(64 << 10, charge, 0, false)) {
        indexMissesAfterAScan(cache, "clock" + charge);
        assertTrue(cache.getUsage() > 0 && cache.getUsage() <= 64 << 10, cache.getUsage() + " bytes");
        // The cache charges its table of roles, which is smaller than a block.
        assertTrue(cache.getPinnedUsage() < 1000, cache.getPinnedUsage() + " bytes are pinned");
      }
    }
  }

  private long usage(final RocksDB db) throws Exception {
    return db.getLongProperty("rocksdb.block-cache-usage");
  }

  /** Writes an SST file and reads a value of the file. */
  private void readABlock(final RocksDB db) throws Exception {
    db.put(b("key"), new byte[1000]);
    try (FlushOptions flush = new FlushOptions()) {
      db.flush(flush);
    }
    assertEquals(1000, db.get(b("key")).length);
  }

  @Test
  void databasesOfOneOptionsObjectShareTheCacheThatNobodySet() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); Options copy = new Options(options);
         Options other = new Options().setCreateIfMissing(true);
         RocksDB one = RocksDB.open(options, dir.resolve("one").toString());
         RocksDB two = RocksDB.open(copy, dir.resolve("two").toString());
         RocksDB three = RocksDB.open(other, dir.resolve("three").toString())) {
      final long empty = usage(three);
      readABlock(one);
      assertTrue(usage(one) > empty + 1000, usage(one) + " bytes");
      assertEquals(usage(one), usage(two));
      assertEquals(empty, usage(three));
    }
  }

  @Test
  void columnFamiliesWithTheirOwnOptionsHaveTheirOwnCaches() throws Exception {
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (ColumnFamilyOptions shared = new ColumnFamilyOptions(); ColumnFamilyOptions own = new ColumnFamilyOptions();
         DBOptions options = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true);
         RocksDB db = RocksDB.open(options, dir.toString(),
             List.of(new ColumnFamilyDescriptor(b("default"), shared), new ColumnFamilyDescriptor(b("two"), shared),
                 new ColumnFamilyDescriptor(b("three"), own)),
             handles)) {
      assertEquals(64 << 20, db.getAggregatedLongProperty("rocksdb.block-cache-capacity"));
      readABlock(db);
      final long used = usage(db);
      assertEquals(used, db.getLongProperty(handles.get(1), "rocksdb.block-cache-usage"));
      assertTrue(db.getLongProperty(handles.get(2), "rocksdb.block-cache-usage") < used - 1000);
      handles.forEach(ColumnFamilyHandle::close);
    }
  }
}
