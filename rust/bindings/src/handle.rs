//! Python's reference to a table or view: its name, or a handle.
//!
//! A handle is the pair of a name and the number of its table or view, unique among all of that name, so that nobody
//! reads a new view by the handle of an old one. Cost: as that of a name.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use ringview_engine::Database as Engine;

/// A name, and whose it was when the handle was made.
#[derive(FromPyObject)]
pub(crate) enum Handle {
    /// The table or view that had this name when the handle was made.
    One(PyBackedStr, u64),
    /// The table or view that has it now.
    Name(PyBackedStr),
}

impl Handle {
    /// The name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::One(name, _) => name,
        }
    }

    /// Whether its view is still there.
    pub(crate) fn check_view(&self, engine: &Engine) -> ringview_core::Result<()> {
        match self {
            Self::Name(_) => Ok(()),
            Self::One(name, id) => engine.is_view(name, *id),
        }
    }

    /// Whether its table is still there.
    pub(crate) fn check_table(&self, engine: &Engine) -> ringview_core::Result<()> {
        match self {
            Self::Name(_) => Ok(()),
            Self::One(name, id) => engine.is_table(name, *id),
        }
    }
}
