//! Pieces of the critical path, and what waiting for them is booked as.

use holdup_model::cycles::Level;

/// What waiting is booked as: the cell of the instruction, the component, and of an access how many cycles of its end are not
/// translation. One word, so that the host keeps it in a register.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Booked(u64);

impl Booked {
    const ALL_DATA: u64 = (1 << 24) - 1;

    #[inline]
    pub(super) fn new(cell: u32, component: u8) -> Self {
        Self(u64::from(cell) << 32 | Self::ALL_DATA << 8 | u64::from(component))
    }

    /// The same instruction's wait for data from there.
    #[inline]
    pub(super) fn by(self, level: Level) -> Self {
        Self::new(self.cell() + level as u32, level.component() as u8)
    }

    /// An access of which all but the last `data` cycles are translation of its address.
    pub(super) fn translated(self, data: u64) -> Self {
        Self(self.0 & !(Self::ALL_DATA << 8) | data.min(Self::ALL_DATA - 1) << 8)
    }

    #[inline]
    pub(super) fn cell(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) fn component(self) -> usize {
        (self.0 & 0xff) as usize
    }

    /// Of a wait for the end of the piece, the cycles that are not for translation.
    #[inline]
    pub(super) fn data_of(self, cycles: u64) -> u64 {
        match self.0 >> 8 & Self::ALL_DATA {
            Self::ALL_DATA => cycles,
            data => cycles.min(data),
        }
    }
}

/// A micro-op's piece of the critical path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    /// The cycle in which it is done, and all before it.
    pub end: u64,
    /// What waiting for it is booked as.
    pub booked: Booked,
}
