//! Where the tracepoint `sched:sched_waking` keeps its fields, which differs between kernels.

/// The layout of one `sched_waking` record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WakingLayout {
    /// The tracepoint's number.
    pub(crate) id: u64,
    /// Where the byte of flags is that says in which context it happened.
    flags: usize,
    /// Where the woken thread's number is, 4 bytes.
    wakee: usize,
}

/// `TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ` and `TRACE_FLAG_NMI`: the current thread was only interrupted.
const INTERRUPT: u8 = 0x08 | 0x10 | 0x40;

impl WakingLayout {
    /// From the tracepoint's `format` file; `None` if that has not the fields that are needed.
    pub(crate) fn parse(format: &str) -> Option<WakingLayout> {
        let id = format.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let flags = offset(format, "common_flags", 1)?;
        let wakee = offset(format, "pid", 4)?;
        Some(WakingLayout { id, flags, wakee })
    }

    /// The woken thread, and whether an interrupt woke it.
    pub(crate) fn read(&self, raw: &[u8]) -> Option<(u32, bool)> {
        let wakee = raw.get(self.wakee..)?.first_chunk::<4>()?;
        let flags = raw.get(self.flags)?;
        Some((u32::from_ne_bytes(*wakee), flags & INTERRUPT != 0))
    }
}

/// The offset of the field of this name and size. Lines are like `field:pid_t pid; offset:24; size:4; signed:1;`, with tabs.
fn offset(format: &str, name: &str, size: usize) -> Option<usize> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?.rsplit(' ').next()?;
        let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
        let found: usize = parts.next()?.strip_prefix("size:")?.parse().ok()?;
        (declared == name && found == size).then_some(offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: sched_waking\nID: 375\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";

    #[test]
    fn fields_are_found_by_name() {
        let layout = WakingLayout::parse(FORMAT).expect("a whole format");
        assert_eq!(layout, WakingLayout { id: 375, flags: 2, wakee: 24 });
        let mut raw = [0_u8; 36];
        raw[24..28].copy_from_slice(&4711_u32.to_ne_bytes());
        assert_eq!(layout.read(&raw), Some((4711, false)));
        raw[2] = 0x10;
        assert_eq!(layout.read(&raw), Some((4711, true)));
        assert_eq!(layout.read(&raw[..27]), None);
    }

    #[test]
    fn a_format_without_them_is_none() {
        assert_eq!(WakingLayout::parse(""), None);
        assert_eq!(WakingLayout::parse(&FORMAT.replace("size:4", "size:8")), None);
        assert_eq!(WakingLayout::parse(&FORMAT.replace("ID: 375", "ID: many")), None);
    }
}
