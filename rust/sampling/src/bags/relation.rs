//! A relation of a query, and the keys by which its rows are distinct.
//!
//! Invariant: its join variables are its first columns. Cost: O(columns).

/// A relation of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The join variable that each of its first columns holds; no variable is listed twice.
    pub variables: Vec<usize>,
    /// Columns in all, each of one word.
    pub columns: usize,
    /// Sets of columns such that no two rows agree on all of one.
    pub keys: Vec<Vec<usize>>,
    /// Whether many rows may agree on all join variables.
    pub repeats: bool,
    /// Columns whose words the rows of the acyclic join must have, because a predicate reads them.
    pub carried: Vec<usize>,
}

impl Relation {
    /// A relation whose rows are distinct.
    #[must_use]
    pub fn distinct(variables: Vec<usize>, columns: usize) -> Relation {
        Relation {
            keys: vec![(0..columns).collect()],
            repeats: columns > variables.len(),
            carried: Vec::new(),
            variables,
            columns,
        }
    }

    /// A relation whose rows may be repeated.
    #[must_use]
    pub fn bag(variables: Vec<usize>, columns: usize) -> Relation {
        Relation {
            keys: Vec::new(),
            repeats: true,
            carried: Vec::new(),
            variables,
            columns,
        }
    }

    /// The keys that are of variables alone, as these.
    pub(super) fn keys_of_variables(&self) -> Vec<Vec<usize>> {
        let of = |key: &Vec<usize>| -> Option<Vec<usize>> {
            key.iter()
                .map(|&column| self.variables.get(column).copied())
                .collect()
        };
        self.keys.iter().filter_map(of).collect()
    }
}
