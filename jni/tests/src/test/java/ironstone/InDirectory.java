// What each test class has: the library, a directory, and texts as bytes.
package ironstone;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

abstract class InDirectory {
  @TempDir Path dir;

  @BeforeAll
  static void load() throws Exception {
    Native.load();
  }

  static byte[] b(final String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
