// Blocks for ever in a system call, at the end of a chain of calls. Writes a line with its process and thread id first.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

//go:noinline
func inner(file int) int {
	var bytes [1]byte
	fmt.Println(os.Getpid(), syscall.Gettid())
	count, _ := syscall.Read(file, bytes[:])
	return count
}

//go:noinline
func middle(file int) int {
	return inner(file) + 1
}

func main() {
	runtime.LockOSThread()
	var ends [2]int
	if syscall.Pipe(ends[:]) != nil {
		os.Exit(7)
	}
	if len(os.Args) > 1 && os.Args[1] == "goroutine" {
		done := make(chan int)
		go func() {
			runtime.LockOSThread()
			done <- middle(ends[0])
		}()
		<-done
	}
	os.Exit(middle(ends[0]))
}
