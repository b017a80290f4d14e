/* The speed of calls of the C API. `c/bench/run.sh` links this program to two libraries, runs it in turn, and prints ratios.
 *
 *   calls DIRECTORY COUNT     prints one line for each call: name, nanoseconds for each operation
 *
 * A batch of 100 counts as 100 operations, a multi_get of 32 keys as 32 operations. */
#include <rocksdb/c.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY 16
#define VALUE 100
#define BATCH 100
#define KEYS 32

static char* error = NULL;
static uint64_t seed;

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

static uint64_t next(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}

static void set_key(char* key, uint64_t number) {
  for (int at = KEY - 1; at >= 0; at--) {
    key[at] = (char)('0' + number % 10);
    number /= 10;
  }
}

static void report(const char* name, double start, uint64_t operations) {
  printf("%s %.1f\n", name, (now() - start) / (double)operations);
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  uint64_t count = strtoull(argv[2], NULL, 10), sum = 0;
  char key[KEY], value[VALUE];
  memset(value, 'v', VALUE);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru(256 << 20));
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom(10));
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_t* db = rocksdb_open(options, argv[1], &error);
  check("open");
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();

  seed = 88172645463325252u;
  double start = now();
  for (uint64_t at = 0; at < count; at++) {
    set_key(key, next() % count);
    rocksdb_put(db, write, key, KEY, value, VALUE, &error);
  }
  check("put");
  report("put", start, count);

  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  start = now();
  for (uint64_t at = 0; at < count; at += BATCH) {
    rocksdb_writebatch_clear(batch);
    for (int i = 0; i < BATCH; i++) {
      set_key(key, next() % count);
      rocksdb_writebatch_put(batch, key, KEY, value, VALUE);
    }
    rocksdb_write(db, write, batch, &error);
  }
  check("write");
  report("batch_of_100", start, count);

  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, read);
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
    size_t length;
    sum += (uint64_t)rocksdb_iter_key(iterator, &length)[0];
  }

  start = now();
  for (uint64_t at = 0; at < count; at++) {
    size_t length = 0;
    set_key(key, next() % count);
    char* found = rocksdb_get(db, read, key, KEY, &length, &error);
    sum += length;
    free(found);
  }
  check("get");
  report("get", start, count);

  start = now();
  for (uint64_t at = 0; at < count; at++) {
    set_key(key, next() % count);
    rocksdb_pinnableslice_t* found = rocksdb_get_pinned(db, read, key, KEY, &error);
    size_t length = 0;
    if (found != NULL) {
      sum += (uint64_t)rocksdb_pinnableslice_value(found, &length)[0];
      rocksdb_pinnableslice_destroy(found);
    }
  }
  check("get_pinned");
  report("get_pinned", start, count);

  static char keys[KEYS][KEY];
  const char* key_list[KEYS];
  char *values[KEYS], *errors[KEYS];
  size_t sizes[KEYS], value_sizes[KEYS];
  start = now();
  for (uint64_t at = 0; at < count; at += KEYS) {
    for (int i = 0; i < KEYS; i++) {
      set_key(keys[i], next() % count);
      key_list[i] = keys[i];
      sizes[i] = KEY;
    }
    rocksdb_multi_get(db, read, KEYS, key_list, sizes, values, value_sizes, errors);
    for (int i = 0; i < KEYS; i++) {
      sum += value_sizes[i];
      free(values[i]);
      free(errors[i]);
    }
  }
  report("multi_get_of_32", start, count);

  uint64_t entries = 0;
  start = now();
  for (int round = 0; round < 5; round++) {
    for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
      size_t length;
      sum += (uint64_t)rocksdb_iter_key(iterator, &length)[0];
      sum += (uint64_t)rocksdb_iter_value(iterator, &length)[0];
      entries++;
    }
  }
  report("next", start, entries);

  start = now();
  for (uint64_t at = 0; at < count; at++) {
    set_key(key, next() % count);
    rocksdb_iter_seek(iterator, key, KEY);
    sum += rocksdb_iter_valid(iterator);
  }
  report("seek", start, count);

  start = now();
  for (uint64_t at = 0; at < count; at++) {
    const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
    rocksdb_release_snapshot(db, snapshot);
  }
  report("snapshot", start, count);

  /* One range tombstone in a newer SST file deletes the first half of the keys. */
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  char end[KEY];
  set_key(key, 0);
  set_key(end, count / 2);
  rocksdb_delete_range_cf(db, write, family, key, KEY, end, KEY, &error);
  check("delete_range");
  rocksdb_flush(db, flush, &error);
  check("flush");
  start = now();
  for (uint64_t at = 0; at < count; at++) {
    size_t length = 0;
    set_key(key, next() % (count / 2));
    char* found = rocksdb_get(db, read, key, KEY, &length, &error);
    sum += found != NULL;
    free(found);
  }
  check("get under a range tombstone");
  report("get_under_tombstone", start, count);
  fprintf(stderr, "%llu\n", (unsigned long long)sum);

  rocksdb_iter_destroy(iterator);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_writebatch_destroy(batch);
  rocksdb_writeoptions_destroy(write);
  rocksdb_readoptions_destroy(read);
  rocksdb_close(db);
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_destroy(options);
  return 0;
}
