// Goroutines that compute the value of an entry with the cache's sync.Mutex held.
//
// Linked with -X=main.form=fixed it is the fixed program.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

const (
	entries   = 440
	fetchUs   = 200
	compileUs = 2000
	slots     = 64
	// Iterations of crunch in a microsecond, rounded, as in work.h.
	iterationsPerUs = 600
)

// Which form this is: set by the linker.
var form = "planted"

var cache struct {
	lock  sync.Mutex
	slots [slots]uint64
}

//go:noinline
func crunch(seed uint64, us int) uint64 {
	x := seed*0x9E3779B97F4A7C15 + 1
	for i := us * iterationsPerUs; i > 0; i-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func storeEntry(entry int, source uint64) {
	cache.lock.Lock()
	defer cache.lock.Unlock()
	value := crunch(source, compileUs) // PLANTED: 2 ms of computing with cache.lock held
	cache.slots[entry%slots] += value
}

//go:noinline
func storeEntryLater(entry int, source uint64) {
	value := crunch(source, compileUs) // FIX: compute first, lock for the addition alone
	cache.lock.Lock()
	defer cache.lock.Unlock()
	cache.slots[entry%slots] += value
}

func worker(first, workers, scale int, done *sync.WaitGroup) {
	defer done.Done()
	for entry := first; entry < entries*scale; entry += workers {
		source := crunch(uint64(entry)+1, fetchUs)
		if form == "fixed" {
			storeEntryLater(entry, source)
		} else {
			storeEntry(entry, source)
		}
	}
}

func argument(position, otherwise int) int {
	if len(os.Args) <= position {
		return otherwise
	}
	value, err := strconv.Atoi(os.Args[position])
	if err != nil || value < 1 {
		fmt.Fprintf(os.Stderr, "%s is no positive number (usage: go_mutex [goroutines] [scale])\n", os.Args[position])
		os.Exit(98)
	}
	return value
}

func main() {
	workers, scale := argument(1, 4), argument(2, 1)
	var done sync.WaitGroup
	done.Add(workers)
	for number := 0; number < workers; number++ {
		go worker(number, workers, scale, &done)
	}
	done.Wait()
	var checksum uint64
	for _, slot := range cache.slots {
		checksum = checksum*31 + slot
	}
	fmt.Printf("go_mutex checksum %016x\n", checksum)
}
