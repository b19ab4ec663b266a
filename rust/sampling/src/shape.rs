//! Shape of a join for the index: its relations, their join variables, and a join tree.
//!
//! Invariant: for each variable, the relations that have it are connected in the tree, so that relations
//! that agree along the edges agree everywhere. A spanning tree that shares the most variables along its
//! edges is a join tree if there is one (Maier; Bernstein and Goodman); among those one of many leaves is
//! taken, because each inner node rounds. Relations that share nothing meet by an edge of no variables: a
//! Cartesian product. Cost: O(relations^2 variables), once.

use ringview_core::{Error, Result};

/// A relation of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// The join variable that each of its first columns holds; no variable is listed twice.
    pub variables: Vec<usize>,
    /// Columns in all, each of one word.
    pub columns: usize,
    /// Whether many rows may agree on all join variables, because there are more columns than these or because rows are
    /// repeated. Such rows are kept as groups.
    pub grouped: bool,
}

impl Atom {
    /// A relation of binary or other tuples, all of whose columns are join variables or are in no other relation.
    #[must_use]
    pub fn new(variables: Vec<usize>, columns: usize) -> Atom {
        let grouped = columns > variables.len();
        Atom {
            variables,
            columns,
            grouped,
        }
    }

    /// The columns that hold the variables of a key.
    pub(crate) fn columns_of(&self, key: &[usize]) -> Vec<usize> {
        let place = |variable: &usize| self.variables.iter().position(|other| other == variable);
        key.iter().filter_map(place).collect()
    }
}

/// Edges of a join tree: pairs of relations, with the variables that they share, ascending.
pub(crate) type Edges = Vec<(usize, usize, Vec<usize>)>;

fn shared(a: &Atom, b: &Atom) -> Vec<usize> {
    let both = a.variables.iter().filter(|v| b.variables.contains(v));
    let mut both: Vec<usize> = both.copied().collect();
    both.sort_unstable();
    both
}

/// A join tree.
///
/// # Errors
/// `Unsupported` if the join is cyclic, `Value` if there is no relation.
pub(crate) fn join_tree(atoms: &[Atom]) -> Result<Edges> {
    if atoms.is_empty() {
        return Err(Error::Value {
            place: "a sample of a join".to_owned(),
            problem: "there is no relation; name one or more".to_owned(),
        });
    }
    let weight = |a: usize, b: usize| shared(&atoms[a], &atoms[b]).len();
    let total = |a: usize| -> usize {
        let others = (0..atoms.len()).filter(|&b| b != a);
        others.map(|b| weight(a, b)).sum()
    };
    // The relation that shares most is the middle; of equals the first.
    let first = (0..atoms.len()).rev().max_by_key(|&a| total(a));
    let mut inside = vec![first.unwrap_or_default()];
    let mut edges = Edges::new();
    while inside.len() < atoms.len() {
        let outside = (0..atoms.len()).filter(|a| !inside.contains(a));
        let pairs = outside.flat_map(|b| inside.iter().enumerate().map(move |(at, &a)| (at, a, b)));
        // Among equals the relation that was added first, so that a star becomes a star.
        let best = pairs.max_by_key(|&(at, a, b)| (weight(a, b), usize::MAX - at, usize::MAX - b));
        let Some((_, a, b)) = best else { break };
        edges.push((a, b, shared(&atoms[a], &atoms[b])));
        inside.push(b);
    }
    let variables = atoms.iter().flat_map(|atom| &atom.variables);
    let broken = variables
        .copied()
        .find(|&v| !is_connected(v, atoms, &edges));
    match broken {
        None => Ok(edges),
        Some(_) => Err(Error::Unsupported {
            what: "a sample of a cyclic join".to_owned(),
            why: "its relations have no join tree".to_owned(),
            instead: "leave out the condition that closes the cycle".to_owned(),
        }),
    }
}

/// Whether the relations that have a variable are a tree by the edges that share it.
fn is_connected(variable: usize, atoms: &[Atom], edges: &Edges) -> bool {
    let with = atoms.iter().filter(|a| a.variables.contains(&variable));
    let links = edges.iter().filter(|(_, _, key)| key.contains(&variable));
    with.count() <= links.count() + 1
}
