//! The head and the records of a file, checked.
//!
//! Invariant: missing, cut or changed records are errors. Cost: one scan.

use arrow_buffer::Buffer;
use redb::ReadableDatabase;
use ringview_core::Result;

use super::{File, PARTS, RECORDS, Sizes, Written};
use crate::checksum::verified;
use crate::cursors::{self, FollowerCursor};
use crate::record::{Entry, Record};
use crate::unread::{Unread, guarded};

impl File {
    /// Positions of the followers.
    pub(crate) fn cursors(&self) -> Result<Vec<FollowerCursor>> {
        let read = || cursors::read(&self.database()?.begin_read()?);
        guarded(read).map_err(|problem| problem.of(&self.path, "read"))
    }

    /// Hands all records over in their order, each with its number and whether it is the last, but for states of
    /// samples; returns their bytes.
    pub(crate) fn read(
        &self,
        mut each: impl FnMut(Record, u64, bool) -> Result<()>,
    ) -> Result<Sizes> {
        let mut last = self.head.records;
        while last > 0 && matches!(self.checked(last - 1)?.0.entry, Entry::Sample(_)) {
            last -= 1;
        }
        let mut sizes = Sizes::default();
        for number in 0..self.head.records {
            let (record, bytes) = self.checked(number)?;
            match number < self.head.snapshot {
                true => sizes.snapshot += bytes,
                false => sizes.log += bytes,
            }
            each(record, number, number + 1 == last)?;
        }
        Ok(sizes)
    }

    /// A record and its bytes.
    fn checked(&self, number: u64) -> Result<(Record, u64)> {
        guarded(|| self.record(number)).map_err(|problem| problem.of(&self.path, "read"))
    }

    fn record(&self, number: u64) -> std::result::Result<(Record, u64), Unread> {
        let reading = self.database()?.begin_read()?;
        let records = reading.open_table(RECORDS)?;
        let missing = || Unread::Damaged(format!("record {number} is missing"));
        let sealed = records.get(number)?.ok_or_else(missing)?;
        let unfit = || {
            let told = format!("the checksum of record {number} does not fit its bytes");
            Unread::Damaged(told)
        };
        let text = verified((number, u32::MAX), sealed.value()).ok_or_else(unfit)?;
        let Written {
            entry,
            parts: count,
        } = serde_json::from_slice(text)
            .map_err(|problem| Unread::Damaged(format!("record {number}: {problem}")))?;
        let mut bytes = sealed.value().len() as u64;
        let parts = reading.open_table(PARTS)?;
        let part = |at| {
            let sealed = parts.get((number, at))?.ok_or_else(missing)?;
            bytes += sealed.value().len() as u64;
            let part = verified((number, at), sealed.value()).ok_or_else(unfit)?;
            Ok(Buffer::from(part))
        };
        let parts = (0..count)
            .map(part)
            .collect::<std::result::Result<_, Unread>>()?;
        Ok((Record { entry, parts }, bytes))
    }
}
