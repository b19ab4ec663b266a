//! Checking an order that the user gives.
//!
//! Variables that the plan does not have (bound columns of one atom: summed away at the leaf) may
//! be named, and are passed over. Cost: quadratic in the variables.

use ringview_core::{Error, Result};

use crate::bind::bound::{PlanAtom, VarId, Variable};
use crate::graph::hypergraph::Hypergraph;
use crate::graph::order::{OrderNode, with_locals};
use crate::graph::set::Set;
use crate::logical::{ColumnRef, OrderRef};

/// The finished order; `resolve` finds the variable of a column, if it has one.
pub(crate) fn check(
    given: &[OrderRef],
    graph: &Hypergraph,
    atoms: &[PlanAtom],
    variables: &[Variable],
    resolve: &dyn Fn(&ColumnRef) -> Result<Option<VarId>>,
) -> Result<Vec<OrderNode>> {
    let mut checker = Checker {
        resolve,
        variables,
        above: vec![None; variables.len()],
    };
    let order = checker.read(given, Set::default())?;
    for (id, variable) in variables.iter().enumerate() {
        if checker.above[id].is_none() && variable.columns.len() > 1 {
            let why = format!("it does not place {:?}", variable.name);
            return Err(refused(why, "place every variable that joins"));
        }
    }
    for (edge, atom) in graph.edges.iter().zip(atoms) {
        if let Some((x, y)) = checker.incomparable(*edge) {
            let (x, y) = (&variables[x].name, &variables[y].name);
            let why = format!(
                "{:?} has both {x:?} and {y:?}, which do not lie on one path",
                atom.alias
            );
            return Err(refused(
                why,
                &format!("put one of {x:?} and {y:?} below the other"),
            ));
        }
    }
    Ok(with_locals(order, graph))
}

struct Checker<'a> {
    resolve: &'a dyn Fn(&ColumnRef) -> Result<Option<VarId>>,
    variables: &'a [Variable],
    /// By variable: those above it, once it is placed.
    above: Vec<Option<Set>>,
}

impl Checker<'_> {
    fn read(&mut self, given: &[OrderRef], above: Set) -> Result<Vec<OrderNode>> {
        let mut order = Vec::with_capacity(given.len());
        for node in given {
            let Some(variable) = (self.resolve)(&node.variable)? else {
                order.extend(self.read(&node.children, above)?);
                continue;
            };
            if self.above[variable].is_some() {
                let name = &self.variables[variable].name;
                let why = format!("it places {name:?} twice");
                return Err(refused(why, "name one column of each variable"));
            }
            self.above[variable] = Some(above);
            let children = self.read(&node.children, above | Set::one(variable))?;
            order.push(OrderNode { variable, children });
        }
        Ok(order)
    }

    /// Two variables of which neither is above the other.
    fn incomparable(&self, edge: Set) -> Option<(VarId, VarId)> {
        let above = |x: VarId, y: VarId| self.above[y].is_none_or(|set| set.contains(x));
        let of = |x: VarId| {
            edge.iter()
                .find(|y| *y != x && !above(x, *y) && !above(*y, x))
        };
        edge.iter().find_map(|x| Some((x, of(x)?)))
    }
}

fn refused(why: String, instead: &str) -> Error {
    Error::Unsupported {
        what: "this variable order".to_owned(),
        why,
        instead: format!("{instead}, or leave the order out and let one be chosen"),
    }
}
