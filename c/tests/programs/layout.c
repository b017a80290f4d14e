/* The numbers of files, and the levels on which SST files lie: after opens, recoveries, flushes, compactions and moves.
 *
 *   layout DIRECTORY     prints the numbers and the levels */
#include <rocksdb/c.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merge_all.h"

static char* error = NULL;
static char path[1024];
static rocksdb_writeoptions_t* write_options;
static rocksdb_flushoptions_t* flush_options;

static void no_state(void* state) { (void)state; }

static const char* merge_name(void* state) {
  (void)state;
  return "all";
}

static char* merge_some(void* state, const char* key, size_t key_len, const char* const* operands,
                        const size_t* lengths, int count, unsigned char* success, size_t* new_len) {
  (void)state, (void)key, (void)key_len, (void)operands, (void)lengths, (void)count;
  *success = 0, *new_len = 0;
  return NULL;
}

static void check(const char* what) {
  if (error != NULL) printf("%s: %s\n", what, error);
  rocksdb_free(error);
  error = NULL;
}

/* Prints the newest file of each kind. Older files may be deleted already or not. */
static void newest(const char* when) {
  char wal[256] = "", options[256] = "", manifest[256] = "";
  DIR* directory = opendir(path);
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    const char *name = entry->d_name, *dot = strrchr(name, '.');
    char* newest = dot && strcmp(dot, ".log") == 0            ? wal
                   : strncmp(name, "OPTIONS-", 8) == 0 && !dot ? options
                   : strncmp(name, "MANIFEST-", 9) == 0        ? manifest
                                                               : NULL;
    if (newest && strcmp(name, newest) > 0) strcpy(newest, name);
  }
  closedir(directory);
  printf("%s: %s %s %s\n", when, wal, manifest, options);
}

static void tables(rocksdb_t* db) {
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  printf("  tables");
  for (int at = 0; at < rocksdb_livefiles_count(files); at++)
    printf(" %s@%d", rocksdb_livefiles_name(files, at), rocksdb_livefiles_level(files, at));
  printf("\n");
  rocksdb_livefiles_destroy(files);
}

static void levels(rocksdb_t* db) {
  printf("  levels");
  for (int level = 0; level < 7; level++) {
    char property[64];
    snprintf(property, sizeof property, "rocksdb.num-files-at-level%d", level);
    char* value = rocksdb_property_value(db, property);
    printf(" %s", value);
    rocksdb_free(value);
  }
  printf("\n");
}

static rocksdb_options_t* options(const char* text) {
  rocksdb_options_t *defaults = rocksdb_options_create(), *made = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(defaults, 1);
  rocksdb_get_options_from_string(defaults, text, made, &error);
  check("options");
  rocksdb_options_destroy(defaults);
  return made;
}

static rocksdb_t* reopen(rocksdb_options_t* options, const char* when) {
  rocksdb_t* db = rocksdb_open(options, path, &error);
  check("open");
  newest(when);
  return db;
}

/* Begins a part in a new database: the program runs several times on one directory. */
static void begin(const char* root, const char* name) {
  snprintf(path, sizeof path, "%s/%s", root, name);
  rocksdb_options_t* defaults = rocksdb_options_create();
  rocksdb_destroy_db(defaults, path, &error);
  check("destroy");
  rocksdb_options_destroy(defaults);
  printf("%s\n", name);
}

static void put(rocksdb_t* db, const char* key, const char* value) {
  rocksdb_put(db, write_options, key, strlen(key), value, strlen(value), &error);
  check("put");
}

static void flush(rocksdb_t* db) {
  rocksdb_flush(db, flush_options, &error);
  check("flush");
}

static void numbers(const char* root) {
  begin(root, "numbers");
  rocksdb_options_t* plain = options("disable_auto_compactions=true");
  rocksdb_t* db = reopen(plain, "new");
  put(db, "a", "1"), flush(db);
  newest("flush");
  put(db, "b", "1"), flush(db), tables(db);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  tables(db);
  rocksdb_column_family_handle_t* family = rocksdb_create_column_family(db, plain, "cf", &error);
  check("family");
  newest("family");
  rocksdb_put_cf(db, write_options, family, "a", 1, "1", 1, &error);
  rocksdb_flush_cf(db, flush_options, family, &error);
  newest("flush of the family");
  rocksdb_drop_column_family(db, family, &error);
  rocksdb_column_family_handle_destroy(family);
  newest("drop of the family");
  const char *names[] = {"write_buffer_size"}, *values[] = {"1000000"};
  rocksdb_set_options(db, 1, names, values, &error);
  newest("options");
  rocksdb_close(db);
  db = reopen(plain, "opened again"), rocksdb_close(db);
  db = reopen(plain, "opened a third time");
  put(db, "c", "1"), put(db, "d", "1");
  rocksdb_close(db);
  db = reopen(plain, "after a recovery"), tables(db);
  put(db, "e", "1");
  rocksdb_close(db);
  rocksdb_options_t* keeps = options("avoid_flush_during_recovery=true");
  db = reopen(keeps, "after a recovery that keeps the WAL"), tables(db);
  rocksdb_close(db);
  db = rocksdb_open_for_read_only(plain, path, 0, &error);
  check("read only");
  newest("read only"), tables(db);
  rocksdb_close(db);
  db = reopen(plain, "after a reader"), tables(db);
  rocksdb_close(db);
  rocksdb_options_destroy(keeps), rocksdb_options_destroy(plain);
}

static void blobs(const char* root) {
  begin(root, "blobs");
  rocksdb_options_t* plain = options("enable_blob_files=true;min_blob_size=0;disable_auto_compactions=true");
  rocksdb_t* db = reopen(plain, "new");
  put(db, "a", "1"), flush(db), tables(db);
  newest("flush");
  char* list = rocksdb_property_value(db, "rocksdb.sstables");
  for (char* line = strtok(list, "\n"); line != NULL; line = strtok(NULL, "\n"))
    if (strstr(line, "blob") && !strstr(line, "version#")) printf("  %s\n", line);
  rocksdb_free(list);
  put(db, "b", "1");
  rocksdb_close(db);
  db = reopen(plain, "after a recovery"), tables(db);
  rocksdb_close(db);
  rocksdb_options_destroy(plain);
}

/* Prints the levels of the default column family, each with its number of files. */
static void described(const char* which, rocksdb_column_family_metadata_t* metadata) {
  printf("  %s:", which);
  for (size_t at = 0; at < rocksdb_column_family_metadata_get_level_count(metadata); at++) {
    rocksdb_level_metadata_t* level = rocksdb_column_family_metadata_get_level_metadata(metadata, at);
    printf(" L%d=%d", rocksdb_level_metadata_get_level(level), (int)rocksdb_level_metadata_get_file_count(level));
    rocksdb_level_metadata_destroy(level);
  }
  printf("\n");
  rocksdb_column_family_metadata_destroy(metadata);
}

/* Files of level 0 that share user keys, but no internal keys, move to the next level unchanged. */
static void moves(const char* root) {
  begin(root, "moves");
  rocksdb_options_t* plain = options("disable_auto_compactions=true");
  rocksdb_mergeoperator_t* merge = rocksdb_mergeoperator_create(NULL, no_state, merge_all, merge_some, NULL, merge_name);
  rocksdb_options_set_merge_operator(plain, merge);
  rocksdb_t* db = reopen(plain, "new");
  for (int round = 0; round < 3; round++) put(db, "a", "1"), flush(db);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  tables(db);
  size_t length;
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  put(db, "a", "newest"), flush(db);
  rocksdb_merge(db, write_options, "a", 1, "+", 1, &error), flush(db);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  tables(db);
  char* value = rocksdb_get(db, read, "a", 1, &length, &error);
  printf("  a=%.*s\n", (int)length, value);
  rocksdb_free(value);
  put(db, "b", "1"), put(db, "z", "1"), flush(db);
  put(db, "z", "2"), flush(db);
  rocksdb_compact_range(db, "b", 1, NULL, 0);
  tables(db);
  put(db, "n", "1"), flush(db);
  rocksdb_column_family_metadata_options_t* selected = rocksdb_column_family_metadata_options_create();
  described("all levels", rocksdb_get_column_family_metadata(db));
  described("levels with files", rocksdb_get_column_family_metadata_with_options(db, selected));
  rocksdb_column_family_metadata_options_set_start_key(selected, "y", 1);
  described("levels from y on", rocksdb_get_column_family_metadata_with_options(db, selected));
  rocksdb_column_family_metadata_options_set_level(selected, 3);
  described("level 3", rocksdb_get_column_family_metadata_with_options(db, selected));
  rocksdb_column_family_metadata_options_destroy(selected);
  rocksdb_readoptions_destroy(read);
  rocksdb_close(db);
  rocksdb_options_destroy(plain);
}

/* A range tombstone counts as the data that it deletes, so it attracts compactions. */
static void ranges(const char* root, const char* name, const char* text) {
  begin(root, name);
  rocksdb_options_t* made = options(text);
  rocksdb_wait_for_compact_options_t* wait = rocksdb_wait_for_compact_options_create();
  rocksdb_t* db = reopen(made, "new");
  unsigned seed = 7;
  for (int round = 0; round < 24; round++) {
    char key[16], end[16], value[128];
    memset(value, 'v', sizeof value);
    for (int at = 0; at < 60; at++) {
      seed = seed * 1103515245 + 12345;
      snprintf(key, sizeof key, "k%05u", seed / 65536 % 600);
      rocksdb_put(db, write_options, key, strlen(key), value, sizeof value, &error);
    }
    if (round % 4 == 3) {
      seed = seed * 1103515245 + 12345;
      unsigned from = seed / 65536 % 400;
      snprintf(key, sizeof key, "k%05u", from), snprintf(end, sizeof end, "k%05u", from + 120);
      rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
      rocksdb_delete_range_cf(db, write_options, family, key, strlen(key), end, strlen(end), &error);
      rocksdb_column_family_handle_destroy(family);
      check("delete range");
    }
    flush(db);
    rocksdb_wait_for_compact(db, wait, &error);
    check("wait");
    levels(db);
  }
  rocksdb_close(db);
  rocksdb_wait_for_compact_options_destroy(wait);
  rocksdb_options_destroy(made);
}

/* The limit of all WALs has no effect while the database has one column family. */
static void wals(const char* root) {
  begin(root, "wals");
  rocksdb_options_t* made = options("max_total_wal_size=2000;disable_auto_compactions=true");
  rocksdb_t* db = reopen(made, "new");
  for (int round = 0; round < 100; round++) put(db, "key", "a value of a hundred bytes");
  levels(db);
  rocksdb_column_family_handle_t* family = rocksdb_create_column_family(db, made, "cf", &error);
  put(db, "key", "value"), put(db, "key", "value");
  flush(db), levels(db);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(made);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  mkdir(argv[1], 0755);
  write_options = rocksdb_writeoptions_create();
  flush_options = rocksdb_flushoptions_create();
  numbers(argv[1]);
  blobs(argv[1]);
  moves(argv[1]);
  ranges(argv[1], "leveled",
         "level0_file_num_compaction_trigger=3;target_file_size_base=5000;max_bytes_for_level_base=20000;"
         "max_bytes_for_level_multiplier=3;compression=kNoCompression");
  ranges(argv[1], "universal",
         "compaction_style=kCompactionStyleUniversal;level0_file_num_compaction_trigger=3;compression=kNoCompression");
  wals(argv[1]);
  rocksdb_writeoptions_destroy(write_options), rocksdb_flushoptions_destroy(flush_options);
  return 0;
}
