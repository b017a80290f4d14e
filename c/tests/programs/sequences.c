/* Random sequences of calls, in any order and with any handle, against a model.
 *
 *   sequences DIRECTORY SEED STEPS      prints PASS; the first difference ends the program with the step.
 *
 * Two databases with three column families each. The model is an array of numbers for each column family. Handles of column
 * families, iterators and pinned values outlive the close of their database, and are used with the other database. A call
 * with a handle that does not fit must report an error and must change nothing. */
#include <rocksdb/c.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 24
#define FAMILIES 3
#define SLOTS 6

typedef struct {
  int value[FAMILIES][KEYS]; /* -1: no entry */
} model_t;

typedef struct {
  rocksdb_t* db;
  rocksdb_column_family_handle_t* family[FAMILIES];
  model_t model;
  char path[4096];
  /* Counts the opens: handles of an earlier open do not fit. */
  int opens;
} side_t;

typedef struct {
  rocksdb_column_family_handle_t* handle;
  int side, family, opens;
} stray_t;

typedef struct {
  rocksdb_iterator_t* iter;
  int side, family, opens;
  model_t model;
} cursor_t;

typedef struct {
  const rocksdb_snapshot_t* snapshot;
  model_t model;
} moment_t;

typedef struct {
  rocksdb_pinnableslice_t* slice;
  int value;
} pinned_t;

static uint64_t seed;
static long step;
static char* error;
static side_t sides[2];
static stray_t strays[SLOTS];
static cursor_t cursors[SLOTS];
static moment_t moments[2][SLOTS];
static pinned_t pins[SLOTS];
static rocksdb_options_t* options;
static rocksdb_writeoptions_t* writing;
static rocksdb_readoptions_t* reading;
static rocksdb_flushoptions_t* flushing;

static unsigned below(unsigned limit) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (unsigned)((seed * 0x2545F4914F6CDD1Dull) >> 33) % limit;
}

static void differs(int line, const char* what) {
  fprintf(stderr, "sequences.c:%d: step %ld: %s\n", line, step, what);
  exit(1);
}

#define CHECK(condition) \
  if (!(condition)) differs(__LINE__, #condition)
#define OK() \
  if (error != NULL) differs(__LINE__, error)

static void refused(int line) {
  if (error == NULL) differs(line, "no error");
  rocksdb_free(error);
  error = NULL;
}

/* The text of a number: most values are short, some are some kilobytes. */
static size_t text_of(int value, char* text) {
  size_t len = (size_t)sprintf(text, "%d", value);
  if (value % 7 != 0) return len;
  memset(text + len, ' ', 3000);
  return len + 3000;
}

static void key_of(int number, char* key) {
  key[0] = (char)('a' + number / 5);
  key[1] = (char)('0' + number % 5);
}

static int number_of(const char* text, size_t len) {
  char copy[16] = {0};
  memcpy(copy, text, len < 15 ? len : 15);
  return atoi(copy);
}

static void check_value(int line, const char* value, size_t len, int expected) {
  char text[4096];
  if (expected < 0 && value != NULL) differs(line, "a value that the model does not have");
  if (expected < 0) return;
  if (value == NULL) differs(line, "no value");
  if (len != text_of(expected, text) || memcmp(value, text, len) != 0) differs(line, "another value");
}

static void open_side(side_t* side) {
  static const char* names[FAMILIES] = {"default", "users", "orders"};
  const rocksdb_options_t* each[FAMILIES] = {options, options, options};
  side->db = rocksdb_open_column_families(options, side->path, FAMILIES, names, each, side->family, &error);
  OK();
  side->opens++;
}

static void close_side(int at) {
  side_t* side = &sides[at];
  for (int slot = 0; slot < SLOTS; slot++) {
    rocksdb_release_snapshot(side->db, moments[at][slot].snapshot);
    moments[at][slot].snapshot = NULL;
  }
  /* Handles of column families live on as strays, or end before or after the close. */
  for (int family = 0; family < FAMILIES; family++) {
    stray_t* stray = &strays[below(SLOTS)];
    if (below(2) == 0) {
      rocksdb_column_family_handle_destroy(stray->handle);
      *stray = (stray_t){side->family[family], at, family, side->opens};
    } else {
      rocksdb_column_family_handle_destroy(side->family[family]);
    }
  }
  rocksdb_close(side->db);
  open_side(side);
}

static void write_one(side_t* side) {
  char key[2], text[4096];
  int family = (int)below(FAMILIES), number = (int)below(KEYS), value = (int)below(100000);
  rocksdb_column_family_handle_t* handle = side->family[family];
  key_of(number, key);
  switch (below(4)) {
    case 0:
      rocksdb_delete_cf(side->db, writing, handle, key, 2, &error);
      side->model.value[family][number] = -1;
      break;
    case 1: {
      char end[2];
      int last = number + (int)below(5);
      if (last >= KEYS) last = KEYS - 1;
      key_of(last, end);
      rocksdb_delete_range_cf(side->db, writing, handle, key, 2, end, 2, &error);
      for (int at = number; at < last; at++) side->model.value[family][at] = -1;
      break;
    }
    default:
      rocksdb_put_cf(side->db, writing, handle, key, 2, text, text_of(value, text), &error);
      side->model.value[family][number] = value;
  }
  OK();
}

static void write_batch(side_t* side) {
  char key[2], text[4096];
  model_t model = side->model, saved[8];
  int depth = 0;
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  for (unsigned count = below(20); count > 0; count--) {
    int family = (int)below(FAMILIES), number = (int)below(KEYS), value = (int)below(100000);
    key_of(number, key);
    unsigned what = below(10);
    if (what == 0 && depth < 8) {
      rocksdb_writebatch_set_save_point(batch);
      saved[depth++] = model;
    } else if (what == 1) {
      rocksdb_writebatch_rollback_to_save_point(batch, &error);
      if (depth == 0) refused(__LINE__);
      if (depth > 0) model = saved[--depth];
    } else if (what == 2) {
      rocksdb_writebatch_pop_save_point(batch, &error);
      if (depth == 0) refused(__LINE__);
      if (depth > 0) depth--;
    } else if (what == 3) {
      rocksdb_writebatch_delete_cf(batch, side->family[family], key, 2);
      model.value[family][number] = -1;
    } else {
      rocksdb_writebatch_put_cf(batch, side->family[family], key, 2, text, text_of(value, text));
      model.value[family][number] = value;
    }
    OK();
  }
  rocksdb_write(side->db, writing, batch, &error);
  OK();
  rocksdb_writebatch_destroy(batch);
  side->model = model;
}

static void read_one(side_t* side) {
  char key[2];
  int family = (int)below(FAMILIES), number = (int)below(KEYS);
  size_t len = 0;
  key_of(number, key);
  const model_t* model = &side->model;
  moment_t* moment = &moments[side - sides][below(SLOTS)];
  if (moment->snapshot != NULL) {
    rocksdb_readoptions_set_snapshot(reading, moment->snapshot);
    model = &moment->model;
  }
  int expected = model->value[family][number];
  if (below(2) == 0) {
    char* value = rocksdb_get_cf(side->db, reading, side->family[family], key, 2, &len, &error);
    OK();
    check_value(__LINE__, value, len, expected);
    rocksdb_free(value);
  } else {
    pinned_t* pin = &pins[below(SLOTS)];
    rocksdb_pinnableslice_destroy(pin->slice);
    pin->slice = rocksdb_get_pinned_cf(side->db, reading, side->family[family], key, 2, &error);
    OK();
    CHECK((pin->slice != NULL) == (expected >= 0));
    pin->value = expected;
  }
  rocksdb_readoptions_set_snapshot(reading, NULL);
}

static void read_many(side_t* side) {
  char keys[KEYS][2], *values[KEYS], *errors[KEYS] = {0};
  const char* pointers[KEYS];
  const rocksdb_column_family_handle_t* handles[KEYS];
  size_t lens[KEYS], found[KEYS];
  int families[KEYS], numbers[KEYS], count = (int)below(KEYS);
  for (int at = 0; at < count; at++) {
    families[at] = (int)below(FAMILIES);
    numbers[at] = (int)below(KEYS);
    key_of(numbers[at], keys[at]);
    pointers[at] = keys[at];
    handles[at] = side->family[families[at]];
    lens[at] = 2;
  }
  rocksdb_multi_get_cf(side->db, reading, handles, (size_t)count, pointers, lens, values, found, errors);
  for (int at = 0; at < count; at++) {
    if (errors[at] != NULL) differs(__LINE__, errors[at]);
    check_value(__LINE__, values[at], found[at], side->model.value[families[at]][numbers[at]]);
    rocksdb_free(values[at]);
  }
}

/* Reads all entries of an iterator forwards or backwards. An iterator whose database is closed may report an error at any
 * position; until then its entries are right. */
static void use_cursor(cursor_t* cursor) {
  if (cursor->iter == NULL) return;
  int forward = (int)below(2), expected = forward ? 0 : KEYS - 1;
  if (forward) rocksdb_iter_seek_to_first(cursor->iter);
  if (!forward) rocksdb_iter_seek_to_last(cursor->iter);
  int closed = cursor->opens != sides[cursor->side].opens;
  const int* values = cursor->model.value[cursor->family];
  while (1) {
    while (expected >= 0 && expected < KEYS && values[expected] < 0) expected += forward ? 1 : -1;
    if (expected < 0 || expected >= KEYS) break;
    char key[2];
    size_t len = 0;
    if (closed && !rocksdb_iter_valid(cursor->iter)) {
      rocksdb_iter_get_error(cursor->iter, &error);
      refused(__LINE__);
      return;
    }
    CHECK(rocksdb_iter_valid(cursor->iter));
    key_of(expected, key);
    const char* found = rocksdb_iter_key(cursor->iter, &len);
    CHECK(len == 2 && memcmp(found, key, 2) == 0);
    found = rocksdb_iter_value(cursor->iter, &len);
    CHECK(number_of(found, len) == values[expected]);
    if (forward) rocksdb_iter_next(cursor->iter);
    if (!forward) rocksdb_iter_prev(cursor->iter);
    expected += forward ? 1 : -1;
  }
  CHECK(!rocksdb_iter_valid(cursor->iter));
  rocksdb_iter_get_error(cursor->iter, &error);
  if (closed && error != NULL) refused(__LINE__);
  OK();
}

static void new_cursor(int at) {
  cursor_t* cursor = &cursors[below(SLOTS)];
  rocksdb_iter_destroy(cursor->iter);
  int family = (int)below(FAMILIES);
  cursor->iter = rocksdb_create_iterator_cf(sides[at].db, reading, sides[at].family[family]);
  CHECK(cursor->iter != NULL);
  cursor->side = at;
  cursor->family = family;
  cursor->opens = sides[at].opens;
  cursor->model = sides[at].model;
}

/* A handle of a closed database, or of the other database. */
static void use_stray(int at) {
  stray_t* stray = &strays[below(SLOTS)];
  rocksdb_column_family_handle_t* handle = stray->handle;
  if (handle == NULL || below(3) == 0) handle = sides[1 - at].family[below(FAMILIES)];
  size_t len = 0;
  rocksdb_t* db = sides[at].db;
  switch (below(6)) {
    case 0:
      rocksdb_put_cf(db, writing, handle, "zz", 2, "stray", 5, &error);
      refused(__LINE__);
      break;
    case 1:
      CHECK(rocksdb_get_cf(db, reading, handle, "a0", 2, &len, &error) == NULL);
      refused(__LINE__);
      break;
    case 2:
      rocksdb_flush_cf(db, flushing, handle, &error);
      refused(__LINE__);
      break;
    case 3:
      rocksdb_drop_column_family(db, handle, &error);
      refused(__LINE__);
      break;
    case 4: {
      rocksdb_iterator_t* iter = rocksdb_create_iterator_cf(db, reading, handle);
      rocksdb_iter_seek_to_first(iter);
      CHECK(!rocksdb_iter_valid(iter));
      rocksdb_iter_destroy(iter);
      break;
    }
    default:
      rocksdb_compact_range_cf(db, handle, NULL, 0, NULL, 0);
  }
}

static void use_moment(int at) {
  moment_t* moment = &moments[at][below(SLOTS)];
  rocksdb_release_snapshot(sides[at].db, moment->snapshot);
  moment->snapshot = NULL;
  if (below(3) == 0) return;
  moment->snapshot = rocksdb_create_snapshot(sides[at].db);
  CHECK(moment->snapshot != NULL);
  moment->model = sides[at].model;
}

static void new_family(side_t* side) {
  static const char* names[FAMILIES] = {"default", "users", "orders"};
  int family = 1 + (int)below(FAMILIES - 1), at = (int)(side - sides);
  rocksdb_drop_column_family(side->db, side->family[family], &error);
  OK();
  rocksdb_put_cf(side->db, writing, side->family[family], "a0", 2, "1", 1, &error);
  refused(__LINE__);
  rocksdb_column_family_handle_destroy(side->family[family]);
  side->family[family] = rocksdb_create_column_family(side->db, options, names[family], &error);
  OK();
  for (int number = 0; number < KEYS; number++) {
    side->model.value[family][number] = -1;
    for (int slot = 0; slot < SLOTS; slot++) moments[at][slot].model.value[family][number] = -1;
  }
}

static void one_step(void) {
  int at = (int)below(2);
  side_t* side = &sides[at];
  unsigned what = below(100);
  if (what < 30) write_one(side);
  else if (what < 38) write_batch(side);
  else if (what < 58) read_one(side);
  else if (what < 64) read_many(side);
  else if (what < 70) new_cursor(at);
  else if (what < 78) use_cursor(&cursors[below(SLOTS)]);
  else if (what < 84) use_stray(at);
  else if (what < 90) use_moment(at);
  else if (what < 94) rocksdb_flush_cf(side->db, flushing, side->family[below(FAMILIES)], &error);
  else if (what < 96) rocksdb_compact_range_cf(side->db, side->family[below(FAMILIES)], NULL, 0, NULL, 0);
  else if (what < 97) new_family(side);
  else if (what < 99) close_side(at);
  else {
    pinned_t* pin = &pins[below(SLOTS)];
    size_t len = 0;
    if (pin->slice == NULL) return;
    const char* value = rocksdb_pinnableslice_value(pin->slice, &len);
    check_value(__LINE__, value, len, pin->value);
  }
  OK();
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  seed = strtoull(argv[2], NULL, 10) * 0x9E3779B97F4A7C15ull + 1;
  long steps = atol(argv[3]);
  options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_write_buffer_size(options, 128 << 10);
  writing = rocksdb_writeoptions_create();
  reading = rocksdb_readoptions_create();
  flushing = rocksdb_flushoptions_create();
  for (int at = 0; at < 2; at++) {
    memset(&sides[at].model, -1, sizeof(model_t));
    snprintf(sides[at].path, sizeof sides[at].path, "%s-%d", argv[1], at);
    open_side(&sides[at]);
  }
  for (step = 0; step < steps; step++) one_step();
  /* The ends, with the databases first. */
  for (int at = 0; at < 2; at++) {
    for (int slot = 0; slot < SLOTS; slot++) rocksdb_release_snapshot(sides[at].db, moments[at][slot].snapshot);
    rocksdb_close(sides[at].db);
    for (int family = 0; family < FAMILIES; family++) rocksdb_column_family_handle_destroy(sides[at].family[family]);
  }
  for (int slot = 0; slot < SLOTS; slot++) {
    rocksdb_iter_destroy(cursors[slot].iter);
    rocksdb_column_family_handle_destroy(strays[slot].handle);
    rocksdb_pinnableslice_destroy(pins[slot].slice);
  }
  rocksdb_flushoptions_destroy(flushing);
  rocksdb_readoptions_destroy(reading);
  rocksdb_writeoptions_destroy(writing);
  rocksdb_options_destroy(options);
  printf("PASS\n");
  return 0;
}
