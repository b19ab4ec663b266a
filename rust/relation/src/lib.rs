//! Relations over rings: hash-indexed parts, secondary indexes, and the base rows of a table.
