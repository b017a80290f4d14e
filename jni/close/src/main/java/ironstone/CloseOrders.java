// Programs that close objects in an order that RocksDB's documentation forbids. The argument is the name of a program. Without an
// argument, the names are printed.
package ironstone;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.Snapshot;
import org.rocksdb.Transaction;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteBatchWithIndex;
import org.rocksdb.WriteOptions;

public final class CloseOrders {
  private static final int THREADS = 8;

  private CloseOrders() {}

  private interface Program {
    void run(Options options, RocksDB db) throws Exception;
  }

  private static final Map<String, Program> PROGRAMS = new LinkedHashMap<>();

  static {
    PROGRAMS.put("iterator-after-database", (options, db) -> {
      final RocksIterator iterator = db.newIterator();
      iterator.seekToFirst();
      db.close();
      iterator.next();
      iterator.seekToFirst();
      iterator.value();
      iterator.close();
    });
    PROGRAMS.put("get-after-database", (options, db) -> {
      db.close();
      db.get("k1".getBytes());
    });
    PROGRAMS.put("put-after-database", (options, db) -> {
      db.close();
      for (int at = 0; at < 1000; at++) db.put(("k" + at).getBytes(), new byte[100]);
    });
    PROGRAMS.put("family-after-database", (options, db) -> {
      final ColumnFamilyHandle family = db.createColumnFamily(new ColumnFamilyDescriptor("f".getBytes()));
      db.close();
      family.getName();
      family.getDescriptor();
    });
    PROGRAMS.put("snapshot-after-database", (options, db) -> {
      final Snapshot snapshot = db.getSnapshot();
      db.close();
      reuseMemory();
      snapshot.getSequenceNumber();
      db.releaseSnapshot(snapshot);
    });
    PROGRAMS.put("closed-iterator", (options, db) -> {
      final RocksIterator iterator = db.newIterator();
      iterator.seekToFirst();
      iterator.close();
      reuseMemory();
      iterator.seekToFirst();
      iterator.key();
    });
    PROGRAMS.put("closed-batch", (options, db) -> {
      final WriteBatch batch = new WriteBatch();
      batch.put("a".getBytes(), "b".getBytes());
      batch.close();
      reuseMemory();
      try (WriteOptions write = new WriteOptions()) {
        for (int at = 0; at < 1000; at++) batch.put(new byte[100], new byte[100]);
        db.write(write, batch);
      }
    });
    PROGRAMS.put("closed-read-options", (options, db) -> {
      final ReadOptions read = new ReadOptions();
      try (Slice bound = new Slice("z")) {
        read.setIterateUpperBound(bound);
      }
      read.close();
      reuseMemory();
      for (int at = 0; at < 1000; at++) db.newIterator(read).seekToFirst();
    });
    PROGRAMS.put("closed-bound", (options, db) -> {
      final ReadOptions read = new ReadOptions();
      final Slice bound = new Slice("k5");
      read.setIterateUpperBound(bound);
      bound.close();
      reuseMemory();
      try (RocksIterator iterator = db.newIterator(read)) {
        int count = 0;
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) count++;
        if (count != 45) throw new IllegalStateException("the bound is wrong: " + count + " entries instead of 45");
      }
    });
    PROGRAMS.put("transaction-after-database", (options, db) -> {
      try (TransactionDBOptions locking = new TransactionDBOptions(); WriteOptions write = new WriteOptions()) {
        final TransactionDB other = TransactionDB.open(options, locking, db.getName() + "-locking");
        final Transaction transaction = other.beginTransaction(write);
        transaction.put("a".getBytes(), "b".getBytes());
        other.close();
        reuseMemory();
        transaction.commit();
      }
    });
    PROGRAMS.put("batch-with-index-after-database", (options, db) -> {
      final WriteBatchWithIndex batch = new WriteBatchWithIndex();
      batch.put("a".getBytes(), "b".getBytes());
      final RocksIterator iterator = batch.newIteratorWithBase(db.newIterator());
      iterator.seekToFirst();
      db.close();
      batch.close();
      reuseMemory();
      iterator.next();
      iterator.seekToFirst();
      iterator.key();
    });
    PROGRAMS.put("options-of-a-closed-cache", (options, db) -> {
      final LRUCache cache = new LRUCache(1 << 20);
      cache.close();
      cache.getUsage();
      cache.getPinnedUsage();
    });
    PROGRAMS.put("threads-against-a-close", (options, db) -> {
      final List<Thread> threads = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        threads.add(new Thread(() -> {
          try (RocksIterator iterator = db.newIterator()) {
            for (int at = 0; at < 100_000; at++) {
              iterator.seek(("k" + at % 100).getBytes());
              db.put(("k" + at % 100).getBytes(), new byte[100]);
            }
          } catch (final Exception expected) {
            // Another thread closed the database.
          }
        }));
      }
      threads.forEach(Thread::start);
      while (db.getLatestSequenceNumber() < 1000) Thread.onSpinWait();
      db.close();
      for (final Thread thread : threads) thread.join();
    });
  }

  /** Allocates and frees native memory, so that freed memory has other content. */
  private static void reuseMemory() {
    for (int at = 0; at < 1000; at++) {
      try (WriteBatch batch = new WriteBatch(64 + at); Slice slice = new Slice(new byte[16 + at % 200]);
           ReadOptions read = new ReadOptions()) {
        slice.size();
      }
    }
  }

  public static void main(final String[] arguments) throws Exception {
    if (arguments.length == 0) {
      PROGRAMS.keySet().forEach(System.out::println);
      return;
    }
    RocksDB.loadLibrary();
    final Path dir = Files.createTempDirectory("close-orders");
    final Options options = new Options().setCreateIfMissing(true);
    final RocksDB db = RocksDB.open(options, dir.resolve("db").toString());
    for (int at = 0; at < 100; at++) {
      db.put(("k" + at).getBytes(), ("v" + at).getBytes());
    }
    try {
      PROGRAMS.get(arguments[0]).run(options, db);
      System.out.println("no exception");
    } catch (final Exception thrown) {
      System.out.println(thrown.getClass().getSimpleName());
    }
  }
}
