//! The forms in which an explanation is read, by name.

use std::str::FromStr;

use ringview_core::{Error, Result};

use crate::Explanation;

/// A form in which an explanation is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a terminal.
    Text,
    /// Source of a Mermaid graph, as forges draw it.
    Mermaid,
    /// Source of a Graphviz graph, in the language DOT.
    Graphviz,
    /// All of it, for programs.
    Json,
    /// For notebooks: a fragment without scripts.
    Html,
}

impl Format {
    /// All forms, each with its name.
    pub const ALL: [(&'static str, Format); 5] = [
        ("text", Format::Text),
        ("mermaid", Format::Mermaid),
        ("graphviz", Format::Graphviz),
        ("json", Format::Json),
        ("html", Format::Html),
    ];
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Format> {
        let mut known = Format::ALL.into_iter();
        let found = known.find(|(known, _)| *known == name);
        found.map(|(_, format)| format).ok_or_else(|| Error::Value {
            place: "the format of an explanation".to_owned(),
            problem: format!(
                "there is no {name:?}; choose one of {}",
                Format::ALL.map(|(name, _)| format!("{name:?}")).join(", ")
            ),
        })
    }
}

impl Explanation {
    /// The explanation in a form.
    ///
    /// # Errors
    /// `Value` if it cannot be written as JSON.
    pub fn render(&self, format: Format) -> Result<String> {
        Ok(match format {
            Format::Text => self.text(),
            Format::Mermaid => self.mermaid(),
            Format::Graphviz => self.graphviz(),
            Format::Html => self.html(),
            Format::Json => serde_json::to_string(self).map_err(|problem| Error::Value {
                place: "an explanation".to_owned(),
                problem: problem.to_string(),
            })?,
        })
    }
}
