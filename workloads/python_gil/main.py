"""Threads that compute in Python: one at a time, because each needs the interpreter's lock (the GIL).

Usage: main.py [threads] [scale]; with -X fixed, an option of the interpreter, it is the fixed form.
"""
import concurrent.futures
import sys

RECORDS = 240
# Iterations of `crunch` for a record: 3 to 5 ms.
ITERATIONS = 60_000
MASK = (1 << 64) - 1

if "fixed" in sys._xoptions:
    Executor = concurrent.futures.ProcessPoolExecutor  # FIX: processes, each with an interpreter of its own
else:
    Executor = concurrent.futures.ThreadPoolExecutor


def crunch(seed):
    x = seed
    for _ in range(ITERATIONS):
        x = (x * 6364136223846793005 + 1442695040888963407) & MASK  # PLANTED: computes while it holds the GIL
    return x


def argument(position, otherwise):
    return int(sys.argv[position]) if len(sys.argv) > position else otherwise


def main():
    threads, scale = argument(1, 4), argument(2, 1)
    checksum = 0
    with Executor(threads) as executor:
        for value in executor.map(crunch, range(1, RECORDS * scale + 1)):
            checksum = (checksum * 31 + value) & MASK
    print(f"python_gil checksum {checksum:016x}")


if __name__ == "__main__":
    main()
