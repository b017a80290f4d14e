// Inventory: a Go program on grocksdb, which calls RocksDB's C API.
//
//	CGO_CFLAGS=-IPREFIX/include CGO_LDFLAGS="-LPREFIX/lib -lrocksdb" go run . DIRECTORY
//
// The same program runs on Ironstone's and on RocksDB's librocksdb.so.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/linxGnu/grocksdb"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: inventory DIRECTORY")
	}
	options := grocksdb.NewDefaultOptions()
	defer options.Destroy()
	options.SetCreateIfMissing(true)
	db, err := grocksdb.OpenDb(options, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	write, read := grocksdb.NewDefaultWriteOptions(), grocksdb.NewDefaultReadOptions()
	defer write.Destroy()
	defer read.Destroy()
	batch := grocksdb.NewWriteBatch()
	defer batch.Destroy()
	for shelf := 0; shelf < 10; shelf++ {
		batch.Put([]byte(fmt.Sprintf("shelf-%d", shelf)), []byte(fmt.Sprintf("%d boxes", shelf*3)))
	}
	batch.Delete([]byte("shelf-4"))
	if err := db.Write(write, batch); err != nil {
		log.Fatal(err)
	}

	value, err := db.Get(read, []byte("shelf-3"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("shelf-3: %s\n", value.Data())
	value.Free()

	shelves := 0
	iterator := db.NewIterator(read)
	defer iterator.Close()
	for iterator.SeekToFirst(); iterator.Valid(); iterator.Next() {
		shelves++
	}
	if err := iterator.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("shelves: %d\n", shelves)
}
