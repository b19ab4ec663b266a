//! Bytes behind their checksum.
//!
//! Invariant: the checksum knows where the bytes belong, so that bytes that were swapped are told as those that
//! were changed are. Cost: O(bytes).

/// Where bytes belong: the number of a record, and which of its parts.
pub(crate) type Place = (u64, u32);

/// Bytes behind their checksum.
pub(crate) fn seal(place: Place, bytes: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(4 + bytes.len());
    sealed.extend(checksum(place, bytes).to_le_bytes());
    sealed.extend_from_slice(bytes);
    sealed
}

/// The bytes, if they are those that were sealed there.
pub(crate) fn unseal(place: Place, sealed: &[u8]) -> Option<&[u8]> {
    let (sum, bytes) = sealed.split_first_chunk()?;
    (u32::from_le_bytes(*sum) == checksum(place, bytes)).then_some(bytes)
}

fn checksum((number, part): Place, bytes: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&number.to_le_bytes());
    sum.update(&part.to_le_bytes());
    sum.update(bytes);
    sum.finalize()
}
