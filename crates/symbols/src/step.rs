//! One step up the stack: the caller's registers from a row of call frame information.
//!
//! DWARF 5, section 6.4; register numbers from the System V ABI for AMD64, figure 3.36. All registers are followed as
//! far as they are known: signal frames restore them from memory, and code that aligns its stack finds its caller
//! through whichever of them the compiler chose.

use gimli::{
    CfaRule, Encoding, Evaluation, EvaluationResult, Expression, Location, Reader, Register, RegisterRule,
    UnwindSection, UnwindTableRow, Value, X86_64,
};

/// Operations in one expression: the longest in use has about ten.
const MAX_OPERATIONS: u32 = 512;

const REGISTERS: usize = 17;

/// Registers that a function gives back as it found them, and whose rule may therefore be left out.
const PRESERVED: [Register; 6] =
    [X86_64::RBX, X86_64::RBP, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15];

/// Registers by DWARF number, as far as they are known. The last is the instruction pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registers([Option<u64>; REGISTERS]);

impl Registers {
    pub(crate) fn new(ip: u64, sp: u64, bp: Option<u64>) -> Self {
        let mut registers = Self([None; REGISTERS]);
        registers.set(X86_64::RA, Some(ip));
        registers.set(X86_64::RSP, Some(sp));
        registers.set(X86_64::RBP, bp);
        registers
    }

    pub(crate) fn with_bp(mut self, bp: u64) -> Self {
        self.set(X86_64::RBP, Some(bp));
        self
    }

    fn get(&self, register: Register) -> Option<u64> {
        self.0.get(usize::from(register.0)).copied().flatten()
    }

    fn needed(&self, register: Register) -> Result<u64, StepError> {
        let missing = if register == X86_64::RBP { StepError::UnknownBase } else { StepError::NoInformation };
        self.get(register).ok_or(missing)
    }

    fn set(&mut self, register: Register, value: Option<u64>) {
        if let Some(place) = self.0.get_mut(usize::from(register.0)) {
            *place = value;
        }
    }

    pub(crate) fn ip(&self) -> Option<u64> {
        self.get(X86_64::RA)
    }

    pub(crate) fn sp(&self) -> Option<u64> {
        self.get(X86_64::RSP)
    }

    pub(crate) fn bp(&self) -> Option<u64> {
        self.get(X86_64::RBP)
    }
}

/// The copied part of the stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory<'a> {
    /// Address of the first byte.
    pub(crate) start: u64,
    pub(crate) bytes: &'a [u8],
}

/// Why there is no caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepError {
    /// What is needed lies above the copied bytes.
    AboveCopy,
    /// There is no information, or it is of no use.
    NoInformation,
    /// It takes the register `rbp`, which is not known.
    UnknownBase,
}

impl Memory<'_> {
    /// The little-endian number of up to eight bytes at an address.
    fn number(&self, address: u64, size: usize) -> Result<u64, StepError> {
        let offset = address.checked_sub(self.start).ok_or(StepError::NoInformation)?;
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|from| self.bytes.get(from..from.checked_add(size)?))
            .ok_or(StepError::AboveCopy)?;
        let mut number = [0; 8];
        number.get_mut(..size).ok_or(StepError::NoInformation)?.copy_from_slice(bytes);
        Ok(u64::from_le_bytes(number))
    }

    pub(crate) fn word(&self, address: u64) -> Result<u64, StepError> {
        self.number(address, 8)
    }
}

/// The registers of the caller; nothing in the outermost frame, which has no return address.
pub(crate) fn caller_of<R: Reader<Offset = usize>>(
    section: &impl UnwindSection<R>,
    row: &UnwindTableRow<usize>,
    encoding: Encoding,
    registers: &Registers,
    memory: &Memory<'_>,
) -> Result<Option<Registers>, StepError> {
    if row.register(X86_64::RA) == Some(RegisterRule::Undefined) {
        return Ok(None);
    }
    let frame = Frame { section, encoding, registers, memory };
    let frame_address = frame.canonical_address(row.cfa())?;
    let mut caller = Registers([None; REGISTERS]);
    for number in 0..REGISTERS as u16 {
        let register = Register(number);
        let value = match row.register(register) {
            Some(rule) => frame.restored(register, &rule, frame_address),
            None if register == X86_64::RSP => Ok(Some(frame_address)),
            None if PRESERVED.contains(&register) => Ok(registers.get(register)),
            None => Ok(None),
        };
        match value {
            Ok(value) => caller.set(register, value),
            Err(error) if register == X86_64::RA => return Err(error),
            // At the end of a function compilers leave the rule of a register that was popped already: its place is
            // below the stack pointer then, and its value back in the register.
            Err(StepError::NoInformation) if PRESERVED.contains(&register) => {
                caller.set(register, registers.get(register));
            }
            Err(_) => {}
        }
    }
    match caller.ip() {
        Some(0) => Ok(None),
        Some(_) => Ok(Some(caller)),
        None => Err(StepError::NoInformation),
    }
}

/// What rules are evaluated in.
struct Frame<'a, S> {
    section: &'a S,
    encoding: Encoding,
    registers: &'a Registers,
    memory: &'a Memory<'a>,
}

impl<S> Frame<'_, S> {
    fn canonical_address<R>(&self, rule: &CfaRule<usize>) -> Result<u64, StepError>
    where
        R: Reader<Offset = usize>,
        S: UnwindSection<R>,
    {
        match rule {
            CfaRule::RegisterAndOffset { register, offset } => {
                let base = self.registers.needed(*register)?;
                Ok(base.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(expression) => {
                let expression = expression.get(self.section).map_err(|_| StepError::NoInformation)?;
                self.evaluate(expression, None)
            }
        }
    }

    fn restored<R>(
        &self,
        register: Register,
        rule: &RegisterRule<usize>,
        frame_address: u64,
    ) -> Result<Option<u64>, StepError>
    where
        R: Reader<Offset = usize>,
        S: UnwindSection<R>,
    {
        let expression = |expression: &gimli::UnwindExpression<usize>| {
            let expression = expression.get(self.section).map_err(|_| StepError::NoInformation)?;
            self.evaluate(expression, Some(frame_address))
        };
        match rule {
            RegisterRule::Undefined => Ok(None),
            RegisterRule::SameValue => Ok(self.registers.get(register)),
            RegisterRule::Offset(offset) => {
                self.memory.word(frame_address.wrapping_add_signed(*offset)).map(Some)
            }
            RegisterRule::ValOffset(offset) => Ok(Some(frame_address.wrapping_add_signed(*offset))),
            RegisterRule::Register(other) => Ok(self.registers.get(*other)),
            RegisterRule::Expression(place) => self.memory.word(expression(place)?).map(Some),
            RegisterRule::ValExpression(value) => expression(value).map(Some),
            RegisterRule::Constant(value) => Ok(Some(*value)),
            _ => Err(StepError::NoInformation),
        }
    }

    fn evaluate<R>(&self, expression: Expression<R>, first: Option<u64>) -> Result<u64, StepError>
    where
        R: Reader<Offset = usize>,
    {
        let useless = |_| StepError::NoInformation;
        let mut evaluation: Evaluation<R> = expression.evaluation(self.encoding);
        evaluation.set_max_iterations(MAX_OPERATIONS);
        if let Some(first) = first {
            evaluation.set_initial_value(first);
        }
        let mut state = evaluation.evaluate().map_err(useless)?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.registers.needed(register)?;
                    evaluation.resume_with_register(Value::Generic(value)).map_err(useless)?
                }
                EvaluationResult::RequiresMemory { address, size, space: None, .. } => {
                    let value = self.memory.number(address, usize::from(size.min(8)))?;
                    evaluation.resume_with_memory(Value::Generic(value)).map_err(useless)?
                }
                _ => return Err(StepError::NoInformation),
            };
        }
        match evaluation.as_result().last().map(|piece| &piece.location) {
            Some(Location::Address { address }) => Ok(*address),
            Some(Location::Value { value }) => value.to_u64(u64::MAX).map_err(useless),
            _ => Err(StepError::NoInformation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_outside_of_the_copy_fail() {
        let memory = Memory { start: 0x1000, bytes: &[1; 20] };
        assert_eq!(memory.word(0x1000), Ok(0x0101_0101_0101_0101));
        assert_eq!(memory.word(0x100c), Ok(0x0101_0101_0101_0101));
        assert_eq!(memory.number(0x1013, 1), Ok(1));
        for above in [0x100d, 0x1014, 0x2000, u64::MAX] {
            assert_eq!(memory.word(above), Err(StepError::AboveCopy), "{above:#x}");
        }
        for below in [0, 0xff8, 0xfff] {
            assert_eq!(memory.word(below), Err(StepError::NoInformation), "{below:#x}");
        }
    }
}
