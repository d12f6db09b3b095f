#!/bin/sh
# Builds the programs of the study and makes their inputs: prepare.sh DIRECTORY. The same sources give the same inputs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
workloads=$here/../../workloads
mkdir -p "$1"
cp "$here/plan.toml" "$1"
cd "$1"

build() { # the program's name, the workload, options
    name=$1 workload=$2
    shift 2
    # Two iterations for each microsecond of computing: a three-hundredth of the work, since it is simulated.
    cc -std=gnu11 -O2 -g -pthread -DITERATIONS_PER_US=2L "$@" -o "$name" "$workloads/$workload/main.c" -lm
}

for workload in critical_section rwlock lock_chain late_thread serial_phase balanced sim_stream sim_chase sim_srad \
    sim_branches sim_false stack_prices; do
    build "$workload" "$workload"
done
for workload in omp_critical omp_barriers omp_serial sim_dynamic; do
    build "$workload" "$workload" -fopenmp
done
build late_thread_fixed late_thread -DFIXED
build critical_section_fixed critical_section -DFIXED
build sim_dynamic_fixed sim_dynamic -DFIXED -fopenmp
build sim_false_fixed sim_false -DFIXED

# Text of words that repeat, as compressors like it. A linear congruential generator within 2^53.
for kib in 64 256 1024 4096; do
    awk -v bytes=$((kib * 1024)) 'BEGIN {
        state = 1
        for (i = 0; i < 4096; i++) {
            word = ""
            for (k = 0; k < 2 + i % 9; k++) {
                state = (state * 1103515245 + 12345) % 2147483648
                word = word sprintf("%c", 97 + int(state / 65536) % 26)
            }
            words[i] = word
        }
        while (done < bytes) {
            state = (state * 1103515245 + 12345) % 2147483648
            # Squared: the first words come often, as in languages.
            part = int(state / 65536) / 32768
            line = words[int(part * part * 4096)] (int(state / 1024) % 12 == 0 ? "\n" : " ")
            printf "%s", line
            done += length(line)
        }
    }' | head -c $((kib * 1024)) >"text$kib"
done
