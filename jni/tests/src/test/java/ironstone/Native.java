// Loads the library and proves that it is ours: the loader of the jar falls back to RocksDB's own library.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.rocksdb.RocksDB;

final class Native {
  private Native() {}

  static void load() throws IOException {
    RocksDB.loadLibrary();
    final String wanted = Path.of(System.getProperty("java.library.path")).toRealPath().toString();
    try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
      assertTrue(lines.anyMatch(line -> line.contains(wanted + "/librocksdbjni.so")), "the library of " + wanted);
    }
  }
}
