use proptest::prelude::*;

use super::*;

fn changed(name: &str, from: &str, to: &str) -> Result<Machine, MachineError> {
    let text = Machine::text(name).unwrap();
    assert!(text.contains(from), "{from}");
    Machine::parse(&text.replacen(from, to, 1))
}

fn says(result: Result<Machine, MachineError>) -> String {
    let said = result.unwrap_err().to_string();
    assert!(!said.contains('\n'), "{said}");
    said
}

#[test]
fn every_machine_that_comes_along_can_be_simulated() {
    for name in Machine::names() {
        let machine =
            Machine::parse(Machine::text(name).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(machine.name, name);
        assert_eq!(Machine::named(name), Some(machine.clone()));
        assert_eq!(Machine::parse(&machine.to_toml()), Ok(machine), "{name}");
    }
    assert_eq!(Machine::named("host"), None);
}

#[test]
fn every_number_has_its_source() {
    for name in Machine::names() {
        for (number, line) in Machine::text(name).unwrap().lines().enumerate() {
            let Some((key, value)) = line.split_once(" = ") else { continue };
            if value.starts_with('"') && key != "coherence" {
                continue;
            }
            let source = value.split_once(" # ").map(|(_, source)| source.trim()).unwrap_or_default();
            assert!(source.len() >= 4, "{name}, line {}: {key} has no source", number + 1);
        }
    }
}

#[test]
fn dunnington_is_table_1_of_paper_3() {
    let machine = Machine::named("dunnington").unwrap();
    assert_eq!((machine.cores(), machine.frequency), (16, 2.67));
    assert_eq!((machine.core.width, machine.core.window), (4, 96));
    let levels = [Some(&machine.l1d), machine.l2.as_ref(), machine.l3.as_ref()].map(|level| {
        let level = level.unwrap();
        (level.size >> 10, level.ways, level.latency, level.tags, level.shared_by)
    });
    assert_eq!(levels, [(32, 8, 3, 1, 1), (3072, 12, 14, 3, 2), (16_384, 16, 96, 10, 4)]);
    assert_eq!(machine.coherence, Coherence::Msi);
    assert_eq!((machine.memory.latency_ns, machine.memory.bandwidth), (200.0, 4.0));
    assert_eq!(machine.cycles(200.0), 534);
}

#[test]
fn more_cores_than_there_are_add_sockets() {
    let machine = Machine::named("dunnington").unwrap();
    assert_eq!(machine.with_cores(4), machine);
    assert_eq!(machine.with_cores(16), machine);
    assert_eq!(machine.with_cores(17).sockets, 5);
    assert_eq!(machine.with_cores(64).sockets, 16);
    machine.with_cores(64).check().unwrap();
}

#[test]
fn mistyped_keys_and_values_are_told_with_what_was_meant() {
    assert_eq!(
        says(changed("dunnington", "width = 4", "widht = 4")),
        "line 11, [core]: there is no key `widht`; did you mean `width`?"
    );
    assert_eq!(
        says(changed("dunnington", "coherence = \"msi\"", "coherence = \"msii\"")),
        "line 8: there is no value `msii`; did you mean `msi`?"
    );
    assert_eq!(
        says(changed("dunnington", "coherence = \"msi\"", "coherence = \"dragon\"")),
        "line 8: there is no value `dragon`; there is msi, mesi"
    );
    let said = says(changed("dunnington", "window = 96", "banana = 96"));
    assert!(
        said.starts_with("line 12, [core]: there is no key `banana`; there is model, width, window"),
        "{said}"
    );
    let said = says(changed("dunnington", "window = 96", ""));
    assert!(said.ends_with("the key `window` is missing; machines/README.md says what it means"), "{said}");
    let said = says(changed("dunnington", "window = 96", "window = \"deep\""));
    assert!(said.starts_with("line 12, [core]: invalid type"), "{said}");
    let said = says(Machine::parse("name = \"unfinished"));
    assert!(said.starts_with("line 1"), "{said}");
}

#[test]
fn what_cannot_be_is_told_with_what_could() {
    let cases = [
        (
            "cores-per-socket = 4",
            "cores-per-socket = 0",
            "cores-per-socket: 0 is too small; possible are 1 to 1024",
        ),
        (
            "size = 3145728",
            "size = 3000000",
            "l2.size: 3000000 bytes cannot be dealt to sets of 12 ways of 64 bytes; 2999808 or 3000576 could",
        ),
        (
            "shared-by = 4",
            "shared-by = 3",
            "l3.shared-by: 3 does not divide the 4 cores of a socket; possible are 2, 4",
        ),
        (
            "shared-by = 4",
            "shared-by = 1",
            "l3.shared-by: 1 is no multiple of l2.shared-by (2): cores that share an l2 share its l3",
        ),
        (
            "size = 3145728",
            "size = 51539607552",
            "sockets: caches, translation buffers and predictors of all 16 cores have 6443626752 entries",
        ),
        (
            "size = 3145728",
            "size = 18446744073709551615",
            "l2.size: 18446744073709551615 bytes are too many; at most 64 GiB",
        ),
        ("frequency = 2.67", "frequency = nan", "frequency: NaN cannot be; possible are 0.01 to 100"),
        ("window = 96", "window = 2", "core.window: 2 is too small; possible are 4 to 65536"),
        (
            "front-end = 15",
            "front-end = 15\nlatency = { lod = 2 }",
            "core.latency.lod: there is no such class of micro-ops; did you mean `load`?",
        ),
        (
            "bimodal = 4096",
            "bimodal = 5000",
            "predictor.bimodal: 5000 is no power of two; the nearest are 4096 and 8192",
        ),
        ("entries = 128", "entries = 130", "itlb.entries: 130 entries cannot be dealt to 4 ways; 128 could"),
        ("tags = 3", "tags = 15", "l2.tags: 15 is too large; possible are 0 to 14"),
        (
            "slice-ns = 1000000.0",
            "slice-ns = 0.0",
            "system.slice-ns: 0 cannot be; possible are 1 to 1000000000000",
        ),
        (
            "tags = 3 ",
            "replacement = \"tree-plru\"\ntags = 3 ",
            "l2.replacement: tree-plru needs a power of two of ways, not 12; take lru or nru",
        ),
    ];
    for (from, to, expected) in cases {
        let said = says(changed("dunnington", from, to));
        assert!(said.starts_with(expected), "{said}\nexpected {expected}");
    }
    let mut machine = Machine::named("dunnington").unwrap();
    machine.l1i.line = 32;
    let said = machine.check().unwrap_err().to_string();
    assert_eq!(said, "l1i.line: 32 bytes, and 64 in l1d; a machine's caches have lines of one size");
    machine = Machine::named("dunnington").unwrap();
    machine.l2 = None;
    assert!(machine.check().unwrap_err().to_string().starts_with("l3: there is no l2"));
}

#[test]
fn unknown_names_are_told_with_the_nearest() {
    let said = |name| Machine::known(name, &["host"]).unwrap_err().to_string();
    assert_eq!(said("dunington"), "there is no machine `dunington`; did you mean `dunnington`?");
    assert_eq!(said("Hots"), "there is no machine `Hots`; did you mean `host`?");
    assert!(said("cray-1").contains("dunnington, nehalem"), "{}", said("cray-1"));
    assert_eq!(Machine::known("genoa", &[]).unwrap().cores(), 64);
}

proptest! {
    #[test]
    fn any_text_gives_a_machine_or_one_line(cut in 0usize..5000, with in ".{0,12}") {
        let text = Machine::text("dunnington").unwrap();
        let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let text = format!("{}{with}{}", &text[..at], &text[at..]);
        if let Err(error) = Machine::parse(&text) {
            prop_assert!(!error.to_string().contains('\n'), "{error}");
        }
    }

    #[test]
    fn with_enough_cores_it_has_at_least_so_many(cores in 1u32..1024) {
        for name in Machine::names() {
            let machine = Machine::named(name).unwrap().with_cores(cores);
            prop_assert!(machine.cores() >= cores);
            if machine.cores() <= 1024 {
                prop_assert!(machine.check().is_ok());
            }
        }
    }
}
