// Functions that throw C++ exceptions: the call or the job fails, the process continues, and each exception is destroyed.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <rocksdb/c.h>
#include <stdexcept>
#include <string>

namespace {

int alive = 0;
bool throws = false;
bool listener_throws = false;

struct Fault {
  Fault() { ++alive; }
  Fault(const Fault&) { ++alive; }
  ~Fault() { --alive; }
};

void fault() {
  if (throws) throw Fault();
}

void destroy(void*) { fault(); }
const char* name(void*) { return "throws"; }

int compare(void*, const char* a, size_t alen, const char* b, size_t blen) {
  fault();
  int order = memcmp(a, b, alen < blen ? alen : blen);
  return order != 0 ? order : (alen < blen ? -1 : alen > blen);
}

char* copy(const char* data, size_t size) {
  char* bytes = static_cast<char*>(malloc(size + 1));
  memcpy(bytes, data, size);
  return bytes;
}

char* full_merge(void*, const char*, size_t, const char*, size_t, const char* const* operands, const size_t* sizes,
                 int count, unsigned char* success, size_t* size) {
  fault();
  *success = 1;
  *size = sizes[count - 1];
  return copy(operands[count - 1], *size);
}

char* partial_merge(void*, const char*, size_t, const char* const*, const size_t*, int, unsigned char* success,
                    size_t*) {
  *success = 0;
  return nullptr;
}

void flushed(void*, rocksdb_t*, const rocksdb_flushjobinfo_t*) {
  if (listener_throws) throw std::runtime_error("a listener throws");
}
void log_line(void*, unsigned, char*, size_t) { fault(); }

void report(const char* call, char*& error) {
  std::string text = error == nullptr ? "OK" : error;
  printf("%s: %s\n", call, text.c_str());
  rocksdb_free(error);
  error = nullptr;
}

}  // namespace

int main(int, char** argv) {
  char* error = nullptr;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_comparator_t* comparator = rocksdb_comparator_create(nullptr, destroy, compare, name);
  rocksdb_options_set_comparator(options, comparator);
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create(nullptr, destroy, full_merge, partial_merge, nullptr, name));
  rocksdb_eventlistener_t* listener =
      rocksdb_eventlistener_create(nullptr, destroy, flushed, flushed, nullptr, nullptr, nullptr, nullptr, nullptr,
                                   nullptr, nullptr, nullptr);
  rocksdb_options_add_eventlistener(options, listener);
  rocksdb_logger_t* logger = rocksdb_logger_create_callback_logger(0, log_line, nullptr);
  rocksdb_options_set_info_log(options, logger);
  rocksdb_t* db = rocksdb_open(options, argv[1], &error);
  report("open", error);
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  rocksdb_put(db, write, "a", 1, "1", 1, &error);
  rocksdb_put(db, write, "c", 1, "3", 1, &error);
  rocksdb_merge(db, write, "m", 1, "2", 1, &error);
  report("writes", error);

  listener_throws = true;
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(db, flush, &error);
  report("flush", error);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_put(db, write, "d", 1, "4", 1, &error);
  report("put", error);

  throws = true;
  size_t size = 0;
  rocksdb_free(rocksdb_get(db, read, "a", 1, &size, &error));
  report("get", error);
  rocksdb_put(db, write, "b", 1, "2", 1, &error);
  report("put", error);
  throws = false;

  char* value = rocksdb_get(db, read, "c", 1, &size, &error);
  report("get", error);
  printf("value: %.*s\n", static_cast<int>(size), value);
  rocksdb_free(value);
  value = rocksdb_get(db, read, "m", 1, &size, &error);
  report("get of a merge", error);
  printf("value: %.*s\n", static_cast<int>(size), value);
  rocksdb_free(value);

  rocksdb_put(db, write, "e", 1, "5", 1, &error);
  report("put", error);

  rocksdb_close(db);
  throws = true;
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(comparator);
  rocksdb_logger_destroy(logger);
  rocksdb_writeoptions_destroy(write);
  rocksdb_readoptions_destroy(read);
  printf("exceptions alive: %d\n", alive);
  printf("uncaught exceptions: %d\n", std::uncaught_exceptions());
  return 0;
}
