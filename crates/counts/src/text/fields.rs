//! A line taken apart.

use holdup_model::Frame;

use super::error::TextError;
use super::words::Worded;

/// The words of a line. All must be taken before [`Fields::done`].
pub(super) struct Fields {
    pub(super) line: u64,
    /// What the line is.
    pub(super) word: String,
    /// Values by position, the last one first.
    places: Vec<String>,
    /// Values by name.
    names: Vec<(String, String)>,
}

impl Fields {
    /// Takes a line apart; `None` if it is empty or a comment.
    pub(super) fn of(line: u64, text: &str) -> Result<Option<Self>, TextError> {
        let mut words = Words { left: text, line };
        let Some(Word { value: word, .. }) = words.next()? else { return Ok(None) };
        let mut fields = Self { line, word, places: Vec::new(), names: Vec::new() };
        while let Some(word) = words.next()? {
            match word.name {
                Some(name) => fields.names.push((name, word.value)),
                None => fields.places.push(word.value),
            }
        }
        fields.places.reverse();
        Ok(Some(fields))
    }

    pub(super) fn problem(&self, problem: impl Into<String>) -> TextError {
        TextError::Syntax { line: self.line, problem: problem.into() }
    }

    /// The next value by position, if there is one.
    pub(super) fn next(&mut self) -> Option<String> {
        self.places.pop()
    }

    /// How many values by position are left.
    pub(super) fn positions(&self) -> usize {
        self.places.len()
    }

    /// The next value by position, which is a number; `what` says which.
    pub(super) fn number(&mut self, what: &str) -> Result<u64, TextError> {
        let Some(value) = self.next() else {
            return Err(self.problem(format!("`{}` lacks its {what}", self.word)));
        };
        number(&value).ok_or_else(|| self.problem(format!("the {what} `{value}` is no number")))
    }

    /// The value of a name.
    pub(super) fn named(&mut self, name: &str) -> Option<String> {
        let at = self.names.iter().position(|(other, _)| other == name)?;
        Some(self.names.remove(at).1)
    }

    /// The value of a name, which is a number of at most `most`.
    pub(super) fn named_number(&mut self, name: &str, most: u64) -> Result<Option<u64>, TextError> {
        let Some(value) = self.named(name) else { return Ok(None) };
        match number(&value).filter(|number| *number <= most) {
            Some(number) => Ok(Some(number)),
            None => Err(self.problem(format!("`{name}={value}` is no number from 0 to {most}"))),
        }
    }

    /// The value of a name, which is one of the words of a kind.
    pub(super) fn named_word<T: Worded>(&mut self, name: &str) -> Result<Option<T>, TextError> {
        let Some(value) = self.named(name) else { return Ok(None) };
        self.word_of(&value).map(Some)
    }

    /// The kind that a word stands for.
    pub(super) fn word_of<T: Worded>(&self, value: &str) -> Result<T, TextError> {
        let problem = || self.problem(format!("`{value}` is none of {}", T::choices()));
        T::of_word(value).ok_or_else(problem)
    }

    /// Whether a name stands there alone.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let at = self.places.iter().position(|other| other == name);
        at.map(|at| self.places.remove(at)).is_some()
    }

    /// The frame that the line's names describe; `None` if it has none of them.
    pub(super) fn frame(&mut self) -> Result<Option<Frame>, TextError> {
        let line = self.named_number("line", u32::MAX.into())?.map(|line| line as u32);
        let (function, file, module) = (self.named("function"), self.named("file"), self.named("module"));
        let offset = self.named_number("offset", u64::MAX)?;
        let inlined = self.flag("inlined");
        let is_there =
            line.is_some() || function.is_some() || file.is_some() || module.is_some() || offset.is_some();
        Ok((is_there || inlined).then(|| Frame {
            function,
            file,
            line,
            module,
            address: offset.unwrap_or(0),
            inlined,
            ..Frame::default()
        }))
    }

    /// All words must have been taken.
    pub(super) fn done(&self) -> Result<(), TextError> {
        let left = self.places.last().or(self.names.first().map(|(name, _)| name));
        match left {
            Some(left) => Err(self.problem(format!("`{left}` is not known on a line `{}`", self.word))),
            None => Ok(()),
        }
    }
}

fn number(value: &str) -> Option<u64> {
    match value.strip_prefix("0x") {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
        None if value.starts_with(|first: char| first.is_ascii_digit()) => value.parse().ok(),
        _ => None,
    }
}

struct Word {
    name: Option<String>,
    value: String,
}

/// Words are separated by blanks and tabs. A word, or the value behind `=`, may be in double quotes; in them `\"`, `\\`,
/// `\n`, `\t`, `\r` and `\u{HEX}` stand for one character. `#` begins a comment where a word could begin.
struct Words<'a> {
    left: &'a str,
    line: u64,
}

impl Words<'_> {
    fn next(&mut self) -> Result<Option<Word>, TextError> {
        self.left = self.left.trim_start_matches([' ', '\t', '\r']);
        if self.left.is_empty() || self.left.starts_with('#') {
            return Ok(None);
        }
        if self.left.starts_with('"') {
            return Ok(Some(Word { name: None, value: self.quoted()? }));
        }
        let end = self.left.find([' ', '\t', '\r', '=']).unwrap_or(self.left.len());
        let (first, left) = self.left.split_at(end);
        let Some(value) = left.strip_prefix('=') else {
            self.left = left;
            return Ok(Some(Word { name: None, value: first.to_owned() }));
        };
        let name = Some(first.to_owned());
        self.left = value;
        if value.starts_with('"') {
            return Ok(Some(Word { name, value: self.quoted()? }));
        }
        let end = value.find([' ', '\t', '\r']).unwrap_or(value.len());
        let (value, left) = value.split_at(end);
        self.left = left;
        Ok(Some(Word { name, value: value.to_owned() }))
    }

    fn quoted(&mut self) -> Result<String, TextError> {
        let problem = |problem: &str| TextError::Syntax { line: self.line, problem: problem.to_owned() };
        let mut value = String::new();
        let mut chars = self.left.char_indices().skip(1);
        while let Some((at, char)) = chars.next() {
            match char {
                '"' => {
                    let left = &self.left[at + 1..];
                    if !left.is_empty() && !left.starts_with([' ', '\t', '\r']) {
                        return Err(problem("a blank must follow a closing quote"));
                    }
                    self.left = left;
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, same @ ('"' | '\\'))) => value.push(same),
                    Some((_, 'u')) => {
                        let digits: String = chars
                            .by_ref()
                            .map(|(_, char)| char)
                            .skip_while(|char| *char == '{')
                            .take_while(|char| *char != '}')
                            .take(8)
                            .collect();
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        value.push(code.ok_or_else(|| problem("`\\u` is written `\\u{HEX}`"))?);
                    }
                    _ => return Err(problem("after `\\` stands one of \" \\ n t r u")),
                },
                other => value.push(other),
            }
        }
        Err(problem("a quote is not closed"))
    }
}
