//! The columns of a payload, read again as the script reads them.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

use super::super::Payload;
use crate::page::shade::Shade;

pub(super) struct Decoded {
    pub(super) bin: u64,
    pub(super) bins: usize,
    /// By row: the planes that it has, without the critical path.
    pub(super) planes: Vec<Vec<Vec<u8>>>,
    pub(super) lanes: Vec<Lane>,
    /// By row, of all windows.
    pub(super) spans: Vec<Vec<Told>>,
    /// Row and length of each piece.
    pub(super) path: Vec<(Option<usize>, u64)>,
}

pub(super) struct Lane {
    /// By bin: how many threads wait.
    pub(super) waiting: Vec<f64>,
    /// Start, length, row.
    pub(super) holds: Vec<(u64, u64, Option<usize>)>,
}

/// A span as it was read.
pub(super) struct Told {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) shade: u8,
    pub(super) object: Option<usize>,
    pub(super) place: Option<usize>,
    pub(super) by: Option<usize>,
}

struct Reader {
    bytes: Vec<u8>,
    at: usize,
}

impl Reader {
    fn number(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.bytes[self.at];
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn maybe(&mut self) -> Option<usize> {
        self.number().checked_sub(1).map(|value| value as usize)
    }

    fn difference(&mut self, from: u64) -> u64 {
        let value = self.number();
        if value.is_multiple_of(2) { from + value / 2 } else { from - value.div_ceil(2) }
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        self.at += length;
        self.bytes[self.at - length..self.at].to_vec()
    }
}

impl Decoded {
    /// Reads all parts, and to the end of each.
    pub(super) fn of(payload: &Payload) -> Decoded {
        let bytes = STANDARD.decode(&payload.base64).unwrap();
        let json = &payload.json;
        let number = |name: &str| json[name].as_u64().unwrap();
        let count = |name: &str| json[name].as_array().unwrap().len();
        let (bin, bins, rows) = (number("bin"), number("bins") as usize, count("threads"));
        let mut at = 0;
        let mut parts = json["parts"].as_array().unwrap().iter().map(|length| {
            let length = length.as_u64().unwrap() as usize;
            let mut out = Vec::new();
            GzDecoder::new(&bytes[at..at + length]).read_to_end(&mut out).unwrap();
            at += length;
            Reader { bytes: out, at: 0 }
        });
        let (mut level, mut lanes, mut exact) =
            (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let planes = (0..rows).map(|_| planes(&mut level, bins)).collect();
        let told_lanes = read_lanes(&mut lanes, count("lanes"), bins);
        let windows: Vec<u64> =
            json["windows"].as_array().unwrap().iter().map(|window| window[0].as_u64().unwrap()).collect();
        let mut decoded = Decoded {
            bin,
            bins,
            planes,
            lanes: told_lanes,
            spans: (0..rows).map(|_| Vec::new()).collect(),
            path: Vec::new(),
        };
        decoded.read_exact(&mut exact, &windows);
        for part in [level, lanes, exact] {
            assert_eq!(part.at, part.bytes.len(), "a part is read to its end");
        }
        decoded
    }

    fn read_exact(&mut self, exact: &mut Reader, windows: &[u64]) {
        let mut kinds_of: Vec<Vec<usize>> = self.spans.iter().map(|_| Vec::new()).collect();
        for from in windows {
            for (spans, kinds) in self.spans.iter_mut().zip(&mut kinds_of) {
                let count = exact.number();
                let mut start = if count > 0 { exact.difference(*from) } else { 0 };
                for _ in 0..count {
                    let end = start + exact.number();
                    spans.push(Told { start, end, shade: 0, object: None, place: None, by: None });
                    start = end;
                }
                kinds.extend((0..count).map(|_| exact.number() as usize));
            }
        }
        let count = exact.number();
        let kinds: Vec<_> =
            (0..count).map(|_| (exact.number() as u8, exact.maybe(), exact.maybe(), exact.maybe())).collect();
        for (spans, numbers) in self.spans.iter_mut().zip(&kinds_of) {
            for (span, number) in spans.iter_mut().zip(numbers) {
                (span.shade, span.object, span.place, span.by) = kinds[*number];
            }
        }
        for lane in &mut self.lanes {
            for from in windows {
                let mut start = *from;
                for _ in 0..exact.number() {
                    start = exact.difference(start);
                    lane.holds.push((start, exact.number(), exact.maybe()));
                }
            }
        }
        for _ in windows {
            let count = exact.number();
            if count > 0 {
                exact.number();
            }
            for _ in 0..count {
                let length = exact.number();
                self.path.push((exact.maybe(), length));
            }
        }
    }
}

fn planes(level: &mut Reader, bins: usize) -> Vec<Vec<u8>> {
    let set = level.number();
    let mut planes = Vec::new();
    for plane in 0..=Shade::ALL.len() {
        if set & (1 << plane) != 0 {
            let bytes = level.take(bins);
            if plane < Shade::ALL.len() {
                planes.push(bytes);
            }
        }
    }
    planes
}

fn read_lanes(reader: &mut Reader, lanes: usize, bins: usize) -> Vec<Lane> {
    let waiting = |reader: &mut Reader| (0..bins).map(|_| reader.number() as f64 / 64.0).collect();
    let told = (0..lanes).map(|_| Lane { waiting: waiting(reader), holds: Vec::new() }).collect();
    for _ in 0..lanes {
        if reader.number() > 0 {
            reader.take(bins);
            (0..bins).for_each(|_| {
                reader.maybe();
            });
        }
    }
    told
}
