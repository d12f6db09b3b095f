//! What the plugin is told on QEMU's command line.

use std::path::PathBuf;

use crate::meets::Place;

/// The arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The session's directory.
    pub(crate) session: PathBuf,
    pub(crate) mode: Mode,
    pub(crate) interest: Interest,
    /// After so many instructions nothing but marks is written.
    pub(crate) instructions: u64,
    /// After so many bytes nothing but marks is written.
    pub(crate) bytes: u64,
    /// So many instructions one thread may be ahead of another that runs.
    pub(crate) skew: Option<u64>,
    /// What may be barriers.
    pub(crate) meets: Vec<Place>,
    /// Beginnings of paths whose modules are the program's own, wherever they are.
    pub(crate) own: Vec<String>,
}

/// What is written of each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// How often which edge was taken.
    Counts,
    /// Every block, and every access to memory.
    Stream,
}

/// Which part of the run is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// From the second thread on.
    Auto,
    /// All of it.
    All,
    /// What the program marks.
    Marked,
}

impl Options {
    /// Understands arguments of the form `name=value`. Errors are one line.
    pub(crate) fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut session = None;
        let mut options = Self {
            session: PathBuf::new(),
            mode: Mode::Counts,
            interest: Interest::Auto,
            instructions: u64::MAX,
            bytes: u64::MAX,
            skew: None,
            meets: Vec::new(),
            own: Vec::new(),
        };
        for argument in arguments {
            let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
            let wrong = || format!("the argument {argument} is not understood");
            let number = || value.parse().map_err(|_| wrong());
            match (name, value) {
                ("session", _) => session = Some(PathBuf::from(value)),
                ("mode", "counts") => options.mode = Mode::Counts,
                ("mode", "stream") => options.mode = Mode::Stream,
                ("roi", "auto") => options.interest = Interest::Auto,
                ("roi", "all") => options.interest = Interest::All,
                ("roi", "marked") => options.interest = Interest::Marked,
                ("instructions", _) => options.instructions = number()?,
                ("bytes", _) => options.bytes = number()?,
                ("skew", _) => options.skew = Some(number()?),
                ("meet", place) => options.meets.push(meets(place).ok_or_else(wrong)?),
                ("own", path) if !path.is_empty() => options.own.push(path.to_owned()),
                _ => return Err(wrong()),
            }
        }
        options.session = session.ok_or("the argument session=DIRECTORY is missing")?;
        Ok(options)
    }
}

/// `START-END` of a function, or `BEHIND/COMES+COMES/LEAVES+LEAVES` of a piece of one, in hexadecimal.
fn meets(text: &str) -> Option<Place> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    if let Some((start, end)) = text.split_once('-') {
        let range = number(start)?..number(end)?;
        return (range.start < range.end).then_some(Place::Function(range));
    }
    let all = |text: &str| text.split('+').map(number).collect::<Option<Vec<u64>>>();
    let mut parts = text.split('/');
    let behind = number(parts.next()?)?;
    let (comes, leaves) = (all(parts.next()?)?, all(parts.next()?)?);
    parts.next().is_none().then_some(Place::Piece { behind, comes, leaves })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_understood_or_named() {
        let options = [
            "session=/s=1",
            "mode=stream",
            "roi=marked",
            "skew=9",
            "own=/a",
            "meet=1f0-2a0",
            "meet=380/3a0+3b0/380",
        ];
        let options = Options::parse(options).unwrap();
        assert_eq!(options.session, PathBuf::from("/s=1"));
        assert_eq!((options.mode, options.interest, options.skew), (Mode::Stream, Interest::Marked, Some(9)));
        assert_eq!((options.bytes, options.own), (u64::MAX, vec!["/a".to_owned()]));
        let piece = Place::Piece { behind: 0x380, comes: vec![0x3a0, 0x3b0], leaves: vec![0x380] };
        assert_eq!(options.meets, [Place::Function(0x1f0..0x2a0), piece]);
        assert!(Options::parse(["mode=counts"]).unwrap_err().contains("session"));
        for wrong in [
            "mode=all",
            "bytes=many",
            "colour=red",
            "roi",
            "own=",
            "meet=1",
            "meet=5-5",
            "meet=5/",
            "meet=5/6/7/8",
        ] {
            assert!(Options::parse(["session=s", wrong]).unwrap_err().contains(wrong));
        }
    }
}
