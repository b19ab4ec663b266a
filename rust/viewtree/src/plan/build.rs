//! From a bound query to the plan of its view tree: order, tree, payloads.
//!
//! Invariant: the plan is that of the query and the planning alone. Cost: small, but for the choice of
//! the order, see `graph::order`.

use ringview_core::Result;

use crate::plan::classes::classify;
use crate::plan::payload::Payload;
use crate::plan::{CofactorPlan, Companion, ExtremesPlan, Plan, SumProduct, factorised, tree};
use ringview_query::graph::order;
use ringview_query::{Bound, OutputKind, PlanOutput, Representation};

/// Options of planning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planning {
    /// Indicator projections in views over parts of cycles: views stay small, and the relations
    /// that close the cycles cost more to change (paper, section 6).
    pub indicators: bool,
}

impl Default for Planning {
    fn default() -> Self {
        Self { indicators: true }
    }
}

/// Plans companions.
pub(crate) fn planned(
    companions: Vec<ringview_query::Companion<Bound>>,
    planning: Planning,
) -> Result<Vec<Companion>> {
    let plan = |bound| Plan::new(bound, planning);
    companions
        .into_iter()
        .map(|companion| companion.map(plan))
        .collect()
}

impl Plan {
    /// Plans the view of a query.
    ///
    /// # Errors
    /// `Unsupported` and `Overflow` where constants and factors multiply to what cannot be kept.
    pub fn new(mut bound: Bound, planning: Planning) -> Result<Plan> {
        bound.refuse_condition("view trees keep tables")?;
        let graph = bound.graph();
        let (atoms, variables) = (&bound.atoms, &bound.variables);
        let factorised = bound.bag == Some(Representation::Factorised);
        let ordered = if factorised {
            graph.joins_only()
        } else {
            graph.clone()
        };
        let order = bound.order.clone().unwrap_or_else(|| {
            let rows: Vec<Option<u64>> = atoms.iter().map(|atom| atom.rows).collect();
            order::choose(&ordered, &rows, planning.indicators)
        });
        let (order, tree) = if factorised {
            factorised::build(order, &graph, atoms, variables, planning.indicators)
        } else {
            let tree = tree::build(&order, &graph, atoms, variables, planning.indicators);
            (order, tree)
        };

        let mut payload = Payload::new(&tree, variables)?;
        let mut terms = bound.terms.iter();
        terms.try_for_each(|term| payload.term(term))?;
        let payload = payload.finish();
        let companions = planned(std::mem::take(&mut bound.companions), planning)?;
        let extremes = ExtremesPlan::new(&bound, &companions, &tree);
        let mut cofactor = None;
        if let Some(features) = bound.features {
            let mut lifted = Payload::new(&tree, variables)?;
            let found =
                CofactorPlan::new(features, atoms, variables, &tree, &mut lifted, planning)?;
            cofactor = Some((found, lifted.finish()));
        }
        let class = classify(&graph, &tree);
        let mut plan = Plan {
            companions,
            extremes,
            order,
            tree,
            payload,
            cofactor: None,
            matrix: None,
            outputs: bound.outputs,
            bag: bound.bag,
            distinct: bound.distinct,
            measures: bound.measures,
            results: bound.results,
            class,
            atoms: bound.atoms,
            variables: bound.variables,
        };
        if let Some((cofactor, lifted)) = cofactor {
            plan.add_matrix(cofactor, lifted);
        }
        Ok(plan)
    }

    /// Adds degree-m payloads: in the place of the sums if these are only the count, which degree-m
    /// payloads have too, else beside them.
    fn add_matrix(&mut self, cofactor: CofactorPlan, lifted: SumProduct) {
        let counts = self.payload.nodes[self.tree.root].len() == 1;
        if counts {
            self.payload.nodes = lifted.nodes;
            self.cofactor = Some(cofactor);
            return;
        }
        let is_cofactor = |output: &&PlanOutput| matches!(output.kind, OutputKind::Cofactor);
        self.matrix = Some(Box::new(Plan {
            payload: lifted,
            cofactor: Some(cofactor),
            outputs: self.outputs.iter().filter(is_cofactor).cloned().collect(),
            measures: Vec::new(),
            results: None,
            companions: Vec::new(),
            extremes: None,
            ..self.clone()
        }));
    }
}
