//! Cycles by source line and by function.

use std::collections::BTreeMap;

use holdup_model::cycles::{CycleStack, Level, Simulated};
use holdup_model::{Arrange, Frame};

use super::CycleNames;

/// Cycles of the instructions of a source line or a function.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceCycles {
    /// The frames of its instruction that costs most, innermost first; its address alone where nothing is known.
    pub at: Vec<Frame>,
    /// How many instructions it has, of those that were executed.
    pub instructions: u32,
    /// How often these were executed, all together.
    pub executions: u64,
    /// Their cycles.
    pub stack: CycleStack,
    /// Their accesses by who gave the data.
    pub served: [u64; Level::ALL.len()],
}

/// What instructions have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    Line(&'a str, u32),
    Function(&'a str, Option<&'a str>),
    Address(u64),
}

/// Cycles by the source line that a person wrote, most first. Instructions without a line are one place for each function,
/// or stand alone.
pub fn by_line(run: &Simulated, names: &CycleNames) -> Vec<PlaceCycles> {
    collected(run, names, |frame| match (&frame.file, frame.line) {
        (Some(file), Some(line)) => Some(Key::Line(file, line)),
        _ => function(frame),
    })
}

/// Cycles by function, most first: what is inlined counts for the function that was written.
pub fn by_function(run: &Simulated, names: &CycleNames) -> Vec<PlaceCycles> {
    collected(run, names, function)
}

fn function(frame: &Frame) -> Option<Key<'_>> {
    frame.function.as_deref().map(|function| Key::Function(function, frame.module.as_deref()))
}

fn collected<'a>(
    run: &Simulated,
    names: &'a CycleNames,
    key: impl Fn(&'a Frame) -> Option<Key<'a>>,
) -> Vec<PlaceCycles> {
    let mut places: BTreeMap<Key<'a>, (u64, PlaceCycles)> = BTreeMap::new();
    for place in &run.places {
        let key = names.place(place.address).and_then(&key).unwrap_or(Key::Address(place.address));
        let (most, told) = places.entry(key).or_insert_with(|| {
            let nothing = PlaceCycles {
                at: Vec::new(),
                instructions: 0,
                executions: 0,
                stack: CycleStack::default(),
                served: Default::default(),
            };
            (0, nothing)
        });
        let cycles = place.stack.total();
        if told.at.is_empty() || cycles > *most {
            *most = cycles;
            told.at = match names.code.get(&place.address).filter(|frames| !frames.is_empty()) {
                Some(frames) => frames.clone(),
                None => vec![Frame { address: place.address, ..Frame::default() }],
            };
        }
        told.instructions += 1;
        told.executions += place.executions;
        told.stack.add(&place.stack);
        for (own, more) in told.served.iter_mut().zip(place.served) {
            *own += more;
        }
    }
    let mut told: Vec<PlaceCycles> = places.into_values().map(|(_, place)| place).collect();
    told.arrange_by_key(|place| std::cmp::Reverse(place.stack.total()));
    told
}

#[cfg(test)]
mod tests {
    use holdup_model::cycles::{CycleComponent, CyclePlace};

    use super::*;

    fn frame(function: &str, line: u32) -> Frame {
        Frame {
            function: Some(function.to_owned()),
            file: Some("fft.c".to_owned()),
            line: Some(line),
            module: Some("fft".to_owned()),
            ..Frame::default()
        }
    }

    fn place(address: u64, cycles: u64) -> CyclePlace {
        let mut stack = CycleStack::default();
        stack.book(CycleComponent::MemDram, cycles);
        CyclePlace { address, executions: 2, stack, served: [1; 7] }
    }

    fn example() -> (Simulated, CycleNames) {
        let mut inlined = frame("swap", 7);
        inlined.inlined = true;
        let code = BTreeMap::from([
            (1, vec![frame("transpose", 120)]),
            (2, vec![frame("transpose", 120)]),
            (3, vec![inlined, frame("transpose", 121)]),
            (
                4,
                vec![Frame {
                    function: Some("memcpy".to_owned()),
                    module: Some("libc.so.6".to_owned()),
                    ..Frame::default()
                }],
            ),
        ]);
        let places = vec![place(1, 10), place(2, 30), place(3, 25), place(4, 5), place(5, 1)];
        (Simulated { places, ..Simulated::default() }, CycleNames { code, ..CycleNames::default() })
    }

    #[test]
    fn instructions_of_a_line_are_one_place() {
        let (run, names) = example();
        let told: Vec<_> = by_line(&run, &names)
            .into_iter()
            .map(|place| {
                (place.at[0].line, place.instructions, place.executions, place.stack.total(), place.served[0])
            })
            .collect();
        assert_eq!(
            told,
            [(Some(120), 2, 4, 40, 2), (Some(7), 1, 2, 25, 1), (None, 1, 2, 5, 1), (None, 1, 2, 1, 1)]
        );
    }

    #[test]
    fn functions_add_up_to_the_same() {
        let (run, names) = example();
        let told = by_function(&run, &names);
        let shown: Vec<_> =
            told.iter().map(|place| (place.at[0].function.as_deref(), place.stack.total())).collect();
        assert_eq!(shown, [(Some("transpose"), 40), (Some("swap"), 25), (Some("memcpy"), 5), (None, 1)]);
        let sum: u64 = by_line(&run, &names).iter().map(|place| place.stack.total()).sum();
        assert_eq!(sum, told.iter().map(|place| place.stack.total()).sum::<u64>());
        assert_eq!(told[3].at[0].address, 5);
    }
}
