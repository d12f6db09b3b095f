//! What holds for any code.

use proptest::prelude::*;

use super::super::reference::Reference;
use super::*;

/// Instructions that random code is made of: chains through registers, flags, vectors and memory; slow and atomic operations.
const INSTRUCTIONS: &[&[u8]] = &[
    ADD,
    LEA,
    CHASE,
    LOAD,
    STORE,
    TEST,
    FADD,
    FDIV,
    &LEA_RCX,
    &[0x48, 0x01, 0x47, 0x08],       // add [rdi+8], rax
    &[0x48, 0x0f, 0xaf, 0xc1],       // imul rax, rcx
    &[0x48, 0xf7, 0xf1],             // div rcx
    &[0x50],                         // push rax
    &[0x5b],                         // pop rbx
    &[0x48, 0x0f, 0x44, 0xc3],       // cmove rax, rbx
    &[0xf2, 0x48, 0x0f, 0x2a, 0xc0], // cvtsi2sd xmm0, rax
];
/// Those that need more than the reference has.
const ORDERED: &[&[u8]] = &[
    &[0xf0, 0x48, 0x01, 0x07], // lock add [rdi], rax
    &[0x0f, 0xae, 0xf0],       // mfence
    &[0xf3, 0x90],             // pause
    &[0xf3, 0xaa],             // rep stosb
    &[0x0f, 0x05],             // syscall
];

#[derive(Clone, Debug)]
pub(in super::super) enum Act {
    Execute(u32, Vec<(u8, u16)>),
    Mispredicted,
    Fetch(u32),
    Idle(u64),
}

/// What a random access finds: mostly hits.
pub(in super::super) fn served(kind: u8, address: u16) -> (Served, u64) {
    let by = Level::ALL[usize::from(kind % 64).saturating_sub(57)];
    let latency = [3, 50, 14, 40, 96, 250, 600][by as usize];
    let tlb = if kind >= 192 { 30 } else { 0 };
    (Served { tlb, ..from(by, latency) }, u64::from(address % 128) * 8)
}

fn blocks(from: &'static [&'static [u8]]) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let block = prop::collection::vec(prop::sample::select(from), 1..20);
    prop::collection::vec(block.prop_map(|parts| parts.concat()), 4)
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let accesses = || prop::collection::vec(any::<(u8, u16)>(), 64);
    let act = prop_oneof![
        12 => (0..4_u32, accesses()).prop_map(|(block, accesses)| Act::Execute(block, accesses)),
        2 => Just(Act::Mispredicted),
        1 => (1..40_u32).prop_map(Act::Fetch),
        1 => (0..500_u64).prop_map(Act::Idle),
    ];
    prop::collection::vec(act, 1..60)
}

fn facts(width: u32, window: u32, limits: bool) -> Machine {
    let mut machine = machine(width, window);
    if limits {
        machine.core.outstanding_misses = 3;
        machine.core.store_buffer = 5;
    }
    machine
}

/// Executes all, and checks after each act that time and every component only grow, and that these are all cycles.
fn run(machine: &Machine, blocks: &[Vec<u8>], acts: &[Act]) -> (u64, CycleStack) {
    let mut core = core(machine, blocks);
    let mut last = None;
    let (mut before, mut time) = (CycleStack::default(), 0);
    for act in acts {
        match act {
            Act::Execute(block, accesses) => {
                let (served, addresses): (Vec<_>, Vec<_>) =
                    accesses.iter().map(|&(kind, address)| served(kind, address)).unzip();
                core.execute(*block, u32::MAX, &served, &addresses);
                last = Some(*block);
            }
            Act::Mispredicted => last.into_iter().for_each(|block| core.mispredicted(block)),
            Act::Fetch(cycles) => core.fetch_stall(0, *cycles),
            Act::Idle(cycles) => {
                core.settle();
                core.idle_until(core.now() + cycles, CycleComponent::SyncBarrier);
            }
        }
        let stack = core.stack();
        assert_eq!(stack.total(), core.now());
        assert!(core.now() >= time);
        for &component in CycleComponent::ALL {
            assert!(stack.get(component) >= before.get(component), "{component:?}");
        }
        (before, time) = (stack, core.now());
    }
    core.settle();
    let mut places = vec![CyclePlace::default(); 200];
    core.add_to_places(&mut places);
    let mut sum = CycleStack::default();
    places.iter().for_each(|place| sum.add(&place.stack));
    sum.book(CycleComponent::SyncBarrier, core.stack().get(CycleComponent::SyncBarrier));
    assert_eq!(sum, core.stack());
    (core.now(), core.stack())
}

fn any_instructions() -> &'static [&'static [u8]] {
    static ALL: std::sync::LazyLock<Vec<&[u8]>> =
        std::sync::LazyLock::new(|| INSTRUCTIONS.iter().chain(ORDERED).copied().collect());
    &ALL
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn components_are_all_cycles_and_time_never_goes_back(
        blocks in blocks(any_instructions()),
        acts in acts(),
        width in 1..8_u32,
        window in 8..200_u32,
        limits: bool,
    ) {
        let machine = facts(width, window, limits);
        let (cycles, stack) = run(&machine, &blocks, &acts);
        prop_assert_eq!(stack.total(), cycles);
        prop_assert_eq!(run(&machine, &blocks, &acts), (cycles, stack));
    }

    #[test]
    fn a_wider_or_deeper_core_is_never_slower(
        blocks in blocks(any_instructions()),
        acts in acts(),
        width in 1..6_u32,
        window in 8..200_u32,
        limits: bool,
    ) {
        let (cycles, _) = run(&facts(width, window, limits), &blocks, &acts);
        let (wider, _) = run(&facts(width + 1, window, limits), &blocks, &acts);
        let (deeper, _) = run(&facts(width, window + 7, limits), &blocks, &acts);
        prop_assert!(wider <= cycles, "wider: {} and {}", wider, cycles);
        prop_assert!(deeper <= cycles, "deeper: {} and {}", deeper, cycles);
    }

    #[test]
    fn the_one_pass_equals_the_core_simulated_cycle_by_cycle(
        blocks in blocks(INSTRUCTIONS),
        acts in acts(),
        width in 1..8_u32,
        window in 8..200_u32,
    ) {
        let machine = facts(width, window, false);
        let code = CompiledCode::new(&code(&blocks), &machine);
        let expected = Reference::new(&machine, &code).run(&acts);
        let found = run(&machine, &blocks, &acts);
        prop_assert_eq!(found.0, expected.0);
        prop_assert_eq!(found.1, expected.1);
    }
}
