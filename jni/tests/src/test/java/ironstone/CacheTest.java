// Caches: the priority pools of an LRU cache, wrong ratios, the clock cache.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
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
}
