//! OpenMP: what its runtimes do is told by a front-end for each.
//!
//! gcc's runtime has no place for a tool: its entry points are interposed ([`gomp`]). LLVM's has one ([`ompt`]), and
//! also exports gcc's entry points, for code that gcc compiled: these calls are passed on to it.

mod gomp;
mod ompt;
