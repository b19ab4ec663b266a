//! The hypergraph of a query: variables are vertices, atoms are edges.
//!
//! Invariant: every variable lies in at least one atom. Free variables and functional dependencies
//! (a unique key determines the row) ride along. Tests below are polynomial in the query.

use crate::graph::set::Set;

/// A query's hypergraph.
#[derive(Clone, Debug)]
pub struct Hypergraph {
    /// By atom: its variables.
    pub edges: Vec<Set>,
    /// By variable: its atoms.
    pub atoms: Vec<Set>,
    /// The free variables.
    pub free: Set,
    /// Atoms over tables that may change.
    pub dynamic: Set,
    /// By atom: variables that determine all its others.
    determinants: Vec<Option<Set>>,
    /// The atoms that have such.
    determining: Set,
}

impl Hypergraph {
    /// `atoms` names the atoms of each variable; `determinants`, by atom, variables that determine
    /// all its others, where it has such.
    #[must_use]
    pub fn new(
        atoms: Vec<Set>,
        free: Set,
        dynamic: Set,
        determinants: Vec<Option<Set>>,
    ) -> Hypergraph {
        let mut edges = vec![Set::default(); determinants.len()];
        for (id, of) in atoms.iter().enumerate() {
            of.iter().for_each(|atom| edges[atom].insert(id));
        }
        let has = |atom: &usize| determinants[*atom].is_some();
        Hypergraph {
            edges,
            atoms,
            free,
            dynamic,
            determining: (0..determinants.len()).filter(has).collect(),
            determinants,
        }
    }

    /// The same query as it joins: without the variables of one atom, and with no free ones.
    pub fn joins_only(&self) -> Hypergraph {
        let join = |v: &usize| self.atoms[*v].len() > 1;
        let joins: Set = (0..self.atoms.len()).filter(join).collect();
        let mut joined = self.clone();
        for edge in &mut joined.edges {
            *edge = *edge & joins;
        }
        joined.free = Set::default();
        joined
    }

    /// All that is known when `known` is, through the unique keys of the atoms.
    pub fn closure(&self, mut known: Set, atoms: Set) -> Set {
        if self.determining.is_empty() {
            return known;
        }
        loop {
            let before = known;
            for atom in (atoms & self.determining).iter() {
                if self.determinants[atom].is_some_and(|key| key.is_subset(known)) {
                    known |= self.edges[atom];
                }
            }
            if known == before {
                return known;
            }
        }
    }

    /// All variables of the atoms.
    pub fn variables(&self, atoms: Set) -> Set {
        atoms
            .iter()
            .fold(Set::default(), |set, atom| set | self.edges[atom])
    }
}

/// Result of the reduction of Graham, Yu and Ozsoyoglu: the edges (by position) of the cycles. It
/// drops variables of only one edge, and edges within others (of equal ones, all but the first),
/// until nothing changes.
pub fn core(edges: &[Set]) -> Vec<usize> {
    let mut edges: Vec<(usize, Set)> = edges.iter().copied().enumerate().collect();
    loop {
        let mut once = Set::default();
        let mut twice = Set::default();
        for (_, edge) in &edges {
            twice |= once & *edge;
            once |= *edge;
        }
        let shared: Vec<(usize, Set)> = edges.iter().map(|&(id, e)| (id, e & twice)).collect();
        let mut kept: Vec<(usize, Set)> = Vec::new();
        for &(id, edge) in &shared {
            let covered = shared.iter().any(|&(other, set)| {
                edge.is_subset(set) && (edge != set || other < id) && other != id
            });
            if !covered && !edge.is_empty() {
                kept.push((id, edge));
            }
        }
        if kept == edges {
            return kept.into_iter().map(|(id, _)| id).collect();
        }
        edges = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(lists: &[&[usize]]) -> Vec<Set> {
        lists.iter().map(|l| l.iter().copied().collect()).collect()
    }

    #[test]
    fn ears_are_removed() {
        assert!(core(&edges(&[&[0, 1], &[1, 2], &[2, 3]])).is_empty());
        assert!(core(&edges(&[&[0], &[0], &[]])).is_empty());
        assert!(core(&edges(&[&[0, 1], &[1, 2], &[2, 0], &[0, 1, 2]])).is_empty());
        assert!(!core(&edges(&[&[0, 1], &[1, 2], &[2, 0]])).is_empty());
        assert!(!core(&edges(&[&[0, 1], &[1, 2], &[2, 3], &[3, 0]])).is_empty());
    }

    #[test]
    fn the_core_is_the_cycles_without_their_ears() {
        let triangle_with_tail = edges(&[&[3, 4], &[0, 1], &[1, 2], &[0, 1], &[2, 0], &[0, 3]]);
        assert_eq!(core(&triangle_with_tail), [1, 2, 4]);
        let square = edges(&[&[0, 1], &[1, 2, 9], &[2, 3], &[3, 0], &[9]]);
        assert_eq!(core(&square), [0, 1, 2, 3]);
        assert!(core(&edges(&[&[0, 1], &[1, 2], &[2, 0], &[0, 1, 2]])).is_empty());
    }
}
