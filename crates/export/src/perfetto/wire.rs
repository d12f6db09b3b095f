//! The encoding of protocol buffers, as far as Perfetto's packets need it: fields are keys and values, one after the other
//! (<https://protobuf.dev/programming-guides/encoding/>).

/// Adds fields to a message. Those that are missing take no place.
pub(super) struct Fields<'a>(&'a mut Vec<u8>);

/// Something that is a message.
pub(super) trait Message {
    /// Adds what is in it, by rising field numbers.
    fn fields(&self, out: &mut Fields<'_>);
}

/// What follows a key.
#[derive(Clone, Copy)]
enum WireType {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
}

impl Fields<'_> {
    /// Fields of a message whose bytes are `out`.
    pub(super) fn of(out: &mut Vec<u8>) -> Fields<'_> {
        Fields(out)
    }

    pub(super) fn unsigned(&mut self, field: u32, value: Option<u64>) {
        if let Some(value) = value {
            self.key(field, WireType::Varint);
            varint(self.0, value);
        }
    }

    /// A negative number takes ten bytes, also one of 32 bits.
    pub(super) fn signed(&mut self, field: u32, value: Option<i64>) {
        self.unsigned(field, value.map(i64::cast_unsigned));
    }

    pub(super) fn flag(&mut self, field: u32, value: Option<bool>) {
        self.unsigned(field, value.map(u64::from));
    }

    pub(super) fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, WireType::Fixed64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn text(&mut self, field: u32, value: Option<&str>) {
        if let Some(value) = value {
            self.key(field, WireType::Length);
            varint(self.0, value.len() as u64);
            self.0.extend_from_slice(value.as_bytes());
        }
    }

    pub(super) fn message<'m>(
        &mut self,
        field: u32,
        values: impl IntoIterator<Item = &'m (impl Message + 'm)>,
    ) {
        for value in values {
            self.key(field, WireType::Length);
            let start = self.0.len();
            value.fields(&mut Fields(self.0));
            // The length stands before what it is of. It is a byte or two, so that moving what follows costs next to nothing.
            let mut length = [0; 10];
            let length = varint_in(&mut length, (self.0.len() - start) as u64);
            self.0.splice(start..start, length.iter().copied());
        }
    }

    fn key(&mut self, field: u32, kind: WireType) {
        varint(self.0, u64::from(field) << 3 | kind as u64);
    }
}

fn varint(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; 10];
    out.extend_from_slice(varint_in(&mut bytes, value));
}

/// Seven bits a byte, the lowest ones first; all bytes but the last have the eighth bit.
fn varint_in(bytes: &mut [u8; 10], mut value: u64) -> &[u8] {
    let mut length = 0;
    while value >= 0x80 {
        bytes[length] = value as u8 | 0x80;
        value >>= 7;
        length += 1;
    }
    bytes[length] = value as u8;
    &bytes[..=length]
}
