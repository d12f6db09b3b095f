//! How the program is told how many threads to use.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::str::FromStr;

/// What stands for the number of threads in arguments and in values of variables.
pub(crate) const PLACEHOLDER: &str = "{threads}";

/// What every OpenMP runtime reads.
pub(crate) const OPENMP: &str = "OMP_NUM_THREADS";

/// A variable of the environment that tells the program the number of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    name: String,
    /// With the placeholder in it.
    value: String,
}

/// `NAME`, or `NAME=VALUE` with the placeholder in the value.
impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Variable, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, PLACEHOLDER));
        if name.is_empty() || text.contains('\0') {
            return Err("give the name of a variable, such as RAYON_NUM_THREADS".to_owned());
        }
        if !value.contains(PLACEHOLDER) {
            return Err(format!("its value has no {PLACEHOLDER} for the number of threads"));
        }
        Ok(Variable { name: name.to_owned(), value: value.to_owned() })
    }
}

/// As it is typed.
impl std::fmt::Display for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.value.as_str() {
            PLACEHOLDER => f.write_str(&self.name),
            value => write!(f, "{}={value}", self.name),
        }
    }
}

/// A command that is run with several numbers of threads.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    command: Vec<OsString>,
    variables: Vec<Variable>,
}

impl Control {
    /// Tells the program by the placeholder in its arguments, by these variables, and by OpenMP's, of which `before` is
    /// the value in holdup's own environment.
    ///
    /// OpenMP's variable is left as it is where the user has set it and tells the program in another way: then it is
    /// for something else. Where it has values for nested levels, only the outermost changes.
    pub(crate) fn new(command: &[OsString], variables: &[Variable], before: Option<&OsStr>) -> Control {
        let command = command.to_vec();
        let mut variables = variables.to_vec();
        let told = !variables.is_empty() || command.iter().any(|word| has_placeholder(word));
        let before = before.filter(|value| !value.is_empty());
        if !(told && before.is_some()) && variables.iter().all(|variable| variable.name != OPENMP) {
            let levels = before.and_then(OsStr::to_str).and_then(|value| value.split_once(','));
            let value = levels.map_or(PLACEHOLDER.to_owned(), |(_, inner)| format!("{PLACEHOLDER},{inner}"));
            variables.push(Variable { name: OPENMP.to_owned(), value });
        }
        Control { command, variables }
    }

    /// True if the command itself says where the number stands.
    pub(crate) fn is_in_command(&self) -> bool {
        self.command.iter().any(|word| has_placeholder(word))
    }

    /// The command for so many threads.
    pub(crate) fn command(&self, threads: u32) -> Vec<OsString> {
        self.command.iter().map(|word| filled(word, threads)).collect()
    }

    /// The variables for so many threads.
    pub(crate) fn environment(&self, threads: u32) -> Vec<(OsString, OsString)> {
        let value = |variable: &Variable| filled(OsStr::new(&variable.value), threads);
        self.variables.iter().map(|variable| (OsString::from(&variable.name), value(variable))).collect()
    }

    /// The names of the variables.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.variables.iter().map(|variable| variable.name.as_str()).collect()
    }
}

fn has_placeholder(word: &OsStr) -> bool {
    word.as_bytes().windows(PLACEHOLDER.len()).any(|part| part == PLACEHOLDER.as_bytes())
}

fn filled(word: &OsStr, threads: u32) -> OsString {
    let number = threads.to_string();
    let mut rest = word.as_bytes();
    let mut filled = Vec::new();
    while let Some(at) = rest.windows(PLACEHOLDER.len()).position(|part| part == PLACEHOLDER.as_bytes()) {
        filled.extend_from_slice(&rest[..at]);
        filled.extend_from_slice(number.as_bytes());
        rest = &rest[at + PLACEHOLDER.len()..];
    }
    filled.extend_from_slice(rest);
    OsString::from_vec(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(command: &[&str], variables: &[&str], before: Option<&str>) -> Control {
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        let variables: Vec<Variable> = variables.iter().map(|text| text.parse().unwrap()).collect();
        Control::new(&command, &variables, before.map(OsStr::new))
    }

    fn environment(control: &Control) -> Vec<(String, String)> {
        let words = |word: OsString| word.into_string().unwrap();
        control.environment(4).into_iter().map(|(name, value)| (words(name), words(value))).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn placeholders_are_replaced_wherever_they_stand() {
        let mut command: Vec<OsString> =
            ["app", "-t{threads}", "{threads}x{threads}", "{thread}"].iter().map(OsString::from).collect();
        command.push(OsString::from_vec(b"\xff{threads}\xfe".to_vec()));
        let control = Control::new(&command, &[], None);
        assert!(control.is_in_command());
        let told = control.command(16);
        assert_eq!(told[..4], ["app", "-t16", "16x16", "{thread}"]);
        assert_eq!(told[4].as_bytes(), b"\xff16\xfe");
    }

    #[test]
    fn openmp_is_told_unless_the_user_means_something_else_by_it() {
        let openmp = |value: &str| pairs(&[(OPENMP, value)]);
        assert_eq!(environment(&control(&["app"], &[], None)), openmp("4"));
        assert_eq!(environment(&control(&["app"], &[], Some("8"))), openmp("4"));
        assert_eq!(environment(&control(&["app"], &[], Some("8,2"))), openmp("4,2"));
        assert_eq!(environment(&control(&["app", "{threads}"], &[], None)), openmp("4"));
        assert_eq!(environment(&control(&["app", "{threads}"], &[], Some("1"))), pairs(&[]));
        assert_eq!(
            environment(&control(&["app"], &["OMP_NUM_THREADS={threads},1"], Some("1"))),
            openmp("4,1")
        );
    }

    #[test]
    fn variables_of_the_users_choice() {
        let both = control(&["app"], &["RAYON_NUM_THREADS", "OPTIONS=-j {threads}"], None);
        let told = [("RAYON_NUM_THREADS", "4"), ("OPTIONS", "-j 4"), (OPENMP, "4")];
        assert_eq!(environment(&both), pairs(&told));
        assert!(!both.is_in_command());
        for bad in ["", "=x{threads}", "NAME=4"] {
            assert!(bad.parse::<Variable>().is_err(), "{bad}");
        }
        for typed in ["A", "A=x{threads}"] {
            assert_eq!(typed.parse::<Variable>().unwrap().to_string(), typed);
        }
    }
}
