/* The speed of checkpoints and of catch-ups of a secondary instance. `c/bench/run.sh` links this program to two libraries, runs
 * it in turn, and prints ratios.
 *
 *   copies DIRECTORY FILES    prints one line for each call: name, nanoseconds for each call
 *
 * The database has about FILES SST files in its last level. Each figure is the fastest call. */
#include <rocksdb/c.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY 16
#define VALUE 1000
#define FILE_BYTES (64 << 10)
#define ROUNDS 20

static char* error = NULL;
static rocksdb_writeoptions_t* write_options;
static rocksdb_flushoptions_t* flush_options;

static void check(const char* what) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", what, error);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void put(rocksdb_t* db, uint64_t number, char fill) {
  char key[KEY + 1], value[VALUE];
  snprintf(key, sizeof key, "%016llu", (unsigned long long)number);
  memset(value, fill, VALUE);
  rocksdb_put(db, write_options, key, KEY, value, VALUE, &error);
  check("put");
}

static rocksdb_t* fill(const rocksdb_options_t* options, const char* path, uint64_t keys) {
  rocksdb_t* db = rocksdb_open(options, path, &error);
  check("open");
  for (uint64_t at = 0; at < keys; at++) put(db, at, 'a' + (char)(at % 26));
  rocksdb_flush(db, flush_options, &error);
  check("flush");
  rocksdb_compactoptions_t* compact = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_bottommost_level_compaction(compact, 2);
  rocksdb_compact_range_opt(db, compact, NULL, 0, NULL, 0);
  rocksdb_compactoptions_destroy(compact);
  char* files = rocksdb_property_value(db, "rocksdb.num-files-at-level6");
  fprintf(stderr, "%s files in the last level\n", files ? files : "?");
  rocksdb_free(files);
  return db;
}

static double checkpoint(rocksdb_t* db, const char* path, int at) {
  char to[1024];
  snprintf(to, sizeof to, "%s.checkpoint%d", path, at);
  rocksdb_checkpoint_t* checkpoint = rocksdb_checkpoint_object_create(db, &error);
  check("checkpoint object");
  double start = now();
  rocksdb_checkpoint_create(checkpoint, to, 0, &error);
  double took = now() - start;
  check("checkpoint");
  rocksdb_checkpoint_object_destroy(checkpoint);
  return took;
}

static double catch_up(rocksdb_t* secondary) {
  double start = now();
  rocksdb_try_catch_up_with_primary(secondary, &error);
  double took = now() - start;
  check("catch-up");
  return took;
}

static double least(double a, double b) { return a == 0 || b < a ? b : a; }

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  uint64_t files = strtoull(argv[2], NULL, 10), keys = files * (FILE_BYTES / VALUE);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_options_set_target_file_size_base(options, FILE_BYTES);
  rocksdb_options_set_max_open_files(options, -1);
  rocksdb_options_set_level0_file_num_compaction_trigger(options, 1000);
  rocksdb_options_set_level0_slowdown_writes_trigger(options, 2000);
  rocksdb_options_set_level0_stop_writes_trigger(options, 2000);
  write_options = rocksdb_writeoptions_create();
  flush_options = rocksdb_flushoptions_create();
  rocksdb_t* db = fill(options, argv[1], keys);

  double best = 0;
  for (int at = 0; at < 5; at++) best = least(best, checkpoint(db, argv[1], at));
  printf("checkpoint %.0f\n", best);

  char path[1024];
  snprintf(path, sizeof path, "%s.secondary", argv[1]);
  double start = now();
  rocksdb_t* secondary = rocksdb_open_as_secondary(options, argv[1], path, &error);
  check("open as secondary");
  printf("secondary_open %.0f\n", now() - start);
  double idle = 0, wal = 0, flushed = 0;
  for (int at = 0; at < ROUNDS; at++) {
    idle = least(idle, catch_up(secondary));
    for (uint64_t n = 0; n < 10; n++) put(db, (uint64_t)at * 7 + n, 'x');
    wal = least(wal, catch_up(secondary));
    rocksdb_flush(db, flush_options, &error);
    check("flush");
    flushed = least(flushed, catch_up(secondary));
  }
  printf("catch_up_idle %.0f\ncatch_up_10_puts %.0f\ncatch_up_new_file %.0f\n", idle, wal, flushed);
  rocksdb_close(secondary);
  rocksdb_close(db);
  return 0;
}
