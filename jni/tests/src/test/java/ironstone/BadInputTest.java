// Classes of an unknown release, and files of a newer RocksDB: exceptions with a clear text.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

class BadInputTest extends InDirectory {
  @Test
  void classesOfAnUnknownReleaseEndTheLoadWithTheKnownReleases() throws Exception {
    final Map<String, String> classes = Map.of(
        "RocksDBException", "public class RocksDBException extends Exception {}",
        "BlockBasedTableConfig", "public class BlockBasedTableConfig { native long newTableFactoryHandle(long one); }",
        "RocksDB", "public class RocksDB { static native void enableFileDeletions(long db, int other);"
            + " public static void main(String[] none) { System.loadLibrary(\"rocksdbjni\"); } }");
    final List<String> arguments = new ArrayList<>(List.of("-d", dir.toString()));
    for (final var entry : classes.entrySet()) {
      final Path source = dir.resolve(entry.getKey() + ".java");
      Files.writeString(source, "package org.rocksdb; " + entry.getValue());
      arguments.add(source.toString());
    }
    final ByteArrayOutputStream said = new ByteArrayOutputStream();
    assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, said, said, arguments.toArray(String[]::new)), said::toString);
    final Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Djava.library.path=" + System.getProperty("java.library.path"), "-cp", dir.toString(), "org.rocksdb.RocksDB")
        .redirectErrorStream(true).start();
    final String text = new String(process.getInputStream().readAllBytes());
    assertEquals(1, process.waitFor(), text);
    assertTrue(text.contains("UnsatisfiedLinkError"), text);
    for (final String release : List.of("8.10.0-ververica-1.0", "9.8.4", "10.1.3", "11.8.1")) {
      assertTrue(text.contains(release), text);
    }
  }

  @Test
  void anSstFileOfANewerFormatIsAnExceptionThatNamesTheFile() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); FlushOptions flush = new FlushOptions()) {
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put("a".getBytes(), "1".getBytes());
        db.flush(flush);
      }
      final Path file;
      try (var files = Files.list(dir)) {
        file = files.filter(path -> path.toString().endsWith(".sst")).findFirst().orElseThrow();
      }
      // The footer ends with the format version (4 bytes) and the magic number (8 bytes).
      final byte[] bytes = Files.readAllBytes(file);
      bytes[bytes.length - 12] = 99;
      Files.write(file, bytes);
      final RocksDBException thrown = assertThrows(RocksDBException.class, () -> {
        try (RocksDB db = RocksDB.open(options, dir.toString())) {
          db.get("a".getBytes());
        }
      });
      assertTrue(thrown.getMessage().contains(file.getFileName().toString()), thrown.getMessage());
    }
  }

  @Test
  void nullArgumentsThrow() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString())) {
      assertThrows(NullPointerException.class, () -> db.put(null, new byte[1]));
      assertThrows(NullPointerException.class, () -> db.get((byte[]) null));
      assertThrows(NullPointerException.class, () -> db.delete((byte[]) null));
      assertThrows(IndexOutOfBoundsException.class, () -> db.put(new byte[1], 0, 2, new byte[1], 0, 1));
      assertThrows(IndexOutOfBoundsException.class, () -> db.get(new byte[1], -1, 1));
    }
  }
}
