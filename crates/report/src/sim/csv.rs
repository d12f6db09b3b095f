//! Cycles as a table of commas, a row for each component of each thread, for spreadsheets and statistics.

use super::SimTold;
use crate::escape;

/// Cycles as comma-separated values (RFC 4180), in the long form that statistics want: a row for each thread and component
/// that is not 0. The rows of a thread add up to the cycles of the run. Names have their control characters spelled out.
pub fn sim_csv(told: &SimTold) -> String {
    let mut out = String::from("machine,cores,changes,thread,name,component,cycles,input\n");
    for run in &told.runs {
        let simulated = &run.simulated;
        let (machine, changes) = (field(&simulated.machine), field(&simulated.changes.join("; ")));
        let (cores, input) = (simulated.cores, field(&run.input));
        for thread in &simulated.threads {
            let name = field(thread.name.as_deref().unwrap_or_default());
            for (component, cycles) in thread.stack.parts() {
                let (number, component) = (thread.number, component.name());
                out.push_str(&format!(
                    "{machine},{cores},{changes},{number},{name},{component},{cycles},{input}\n"
                ));
            }
        }
    }
    out
}

/// A value that ends where it should, and that no spreadsheet takes for a formula.
fn field(text: &str) -> String {
    let text = escape::escaped(text);
    let text = match text.starts_with(['=', '+', '-', '@']) {
        true => format!("'{text}"),
        false => text,
    };
    match text.contains(['"', ',', ';']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_they_should() {
        assert_eq!(field("plain name"), "plain name");
        assert_eq!(field("a,\"b\"\n"), "\"a,\"\"b\"\"\\n\"");
        assert_eq!(field("=1+1"), "'=1+1");
    }
}
