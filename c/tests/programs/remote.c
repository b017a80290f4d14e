/* Compaction services: a service that runs its jobs with `rocksdb_open_and_compact`, a service that leaves its jobs to the
 * database, and results that do not decode.
 *
 *   remote DIRECTORY     prints the answers */
#include <rocksdb/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum mode { WORKER, LOCAL_SCHEDULE, LOCAL_WAIT, GARBAGE };

struct service {
  enum mode mode;
  const char* database;
  char output[1200];
  char* input;
  size_t input_len;
  rocksdb_compaction_service_options_override_t* overrides;
};

static char* error = NULL;
static rocksdb_writeoptions_t* write_options;
static rocksdb_readoptions_t* read_options;

static void answer(const char* what) {
  printf("%s: %.*s\n", what, error == NULL ? 2 : (int)strcspn(error, ":"), error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

static rocksdb_compactionservice_scheduleresponse_t* schedule(void* state,
                                                              const rocksdb_compactionservice_jobinfo_t* info,
                                                              const char* input, size_t input_len) {
  struct service* service = state;
  size_t length;
  const char* name = rocksdb_compactionservice_jobinfo_t_get_cf_name(info, &length);
  printf("schedule: family %.*s (%u), levels %d to %d, reason %d, priority %d, full %d, manual %d, bottommost %d\n",
         (int)length, name, rocksdb_compactionservice_jobinfo_t_get_cf_id(info),
         rocksdb_compactionservice_jobinfo_t_get_base_input_level(info),
         rocksdb_compactionservice_jobinfo_t_get_output_level(info),
         rocksdb_compactionservice_jobinfo_t_get_compaction_reason(info),
         rocksdb_compactionservice_jobinfo_t_get_priority(info),
         rocksdb_compactionservice_jobinfo_t_is_full_compaction(info),
         rocksdb_compactionservice_jobinfo_t_is_manual_compaction(info),
         rocksdb_compactionservice_jobinfo_t_is_bottommost_level(info));
  name = rocksdb_compactionservice_jobinfo_t_get_db_name(info, &length);
  printf("schedule: the database is right: %d\n",
         length == strlen(service->database) && memcmp(name, service->database, length) == 0);
  rocksdb_compactionservice_jobinfo_t_get_db_id(info, &length);
  printf("schedule: id of %d bytes", (int)length);
  rocksdb_compactionservice_jobinfo_t_get_db_session_id(info, &length);
  printf(", session of %d bytes, subcompaction %d\n", (int)length,
         (int)(rocksdb_compactionservice_jobinfo_t_get_job_id(info) & 0xffffffff));
  free(service->input);
  service->input = malloc(input_len + 1);
  memcpy(service->input, input, input_len);
  service->input_len = input_len;
  return rocksdb_compactionservice_scheduleresponse_create(
      "the job",
      service->mode == LOCAL_SCHEDULE ? rocksdb_compactionservice_jobstatus_use_local
                                      : rocksdb_compactionservice_jobstatus_success,
      &error);
}

static int wait_for(void* state, const char* job, char** result, size_t* result_len) {
  struct service* service = state;
  printf("wait: %s\n", job);
  if (service->mode == LOCAL_WAIT) return rocksdb_compactionservice_jobstatus_use_local;
  if (service->mode == GARBAGE) {
    *result = calloc(1, 9);
    memcpy(*result, "\1\0\0\0junk", 8);
    *result_len = 8;
    return rocksdb_compactionservice_jobstatus_success;
  }
  rocksdb_open_and_compact_options_t* options = rocksdb_open_and_compact_options_create();
  *result = rocksdb_open_and_compact_with_options(options, service->database, service->output, service->input,
                                                  service->input_len, result_len, service->overrides, &error);
  rocksdb_open_and_compact_options_destroy(options);
  printf("worker: a result: %d, it ends with NUL: %d\n", *result != NULL && *result_len > 4,
         *result != NULL && (*result)[*result_len] == 0);
  answer("worker");
  return *result == NULL ? rocksdb_compactionservice_jobstatus_failure : rocksdb_compactionservice_jobstatus_success;
}

static void cancel(void* state) { (void)state; }

static void installed(void* state, const char* job, int status) {
  (void)state;
  printf("installed: %s, status %d\n", job, status);
}

static void destroyed(void* state) {
  free(((struct service*)state)->input);
  printf("destroyed\n");
}

static char* concatenate(void* state, const char* key, size_t key_len, const char* value, size_t value_len,
                         const char* const* operands, const size_t* lengths, int count, unsigned char* success,
                         size_t* new_len) {
  (void)state, (void)key, (void)key_len;
  size_t length = value == NULL ? 0 : value_len;
  for (int i = 0; i < count; i++) length += lengths[i];
  char* all = malloc(length + 1);
  size_t at = 0;
  if (value != NULL) memcpy(all, value, value_len), at = value_len;
  for (int i = 0; i < count; i++) memcpy(all + at, operands[i], lengths[i]), at += lengths[i];
  *success = 1;
  *new_len = length;
  return all;
}

static char* combine(void* state, const char* key, size_t key_len, const char* const* operands, const size_t* lengths,
                     int count, unsigned char* success, size_t* new_len) {
  return concatenate(state, key, key_len, NULL, 0, operands, lengths, count, success, new_len);
}

static const char* merge_name(void* state) {
  (void)state;
  return "concatenate";
}

static void nothing(void* state) { (void)state; }

static void put(rocksdb_t* db, const char* key, const char* value) {
  rocksdb_put(db, write_options, key, strlen(key), value, strlen(value), &error);
}

static void get(rocksdb_t* db, const char* key) {
  size_t length = 0;
  char* value = rocksdb_get(db, read_options, key, strlen(key), &length, &error);
  printf("%s = %.*s\n", key, value == NULL ? 6 : (int)length, value == NULL ? "(none)" : value);
  rocksdb_free(value);
}

static void fill(rocksdb_t* db, const char* round) {
  char key[32], value[64];
  for (int i = 0; i < 300; i++) {
    snprintf(key, sizeof key, "key%03d", i);
    snprintf(value, sizeof value, "%s %d", round, i);
    put(db, key, value);
  }
  rocksdb_delete(db, write_options, "key007", 6, &error);
  rocksdb_merge(db, write_options, "merged", 6, round, strlen(round), &error);
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  rocksdb_delete_range_cf(db, write_options, family, "key100", 6, "key200", 6, &error);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_flushoptions_t* options = rocksdb_flushoptions_create();
  rocksdb_flush(db, options, &error);
  rocksdb_flushoptions_destroy(options);
  answer("fill");
}

static void check(rocksdb_t* db) {
  char* levels = rocksdb_property_value(db, "rocksdb.num-files-at-level0");
  printf("files on level 0: %s\n", levels);
  rocksdb_free(levels);
  get(db, "key000"), get(db, "key007"), get(db, "key150"), get(db, "key299"), get(db, "merged");
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, read_options);
  int entries = 0;
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) entries++;
  rocksdb_iter_destroy(iterator);
  rocksdb_verify_checksum(db, &error);
  printf("entries: %d\n", entries);
  answer("checksums");
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  mkdir(argv[1], 0755);
  char database[1100];
  snprintf(database, sizeof database, "%s/db", argv[1]);
  struct service state = {WORKER, database, "", NULL, 0, NULL};
  snprintf(state.output, sizeof state.output, "%s/output", argv[1]);
  write_options = rocksdb_writeoptions_create();
  read_options = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create(NULL, nothing, concatenate, combine, NULL, merge_name));
  state.overrides = rocksdb_compaction_service_options_override_create_from_options(options);
  rocksdb_compaction_service_options_override_set_option(state.overrides, "write_buffer_size", "1048576");
  rocksdb_options_set_compaction_service(
      options, rocksdb_compactionservice_create(&state, destroyed, schedule, "service", wait_for, cancel, installed));
  rocksdb_destroy_db(options, database, &error);
  rocksdb_t* db = rocksdb_open(options, database, &error);
  answer("open");
  fill(db, "first"), fill(db, "second");
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  fill(db, "third");
  const char* names[] = {"worker", "local at schedule", "local at wait", "garbage"};
  for (int mode = WORKER; mode <= GARBAGE; mode++) {
    printf("mode %s\n", names[mode]);
    state.mode = (enum mode)mode;
    rocksdb_compact_range(db, NULL, 0, NULL, 0);
    check(db);
    if (mode == WORKER) {
      rocksdb_readoptions_set_snapshot(read_options, snapshot);
      get(db, "key000"), get(db, "merged");
      rocksdb_readoptions_set_snapshot(read_options, NULL);
      rocksdb_release_snapshot(db, snapshot);
    }
    fill(db, names[mode]);
  }
  rocksdb_close(db);
  db = rocksdb_open(options, database, &error);
  answer("reopen");
  check(db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  /* Inputs of a worker that are wrong. */
  size_t length;
  rocksdb_open_and_compact(database, state.output, "", 0, &length, state.overrides, &error);
  answer("empty input");
  rocksdb_open_and_compact(database, state.output, "\2\0\0\0a=1;", 8, &length, state.overrides, &error);
  answer("unknown format");
  const char absent[] =
      "\1\0\0\0cf_name=64656661756C74;snapshots=;input_files=;output_level=6;db_id=;has_begin=false;begin=;has_end=false;end=;"
      "options_file_number=999999;";
  rocksdb_open_and_compact(database, state.output, absent, sizeof absent - 1, &length, state.overrides, &error);
  answer("no options file");
  unsigned char* canceled = rocksdb_open_and_compact_canceled_create();
  rocksdb_open_and_compact_canceled_set(canceled, 1);
  rocksdb_open_and_compact_options_t* worker = rocksdb_open_and_compact_options_create();
  rocksdb_open_and_compact_options_set_canceled(worker, canceled);
  rocksdb_open_and_compact_with_options(worker, database, state.output, "\1\0\0\0output_level=6;", 19, &length,
                                        state.overrides, &error);
  answer("canceled");
  rocksdb_open_and_compact_options_destroy(worker);
  rocksdb_open_and_compact_canceled_destroy(canceled);
  rocksdb_compaction_service_options_override_destroy(state.overrides);
  rocksdb_writeoptions_destroy(write_options);
  rocksdb_readoptions_destroy(read_options);
  return 0;
}
