//! Texts of an Arrow array, as bytes, each found where it is read.
//!
//! Invariant: no offset and no view is trusted, since arrays arrive from outside without a check;
//! nor is UTF-8, which the string dictionary checks for new bytes. Cost: O(1) a text; unneeded
//! texts are not read.

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
}

const OUTSIDE: &str = "its place is outside of the texts; the Arrow data is malformed";

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
    pub(super) fn get(&self, place: usize) -> Result<&'a [u8], &'static str> {
        match self {
            Texts::Small(packed) => packed.get(place),
            Texts::Large(packed) => packed.get(place),
            Texts::Views(views, buffers) => view(views, buffers, place),
        }
    }
}

impl<'a, O: OffsetSizeTrait> Packed<'a, O> {
    fn of(array: &'a GenericStringArray<O>) -> Packed<'a, O> {
        Packed {
            offsets: array.value_offsets(),
            bytes: array.value_data(),
        }
    }

    #[inline]
    fn get(&self, place: usize) -> Result<&'a [u8], &'static str> {
        let [start, end] = [place, place + 1].map(|at| self.offsets[at].to_usize());
        let (Some(start), Some(end)) = (start, end) else {
            return Err(OUTSIDE);
        };
        self.bytes.get(start..end).ok_or(OUTSIDE)
    }
}

fn view<'a>(
    views: &'a [TextView],
    buffers: &'a [Buffer],
    place: usize,
) -> Result<&'a [u8], &'static str> {
    let view = &views[place];
    let (words, _) = view.as_chunks();
    let word = |at: usize| u32::from_ne_bytes(words[at]) as usize;
    let length = word(0);
    if length <= INLINE {
        return view.get(4..4 + length).ok_or(OUTSIDE);
    }
    let (buffer, start) = (buffers.get(word(2)), word(3));
    let text = buffer.and_then(|bytes| bytes.get(start..start + length));
    text.ok_or(OUTSIDE)
}
