//! What other tools read, read back: each format is held against the timeline that it was made of.

mod formats {
    pub(crate) mod cases;
    mod firefox;
    mod folded;
    mod speedscope;
    mod tables;
}
