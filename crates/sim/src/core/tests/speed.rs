//! How fast the core alone is on this host: `cargo test --release -p holdup-sim --lib core::tests::speed -- --ignored --nocapture`.

use std::hint::black_box;

use super::*;

/// Inner loops as GCC 13 compiles them with -O2: blocks, and how often they follow each other.
struct Kernel {
    name: &'static str,
    blocks: &'static [&'static [u8]],
    /// A mispredicted branch in so many iterations.
    mispredicted: u64,
}

const KERNELS: &[Kernel] = &[
    Kernel {
        // for i: h[(k[i] >> s) & 255]++
        name: "histogram",
        blocks: &[&[
            0x48, 0x8b, 0x07, 0x48, 0x83, 0xc7, 0x08, 0x48, 0xd3, 0xe8, 0x0f, 0xb6, 0xc0, 0x83, 0x04, 0x82,
            0x01, 0x48, 0x39, 0xfe, 0x75, 0xea,
        ]],
        mispredicted: 1000,
    },
    Kernel {
        // for i: v = k[i]; o[h[(v >> s) & 255]++] = v
        name: "radix sort",
        blocks: &[&[
            0x48, 0x8b, 0x17, 0x48, 0x83, 0xc7, 0x08, 0x48, 0x89, 0xd0, 0x48, 0xd3, 0xe8, 0x0f, 0xb6, 0xc0,
            0x49, 0x8d, 0x34, 0x82, 0x8b, 0x06, 0x44, 0x8d, 0x48, 0x01, 0x44, 0x89, 0x0e, 0x49, 0x89, 0x14,
            0xc3, 0x49, 0x39, 0xf8, 0x75, 0xda,
        ]],
        mispredicted: 1000,
    },
    Kernel {
        // for i: y[i] -= a * x[i]
        name: "dense LU",
        blocks: &[&[
            0xf2, 0x0f, 0x10, 0x14, 0xc6, 0xf2, 0x0f, 0x10, 0x0c, 0xc7, 0xf2, 0x0f, 0x59, 0xd0, 0xf2, 0x0f,
            0x5c, 0xca, 0xf2, 0x0f, 0x11, 0x0c, 0xc7, 0x48, 0x83, 0xc0, 0x01, 0x48, 0x39, 0xc2, 0x75, 0xe0,
        ]],
        mispredicted: 200,
    },
    Kernel {
        // for i: s += y[i] * x[i]
        name: "dot product",
        blocks: &[&[
            0xf2, 0x0f, 0x10, 0x04, 0xc7, 0xf2, 0x0f, 0x59, 0x04, 0xc6, 0x48, 0x83, 0xc0, 0x01, 0xf2, 0x0f,
            0x58, 0xc8, 0x48, 0x39, 0xc2, 0x75, 0xe9,
        ]],
        mispredicted: 200,
    },
    Kernel {
        // The search for a match in a deflate compressor, then an insertion into its hash table.
        name: "compressor",
        blocks: &[
            &[0x89, 0xf2, 0x89, 0xc1, 0x48, 0x01, 0xfa, 0x44, 0x38, 0x0c, 0x0a, 0x75, 0x0b],
            &[0x81, 0xe6, 0xff, 0x7f, 0x00, 0x00, 0x41, 0x0f, 0xb7, 0x34, 0x72, 0x41, 0x39, 0xf3, 0x72, 0xd2],
            &[0x41, 0x83, 0xe8, 0x01, 0x74, 0x28],
            &[
                0x8d, 0x70, 0x02, 0xc1, 0xe2, 0x05, 0x89, 0xc7, 0x41, 0x0f, 0xb6, 0x34, 0x32, 0x81, 0xe7,
                0xff, 0x7f, 0x00, 0x00, 0x31, 0xf2, 0x81, 0xe2, 0xff, 0x7f, 0x00, 0x00, 0x89, 0xd6, 0x49,
                0x8d, 0x34, 0x73, 0x44, 0x0f, 0xb7, 0x06, 0x66, 0x44, 0x89, 0x04, 0x79, 0x66, 0x89, 0x06,
                0x83, 0xc0, 0x01, 0x41, 0x39, 0xc1, 0x75, 0xcb,
            ],
        ],
        mispredicted: 8,
    },
];

/// What a block does in one of its executions.
struct Execution {
    block: u32,
    served: Vec<Served>,
    addresses: Vec<u64>,
    is_mispredicted: bool,
}

/// Some thousand executions, with 2 % of the loads and stores of other levels than the first.
fn executions(kernel: &Kernel, code: &Code) -> Vec<Execution> {
    let mut random = 1_u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    let count = code.blocks.len() as u64;
    (0..1024)
        .map(|number| {
            let block = (number % count) as u32;
            let ops = code.blocks[block as usize].ops.clone();
            let accesses =
                code.ops[ops.start as usize..ops.end as usize].iter().filter_map(|op| op.slot()).count();
            let served = (0..accesses).map(|_| match next() % 250 {
                0 => from(Level::Dram, 600),
                1 | 2 => from(Level::L3, 96),
                3 | 4 => from(Level::L2, 14),
                _ => HIT,
            });
            Execution {
                block,
                served: served.collect(),
                addresses: (0..accesses).map(|_| (next() % 65_536) * 8).collect(),
                is_mispredicted: next() % kernel.mispredicted == 0,
            }
        })
        .collect()
}

/// Seconds for which this thread has run so far, which is less than the time that has passed on a busy host.
fn on_host_core() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos: f64 = text.split_whitespace().next().and_then(|first| first.parse().ok()).expect("a number");
    nanos / 1e9
}

#[test]
#[ignore = "prints speeds"]
fn the_speed_of_the_core_alone() {
    for (model, cores) in [(CoreModel::Interval, 1), (CoreModel::Interval, 16), (CoreModel::OneIpc, 1)] {
        for kernel in KERNELS {
            let mut machine = machine(4, 96);
            machine.core.model = model;
            machine.core.outstanding_misses = 8;
            machine.core.store_buffer = 20;
            let blocks: Vec<Vec<u8>> = kernel.blocks.iter().map(|bytes| bytes.to_vec()).collect();
            let code = code(&blocks);
            let executions = executions(kernel, &code);
            let compiled = Rc::new(CompiledCode::new(&code, &machine));
            let mut all: Vec<Core> =
                (0..cores).map(|_| Core::new(&machine.core, Rc::clone(&compiled))).collect();
            let begun = on_host_core();
            for round in 0..12_800 {
                // As long as a quantum of 100 cycles lets a core run.
                for (part, some) in executions.chunks(32).enumerate() {
                    let core = &mut all[(round + part) % cores];
                    for one in some {
                        core.execute(one.block, u32::MAX, &one.served, &one.addresses);
                        if one.is_mispredicted {
                            core.mispredicted(one.block);
                        }
                    }
                }
                black_box(&mut all);
            }
            let elapsed = on_host_core() - begun;
            let per_round: usize =
                executions.iter().map(|one| code.blocks[one.block as usize].instructions.len()).sum();
            let instructions = 12_800.0 * per_round as f64;
            let cycles: u64 = all.iter().map(Core::now).sum();
            println!(
                "{model:?}, {cores} cores, {}: {:.0} million instructions/s, {:.2} cycles each",
                kernel.name,
                instructions / elapsed / 1e6,
                cycles as f64 / instructions
            );
        }
    }
}
