#!/usr/bin/env python3
"""Compares run times that `holdup sim --machine host` predicts with measured ones.

    bench/sim/host.py HOLDUP [--runs N] [--only WORD] [--keep FOLDER]

Each program runs natively N times with 1 and with 2 threads, with the instruction sets off that the emulator lacks, so that
libraries choose the same code; the fastest run counts. Then it is recorded once, simulated, and the error printed, with the
mean of the errors' sizes. Two times are compared: the elapsed time of all, and for one thread the processor time as well,
which other programs disturb less. What the kernel does (starting the program, page faults) is measured but not simulated;
the last column says how much of the time that was.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOADS = os.path.join(HERE, "..", "..", "workloads")

# What QEMU 7.2 does not emulate; glibc and OpenBLAS choose code by it.
MASKED = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-RTM",
    "OPENBLAS_CORETYPE": "Haswell",
}

# Name, flags, arguments with T for the threads.
COMPILED = [
    ("sim_chase", [], ["T", "4", "16"]),
    ("sim_chase", [], ["T", "4", "512"]),
    ("sim_chase", [], ["T", "4", "3072"]),
    ("sim_chase", [], ["T", "2", "65536"]),
    ("sim_stream", [], ["T", "2"]),
    ("sim_branches", [], ["T", "8"]),
    ("sim_branches", ["-DFIXED"], ["T", "8"]),
    ("sim_false", [], ["T", "4"]),
    ("sim_lock", [], ["T", "1", "1"]),
    ("sim_fft", [], ["T"]),
    ("sim_cluster", [], ["T"]),
    ("sim_srad", [], ["T", "10"]),
    ("sim_dynamic", [], ["T"]),
    ("lime_lu", [], ["T"]),
    ("lime_radix", [], ["T"]),
    ("lime_root", [], ["T"]),
    ("lime_tree", [], ["T"]),
    ("lime_sort", [], ["T"]),
    ("lime_libm", ["-lm"], ["T"]),
    ("lime_pointer", [], ["T"]),
    ("lime_switch", [], ["T"]),
    ("lime_condition", [], ["T"]),
    ("lime_cache", [], ["T"]),
    ("lime_queue", [], ["T"]),
    ("lime_equal", [], ["T"]),
]

# Command with T for the threads and F for a file to work on.
REAL = [
    ("pigz", ["pigz", "-6", "-k", "-c", "-p", "T", "F"]),
    ("xz", ["xz", "-1", "-k", "-c", "--block-size=1MiB", "-TT", "F"]),
    ("zstd", ["zstd", "-9", "-q", "-k", "-c", "-TT", "F"]),
]


def programs(folder):
    """(name, command with T) of all that can be had here."""
    for name, flags, arguments in COMPILED:
        source = os.path.join(WORKLOADS, name, "main.c")
        program = os.path.join(folder, name + "".join(flag for flag in flags if flag.startswith("-D")))
        if not os.path.exists(source):
            continue
        if not os.path.exists(program):
            build = ["cc", "-O2", "-g", "-pthread", "-o", program, source] + flags
            if subprocess.run(build).returncode != 0:
                continue
        yield " ".join([os.path.basename(program)] + arguments[1:]), [program] + arguments
    text = os.path.join(folder, "text")
    if not os.path.exists(text):
        words = sorted(os.path.join(at, name) for at, _, names in os.walk(os.path.join(HERE, "..", "..", "crates"))
                       for name in names if name.endswith(".rs"))
        with open(text, "wb") as out:
            for path in words:
                out.write(open(path, "rb").read())
            out.truncate(4 << 20)
    for name, command in REAL:
        if any(os.access(os.path.join(at, command[0]), os.X_OK) for at in os.environ["PATH"].split(":")):
            yield name, [text if word == "F" else word for word in command]


def with_threads(command, threads):
    words = {"T": str(threads), "-TT": "-T%d" % threads}
    return [command[0]] + [words.get(word, word) for word in command[1:]]


def native(command, runs):
    """The least elapsed time, the least processor time, the kernel's included, and the least of that, in seconds."""
    elapsed, both, system = [], [], []
    for _ in range(runs):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, env={**os.environ, **MASKED})
        elapsed.append(time.perf_counter() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        system.append(after.ru_stime - before.ru_stime)
        # Their sum is exact; how it is divided is a guess of the kernel's.
        both.append(after.ru_utime - before.ru_utime + system[-1])
        if done.returncode != 0:
            raise subprocess.CalledProcessError(done.returncode, command)
    return min(elapsed), min(both), min(system)


def predicted(holdup, command, threads, folder):
    """Seconds that the simulation says."""
    recording, answer = os.path.join(folder, "run.holdup"), os.path.join(folder, "answer.json")
    record = [holdup, "record", "--instructions=stream", "--roi=all", "-o", recording, "--"] + command
    subprocess.run(record, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **MASKED}, check=True)
    simulate = [holdup, "sim", "--machine", "host", "--cores", str(threads), "--json", "--no-source", "--output", answer, recording]
    subprocess.run(simulate, stderr=subprocess.DEVNULL, check=True)
    os.remove(recording)
    return json.load(open(answer))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("holdup")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    options = parser.parse_args()
    machine = subprocess.run([options.holdup, "sim", "--show-machine", "host"], stdout=subprocess.PIPE, text=True, check=True)
    frequency = float(re.search(r"^frequency = ([0-9.]+)", machine.stdout, re.M).group(1))
    print("%-34s %2s %9s %9s %7s %9s %7s %6s" % ("program", "", "measured", "predicted", "error", "cpu time", "error", "kernel"))
    errors, speedups = [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        for name, command in programs(folder):
            if options.only not in name:
                continue
            times = {}
            for threads in (1, 2):
                full = with_threads(command, threads)
                try:
                    elapsed, used, system = native(full, options.runs)
                    answer = predicted(options.holdup, full, threads, folder)
                except subprocess.CalledProcessError as error:
                    print("%-34s %2d %s: status %d" % (name, threads, " ".join(error.cmd[:2]), error.returncode))
                    continue
                guess = answer["cycles"] / frequency / 1e9
                times[threads] = (elapsed, guess)
                error = guess / elapsed - 1
                errors.append(error)
                alone = "%8.1fms %+6.0f%%" % (used * 1e3, (guess / used - 1) * 100) if threads == 1 and used else " " * 18
                print("%-34s %2d %7.1fms %7.1fms %+6.0f%% %s %5.0f%%" % (
                    name, threads, elapsed * 1e3, guess * 1e3, error * 100, alone, system / elapsed * 100), flush=True)
            if len(times) == 2:
                speedups.append((times[1][1] / times[2][1]) / (times[1][0] / times[2][0]) - 1)
    for what, all_errors in (("run time", errors), ("speedup with 2 threads", speedups)):
        if all_errors:
            sizes = sorted(abs(error) for error in all_errors)
            print("%s: mean error %.0f %%, median %.0f %%, largest %.0f %%, of %d" % (
                what, 100 * sum(sizes) / len(sizes), 100 * sizes[len(sizes) // 2], 100 * sizes[-1], len(sizes)))


main()
