/* The tiers of reads, and the default column family of options that no argument names: gets, pinned gets, reads of several keys and
 * iterators with each read tier, for entries in memtables, in SST files that are cached or not, with and without a WAL.
 *
 *   tiers DIRECTORY     prints the answers */
#include <rocksdb/c.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merge_all.h"

static char* error = NULL;
static char path[1024];
static rocksdb_writeoptions_t* write_options;
static rocksdb_flushoptions_t* flush_options;

static void answer(void) {
  printf(" %s", error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

static void put(rocksdb_t* db, const char* key, const char* value, int no_wal) {
  rocksdb_writeoptions_disable_WAL(write_options, no_wal);
  rocksdb_put(db, write_options, key, strlen(key), value, strlen(value), &error);
  if (error != NULL) answer();
}

static const char* const keys[] = {"file", "memtable", "unlogged", "both", "deleted", "merged", "never"};
enum { KEYS = sizeof keys / sizeof *keys };

static void read_all(rocksdb_t* db, rocksdb_column_family_handle_t* family, int tier) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_readoptions_set_read_tier(options, tier);
  printf("tier %d (%d)\n", tier, rocksdb_readoptions_get_read_tier(options));
  size_t lengths[KEYS], length;
  for (int at = 0; at < KEYS; at++) {
    lengths[at] = strlen(keys[at]);
    char* value = rocksdb_get(db, options, keys[at], lengths[at], &length, &error);
    printf("  get %s: %.*s", keys[at], value ? (int)length : 6, value ? value : "(none)");
    answer();
    rocksdb_free(value);
    rocksdb_pinnableslice_t* pinned = rocksdb_get_pinned_cf(db, options, family, keys[at], lengths[at], &error);
    const char* bytes = pinned ? rocksdb_pinnableslice_value(pinned, &length) : "(none)";
    printf(", pinned: %.*s", pinned ? (int)length : 6, bytes);
    answer();
    rocksdb_pinnableslice_destroy(pinned);
    unsigned char found = 7;
    char* known = NULL;
    size_t known_len = 0;
    int may = rocksdb_key_may_exist(db, options, keys[at], lengths[at], &known, &known_len, NULL, 0, &found);
    printf(", may exist %d %d\n", may, may ? found : 0);
    rocksdb_free(known);
  }
  char *values[KEYS], *errors[KEYS];
  size_t value_lengths[KEYS];
  rocksdb_multi_get(db, options, KEYS, keys, lengths, values, value_lengths, errors);
  printf("  multi");
  for (int at = 0; at < KEYS; at++) {
    printf(" %s:%.*s:%s", keys[at], values[at] ? (int)value_lengths[at] : 6, values[at] ? values[at] : "(none)",
           errors[at] ? errors[at] : "ok");
    rocksdb_free(values[at]), rocksdb_free(errors[at]);
  }
  printf("\n");
  rocksdb_pinnableslice_t* pinned[KEYS];
  rocksdb_batched_multi_get_cf(db, options, family, KEYS, keys, lengths, pinned, errors, 0);
  printf("  batched");
  for (int at = 0; at < KEYS; at++) {
    const char* bytes = pinned[at] ? rocksdb_pinnableslice_value(pinned[at], &length) : "(none)";
    printf(" %s:%.*s:%s", keys[at], pinned[at] ? (int)length : 6, bytes, errors[at] ? errors[at] : "ok");
    rocksdb_pinnableslice_destroy(pinned[at]), rocksdb_free(errors[at]);
  }
  printf("\n  iterator");
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, options);
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
    const char* key = rocksdb_iter_key(iterator, &length);
    printf(" %.*s", (int)length, key);
  }
  rocksdb_iter_get_error(iterator, &error);
  answer();
  rocksdb_iter_seek(iterator, "file", 4);
  printf(", seek %d", rocksdb_iter_valid(iterator));
  rocksdb_iter_get_error(iterator, &error);
  answer();
  printf("\n");
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_destroy(options);
}

static void destroyed(void* state) { (void)state; }
static char* merge_some(void* state, const char* key, size_t key_len, const char* const* operands, const size_t* lengths,
                        int count, unsigned char* success, size_t* new_len) {
  (void)state, (void)key, (void)key_len, (void)operands, (void)lengths, (void)count;
  *success = 0, *new_len = 0;
  return NULL;
}
static const char* name(void* state) {
  (void)state;
  return "Joined";
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  mkdir(argv[1], 0755);
  write_options = rocksdb_writeoptions_create();
  flush_options = rocksdb_flushoptions_create();
  for (int cached = 0; cached < 3; cached++) {
    rocksdb_options_t* options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_merge_operator(options,
                                       rocksdb_mergeoperator_create(NULL, destroyed, merge_all, merge_some, NULL, name));
    rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
    if (cached == 2) rocksdb_block_based_options_set_no_block_cache(table, 1);
    rocksdb_options_set_block_based_table_factory(options, table);
    snprintf(path, sizeof path, "%s/tiers", argv[1]);
    rocksdb_destroy_db(options, path, &error);
    rocksdb_free(error), error = NULL;
    rocksdb_t* db = rocksdb_open(options, path, &error);
    printf("== cached %d:", cached), answer(), printf("\n");
    rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
    put(db, "file", "f", 0);
    put(db, "both", "old", 0);
    put(db, "deleted", "old", 0);
    put(db, "merged", "old", 0);
    rocksdb_flush(db, flush_options, &error);
    if (cached == 1) {
      rocksdb_readoptions_t* all = rocksdb_readoptions_create();
      size_t length;
      rocksdb_free(rocksdb_get(db, all, "file", 4, &length, &error));
      rocksdb_readoptions_destroy(all);
    }
    put(db, "memtable", "m", 0);
    put(db, "both", "new", 0);
    rocksdb_delete(db, write_options, "deleted", 7, &error);
    rocksdb_merge(db, write_options, "merged", 6, "+", 1, &error);
    for (int logged = 1; logged >= 0; logged--) {
      if (!logged) put(db, "unlogged", "u", 1);
      for (int tier = 3; tier >= 0; tier--) {
        /* Without a block cache, reads of several keys of RocksDB read files also with the tier of the block cache. */
        if (cached != 2 || tier != 1) read_all(db, family, tier);
      }
    }
    rocksdb_column_family_handle_destroy(family);
    rocksdb_close(db);
    rocksdb_block_based_options_destroy(table);
    rocksdb_options_destroy(options);
  }
  rocksdb_writeoptions_destroy(write_options);
  rocksdb_flushoptions_destroy(flush_options);
  return 0;
}
