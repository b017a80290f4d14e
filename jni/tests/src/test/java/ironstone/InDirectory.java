// The base of each test class: loads the library, makes a directory, and converts texts to bytes.
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
