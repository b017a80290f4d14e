/* Counts the allocations of calls of the C API on a warm database. A call allocates what the caller frees. A read that
 * reaches an SST file also allocates its seek key.
 *
 *   allocations DIRECTORY     prints the allocations of one call, for each kind of call */
#include <rocksdb/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 1000
#define KEYS 32

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* block, size_t size);
extern void* __libc_memalign(size_t align, size_t size);

/* The allocations of this thread, by every library of the process. */
static __thread long allocations;

void* malloc(size_t size) {
  allocations++;
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  allocations++;
  return __libc_calloc(count, size);
}

void* realloc(void* block, size_t size) {
  allocations++;
  return __libc_realloc(block, size);
}

int posix_memalign(void** place, size_t align, size_t size) {
  allocations++;
  *place = __libc_memalign(align, size);
  return *place == NULL;
}

void* aligned_alloc(size_t align, size_t size) {
  allocations++;
  return __libc_memalign(align, size);
}

static char* error = NULL;

/* Prints the allocations of one call, rounded. Rare allocations (a new block of a memtable) are less than one call in two. */
static void report(const char* name, long before) {
  printf("%s: %ld\n", name, (allocations - before + CALLS / 2) / CALLS);
  if (error != NULL) {
    fprintf(stderr, "%s: %s\n", name, error);
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, argv[1], &error);
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  char keys[KEYS][8], value[100] = {0};
  for (int i = 0; i < KEYS; i++) {
    snprintf(keys[i], sizeof keys[i], "key%04d", i);
    rocksdb_put(db, write, keys[i], 7, value, sizeof value, &error);
  }
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  for (int warm = 0; warm < 2; warm++) {
    if (warm == 1) rocksdb_flush(db, flush, &error);
    for (int i = 0; i < CALLS; i++) {
      size_t length;
      rocksdb_put(db, write, keys[i % KEYS], 7, value, sizeof value, &error);
      rocksdb_free(rocksdb_get(db, read, keys[i % KEYS], 7, &length, &error));
    }
  }
  rocksdb_flush(db, flush, &error);

  rocksdb_compact_range(db, NULL, 0, NULL, 0);

  long before = allocations;
  for (int i = 0; i < CALLS; i++) {
    size_t length;
    rocksdb_free(rocksdb_get(db, read, keys[i % KEYS], 7, &length, &error));
  }
  report("get", before);
  before = allocations;
  for (int i = 0; i < CALLS; i++) {
    size_t length;
    rocksdb_free(rocksdb_get_cf(db, read, family, "absent", 6, &length, &error));
  }
  report("get of an absent key", before);
  before = allocations;
  for (int i = 0; i < CALLS; i++) {
    rocksdb_pinnableslice_destroy(rocksdb_get_pinned(db, read, keys[i % KEYS], 7, &error));
  }
  report("get_pinned", before);
  before = allocations;
  for (int i = 0; i < CALLS; i++) {
    char into[200];
    size_t length;
    unsigned char found;
    rocksdb_get_into_buffer(db, read, keys[i % KEYS], 7, into, sizeof into, &length, &found, &error);
  }
  report("get_into_buffer", before);

  before = allocations;
  for (int i = 0; i < CALLS; i++) {
    rocksdb_release_snapshot(db, rocksdb_create_snapshot(db));
  }
  report("snapshot", before);
  before = allocations;
  for (int i = 0; i < CALLS; i++) {
    rocksdb_iter_destroy(rocksdb_create_iterator(db, read));
  }
  report("iterator", before);

  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, read);
  rocksdb_iter_seek_to_first(iterator);
  before = allocations;
  for (int i = 0; i < CALLS; i++) {
    size_t length;
    rocksdb_iter_seek(iterator, keys[i % KEYS], 7);
    if (rocksdb_iter_valid(iterator)) rocksdb_iter_key(iterator, &length);
  }
  report("seek", before);
  before = allocations;
  for (int i = 0; i < CALLS; i++) {
    size_t length;
    if (!rocksdb_iter_valid(iterator)) rocksdb_iter_seek_to_first(iterator);
    rocksdb_iter_value(iterator, &length);
    rocksdb_iter_next(iterator);
  }
  report("next", before);
  rocksdb_iter_destroy(iterator);

  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  for (int warm = 0; warm < 2; warm++) {
    before = allocations;
    for (int i = 0; i < CALLS; i++) {
      rocksdb_writebatch_clear(batch);
      rocksdb_writebatch_put(batch, keys[i % KEYS], 7, value, sizeof value);
      rocksdb_writebatch_delete(batch, "absent", 6);
      rocksdb_write(db, write, batch, &error);
    }
  }
  report("write of a batch", before);
  before = allocations;
  for (int i = 0; i < CALLS; i++) rocksdb_put(db, write, keys[i % KEYS], 7, value, sizeof value, &error);
  report("put", before);

  rocksdb_writebatch_destroy(batch);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_readoptions_destroy(read);
  rocksdb_writeoptions_destroy(write);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return 0;
}
