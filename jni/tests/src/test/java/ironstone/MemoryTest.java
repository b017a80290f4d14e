// Hundreds of stores share one write buffer manager and one cache: the sum stays within the budget, and properties say which
// store holds what.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.MemoryUsageType;
import org.rocksdb.MemoryUtil;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBufferManager;
import org.rocksdb.WriteOptions;

class MemoryTest extends InDirectory {
  private static final int STORES = 200;
  private static final long CACHE = 24 << 20;
  private static final long MEMTABLES = 16 << 20;

  private static byte[] key(final int number) {
    return ByteBuffer.allocate(8).putLong(number).array();
  }

  private static Map<MemoryUsageType, Long> usage(final List<RocksDB> stores, final Cache cache) {
    return MemoryUtil.getApproximateMemoryUsageByType(stores, Set.of(cache));
  }

  private static long sum(final List<RocksDB> stores, final String property) throws Exception {
    long sum = 0;
    for (final RocksDB store : stores) {
      sum += store.getLongProperty(property);
    }
    return sum;
  }

  @Test
  void manyStoresStayWithinOneBudget() throws Exception {
    final List<RocksDB> stores = new ArrayList<>();
    final Random random = new Random(7);
    try (LRUCache cache = new LRUCache(CACHE, 0); WriteBufferManager buffers = new WriteBufferManager(MEMTABLES, cache);
         FlushOptions flush = new FlushOptions(); WriteOptions write = new WriteOptions().setDisableWAL(true);
         Options options = new Options().setCreateIfMissing(true).setWriteBufferManager(buffers).setWriteBufferSize(1 << 20)
             .setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache).setCacheIndexAndFilterBlocks(true))) {
      for (int at = 0; at < STORES; at++) {
        stores.add(RocksDB.open(options, dir.resolve("store" + at).toString()));
      }
      final byte[] value = new byte[1000];
      for (int round = 0; round < 30; round++) {
        for (final RocksDB store : stores) {
          for (int at = 0; at < 12; at++) {
            random.nextBytes(value);
            store.put(write, key(random.nextInt(400)), value);
          }
          store.get(key(random.nextInt(400)));
        }
        final long memtables = usage(stores, cache).get(MemoryUsageType.kMemTableUnFlushed);
        assertTrue(memtables <= MEMTABLES, memtables + " bytes of memtables");
        assertTrue(cache.getUsage() <= CACHE, cache.getUsage() + " bytes in the cache");
      }
      // After the flushes no job changes the numbers.
      for (final RocksDB store : stores) {
        store.flush(flush);
      }
      final Map<MemoryUsageType, Long> usage = usage(stores, cache);
      assertEquals(sum(stores, "rocksdb.cur-size-all-mem-tables"), usage.get(MemoryUsageType.kMemTableUnFlushed));
      assertEquals(sum(stores, "rocksdb.size-all-mem-tables"), usage.get(MemoryUsageType.kMemTableTotal));
      assertEquals(cache.getUsage(), usage.get(MemoryUsageType.kCacheTotal));
      // The cache tells which store and which kind of block an entry belongs to.
      assertTrue(stores.get(0).getProperty("rocksdb.block-cache-entry-stats").contains("DataBlock"));
      assertEquals(CACHE, stores.get(0).getLongProperty("rocksdb.block-cache-capacity"));
      assertEquals(cache.getUsage(), stores.get(0).getLongProperty("rocksdb.block-cache-usage"));
    } finally {
      stores.forEach(RocksDB::close);
    }
  }
}
