//! Bytes behind their checksum.
//!
//! Invariant: the checksum covers the address of the bytes, so swapped bytes are found as changed ones are.
//! Cost: O(bytes).

/// The address of bytes: the number of a record, and which of its parts.
pub(crate) type RecordPart = (u64, u32);

/// Bytes behind their checksum.
pub(crate) fn with_checksum(at: RecordPart, bytes: &[u8]) -> Vec<u8> {
    let mut bytes_with_checksum = Vec::with_capacity(4 + bytes.len());
    bytes_with_checksum.extend(crc(at, bytes).to_le_bytes());
    bytes_with_checksum.extend_from_slice(bytes);
    bytes_with_checksum
}

/// The bytes, if their checksum fits this address.
pub(crate) fn verified(at: RecordPart, bytes_with_checksum: &[u8]) -> Option<&[u8]> {
    let (sum, bytes) = bytes_with_checksum.split_first_chunk()?;
    (u32::from_le_bytes(*sum) == crc(at, bytes)).then_some(bytes)
}

fn crc((number, part): RecordPart, bytes: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&number.to_le_bytes());
    sum.update(&part.to_le_bytes());
    sum.update(bytes);
    sum.finalize()
}
