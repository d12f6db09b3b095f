// Parallel passes over a picture with a serial one between them, in which a single goroutine has work.
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
	frames      = 18
	tiles       = 16
	tileUs      = 2500
	histogramUs = 30000
	// Iterations of crunch in a microsecond, rounded, as in work.h.
	iterationsPerUs = 600
)

// Which form this is: set by the linker.
var form = "planted"

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

// Computes the parts of something, each in one of the goroutines, and gives their sum.
func inParallel(workers, parts int, part func(int) uint64) uint64 {
	results := make([]uint64, parts)
	var done sync.WaitGroup
	done.Add(workers)
	for number := 0; number < workers; number++ {
		go func(first int) {
			defer done.Done()
			for index := first; index < parts; index += workers {
				results[index] = part(index)
			}
		}(number)
	}
	done.Wait()
	var sum uint64
	for _, result := range results {
		sum += result
	}
	return sum
}

//go:noinline
func renderTile(frame, tile int) uint64 {
	return crunch(uint64(frame*tiles+tile+1), tileUs)
}

//go:noinline
func histogramPart(pixels uint64, part int) uint64 {
	return crunch(pixels+uint64(part), histogramUs/tiles)
}

//go:noinline
func buildHistogram(pixels uint64) uint64 {
	var sum uint64
	for part := 0; part < tiles; part++ {
		sum += histogramPart(pixels, part) // PLANTED: 30 ms in a single goroutine between the parallel passes
	}
	return sum
}

//go:noinline
func buildHistogramTogether(workers int, pixels uint64) uint64 {
	return inParallel(workers, tiles, func(part int) uint64 {
		return histogramPart(pixels, part) // FIX: the goroutines share the parts
	})
}

func argument(position, otherwise int) int {
	if len(os.Args) <= position {
		return otherwise
	}
	value, err := strconv.Atoi(os.Args[position])
	if err != nil || value < 1 {
		fmt.Fprintf(os.Stderr, "%s is no positive number (usage: go_serial [goroutines] [scale])\n", os.Args[position])
		os.Exit(98)
	}
	return value
}

func main() {
	workers, scale := argument(1, 4), argument(2, 1)
	var checksum uint64
	for frame := 0; frame < frames*scale; frame++ {
		pixels := inParallel(workers, tiles, func(tile int) uint64 { return renderTile(frame, tile) })
		if form == "fixed" {
			checksum = checksum*31 + buildHistogramTogether(workers, pixels)
		} else {
			checksum = checksum*31 + buildHistogram(pixels)
		}
	}
	fmt.Printf("go_serial checksum %016x\n", checksum)
}
