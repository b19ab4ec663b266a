//! Tuples of the binary format: the signature, flags, rows of counted fields, a trailer.
//!
//! Invariant: no field is looked at before the whole tuple is there; lengths that no tuple has are refused, and nothing is
//! allocated for them. Cost: linear in the bytes, and memory for one tuple.

use bytes::{Buf, Bytes, BytesMut};

/// First bytes of binary rows.
pub(super) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// Flags, of which a reader must support all of the upper half.
const CRITICAL: u32 = 0xffff_0000;

/// Tuples from bytes that are received bit by bit.
#[derive(Debug, Default)]
pub(super) struct Tuples {
    buffer: BytesMut,
    /// Number of bytes of the next tuple whose fields were found, and number of these.
    seen: usize,
    fields: usize,
    begun: bool,
    ended: bool,
    number: u64,
}

/// A tuple: its fields, `None` for NULL.
pub(super) type Tuple = Vec<Option<Bytes>>;

impl Tuples {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The number of the last tuple, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next tuple of this number of fields; `None` if the rest of it is yet to be received, or `all` were there.
    pub(super) fn next(&mut self, columns: usize, all: bool) -> Result<Option<Tuple>, String> {
        if !self.begun && !self.begin(all)? {
            return Ok(None);
        }
        if self.ended {
            return match self.buffer.is_empty() {
                true => Ok(None),
                false => Err("there is more behind the trailer".to_owned()),
            };
        }
        let cut = || Err("the data end in the middle of it".to_owned());
        let Some(mut head) = self.buffer.get(..2) else {
            return match all && !self.buffer.is_empty() {
                true => cut(),
                false => Ok(None),
            };
        };
        let count = head.get_i16();
        if count == -1 {
            self.ended = true;
            self.buffer.advance(2);
            return self.next(columns, all);
        }
        if self.seen == 0 {
            self.number += 1;
            self.seen = 2;
        }
        if usize::try_from(count) != Ok(columns) {
            return Err(format!("it has {count} fields, and {columns} are copied"));
        }
        while self.fields < columns {
            let Some(mut length) = self.buffer.get(self.seen..self.seen + 4) else {
                return if all { cut() } else { Ok(None) };
            };
            let length = match length.get_i32() {
                -1 => 0,
                length => usize::try_from(length)
                    .map_err(|_| format!("a field of it is {length} bytes long"))?,
            };
            if self.buffer.len() - self.seen - 4 < length {
                return if all { cut() } else { Ok(None) };
            }
            self.seen += 4 + length;
            self.fields += 1;
        }
        let mut rest = self.buffer.split_to(self.seen).freeze();
        (self.seen, self.fields) = (0, 0);
        rest.advance(2);
        let field = |_| match rest.get_i32() {
            -1 => None,
            length => Some(rest.split_to(length as usize)),
        };
        Ok(Some((0..columns).map(field).collect()))
    }

    /// Whether the header before the tuples is there.
    fn begin(&mut self, all: bool) -> Result<bool, String> {
        let known = self.buffer.len().min(SIGNATURE.len());
        if self.buffer[..known] != SIGNATURE[..known] || all && known < SIGNATURE.len() {
            let what = "the data do not begin with PGCOPY; send PostgreSQL's binary format, or name another FORMAT";
            return Err(what.to_owned());
        }
        let Some(mut head) = self.buffer.get(11..19) else {
            return match all {
                true => Err("the data end before the first tuple".to_owned()),
                false => Ok(false),
            };
        };
        let (flags, further) = (head.get_u32(), head.get_u32() as usize);
        if flags & CRITICAL != 0 {
            return Err(format!("the flags {flags:#x} are not known here"));
        }
        if self.buffer.len() < 19 + further {
            return match all {
                true => Err("the data end before the first tuple".to_owned()),
                false => Ok(false),
            };
        }
        self.buffer.advance(19 + further);
        self.begun = true;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(tuples: &[u8]) -> Vec<u8> {
        [&SIGNATURE[..], &[0; 4], &[0, 0, 0, 1, 7], tuples].concat()
    }

    fn read(bytes: &[u8], piece: usize) -> Result<Vec<Tuple>, String> {
        let (mut tuples, mut found) = (Tuples::default(), Vec::new());
        for part in bytes.chunks(piece) {
            tuples.push(part);
            while let Some(tuple) = tuples.next(2, false)? {
                found.push(tuple);
            }
        }
        while let Some(tuple) = tuples.next(2, true)? {
            found.push(tuple);
        }
        Ok(found)
    }

    #[test]
    fn tuples_come_in_pieces_of_any_length() {
        let one = [0, 2, 0, 0, 0, 1, 9, 255, 255, 255, 255];
        let two = [0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2];
        let wanted = vec![
            vec![Some(Bytes::from_static(&[9])), None],
            vec![Some(Bytes::new()), Some(Bytes::from_static(&[1, 2]))],
        ];
        for trailer in [&[255, 255][..], &[]] {
            let all = data(&[&one[..], &two, trailer].concat());
            for piece in 1..=all.len() {
                assert_eq!(read(&all, piece).as_ref(), Ok(&wanted), "{piece}");
            }
        }
        assert_eq!(read(&data(&[255, 255]), 100), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_tuple_is_refused() {
        let cases: [(Vec<u8>, &str); 8] = [
            (Vec::new(), "do not begin"),
            (b"1\t2\n".to_vec(), "do not begin"),
            (SIGNATURE.to_vec(), "before the first"),
            (
                [&SIGNATURE[..], &[0, 1, 0, 0, 0, 0, 0, 0]].concat(),
                "0x10000",
            ),
            (data(&[0, 3]), "3 fields"),
            (data(&[0, 2, 0, 0, 0, 9, 1]), "in the middle"),
            (data(&[0, 2, 255, 255, 0, 0]), "bytes long"),
            (data(&[255, 255, 0]), "behind the trailer"),
        ];
        for (bytes, problem) in cases {
            for piece in [1, 100] {
                let found = read(&bytes, piece).unwrap_err();
                assert!(found.contains(problem), "{found}");
            }
        }
    }
}
