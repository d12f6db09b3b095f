//! Helping the critical thread of a program while it runs.
//!
//! Source: Du Bois et al., "Criticality Stacks", ISCA'13, sections 5.2, 7 and 8. The paper makes the core of the critical thread
//! fast; a real machine has other means, or several: a core of its own, a better core, a higher priority, a higher frequency.
//!
//! In reading order: which CPUs are better than others ([`Cores`]), what may be done here ([`examine`], [`Means`]), doing it and
//! taking it back ([`Helper`]), whether it was of use ([`Effect`]), and who asks when ([`Steering`]). What is changed is told to
//! a guardian before (`holdup_pirate::Guardian`), which takes it back where nobody else can.

mod cores;
mod effect;
mod hand;
mod helper;
mod linux;
mod means;
mod steering;

pub use cores::Cores;
pub use effect::{Effect, Verdict};
pub use hand::{Hand, Linux};
pub use helper::{Helper, Program, Register, Wanted};
pub use means::{Found, Means, Rights, Tool, examine};
pub use steering::{Event, Guard, Options, Steering, Tell, Told};
