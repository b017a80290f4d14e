// Cycles of objects and of opens leave the memory of the process flat. `java.library.path` decides which native library runs.
//
// Arguments: an empty directory, the number of cycles of objects, and the number of opens. After each tenth, prints the anonymous memory
// of the process and the number of its files. The exit code is 1 if the second half of the cycles grows the memory.
package ironstone;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import org.rocksdb.FlushOptions;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.Snapshot;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

public final class Leak {
  private static final int STEPS = 10;
  /** Memory that the second half may add: pages that the JVM and the allocator use for the first time. */
  private static final long ALLOWED_KIB = 4 << 10;
  /** Bytes that a cycle of the second half may add. */
  private static final long ALLOWED_BYTES = 4;
  private static final byte[] KEY = "key".getBytes();

  private Leak() {}

  private interface Cycle {
    void run(int at) throws Exception;
  }

  private static long residentKib() throws Exception {
    try (var lines = Files.lines(Path.of("/proc/self/status"))) {
      return lines.filter(line -> line.startsWith("RssAnon")).mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", ""))).sum();
    }
  }

  private static int openFiles() {
    return new File("/proc/self/fd").list().length;
  }

  /** Runs the cycles. Returns true if the memory grew in the second half. */
  private static boolean grows(final String name, final int count, final Cycle cycle) throws Exception {
    long half = 0;
    long now = residentKib();
    System.out.printf("%-8s %9d cycles %8d KiB %5d files%n", name, 0, now, openFiles());
    for (int at = 1; at <= count; at++) {
      cycle.run(at);
      if (at % Math.max(1, count / STEPS) == 0 || at == count) {
        now = residentKib();
        System.out.printf("%-8s %9d cycles %8d KiB %5d files%n", name, at, now, openFiles());
      }
      if (at == count / 2) {
        half = residentKib();
      }
    }
    final long grown = now - half;
    final long allowed = ALLOWED_KIB + ALLOWED_BYTES * (count - count / 2) / 1024;
    System.out.printf("%s: the second half of the cycles added %d KiB; allowed are %d KiB%n", name, grown, allowed);
    return grown > allowed;
  }

  /** Makes, uses and closes the objects of a call. */
  private static void objects(final RocksDB db, final int at) throws Exception {
    try (Options options = new Options(); WriteOptions write = new WriteOptions(); ReadOptions untouched = new ReadOptions();
         ReadOptions read = new ReadOptions(); WriteBatch batch = new WriteBatch(); Slice bound = new Slice(KEY)) {
      batch.put(KEY, KEY);
      final Snapshot snapshot = db.getSnapshot();
      read.setSnapshot(snapshot).setIterateLowerBound(bound);
      try (RocksIterator iterator = db.newIterator(read)) {
        iterator.seekToFirst();
        if (!iterator.isValid()) throw new AssertionError("the key is missing");
      }
      db.get(untouched, KEY);
      db.releaseSnapshot(snapshot);
      if (at % 100 == 0) {
        db.write(write, batch);
      }
    }
  }

  /** Opens the database, writes, reads and closes. */
  private static void open(final String dir, final int at) throws Exception {
    try (Options options = new Options().setCreateIfMissing(true).setInfoLogLevel(InfoLogLevel.FATAL_LEVEL).setKeepLogFileNum(1);
         RocksDB db = RocksDB.open(options, dir);
         WriteOptions write = new WriteOptions(); WriteBatch batch = new WriteBatch(); ReadOptions read = new ReadOptions()) {
      db.put(KEY, KEY);
      batch.put(KEY, Integer.toString(at).getBytes());
      db.write(write, batch);
      final Snapshot snapshot = db.getSnapshot();
      read.setSnapshot(snapshot);
      try (RocksIterator iterator = db.newIterator(read)) {
        iterator.seekToFirst();
        if (!new String(iterator.value()).equals(Integer.toString(at))) throw new AssertionError("an older value");
      }
      db.releaseSnapshot(snapshot);
    }
  }

  public static void main(final String[] arguments) throws Exception {
    RocksDB.loadLibrary();
    final String dir = arguments[0];
    boolean grows = false;
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir + "/objects");
         FlushOptions flush = new FlushOptions()) {
      db.put(KEY, KEY);
      db.flush(flush);
      grows |= grows("objects", Integer.parseInt(arguments[1]), at -> objects(db, at));
    }
    grows |= grows("opens", Integer.parseInt(arguments[2]), at -> open(dir + "/opens", at));
    System.exit(grows ? 1 : 0);
  }
}
