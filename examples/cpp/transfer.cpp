// Transfers between accounts in C++, by transactions of the C API.
//
//   c++ -std=c++17 transfer.cpp -I PREFIX/include -L PREFIX/lib -lrocksdb -o transfer && ./transfer DIRECTORY
//
// The handles are owned by unique pointers. The same program runs on Ironstone's and on RocksDB's librocksdb.so.
#include <rocksdb/c.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

template <typename T, void (*Destroy)(T*)>
struct Destroyer {
  void operator()(T* handle) const { Destroy(handle); }
};
template <typename T, void (*Destroy)(T*)>
using Handle = std::unique_ptr<T, Destroyer<T, Destroy>>;

class Error {
 public:
  operator char**() { return &text_; }
  void check() {
    if (text_ == nullptr) return;
    std::string text(text_);
    rocksdb_free(text_);
    text_ = nullptr;
    throw std::runtime_error(text);
  }

 private:
  char* text_ = nullptr;
};

using Database = Handle<rocksdb_transactiondb_t, rocksdb_transactiondb_close>;
using Transaction = Handle<rocksdb_transaction_t, rocksdb_transaction_destroy>;

static long balance(rocksdb_transaction_t* transaction, const rocksdb_readoptions_t* read, const std::string& account) {
  Error error;
  size_t length = 0;
  char* value = rocksdb_transaction_get_for_update(transaction, read, account.data(), account.size(), &length, 1, error);
  error.check();
  long found = value == nullptr ? 0 : std::atol(std::string(value, length).c_str());
  rocksdb_free(value);
  return found;
}

static void set(rocksdb_transaction_t* transaction, const std::string& account, long amount) {
  Error error;
  std::string value = std::to_string(amount);
  rocksdb_transaction_put(transaction, account.data(), account.size(), value.data(), value.size(), error);
  error.check();
}

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: transfer DIRECTORY");
  Handle<rocksdb_options_t, rocksdb_options_destroy> options(rocksdb_options_create());
  rocksdb_options_set_create_if_missing(options.get(), 1);
  Handle<rocksdb_transactiondb_options_t, rocksdb_transactiondb_options_destroy> settings(
      rocksdb_transactiondb_options_create());
  Error error;
  Database db(rocksdb_transactiondb_open(options.get(), settings.get(), argv[1], error));
  error.check();
  Handle<rocksdb_writeoptions_t, rocksdb_writeoptions_destroy> write(rocksdb_writeoptions_create());
  Handle<rocksdb_readoptions_t, rocksdb_readoptions_destroy> read(rocksdb_readoptions_create());
  Handle<rocksdb_transaction_options_t, rocksdb_transaction_options_destroy> how(rocksdb_transaction_options_create());

  rocksdb_transactiondb_put(db.get(), write.get(), "ada", 3, "100", 3, error);
  error.check();
  rocksdb_transactiondb_put(db.get(), write.get(), "grace", 5, "0", 1, error);
  error.check();
  for (int step = 0; step < 10; step++) {
    Transaction transaction(rocksdb_transaction_begin(db.get(), write.get(), how.get(), nullptr));
    long ada = balance(transaction.get(), read.get(), "ada");
    long grace = balance(transaction.get(), read.get(), "grace");
    set(transaction.get(), "ada", ada - 7);
    set(transaction.get(), "grace", grace + 7);
    if (step == 9) {
      rocksdb_transaction_rollback(transaction.get(), error);
    } else {
      rocksdb_transaction_commit(transaction.get(), error);
    }
    error.check();
  }
  Transaction last(rocksdb_transaction_begin(db.get(), write.get(), how.get(), nullptr));
  std::cout << "ada: " << balance(last.get(), read.get(), "ada") << "\n";
  std::cout << "grace: " << balance(last.get(), read.get(), "grace") << "\n";
  return 0;
} catch (const std::exception& failure) {
  std::cerr << failure.what() << "\n";
  return 1;
}
