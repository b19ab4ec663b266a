//! A C array of a known schema to a record batch, checked.
//!
//! Invariant: the structures of the interface are believed only as far as they fit together: lengths, offsets,
//! children, buffers and their number are checked here, once a batch. The contents of the buffers (offsets of strings,
//! views, keys of dictionaries, UTF-8) are checked value by value by `ringview_core`, where they are read anyway. So no
//! pass over the data is made to check it, and neither rows before or behind a slice nor values under a NULL are looked
//! at. The interface has no size of the memory behind a pointer.
//!
//! The import is not that of `arrow-array`: that one believes every number, panics over children that are
//! missing, reads unaligned offsets as if they were aligned, and leaves the check to a pass over all
//! of the buffers (`validate_full`), which refuses bytes under NULLs that the format allows, and costs a
//! slice as much as the whole.
//!
//! Cost: O(columns) a batch; buffers are pointed to. A misaligned buffer is copied, and all are where the
//! producer may write to them later ([`BufferMode::Copied`]): the rows of the batch alone, and its dictionaries.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::{RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, SchemaRef};

/// Whether buffers stay where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferMode {
    /// They are pointed to, until the rows are dropped.
    Shared,
    /// They are copied: the caller may write to them after this call.
    Copied,
}

/// Rows that no memory holds.
const MOST: usize = 1 << 48;

/// Why an array is refused, in words.
type Checked<T> = Result<T, String>;

/// Takes over a C array of the schema's struct.
pub(super) fn batch(
    array: FFI_ArrowArray,
    schema: &SchemaRef,
    buffers: BufferMode,
) -> Checked<RecordBatch> {
    let owner = Arc::new(array);
    let (start, rows) = extent(&owner)?;
    let fields = schema.fields();
    if owner.n_children != fields.len() as i64 || (owner.children.is_null() && !fields.is_empty()) {
        return Err("its columns are not those of its schema".to_owned());
    }
    whole_rows_are_there(&owner, start, rows)?;
    let mut columns = Vec::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate() {
        // SAFETY: there are as many children as fields, as was checked.
        // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
        let child = unsafe { owner.children.add(at).read_unaligned().as_ref() };
        let data = child
            .ok_or_else(|| "is missing".to_owned())
            .and_then(|child| {
                let (before, held) = living(child)?;
                if start + rows > held {
                    return Err(format!("has {held} rows, not {}", start + rows));
                }
                let owner = &owner;
                let source = ArraySource {
                    array: child,
                    owner,
                    buffers,
                };
                source.rows(field.data_type(), before + start, rows)
            })
            .map_err(|why| format!("column {:?} {why}", field.name()))?;
        columns.push(make_array(data));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|problem| problem.to_string())
}

/// Offset and length.
fn extent(array: &FFI_ArrowArray) -> Checked<(usize, usize)> {
    let number = |number| usize::try_from(number).ok();
    number(array.offset)
        .zip(number(array.length))
        .filter(|(offset, length)| *offset < MOST && *length < MOST)
        .ok_or_else(|| {
            let (offset, length) = (array.offset, array.length);
            format!("has a length of {length} behind an offset of {offset}")
        })
}

/// The extent of an array that is not released.
fn living(array: &FFI_ArrowArray) -> Checked<(usize, usize)> {
    match array.release {
        Some(_) => extent(array),
        None => Err("was released before it came".to_owned()),
    }
}

/// Rows of a table cannot be NULL as a whole, as structs can.
fn whole_rows_are_there(array: &FFI_ArrowArray, start: usize, rows: usize) -> Checked<()> {
    if array.n_buffers < 1 || array.buffers.is_null() || array.null_count == 0 {
        return Ok(());
    }
    // SAFETY: there is a buffer at least, as was checked.
    // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
    let validity = unsafe { array.buffers.read_unaligned() }.cast::<u8>();
    let there = |row: usize| {
        // SAFETY: a validity that is there has a bit for each row, by the interface.
        // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
        validity.is_null() || unsafe { *validity.add(row / 8) } >> (row % 8) & 1 == 1
    };
    match (start..start + rows).all(there) {
        true => Ok(()),
        false => Err("whole rows of it are NULL; drop them".to_owned()),
    }
}

/// Layout of the values of a type.
enum Layout {
    Bits,
    /// Values of so many bytes.
    Fixed(usize),
    /// Offsets of so many bytes into the texts.
    Offsets(usize),
    Views,
}

impl Layout {
    fn of(ty: &DataType) -> Checked<Layout> {
        Ok(match ty {
            DataType::Boolean => Layout::Bits,
            DataType::Utf8 | DataType::Binary => Layout::Offsets(4),
            DataType::LargeUtf8 | DataType::LargeBinary => Layout::Offsets(8),
            DataType::Utf8View | DataType::BinaryView => Layout::Views,
            DataType::Dictionary(key, _) => return Layout::of(key),
            other => match other.primitive_width() {
                Some(width) => Layout::Fixed(width),
                None => return Err(format!("is of the type {other}, which tables do not hold")),
            },
        })
    }
}

/// Whether values are bytes, as no column of a table is: those of partials.
pub(super) fn is_bytes(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

/// An array that holds a column, or a dictionary.
#[derive(Clone, Copy)]
struct ArraySource<'a> {
    array: &'a FFI_ArrowArray,
    /// The batch that it is part of, which owns the buffers.
    owner: &'a Arc<FFI_ArrowArray>,
    buffers: BufferMode,
}

/// Rows of a part. They begin at a row that is a multiple of 8, so that bits begin with a byte.
#[derive(Clone, Copy)]
struct Window {
    start: usize,
    /// Rows before the requested ones.
    skip: usize,
    rows: usize,
}

impl Window {
    fn count(&self) -> usize {
        self.skip + self.rows
    }
}

impl ArraySource<'_> {
    /// The rows `offset .. offset + rows` of the buffers.
    fn rows(&self, ty: &DataType, offset: usize, rows: usize) -> Checked<ArrayData> {
        if *ty == DataType::Null {
            return Ok(ArrayData::new_null(ty, rows));
        }
        // Of no rows, buffers may be anything.
        if rows == 0 {
            return Ok(ArrayData::new_empty(ty));
        }
        let (layout, skip) = (Layout::of(ty)?, offset % 8);
        let window = Window {
            start: offset - skip,
            skip,
            rows,
        };
        self.check_buffers(&layout)?;
        let validity = self.validity(window)?;
        let buffers = match layout {
            Layout::Bits => vec![self.bits(1, window)?],
            Layout::Fixed(width) => vec![self.fixed(1, width, window.start, window.count())?],
            Layout::Offsets(width) => self.texts(width, window)?,
            Layout::Views => self.views(window, validity.as_ref())?,
        };
        let children = match ty {
            DataType::Dictionary(_, values) => vec![self.dictionary(values)?],
            _ => Vec::new(),
        };
        // SAFETY: the buffers are as many as the type has, aligned, and as long as the rows need;
        // NULLs are counted here. Memory that values point to is checked where they are read, or
        // here.
        // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
        let data = unsafe {
            ArrayData::new_unchecked(ty.clone(), rows, None, validity, skip, buffers, children)
        };
        if is_bytes(ty) {
            data.validate_full()
                .map_err(|why| format!("is not whole: {why}"))?;
        }
        Ok(data)
    }

    fn check_buffers(&self, layout: &Layout) -> Checked<()> {
        let found = self.array.n_buffers;
        let right = match layout {
            Layout::Bits | Layout::Fixed(_) => found == 2,
            Layout::Offsets(_) => found == 3,
            Layout::Views => found >= 3,
        };
        match right && !self.array.buffers.is_null() {
            true => Ok(()),
            false => Err(format!("has {found} buffers, which its type does not have")),
        }
    }

    /// Start of buffer `at`; may be null.
    fn pointer(&self, at: usize) -> *const u8 {
        // SAFETY: `check_buffers` has seen that there are so many.
        // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
        unsafe { self.array.buffers.add(at).read_unaligned() }.cast()
    }

    /// Bytes of buffer `at`.
    fn slice(&self, at: usize, from: usize, bytes: usize, align: usize) -> Checked<Buffer> {
        let start = self.pointer(at);
        if start.is_null() {
            return Err(format!("has no buffer {at}"));
        }
        let ends = start
            .addr()
            .checked_add(from)
            .and_then(|at| at.checked_add(bytes));
        if ends.is_none_or(|end| isize::try_from(end).is_err()) {
            return Err(format!("has a buffer {at} that ends beyond all memory"));
        }
        // SAFETY: a buffer has its bytes at this place, by the interface, and no address wraps.
        // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
        let start = unsafe { start.add(from) };
        if self.buffers == BufferMode::Copied || !start.addr().is_multiple_of(align) {
            // SAFETY: as above; bytes have no alignment.
            // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
            let bytes = unsafe { std::slice::from_raw_parts(start, bytes) };
            return Ok(Buffer::from_slice_ref(bytes));
        }
        match NonNull::new(start.cast_mut()) {
            // SAFETY: as above; the owner keeps the memory until it is dropped.
            // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
            Some(start) => Ok(unsafe {
                Buffer::from_custom_allocation(start, bytes, Arc::clone(self.owner) as _)
            }),
            None => Err(format!("has no buffer {at}")),
        }
    }

    /// `count` values of `width` bytes.
    fn fixed(&self, at: usize, width: usize, start: usize, count: usize) -> Checked<Buffer> {
        match start.checked_mul(width).zip(count.checked_mul(width)) {
            Some((from, bytes)) => self.slice(at, from, bytes, width.min(16)),
            None => Err(format!("has a buffer {at} that ends beyond all memory")),
        }
    }

    fn bits(&self, at: usize, window: Window) -> Checked<Buffer> {
        self.slice(at, window.start / 8, window.count().div_ceil(8), 1)
    }

    /// The validity bits. A count of NULLs is not believed: counting them costs less than a miss.
    fn validity(&self, window: Window) -> Checked<Option<Buffer>> {
        if !self.pointer(0).is_null() {
            return self.bits(0, window).map(Some);
        }
        match self.array.null_count > 0 {
            true => Err("has NULLs, but no bits that tell them".to_owned()),
            false => Ok(None),
        }
    }

    /// Offsets and texts.
    fn texts(&self, width: usize, window: Window) -> Checked<Vec<Buffer>> {
        let entries = window.count() + 1;
        let offsets = self.fixed(1, width, window.start, entries)?;
        let place = |entry: usize| {
            let bytes = &offsets.as_slice()[entry * width..][..width];
            match bytes.try_into() {
                Ok(four) => i64::from(i32::from_ne_bytes(four)),
                Err(_) => bytes.try_into().map_or(-1, i64::from_ne_bytes),
            }
        };
        let ends = [window.skip, window.count()].map(|entry| usize::try_from(place(entry)));
        let [Ok(first), Ok(last)] = ends else {
            return Err("has texts at negative places".to_owned());
        };
        if first > last {
            return Err("has texts that end before they begin".to_owned());
        }
        if self.pointer(2).is_null() && last == 0 {
            return Ok(vec![offsets, Buffer::from_slice_ref::<u8, _>(&[])]);
        }
        if self.buffers == BufferMode::Shared {
            let texts = self.slice(2, 0, last, 1)?;
            return Ok(vec![offsets, texts]);
        }
        // Of the texts only those of the rows, so that a slice costs no more than itself.
        let texts = self.slice(2, first, last - first, 1)?;
        let moved = (0..entries).map(|entry| place(entry).wrapping_sub(first as i64));
        let offsets = match width {
            4 => Buffer::from_vec(moved.map(|place| place as i32).collect::<Vec<_>>()),
            _ => Buffer::from_vec(moved.collect::<Vec<_>>()),
        };
        Ok(vec![offsets, texts])
    }

    /// Views, and the buffers that they point to.
    fn views(&self, window: Window, validity: Option<&Buffer>) -> Checked<Vec<Buffer>> {
        let views = self.fixed(1, size_of::<u128>(), window.start, window.count())?;
        let last = self.array.n_buffers as usize - 1;
        let lengths = self.pointer(last).cast::<i64>();
        if lengths.is_null() && last > 2 {
            return Err("has texts of no lengths".to_owned());
        }
        let texts = (2..last).map(|at| {
            // SAFETY: the last buffer holds the length of each that is not of a fixed length.
            // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
            let length = unsafe { lengths.add(at - 2).read_unaligned() };
            match usize::try_from(length) {
                Ok(0) => Ok(Buffer::from_slice_ref::<u8, _>(&[])),
                Ok(length) => self.texts_of_views(at, length),
                Err(_) => Err(format!("has a buffer {at} of {length} bytes")),
            }
        });
        let texts = texts.collect::<Checked<Vec<_>>>()?;
        match self.buffers {
            BufferMode::Shared => Ok([vec![views], texts].concat()),
            BufferMode::Copied => Ok(gathered(&views, window, validity, &texts)),
        }
    }

    /// Pointed to in any case: a copy takes from them what it needs.
    fn texts_of_views(&self, at: usize, length: usize) -> Checked<Buffer> {
        let shared = ArraySource {
            buffers: BufferMode::Shared,
            ..*self
        };
        shared.slice(at, 0, length, 1)
    }

    fn dictionary(&self, ty: &DataType) -> Checked<ArrayData> {
        // SAFETY: it is null or the dictionary, by the interface.
        // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
        let Some(array) = (unsafe { self.array.dictionary.as_ref() }) else {
            return Err("has no dictionary".to_owned());
        };
        let within = |why| format!("has a dictionary that {why}");
        let (offset, entries) = living(array).map_err(within)?;
        ArraySource { array, ..*self }
            .rows(ty, offset, entries)
            .map_err(within)
    }
}

/// The texts of a buffer of views that are longer than this are elsewhere.
const INLINE: u32 = 12;

/// A buffer of gathered texts ends behind the text that reaches this.
const FULL: usize = 1 << 30;

/// Views, and of the texts those that they point to. A view of what is not there stays one.
fn gathered(
    views: &Buffer,
    window: Window,
    validity: Option<&Buffer>,
    texts: &[Buffer],
) -> Vec<Buffer> {
    let (mut kept, mut full) = (Vec::new(), Vec::new());
    let mut moved = vec![0_u128; window.count()];
    let (found, _) = views.as_slice().as_chunks();
    for (row, view) in found.iter().enumerate().skip(window.skip) {
        if validity.is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0) {
            continue;
        }
        let view = u128::from_ne_bytes(*view);
        let (length, buffer, start) = (view as u32, (view >> 64) as u32, (view >> 96) as u32);
        let range = start as usize..start as usize + length as usize;
        moved[row] = match texts
            .get(buffer as usize)
            .and_then(|texts| texts.get(range))
        {
            _ if length <= INLINE => view,
            None => view | u128::from(u32::MAX) << 64,
            Some(text) => {
                let place = (full.len() as u128) << 64 | (kept.len() as u128) << 96;
                kept.extend_from_slice(text);
                if kept.len() >= FULL {
                    full.push(Buffer::from_vec(std::mem::take(&mut kept)));
                }
                u128::from(view as u64) | place
            }
        };
    }
    full.push(Buffer::from_vec(kept));
    full.insert(0, Buffer::from_vec(moved));
    full
}
