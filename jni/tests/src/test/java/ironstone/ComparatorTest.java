// Comparators in Java: reused buffers in both kinds, and separators of blocks.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.rocksdb.AbstractComparator;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ComparatorOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.IndexShorteningMode;
import org.rocksdb.Options;
import org.rocksdb.ReusedSynchronisationType;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.util.BytewiseComparator;

class ComparatorTest extends InDirectory {
  /** Compares unsigned bytes, and records the buffers. */
  private static final class Recording extends AbstractComparator {
    final Set<ByteBuffer> buffers = Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));
    final AtomicInteger separators = new AtomicInteger();
    final AtomicInteger successors = new AtomicInteger();
    final boolean isDirect;
    /** The byte that replaces the end of a separator. -1: separators are not changed. */
    final int end;

    Recording(final ComparatorOptions options, final int end) {
      super(options);
      this.end = end;
      isDirect = options.useDirectBuffer();
    }

    @Override
    public String name() {
      return "recording";
    }

    @Override
    public int compare(final ByteBuffer a, final ByteBuffer b) {
      if (a.isDirect() != isDirect || b.isDirect() != isDirect) {
        throw new AssertionError("a buffer of the wrong kind");
      }
      if (buffers.size() < 1000) {
        buffers.add(a);
        buffers.add(b);
      }
      return compareBytes(a, b);
    }

    private static int compareBytes(final ByteBuffer a, final ByteBuffer b) {
      while (a.hasRemaining() && b.hasRemaining()) {
        final int order = Integer.compare(a.get() & 0xff, b.get() & 0xff);
        if (order != 0) {
          return order;
        }
      }
      return Integer.compare(a.remaining(), b.remaining());
    }

    @Override
    public void findShortestSeparator(final ByteBuffer start, final ByteBuffer limit) {
      separators.incrementAndGet();
      if (end >= 0) {
        start.put(1, (byte) end);
        start.limit(2);
      }
    }

    @Override
    public void findShortSuccessor(final ByteBuffer key) {
      successors.incrementAndGet();
    }
  }

  private static String key(final int at) {
    return String.format("k%04d", at) + "-".repeat(at % 100);
  }

  /** Writes keys of 5 to 104 bytes, and reads all of them. */
  private void work(final Recording comparator, final String name) throws Exception {
    try (Options options = new Options().setCreateIfMissing(true).setComparator(comparator);
         RocksDB db = RocksDB.open(options, dir.resolve(name).toString()); FlushOptions flush = new FlushOptions()) {
      for (int at = 0; at < 500; at++) {
        db.put(b(key(at * 7 % 500)), b("v" + at));
      }
      db.flush(flush);
      try (RocksIterator iterator = db.newIterator()) {
        int at = 0;
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
          assertArrayEquals(b(key(at++)), iterator.key());
        }
        assertEquals(500, at);
        iterator.seek(b(key(250)));
        assertArrayEquals(b(key(250)), iterator.key());
      }
    }
  }

  @Test
  void buffersAreReusedUpToTheirSize() throws Exception {
    for (final boolean isDirect : new boolean[] {true, false}) {
      for (final ReusedSynchronisationType type : ReusedSynchronisationType.values()) {
        try (ComparatorOptions options = new ComparatorOptions().setUseDirectBuffer(isDirect).setMaxReusedBufferSize(200)
                 .setReusedSynchronisationType(type);
             Recording comparator = new Recording(options, -1)) {
          assertEquals(200, options.maxReusedBufferSize());
          assertEquals(type, options.reusedSynchronisationType());
          work(comparator, "reused" + isDirect + type);
          // Two buffers for each thread that compares at the same time.
          assertTrue(comparator.buffers.size() <= 16, comparator.buffers.size() + " buffers");
        }
        try (ComparatorOptions options = new ComparatorOptions().setUseDirectBuffer(isDirect).setMaxReusedBufferSize(50);
             Recording comparator = new Recording(options, -1)) {
          work(comparator, "both" + isDirect + type);
          assertTrue(comparator.buffers.size() > 100, comparator.buffers.size() + " buffers");
        }
      }
    }
  }

  @Test
  void noBufferIsReusedWithoutASize() throws Exception {
    for (final int size : new int[] {0, -1}) {
      try (ComparatorOptions options = new ComparatorOptions().setMaxReusedBufferSize(size);
           Recording comparator = new Recording(options, -1)) {
        work(comparator, "new" + size);
        assertTrue(comparator.buffers.size() >= 1000, comparator.buffers.size() + " buffers");
      }
    }
  }

  /** Writes a file of many blocks. Returns the size of its index. */
  private long indexSize(final AbstractComparator comparator, final String name) throws Exception {
    try (Options options = new Options().setCreateIfMissing(true).setComparator(comparator)
             .setCompressionType(CompressionType.NO_COMPRESSION)
             .setTableFormatConfig(new BlockBasedTableConfig().setBlockSize(256)
                 .setIndexShortening(IndexShorteningMode.kShortenSeparatorsAndSuccessor));
         RocksDB db = RocksDB.open(options, dir.resolve(name).toString()); FlushOptions flush = new FlushOptions()) {
      for (int at = 0; at < 256; at++) {
        db.put(new byte[] {'k', (byte) at, 'e', 'n', 'd', 'e', 'n', 'd', 'e', 'n', 'd'}, new byte[100]);
      }
      db.flush(flush);
      for (int at = 0; at < 256; at++) {
        assertEquals(100, db.get(new byte[] {'k', (byte) at, 'e', 'n', 'd', 'e', 'n', 'd', 'e', 'n', 'd'}).length);
      }
      return db.getPropertiesOfAllTables().values().iterator().next().getIndexSize();
    }
  }

  @Test
  void separatorsOfAComparatorAreInTheIndex() throws Exception {
    for (final boolean isDirect : new boolean[] {true, false}) {
      try (ComparatorOptions settings = new ComparatorOptions().setUseDirectBuffer(isDirect);
           Recording plain = new Recording(settings, -1); BytewiseComparator shortening = new BytewiseComparator(settings)) {
        final long whole = indexSize(plain, "plain" + isDirect);
        assertTrue(plain.separators.get() > 50, plain.separators.get() + " separators");
        assertEquals(1, plain.successors.get(), "a file has one successor");
        final long shortened = indexSize(shortening, "short" + isDirect);
        assertTrue(shortened < whole, shortened + " bytes with separators, " + whole + " without");
      }
    }
  }

  @Test
  void aSeparatorThatIsNotBetweenItsKeysIsNotUsed() throws Exception {
    for (final int end : new int[] {0, 255}) {
      try (ComparatorOptions settings = new ComparatorOptions(); Recording wrong = new Recording(settings, end)) {
        assertTrue(indexSize(wrong, "wrong" + end) > 0);
      }
    }
  }
}
