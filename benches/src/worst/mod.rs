//! Data made against one way of maintenance: where a change costs most, by size.
//!
//! | file | holds |
//! |---|---|
//! | `toggles` | hubs and cliques of growing size: the time of an insert and a delete of an edge, by system |
//! | `exponents` | steps and keys of heavy and light parts by epsilon and size, counted: no clock |

mod exponents;
mod toggles;

use serde::Serialize;

/// The measurements of this folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worst {
    Toggles,
    Exponents,
}

impl Worst {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "toggles" => Ok(Self::Toggles),
            "exponents" => Ok(Self::Exponents),
            _ => Err(format!("unknown worst case {text}")),
        }
    }

    /// Prints its lines; a share leaves the large sizes out.
    pub(crate) fn run(self, share: usize) -> Result<(), String> {
        match self {
            Self::Toggles => toggles::run(share),
            Self::Exponents => exponents::run(share),
        }
    }
}

fn print(line: &impl Serialize) -> Result<(), String> {
    println!(
        "{}",
        serde_json::to_string(line).map_err(|error| error.to_string())?
    );
    Ok(())
}
