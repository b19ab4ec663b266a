//! Format of a COPY.
//!
//! Invariant: the bytes that have a meaning differ from each other; code that makes a format checks that. Cost: none.

/// Layout of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL's own lines, with backslashes.
    #[default]
    Text,
    /// Comma-separated values.
    Csv,
    /// PostgreSQL's binary tuples.
    Binary,
}

/// Treatment of a first line that has the names of the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// There is none.
    #[default]
    Absent,
    /// It is written; read, it is passed over.
    Line,
    /// Read, it must have the names of the columns.
    Match,
}

/// The format of a COPY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Layout of rows.
    pub kind: Kind,
    /// The byte between two fields.
    pub delimiter: u8,
    /// The text of NULL.
    pub null: String,
    /// Whether there is a line of names.
    pub header: Header,
    /// The byte around fields of CSV.
    pub quote: u8,
    /// The byte in front of a quote within quotes.
    pub escape: u8,
    /// The columns whose values are written in quotes always; none where that is no column.
    pub force_quote: Vec<bool>,
    /// The columns whose fields are read as values even if they look like NULL.
    pub force_not_null: Vec<bool>,
    /// The columns whose fields are read as NULL even if they are in quotes.
    pub force_null: Vec<bool>,
}

impl Default for Format {
    fn default() -> Format {
        Format {
            kind: Kind::Text,
            delimiter: b'\t',
            null: "\\N".to_owned(),
            header: Header::Absent,
            quote: b'"',
            escape: b'"',
            force_quote: Vec::new(),
            force_not_null: Vec::new(),
            force_null: Vec::new(),
        }
    }
}

impl Format {
    /// Comma-separated values, as they are where nothing else is said.
    #[must_use]
    pub fn csv() -> Format {
        Format {
            kind: Kind::Csv,
            delimiter: b',',
            null: String::new(),
            ..Format::default()
        }
    }

    /// The binary format.
    #[must_use]
    pub fn binary() -> Format {
        Format {
            kind: Kind::Binary,
            ..Format::default()
        }
    }

    /// Whether it is the binary one.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        self.kind == Kind::Binary
    }
}

/// Whether a column is among those that something is said of.
pub(super) fn is_said(of: &[bool], column: usize) -> bool {
    of.get(column).copied().unwrap_or(false)
}

/// Limits of one COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes.
    pub bytes: usize,
    /// The most rows.
    pub rows: usize,
}
