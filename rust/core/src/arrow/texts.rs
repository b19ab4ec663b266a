//! Texts of an Arrow array, each checked as it is read.
//!
//! Invariant: no offset and no view is believed, nor that bytes are UTF-8, for arrays come from
//! elsewhere without a check. Where all bytes of an array are UTF-8, which is asked once, a text costs
//! a look at its ends.
//! Cost: O(length) a text; of a slice, only what lies between its ends is read.

use arrow_array::cast::AsArray;
use arrow_array::{Array, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::Buffer;
use arrow_schema::DataType;

/// The texts of one array.
pub(super) enum Texts<'a> {
    Small(Packed<'a, i32>),
    Large(Packed<'a, i64>),
    Views(&'a [TextView], &'a [Buffer]),
}

/// A length, then the bytes if they are few; else four of them, a buffer and a place in it.
type TextView = [u8; 16];

/// Texts one behind the other.
pub(super) struct Packed<'a, O> {
    offsets: &'a [O],
    bytes: &'a [u8],
    /// Where the texts begin in all bytes, and they up to the end of the last, if those are UTF-8.
    checked: Option<(usize, &'a str)>,
}

const OUTSIDE: &str = "its place is outside of the texts; the Arrow data is malformed";
const NOT_UTF8: &str = "is not valid UTF-8";

/// Views of up to so many bytes hold them.
const INLINE: usize = 12;

impl<'a> Texts<'a> {
    /// Those of an array of strings; of any other, none.
    pub(super) fn of(array: &'a dyn Array) -> Texts<'a> {
        match array.data_type() {
            DataType::Utf8 => Texts::Small(Packed::of(array.as_string())),
            DataType::LargeUtf8 => Texts::Large(Packed::of(array.as_string())),
            DataType::Utf8View => {
                let array = array.as_string_view();
                let (views, _) = array.views().inner().as_slice().as_chunks();
                Texts::Views(views, array.data_buffers())
            }
            _ => Texts::Views(&[], &[]),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Texts::Small(packed) => packed.offsets.len().saturating_sub(1),
            Texts::Large(packed) => packed.offsets.len().saturating_sub(1),
            Texts::Views(views, _) => views.len(),
        }
    }

    /// The text at a place, or what is wrong with it.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Result<&'a str, &'static str> {
        match self {
            Texts::Small(packed) => packed.get(place),
            Texts::Large(packed) => packed.get(place),
            Texts::Views(views, buffers) => view(views, buffers, place),
        }
    }
}

impl<'a, O: OffsetSizeTrait> Packed<'a, O> {
    fn of(array: &'a GenericStringArray<O>) -> Packed<'a, O> {
        let (offsets, bytes) = (array.value_offsets(), array.value_data());
        let ends = [offsets.first(), offsets.last()].map(|end| end.and_then(|end| end.to_usize()));
        let checked = match ends {
            [Some(first), Some(last)] => bytes
                .get(first..last)
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
                .map(|text| (first, text)),
            _ => None,
        };
        Packed {
            offsets,
            bytes,
            checked,
        }
    }

    #[inline]
    fn get(&self, place: usize) -> Result<&'a str, &'static str> {
        let [start, end] = [place, place + 1].map(|at| self.offsets[at].to_usize());
        let (Some(start), Some(end)) = (start, end) else {
            return Err(OUTSIDE);
        };
        // As a part of what was checked, if it is one, else on its own.
        let part = self.checked.and_then(|(first, texts)| {
            texts.get(start.checked_sub(first)?..end.checked_sub(first)?)
        });
        match part {
            Some(text) => Ok(text),
            None => checked(self.bytes.get(start..end)),
        }
    }
}

fn view<'a>(
    views: &'a [TextView],
    buffers: &'a [Buffer],
    place: usize,
) -> Result<&'a str, &'static str> {
    let view = &views[place];
    let (words, _) = view.as_chunks();
    let word = |at: usize| u32::from_ne_bytes(words[at]) as usize;
    let length = word(0);
    if length <= INLINE {
        return checked(view.get(4..4 + length));
    }
    let (buffer, start) = (buffers.get(word(2)), word(3));
    checked(buffer.and_then(|bytes| bytes.get(start..start + length)))
}

fn checked(bytes: Option<&[u8]>) -> Result<&str, &'static str> {
    std::str::from_utf8(bytes.ok_or(OUTSIDE)?).map_err(|_| NOT_UTF8)
}
