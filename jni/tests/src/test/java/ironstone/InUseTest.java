// Objects that running calls use: a callback on the batch of its own write, and a catch-up while other threads read.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.rocksdb.AbstractComparator;
import org.rocksdb.ComparatorOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

class InUseTest extends InDirectory {
  @Test
  void aComparatorOnTheBatchOfItsOwnWriteThrows() throws Exception {
    try (WriteBatch batch = new WriteBatch(); WriteOptions write = new WriteOptions(); ComparatorOptions settings = new ComparatorOptions();
         AbstractComparator comparator = new AbstractComparator(settings) {
           @Override
           public String name() {
             return "counts";
           }

           @Override
           public int compare(final ByteBuffer a, final ByteBuffer b) {
             batch.count();
             return a.compareTo(b);
           }
         };
         Options options = new Options().setCreateIfMissing(true).setComparator(comparator);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      batch.put(b("a"), b("1"));
      batch.put(b("b"), b("2"));
      assertThrows(IllegalStateException.class, () -> db.write(write, batch));
      assertEquals(2, batch.count());
    }
  }

  @Test
  void aComparatorThatClosesTheBatchOfItsOwnWriteClosesIt() throws Exception {
    final WriteBatch batch = new WriteBatch();
    try (WriteOptions write = new WriteOptions(); ComparatorOptions settings = new ComparatorOptions();
         AbstractComparator comparator = new AbstractComparator(settings) {
           @Override
           public String name() {
             return "closes";
           }

           @Override
           public int compare(final ByteBuffer a, final ByteBuffer b) {
             batch.close();
             return a.compareTo(b);
           }
         };
         Options options = new Options().setCreateIfMissing(true).setComparator(comparator);
         RocksDB db = RocksDB.open(options, dir.toString())) {
      batch.put(b("a"), b("1"));
      batch.put(b("b"), b("2"));
      db.write(write, batch);
      assertArrayEquals(b("2"), db.get(b("b")));
      assertThrows(IllegalStateException.class, batch::count);
    }
  }

  @Test
  void aCatchUpEndsWhileOtherThreadsRead() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true).setMaxOpenFiles(-1);
         RocksDB db = RocksDB.open(options, dir.resolve("db").toString());
         RocksDB reader = RocksDB.openAsSecondary(options, dir.resolve("db").toString(), dir.resolve("log").toString())) {
      final AtomicBoolean isDone = new AtomicBoolean();
      final List<Thread> threads = new ArrayList<>();
      for (int at = 0; at < 8; at++) {
        threads.add(new Thread(() -> {
          while (!isDone.get()) {
            reader.getLatestSequenceNumber();
          }
        }));
      }
      threads.forEach(Thread::start);
      try {
        for (int at = 0; at < 20; at++) {
          db.put(b("k"), b("v" + at));
          db.flushWal(true);
          reader.tryCatchUpWithPrimary();
          assertArrayEquals(b("v" + at), reader.get(b("k")));
        }
      } finally {
        isDone.set(true);
        for (final Thread thread : threads) {
          thread.join();
        }
      }
    }
  }
}
