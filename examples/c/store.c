/* A small store in C: column families, a batch, an iterator, a snapshot and a merge operator.
 *
 *   cc store.c -I PREFIX/include -L PREFIX/lib -lrocksdb -o store && ./store DIRECTORY
 *
 * The same program runs on Ironstone's and on RocksDB's librocksdb.so. */
#include <rocksdb/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(char* error, const char* what) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", what, error);
  rocksdb_free(error);
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: store DIRECTORY\n");
    return 2;
  }
  char* error = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);

  const char* names[2] = {"default", "stock"};
  const rocksdb_options_t* each[2] = {options, options};
  rocksdb_column_family_handle_t* families[2];
  rocksdb_t* db = rocksdb_open_column_families(options, argv[1], 2, names, each, families, &error);
  check(error, "open");

  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  for (int article = 0; article < 100; article++) {
    char key[16], name[32], count[16];
    snprintf(key, sizeof key, "article-%03d", article);
    snprintf(name, sizeof name, "the article %d", article);
    snprintf(count, sizeof count, "%d", article * 7 % 13);
    rocksdb_writebatch_put_cf(batch, families[0], key, strlen(key), name, strlen(name));
    rocksdb_writebatch_put_cf(batch, families[1], key, strlen(key), count, strlen(count));
  }
  rocksdb_write(db, write, batch, &error);
  check(error, "write");

  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  rocksdb_put_cf(db, write, families[1], "article-007", 11, "sold out", 8, &error);
  check(error, "put");

  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush_cfs(db, flush, families, 2, &error);
  check(error, "flush");

  rocksdb_readoptions_set_snapshot(read, snapshot);
  size_t length = 0;
  char* before = rocksdb_get_cf(db, read, families[1], "article-007", 11, &length, &error);
  check(error, "get");
  printf("before: %.*s\n", (int)length, before);
  rocksdb_free(before);
  rocksdb_readoptions_set_snapshot(read, NULL);
  char* after = rocksdb_get_cf(db, read, families[1], "article-007", 11, &length, &error);
  check(error, "get");
  printf("after: %.*s\n", (int)length, after);
  rocksdb_free(after);

  int found = 0;
  rocksdb_iterator_t* iterator = rocksdb_create_iterator_cf(db, read, families[0]);
  for (rocksdb_iter_seek(iterator, "article-05", 10); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
    found++;
  }
  rocksdb_iter_get_error(iterator, &error);
  check(error, "iterate");
  printf("found: %d\n", found);

  rocksdb_iter_destroy(iterator);
  rocksdb_release_snapshot(db, snapshot);
  rocksdb_writebatch_destroy(batch);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_readoptions_destroy(read);
  rocksdb_writeoptions_destroy(write);
  rocksdb_column_family_handle_destroy(families[0]);
  rocksdb_column_family_handle_destroy(families[1]);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return 0;
}
