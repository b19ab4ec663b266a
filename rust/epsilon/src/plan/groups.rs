//! Groups: which are kept, which are read, and from whose rows.
//!
//! Invariant: groups are kept where each change is of one of them, and read where one relation has all their columns;
//! other groups are refused with the reason. Cost: none that depends on data.

use ringview_core::{Error, Result};
use ringview_query::{Bound, Variable};

/// Whether each change is of one group: then it costs what it costs without groups.
pub(crate) fn is_of_one_group(query: &Bound) -> bool {
    let changing = query
        .atoms
        .iter()
        .enumerate()
        .filter(|(_, atom)| !atom.is_static);
    changing.into_iter().all(|(at, _)| has_groups(query, at))
}

/// Whether an atom has all that the result is grouped by.
fn has_groups(query: &Bound, atom: usize) -> bool {
    let mut free = query.variables.iter().filter(|variable| variable.free);
    free.all(|variable| has(atom, variable))
}

/// Whether an atom has a variable.
pub(super) fn has(atom: usize, variable: &Variable) -> bool {
    variable.columns.iter().any(|(of, _)| *of == atom)
}

/// The atom from whose rows groups can be read.
pub(super) fn reader(query: &Bound) -> Result<usize> {
    // Of the smallest key: where it is the groups themselves, a group is one tuple.
    let width = |atom: &usize| {
        let own = query.variables.iter().filter(|one| has(*atom, one));
        own.count()
    };
    let atoms = (0..query.atoms.len()).filter(|atom| has_groups(query, *atom));
    if let Some(atom) = atoms.min_by_key(width) {
        return Ok(atom);
    }
    let free = query.variables.iter().filter(|variable| variable.free);
    let names: Vec<String> = free.map(|one| format!("{:?}", one.name)).collect();
    let why = format!(
        "no relation has all of {}: a change touches as many groups as the join finds, which may be \
         all, and no row tells which groups there are; groups are kept by columns that every \
         relation has that is not static, and read by columns of one relation",
        names.join(", ")
    );
    Err(unsupported("GROUP BY", &why))
}

/// A variable of one relation alone is summed away before anything joins.
pub(super) fn check_groups(query: &Bound) -> Result<()> {
    let mut free = query.variables.iter().filter(|variable| variable.free);
    let Some(alone) = free.find(|one| one.columns.len() < 2) else {
        return Ok(());
    };
    let why = format!(
        "{:?} is in one relation alone: rows that differ there alone are one tuple with one sum, and \
         groups are of columns that join",
        alone.name
    );
    Err(unsupported("GROUP BY", &why))
}

pub(super) fn unsupported(what: &str, why: &str) -> Error {
    Error::Unsupported {
        what: format!("{what} by the engine \"epsilon\""),
        why: why.to_owned(),
        instead: "leave engine= out: the cheapest engine that can keep the view is taken"
            .to_owned(),
    }
}
