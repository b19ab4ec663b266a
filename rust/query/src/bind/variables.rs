//! From equalities to variables.
//!
//! Columns that must be equal form a class (union-find). A class is a variable if it spans atoms or
//! is grouped by; a class within one atom is a filter on its rows. Invariant: a variable's columns
//! have one encoding, so that equal values have equal words. Cost: near-linear in the columns
//! named.

use std::collections::BTreeMap;

use ringview_core::{Error, Result, Type};

use crate::bind::bound::{VarId, Variable};
use crate::bind::scalar::Scope;
use crate::graph::set::Set;
use crate::logical::ColumnRef;

/// An (atom, table column).
pub(crate) type ColumnPosition = (usize, usize);

/// The variables of a query and what their classes demand of its atoms.
pub(crate) struct Variables {
    pub(crate) all: Vec<Variable>,
    /// The variable of each column that has one.
    pub(crate) of: BTreeMap<ColumnPosition, VarId>,
    /// (atom, column, column): equal within each row.
    pub(crate) equal: Vec<(usize, usize, usize)>,
    /// By atom: nullable columns of classes; NULL equals nothing, so such rows are dropped.
    pub(crate) not_null: Vec<Vec<usize>>,
    /// (atom, column, type): decimals that join with integers of a type. A value outside the type's
    /// range equals none of them, so such rows are dropped, and the others are read by their low
    /// word.
    pub(crate) whole: Vec<(usize, usize, Type)>,
}

/// Finds the column that a reference names.
pub(crate) fn resolve(scopes: &[Scope<'_>], column: &ColumnRef) -> Result<ColumnPosition> {
    let scope = scopes.get(column.atom).ok_or_else(|| Error::Value {
        place: "the query".to_owned(),
        problem: format!(
            "column {:?} is of atom {}, but there are {} atoms (counted from 0)",
            column.column,
            column.atom,
            scopes.len()
        ),
    })?;
    Ok((column.atom, scope.position(&column.column)?))
}

/// The variables of some joins, those of `kept` free.
pub(crate) fn variables(
    joins: &[Vec<ColumnRef>],
    kept: &[ColumnPosition],
    scopes: &[Scope<'_>],
) -> Result<Variables> {
    let mut classes = Classes::default();
    for join in joins {
        let places: Result<Vec<ColumnPosition>> = join.iter().map(|c| resolve(scopes, c)).collect();
        for pair in places?.windows(2) {
            classes.union(pair[0], pair[1]);
        }
    }
    for place in kept {
        classes.find(*place);
    }

    let mut found = Variables {
        all: Vec::new(),
        of: BTreeMap::new(),
        equal: Vec::new(),
        not_null: vec![Vec::new(); scopes.len()],
        whole: Vec::new(),
    };
    for (_, places) in classes.groups() {
        found.add(&places, kept, scopes)?;
    }
    if found.all.len() > Set::CAPACITY {
        return Err(Error::Unsupported {
            what: format!("a query with {} variables", found.all.len()),
            why: format!("a view has at most {} of them", Set::CAPACITY),
            instead: "join on, and group by, fewer columns".to_owned(),
        });
    }
    found.disambiguate(scopes);
    Ok(found)
}

impl Variables {
    /// The type of a column's values where they are keys: its own, but for decimals that join with
    /// integers, which are read as these. The narrowest type of a class may be used: values that
    /// join fit all of its types.
    pub(crate) fn key_type(&self, place: ColumnPosition, scopes: &[Scope<'_>]) -> Type {
        let own = scopes[place.0].ty(place.1);
        match (own, self.of.get(&place)) {
            (Type::Decimal { .. }, Some(&variable)) => self.all[variable].ty.clone(),
            _ => own.clone(),
        }
    }

    fn add(
        &mut self,
        places: &[ColumnPosition],
        kept: &[ColumnPosition],
        scopes: &[Scope<'_>],
    ) -> Result<()> {
        if places.len() > 1 {
            for (atom, column) in places {
                if scopes[*atom].nullable(*column) {
                    self.not_null[*atom].push(*column);
                }
            }
        }
        let (mut columns, mut others): (Vec<ColumnPosition>, Vec<ColumnPosition>) =
            (Vec::new(), Vec::new());
        for (atom, column) in places {
            match columns.last() {
                Some((last, first)) if last == atom => {
                    self.equal.push((*atom, *first, *column));
                    others.push((*atom, *column));
                }
                _ => columns.push((*atom, *column)),
            }
        }
        let is_kept = |place: &ColumnPosition| kept.contains(place);
        let (atom, column) = columns[0];
        let mut ty = scopes[atom].ty(column).clone();
        for place in &columns[1..] {
            ty = join_type(&ty, scopes[place.0].ty(place.1))
                .ok_or_else(|| cannot_join(scopes, columns[0], *place))?;
        }
        let decimals = columns.iter().filter(|_| ty.is_integer());
        let decimals = decimals.filter(|place| !scopes[place.0].ty(place.1).is_integer());
        let whole = decimals.map(|&(atom, column)| (atom, column, ty.clone()));
        self.whole.extend(whole);
        // A column that an atom equates with its own one, in another encoding, is grouped by as it
        // is.
        let is_alike = |place: &ColumnPosition| {
            let own = scopes[place.0].ty(place.1);
            own.is_integer() == ty.is_integer() && join_type(&ty, own).is_some()
        };
        let (others, unlike): (Vec<ColumnPosition>, Vec<ColumnPosition>) =
            others.into_iter().partition(is_alike);
        let free = columns.iter().chain(&others).any(is_kept);
        if columns.len() > 1 || free {
            let nullable = places.len() == 1 && scopes[atom].nullable(column);
            self.push((columns, others), (ty, nullable, free), scopes);
        }
        for place in unlike.into_iter().filter(is_kept) {
            let ty = scopes[place.0].ty(place.1).clone();
            self.push((vec![place], Vec::new()), (ty, false, true), scopes);
        }
        Ok(())
    }

    fn push(
        &mut self,
        (columns, others): (Vec<ColumnPosition>, Vec<ColumnPosition>),
        (ty, nullable, free): (Type, bool, bool),
        scopes: &[Scope<'_>],
    ) {
        let (atom, column) = columns[0];
        let places = columns.iter().chain(&others);
        let id = self.all.len();
        self.of.extend(places.map(|place| (*place, id)));
        self.all.push(Variable {
            name: scopes[atom].schema.fields()[column].name.clone(),
            nullable,
            columns,
            others,
            ty,
            free,
        });
    }

    /// Variables of one name get their aliases in front.
    fn disambiguate(&mut self, scopes: &[Scope<'_>]) {
        let names: Vec<String> = self.all.iter().map(|v| v.name.clone()).collect();
        for variable in &mut self.all {
            if names.iter().filter(|name| **name == variable.name).count() > 1 {
                let (atom, column) = variable.columns[0];
                variable.name = scopes[atom].name(column);
            }
        }
    }
}

/// The type of a variable of both, if equal values have equal words: it holds the values of both,
/// or of an integer and a decimal without digits after the point those that can be equal.
#[must_use]
pub fn join_type(left: &Type, right: &Type) -> Option<Type> {
    match (left, right) {
        _ if left == right => return Some(left.clone()),
        (Type::Decimal { scale: 0, .. }, integer) | (integer, Type::Decimal { scale: 0, .. })
            if integer.is_integer() =>
        {
            return Some(integer.clone());
        }
        (
            Type::Decimal { precision, scale },
            Type::Decimal {
                precision: other,
                scale: same,
            },
        ) if scale == same => {
            return Some(Type::Decimal {
                precision: *precision.max(other),
                scale: *scale,
            });
        }
        _ => {}
    }
    let (low, high) = left.integer_range()?;
    let (other_low, other_high) = right.integer_range()?;
    let (low, high) = (low.min(other_low), high.max(other_high));
    let types = [
        Type::UInt8,
        Type::UInt16,
        Type::UInt32,
        Type::UInt64,
        Type::Int16,
        Type::Int32,
        Type::Int64,
    ];
    types.into_iter().find(|ty| {
        let range = ty.integer_range();
        range.is_some_and(|(least, most)| least <= low && high <= most)
    })
}

fn cannot_join(scopes: &[Scope<'_>], left: ColumnPosition, right: ColumnPosition) -> Error {
    let shown = |place: ColumnPosition| {
        let scope = &scopes[place.0];
        format!("{} ({})", scope.name(place.1), scope.ty(place.1))
    };
    Error::Unsupported {
        what: format!("joining {} with {}", shown(left), shown(right)),
        why: "their values are encoded differently".to_owned(),
        instead: format!(
            "declare {} as {}, or the other way round",
            scopes[right.0].name(right.1),
            scopes[left.0].ty(left.1)
        ),
    }
}

/// Union-find over places.
#[derive(Default)]
struct Classes {
    ids: BTreeMap<ColumnPosition, usize>,
    parents: Vec<usize>,
}

impl Classes {
    fn find(&mut self, place: ColumnPosition) -> usize {
        let next = self.parents.len();
        let mut id = *self.ids.entry(place).or_insert(next);
        if id == next {
            self.parents.push(next);
        }
        while self.parents[id] != id {
            self.parents[id] = self.parents[self.parents[id]];
            id = self.parents[id];
        }
        id
    }

    /// The smaller root wins, so that `find` of a class never changes after its last union.
    fn union(&mut self, left: ColumnPosition, right: ColumnPosition) {
        let (left, right) = (self.find(left), self.find(right));
        self.parents[left.max(right)] = left.min(right);
    }

    /// (root, members in order), ordered by the first member.
    fn groups(&mut self) -> Vec<(usize, Vec<ColumnPosition>)> {
        let places: Vec<ColumnPosition> = self.ids.keys().copied().collect();
        let mut groups: Vec<(usize, Vec<ColumnPosition>)> = Vec::new();
        for place in places {
            let root = self.find(place);
            match groups.iter_mut().find(|(of, _)| *of == root) {
                Some((_, members)) => members.push(place),
                None => groups.push((root, vec![place])),
            }
        }
        groups
    }
}
