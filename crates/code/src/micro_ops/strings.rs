//! String instructions.

use iced_x86::{Instruction, Mnemonic};

use super::sequence::Sequence;
use super::{MicroRegister, OpClass};

const FROM: MicroRegister = MicroRegister::RSI;
const TO: MicroRegister = MicroRegister::RDI;
const VALUE: MicroRegister = MicroRegister::RAX;
const COUNT: MicroRegister = MicroRegister::RCX;

/// Splits a string instruction; false for those of input and output.
///
/// The segments and the size of the address do not matter. The direction flag hardly ever changes, and is not waited for.
pub(super) fn split(made: &mut Sequence, instruction: &Instruction) -> bool {
    use Mnemonic::{
        Cmpsb, Cmpsd, Cmpsq, Cmpsw, Lodsb, Lodsd, Lodsq, Lodsw, Movsb, Movsd, Movsq, Movsw, Scasb, Scasd,
        Scasq, Scasw, Stosb, Stosd, Stosq, Stosw,
    };
    let kind = match instruction.mnemonic() {
        Movsb | Movsw | Movsd | Movsq => Kind::Copy,
        Stosb | Stosw | Stosd | Stosq => Kind::Fill,
        Lodsb | Lodsw | Lodsd | Lodsq => Kind::Read,
        Cmpsb | Cmpsw | Cmpsd | Cmpsq => Kind::Compare,
        Scasb | Scasw | Scasd | Scasq => Kind::Search,
        _ => return false,
    };
    let place = |register| [register, MicroRegister::NONE];
    let (first, second) = (MicroRegister::LOADED, MicroRegister::LOADED_TOO);
    let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    if repeats {
        made.op(OpClass::Repeat, &[COUNT], &[COUNT]);
    }
    match kind {
        Kind::Copy => {
            made.load(place(FROM), first);
            made.store(place(TO), first);
        }
        Kind::Fill => made.store(place(TO), VALUE),
        Kind::Read if matches!(instruction.mnemonic(), Lodsd | Lodsq) => made.load(place(FROM), VALUE),
        Kind::Read => {
            made.load(place(FROM), first);
            made.op(OpClass::Integer, &[first, VALUE], &[VALUE]);
        }
        Kind::Compare => {
            made.load(place(TO), first);
            if repeats {
                made.stay();
            }
            made.load(place(FROM), second);
            made.op(OpClass::Integer, &[first, second], &[MicroRegister::FLAGS]);
        }
        Kind::Search => {
            made.load(place(TO), first);
            made.op(OpClass::Integer, &[first, VALUE], &[MicroRegister::FLAGS]);
        }
    }
    if matches!(kind, Kind::Copy | Kind::Read | Kind::Compare) {
        made.op(OpClass::Integer, &[FROM], &[FROM]);
    }
    if kind != Kind::Read {
        made.op(OpClass::Integer, &[TO], &[TO]);
    }
    true
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Copy,
    Fill,
    Read,
    Compare,
    Search,
}
