"""Counts words in Python, by ctypes and a merge operator of the C API.

    LIBROCKSDB=PREFIX/lib/librocksdb.so python3 count.py DIRECTORY

The same program runs on Ironstone's and on RocksDB's librocksdb.so.
"""
import ctypes
import os
import sys

lib = ctypes.CDLL(os.environ.get("LIBROCKSDB", "librocksdb.so.11"))
FULL_MERGE = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.c_int,
    ctypes.POINTER(ctypes.c_ubyte), ctypes.POINTER(ctypes.c_size_t))
PARTIAL_MERGE = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t), ctypes.c_int, ctypes.POINTER(ctypes.c_ubyte), ctypes.POINTER(ctypes.c_size_t))
DESTROY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
DELETE_VALUE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
NAME = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

for name in ["rocksdb_options_create", "rocksdb_writeoptions_create", "rocksdb_readoptions_create", "rocksdb_open",
             "rocksdb_create_iterator", "rocksdb_iter_key", "rocksdb_iter_value", "rocksdb_mergeoperator_create"]:
    getattr(lib, name).restype = ctypes.c_void_p
lib.rocksdb_iter_valid.restype = ctypes.c_ubyte


def handle(value):
    return ctypes.c_void_p(value)


def check(error):
    if error.value is not None:
        sys.exit(error.value.decode())


kept = {}  # the merge operator returns pointers to these buffers


def result_of(total, success, length):
    text = str(total).encode()
    buffer = ctypes.create_string_buffer(text, len(text))
    address = ctypes.addressof(buffer)
    kept[address] = buffer
    success[0] = 1
    length[0] = len(text)
    return address


def full_merge(_, key, key_len, base, base_len, operands, lens, count, success, length):
    total = int(ctypes.string_at(base, base_len)) if base else 0
    total += sum(int(ctypes.string_at(operands[i], lens[i])) for i in range(count))
    return result_of(total, success, length)


def partial_merge(_, key, key_len, operands, lens, count, success, length):
    return result_of(sum(int(ctypes.string_at(operands[i], lens[i])) for i in range(count)), success, length)


operator_name = ctypes.create_string_buffer(b"sum")
callbacks = [DESTROY(lambda _: None), FULL_MERGE(full_merge), PARTIAL_MERGE(partial_merge),
             DELETE_VALUE(lambda _, value, length: kept.pop(value, None) and None),
             NAME(lambda _: ctypes.addressof(operator_name))]

options = handle(lib.rocksdb_options_create())
lib.rocksdb_options_set_create_if_missing(options, ctypes.c_ubyte(1))
lib.rocksdb_options_set_merge_operator(options, handle(lib.rocksdb_mergeoperator_create(None, *callbacks)))
error = ctypes.c_char_p()
db = handle(lib.rocksdb_open(options, sys.argv[1].encode(), ctypes.byref(error)))
check(error)
write, read = handle(lib.rocksdb_writeoptions_create()), handle(lib.rocksdb_readoptions_create())

for word in ["a", "is", "rose"]:
    key = word.encode()
    lib.rocksdb_delete(db, write, key, ctypes.c_size_t(len(key)), ctypes.byref(error))
    check(error)
for word in "a rose is a rose is a rose".split():
    key = word.encode()
    lib.rocksdb_merge(db, write, key, ctypes.c_size_t(len(key)), b"1", ctypes.c_size_t(1), ctypes.byref(error))
    check(error)
lib.rocksdb_compact_range(db, None, ctypes.c_size_t(0), None, ctypes.c_size_t(0))

iterator = handle(lib.rocksdb_create_iterator(db, read))
lib.rocksdb_iter_seek_to_first(iterator)
length = ctypes.c_size_t()
while lib.rocksdb_iter_valid(iterator):
    key = ctypes.string_at(lib.rocksdb_iter_key(iterator, ctypes.byref(length)), length.value)
    value = ctypes.string_at(lib.rocksdb_iter_value(iterator, ctypes.byref(length)), length.value)
    print(f"{key.decode()}: {value.decode()}")
    lib.rocksdb_iter_next(iterator)
lib.rocksdb_iter_destroy(iterator)
lib.rocksdb_writeoptions_destroy(write)
lib.rocksdb_readoptions_destroy(read)
lib.rocksdb_close(db)
lib.rocksdb_options_destroy(options)
