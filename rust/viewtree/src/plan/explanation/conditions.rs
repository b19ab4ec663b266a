//! The conditions that say what a view of a query must cost, and what they fail by, in words.
//!
//! `graph::classes` decides them; whether a free variable is below a bound one in the order is decided here. Invariant:
//! the variables and relations named are a counterexample to the definition.
//! Cost: that of the classes.

use ringview_explain::Condition;

use crate::plan::Plan;
use ringview_query::Representation;
use ringview_query::graph::classes::{Classes, Counterexample};
use ringview_query::graph::hypergraph::Hypergraph;
use ringview_query::graph::order::OrderNode;
use ringview_query::graph::set::Set;

/// A hypergraph with names.
struct Named<'a> {
    relations: &'a [(String, Vec<usize>)],
    variables: &'a [(String, bool)],
    graph: Hypergraph,
}

/// The conditions on a join: each relation with its name and variables (by position), each variable
/// with its name and whether it is free. None for a query too large to look at.
#[must_use]
pub fn conditions(
    relations: &[(String, Vec<usize>)],
    variables: &[(String, bool)],
) -> Vec<Condition> {
    // The head is one more edge.
    if relations.len() >= Set::CAPACITY || variables.len() >= Set::CAPACITY {
        return Vec::new();
    }
    let of = |variable: usize| -> Set {
        let has = |relation: &usize| relations[*relation].1.contains(&variable);
        (0..relations.len()).filter(has).collect()
    };
    let kept = |variable: &usize| variables[*variable].1;
    let graph = Hypergraph::new(
        (0..variables.len()).map(of).collect(),
        (0..variables.len()).filter(kept).collect(),
        (0..relations.len()).collect(),
        vec![None; relations.len()],
    );
    let classes = Classes::new(&graph);
    let named = Named {
        relations,
        variables,
        graph,
    };
    MEANINGS
        .iter()
        .zip([
            (&classes.acyclic, ""),
            (&classes.free_connex, "alpha-acyclic"),
            (&classes.hierarchical, ""),
            (&classes.q_hierarchical, "hierarchical"),
        ])
        .scan(
            (Vec::new(), Vec::new()),
            |wider, ((name, meanings), (fails, within))| {
                let (because, variables, relations) = match fails {
                    None => (String::new(), Vec::new(), Vec::new()),
                    Some(Counterexample::Wider) => {
                        let because = format!("it is not {within}");
                        (because, wider.0.clone(), wider.1.clone())
                    }
                    Some(found) => named.described(found),
                };
                *wider = (variables.clone(), relations.clone());
                Some(condition(name, because, *meanings, variables, relations))
            },
        )
        .collect()
}

/// The classes, each with what follows where it holds and where it fails.
const MEANINGS: [(&str, (&str, &str)); 4] = [
    (
        "alpha-acyclic",
        (
            "the join has an order in which nothing outgrows what it leads to",
            "a view over a part of the cycle may outgrow the relations where no other bounds it",
        ),
    ),
    (
        "free-connex",
        (
            "the groups can be listed with constant delay from views of linear size",
            "no views of linear size list the groups with constant delay",
        ),
    ),
    (
        "hierarchical",
        (
            "at each variable the relations below it share the variables above it",
            "some change meets a group of rows, not one",
        ),
    ),
    (
        "q-hierarchical",
        (
            "a change can cost O(1), or else only the groups that it moves",
            "without unique keys or static relations, some change or the next row read costs more \
             than O(1)",
        ),
    ),
];

impl Plan {
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        let mut relations: Vec<(String, Vec<usize>)> = self
            .atoms
            .iter()
            .map(|atom| (atom.alias.clone(), Vec::new()))
            .collect();
        for (id, variable) in self.variables.iter().enumerate() {
            for (atom, _) in &variable.columns {
                relations[*atom].1.push(id);
            }
        }
        // A factorised view keeps every row of the join apart, whatever it shows of it.
        let factorised = self.bag == Some(Representation::Factorised);
        let variable = self.variables.iter();
        let variables = variable.map(|v| (v.name.clone(), v.free || factorised));
        let mut found = conditions(&relations, &variables.collect::<Vec<_>>());
        if !factorised {
            found.push(self.free_top());
        }
        found
    }

    fn free_top(&self) -> Condition {
        let mut found = self.buried(&self.order, None);
        let variables = found.take().map(|(free, bound)| self.names([free, bound]));
        let because = match variables.as_deref() {
            Some([free, bound]) => {
                format!("{free}, which is free, stands below {bound}, which is not")
            }
            _ => String::new(),
        };
        let (yes, no) = (
            "the keys of the result stand above all that is summed away",
            "views on the way up keep free variables that others are summed away above",
        );
        condition(
            "free-top",
            because,
            (yes, no),
            variables.unwrap_or_default(),
            Vec::new(),
        )
    }

    /// A free variable below a bound one.
    fn buried(&self, order: &[OrderNode], bound: Option<usize>) -> Option<(usize, usize)> {
        order.iter().find_map(|node| {
            let free = self.variables[node.variable].free;
            match bound {
                Some(above) if free => Some((node.variable, above)),
                _ => self.buried(&node.children, bound.or((!free).then_some(node.variable))),
            }
        })
    }
}

/// A condition, which holds if nothing is said against it.
fn condition(
    name: &str,
    because: String,
    (yes, no): (&str, &str),
    variables: Vec<String>,
    relations: Vec<String>,
) -> Condition {
    let holds = because.is_empty();
    Condition {
        name: name.to_owned(),
        holds,
        means: if holds { yes } else { no }.to_owned(),
        because,
        variables,
        relations,
    }
}

impl Named<'_> {
    /// A counterexample in words, its variables and its relations.
    fn described(&self, found: &Counterexample) -> (String, Vec<String>, Vec<String>) {
        let edges = &self.graph.edges;
        let relation = |at: usize| self.relations[at].0.clone();
        let variable = |at: usize| self.variables[at].0.clone();
        match found {
            Counterexample::Wider => (String::new(), Vec::new(), Vec::new()),
            Counterexample::Cycle(cycle) => {
                let because = format!("{} form a cycle", self.listed(cycle, edges));
                let (variables, relations) = self.named(cycle, edges);
                (because, variables, relations)
            }
            Counterexample::CycleWithHead(cycle) => {
                let mut edges = edges.clone();
                edges.push(self.graph.free);
                let because = format!(
                    "{} form a cycle with the result [{}]",
                    self.listed(cycle, &edges),
                    self.names(self.graph.free).join(", ")
                );
                let (variables, relations) = self.named(cycle, &edges);
                (because, variables, relations)
            }
            Counterexample::Crossing { variables, edges } => {
                let ([x, y], [r, s, t]) = (variables.map(variable), edges.map(relation));
                let because =
                    format!("{r} has {x} without {y}, {t} has {y} without {x}, and {s} has both");
                (because, vec![x, y], vec![r, s, t])
            }
            Counterexample::Buried { variables, edges } => {
                let ([x, y], [both, more]) = (variables.map(variable), edges.map(relation));
                let because = format!(
                    "{x} is kept and {y} summed away, but {both} has both and {more} has {y} \
                     without {x}"
                );
                (because, vec![x, y], vec![both, more])
            }
        }
    }

    /// `R[a, b], S[b, c]`: edges with the variables that lie in more than one of them, or in the
    /// edges around them.
    fn listed(&self, cycle: &[usize], edges: &[Set]) -> String {
        let shared = self.shared(cycle, edges);
        let one = |at: &usize| {
            let names = self.names(edges[*at] & shared);
            format!("{}[{}]", self.relations[*at].0, names.join(", "))
        };
        cycle.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn named(&self, cycle: &[usize], edges: &[Set]) -> (Vec<String>, Vec<String>) {
        let all = cycle
            .iter()
            .fold(Set::default(), |set, at| set | edges[*at]);
        let relation = |at: &usize| self.relations[*at].0.clone();
        let variables = self.names(all & self.shared(cycle, edges));
        (variables, cycle.iter().map(relation).collect())
    }

    /// Variables that lie in two of the edges of a cycle, or in one and the head.
    fn shared(&self, cycle: &[usize], edges: &[Set]) -> Set {
        let head = edges.get(self.graph.edges.len()).copied();
        let cycle = cycle.iter().map(|at| edges[*at]).chain(head);
        let (mut once, mut twice) = (Set::default(), Set::default());
        for edge in cycle {
            twice |= once & edge;
            once |= edge;
        }
        twice
    }

    fn names(&self, variables: Set) -> Vec<String> {
        let name = |id: usize| self.variables[id].0.clone();
        variables.iter().map(name).collect()
    }
}
