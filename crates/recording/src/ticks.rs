//! The moments that records name, in ticks.

use holdup_trace::openmp::{self, Event};
use holdup_trace::wire::Record;

use crate::reader::RawProcess;

/// The last tick that a process's records name.
pub(crate) fn last(raw: &RawProcess) -> u64 {
    let ticks = raw.records().map(|(_, record)| match record {
        Record::ThreadStart { time, .. } | Record::ThreadEnd { time, .. } | Record::Cpu { time, .. } => time,
        Record::Wait(wait) => wait.end,
        Record::Hold { end, .. } | Record::Block { end, .. } => end,
        Record::Wake { time, .. } | Record::Marker { time, .. } | Record::ObjectInit { time, .. } => time,
        Record::Alone(stretch) => stretch.end,
        Record::OpenMp(event) => of_openmp(&event).map_or(0, |(_, end)| end),
        _ => 0,
    });
    ticks.max().unwrap_or(0).max(raw.start.start)
}

/// The first and the last tick that an event of OpenMP names; `None` where it names none.
pub(crate) fn of_openmp(event: &Event) -> Option<(u64, u64)> {
    Some(match *event {
        Event::Region(openmp::Region { begin, end, .. })
        | Event::Share(openmp::Share { begin, end, .. })
        | Event::Work(openmp::Work { begin, end, .. })
        | Event::Chunk(openmp::Chunk { begin, end, .. })
        | Event::Sync(openmp::Sync { begin, end, .. })
        | Event::TaskRun(openmp::TaskRun { begin, end, .. }) => (begin, end.max(begin)),
        Event::TaskCreate(openmp::TaskCreate { time, .. }) | Event::Runtime(openmp::Runtime { time, .. }) => {
            (time, time)
        }
        Event::Acquire(_) | Event::Depend(_) => return None,
    })
}
