#!/usr/bin/env bash
# c/bench/run.sh PEER [ROUNDS] [COUNT] [FILES]: measures calls of the C API with this library and with RocksDB's library.
# `calls` runs with COUNT keys. `copies` makes checkpoints and catch-ups of a database with about FILES SST files.
# PEER is the directory of RocksDB's librocksdb.so (.ci/fetch-rocksdb DIR). Both run in turn; the best of each is compared.
# Build the library first: cargo build --release -p ironstone-c. A ratio above 1 says that this library is faster.
set -euo pipefail
peer=$(realpath "${1:?usage: c/bench/run.sh PEER [ROUNDS] [COUNT] [FILES]}") rounds=${2:-5} count=${3:-200000} files=${4:-1000}
cd "$(dirname "$0")/../.."
built=${CARGO_TARGET_DIR:-target}/release/libironstone_c.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/ours" "$work/peer"
cp "$built" "$work/ours/librocksdb.so.11"
ln -s librocksdb.so.11 "$work/ours/librocksdb.so"
ln -s "$peer/librocksdb.so" "$work/peer/librocksdb.so.11"
for program in calls copies; do
    cc -O2 -std=gnu11 -o "$work/$program" "c/bench/$program.c" -I c/include -L "$work/ours" -lrocksdb
done
for _ in $(seq "$rounds"); do
    for side in ours peer; do
        for run in "calls $count" "copies $files"; do
            rm -rf "$work"/db*
            read -r program size <<< "$run"
            LD_LIBRARY_PATH=$work/$side "$work/$program" "$work/db" "$size" 2>/dev/null | sed "s/^/$side /" >> "$work/figures"
        done
    done
done
awk '{ name = $2; if (!(name in seen)) { seen[name] = 1; order[++n] = name }
       if (!(($1, name) in best) || $3 < best[$1, name]) best[$1, name] = $3 }
     END { printf "| call | this library, ns | RocksDB, ns | ratio |\n|---|---|---|---|\n"
           for (i = 1; i <= n; i++) { r = best["peer", order[i]] / best["ours", order[i]]; product += log(r)
               printf "| %s | %.0f | %.0f | %.2f |\n", order[i], best["ours", order[i]], best["peer", order[i]], r }
           printf "| geometric mean | | | %.2f |\n", exp(product / n) }' "$work/figures"
