// Measures the calls of rocksdbjni that stores make. `java.library.path` decides which native library is measured.
//
// Arguments: an empty directory, the number of keys, and a pattern of the rows (default: all rows). Prints one line for each row: name, nanoseconds for each operation.
// Each row is the best of some batches, so that other work on the machine disturbs the result less.
package ironstone;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.Snapshot;
import org.rocksdb.StringAppendOperator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

public final class Bench {
  private static final int BATCHES = 12;
  private static String wanted = ".*";
  private final int keys;
  private final byte[] value;
  private final RocksDB db;
  private final Random random = new Random(7);

  private interface Body {
    /** Runs some operations and returns their number. */
    int run() throws Exception;
  }

  private Bench(final RocksDB db, final int keys, final int valueLength) {
    this.db = db;
    this.keys = keys;
    value = new byte[valueLength];
    random.nextBytes(value);
  }

  private static byte[] key(final int number) {
    final byte[] key = new byte[16];
    ByteBuffer.wrap(key).putLong(8, number);
    return key;
  }

  private void row(final String name, final Body body) throws Exception {
    if (!name.matches(wanted)) {
      return;
    }
    double best = Double.MAX_VALUE;
    for (int batch = 0; batch < BATCHES; batch++) {
      final long start = System.nanoTime();
      final int operations = body.run();
      best = Math.min(best, (System.nanoTime() - start) / (double) operations);
    }
    System.out.printf("%s-%d %.1f%n", name, value.length, best);
  }

  private void reads() throws Exception {
    final int batch = keys / 4;
    try (ReadOptions options = new ReadOptions()) {
      final byte[] place = new byte[value.length];
      row("get-array", () -> {
        for (int at = 0; at < batch; at++) {
          if (db.get(options, key(random.nextInt(keys)), place) != value.length) throw new AssertionError();
        }
        return batch;
      });
      row("get-new", () -> {
        for (int at = 0; at < batch; at++) {
          if (db.get(options, key(random.nextInt(keys))).length != value.length) throw new AssertionError();
        }
        return batch;
      });
      final ByteBuffer directKey = ByteBuffer.allocateDirect(16);
      final ByteBuffer direct = ByteBuffer.allocateDirect(value.length);
      row("get-direct", () -> {
        for (int at = 0; at < batch; at++) {
          directKey.clear();
          directKey.putLong(8, random.nextInt(keys));
          direct.clear();
          if (db.get(options, directKey, direct) != value.length) throw new AssertionError();
        }
        return batch;
      });
      final byte[] none = new byte[17];
      row("get-absent", () -> {
        for (int at = 0; at < batch; at++) {
          ByteBuffer.wrap(none).putLong(8, random.nextInt(keys));
          if (db.get(options, none, place) != RocksDB.NOT_FOUND) throw new AssertionError();
        }
        return batch;
      });
      row("multiget-32", () -> {
        for (int at = 0; at < batch; at += 32) {
          final List<byte[]> many = new ArrayList<>(32);
          for (int each = 0; each < 32; each++) many.add(key(random.nextInt(keys)));
          if (db.multiGetAsList(options, many).size() != 32) throw new AssertionError();
        }
        return batch;
      });
      row("iterate", () -> {
        int count = 0;
        try (RocksIterator iterator = db.newIterator(options)) {
          for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
            count += iterator.key().length + iterator.value().length > 0 ? 1 : 0;
          }
        }
        if (count < keys) throw new AssertionError();
        return count;
      });
      row("iterate-direct", () -> {
        int count = 0;
        try (RocksIterator iterator = db.newIterator(options)) {
          for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
            directKey.clear();
            direct.clear();
            count += iterator.key(directKey) + iterator.value(direct) > 0 ? 1 : 0;
          }
        }
        return count;
      });
      row("seek", () -> {
        try (RocksIterator iterator = db.newIterator(options)) {
          for (int at = 0; at < batch; at++) {
            iterator.seek(key(random.nextInt(keys)));
            if (!iterator.isValid()) throw new AssertionError();
          }
        }
        return batch;
      });
      row("iterator-new", () -> {
        for (int at = 0; at < batch; at++) db.newIterator(options).close();
        return batch;
      });
      row("snapshot", () -> {
        for (int at = 0; at < batch; at++) {
          try (Snapshot snapshot = db.getSnapshot()) {
            db.releaseSnapshot(snapshot);
          }
        }
        return batch;
      });
    }
  }

  private void writes() throws Exception {
    final int batch = Math.min(keys / 4, 400 * (1 << 20) / BATCHES / (value.length + 100) / 4);
    try (WriteOptions options = new WriteOptions()) {
      row("put", () -> {
        for (int at = 0; at < batch; at++) db.put(options, key(random.nextInt(keys)), value);
        return batch;
      });
      final ByteBuffer directKey = ByteBuffer.allocateDirect(16);
      final ByteBuffer direct = ByteBuffer.allocateDirect(value.length);
      row("put-direct", () -> {
        for (int at = 0; at < batch; at++) {
          directKey.clear();
          directKey.putLong(8, random.nextInt(keys));
          direct.clear();
          db.put(options, directKey, direct);
        }
        return batch;
      });
      row("batch-100", () -> {
        for (int at = 0; at < batch; at += 100) {
          try (WriteBatch many = new WriteBatch()) {
            for (int each = 0; each < 100; each++) many.put(key(random.nextInt(keys)), value);
            db.write(options, many);
          }
        }
        return batch;
      });
      row("merge", () -> {
        for (int at = 0; at < batch; at++) db.merge(options, key(keys + random.nextInt(keys)), value);
        return batch;
      });
      row("delete", () -> {
        for (int at = 0; at < batch; at++) db.delete(options, key(3 * keys + at));
        return batch;
      });
    }
  }

  private static void measure(final String dir, final int keys, final int valueLength) throws Exception {
    try (StringAppendOperator append = new StringAppendOperator(',');
         Options options = new Options().setCreateIfMissing(true).setMergeOperator(append);
         RocksDB db = RocksDB.open(options, Path.of(dir, "v" + valueLength).toString());
         FlushOptions flush = new FlushOptions()) {
      final Bench bench = new Bench(db, keys, valueLength);
      try (WriteBatch batch = new WriteBatch(); WriteOptions write = new WriteOptions()) {
        for (int at = 0; at < keys; at++) {
          batch.put(key(at), bench.value);
          if (at % 1000 == 999) {
            db.write(write, batch);
            batch.clear();
          }
        }
        db.write(write, batch);
      }
      db.flush(flush);
      db.compactRange();
      bench.reads();
      bench.writes();
    }
  }

  public static void main(final String[] arguments) throws Exception {
    if (arguments.length > 2) {
      wanted = arguments[2];
    }
    final long start = System.nanoTime();
    RocksDB.loadLibrary();
    System.out.printf("load %.1f%n", (System.nanoTime() - start) / 1.0);
    measure(arguments[0], Integer.parseInt(arguments[1]), 8);
    measure(arguments[0], Integer.parseInt(arguments[1]) / 4, 1024);
  }
}
