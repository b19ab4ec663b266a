//! The conditions that say what a view of a query must cost, and what they fail by.
//!
//! Each is decided by its definition over the hypergraph (`classes` decides the same for the plan):
//! alpha-acyclic and free-connex by GYO reductions, without and with an edge over the free variables;
//! hierarchical if any two variables have nested or disjoint sets of relations; q-hierarchical if
//! moreover no free variable's set lies strictly within a bound one's (Berkholz, Keppeler,
//! Schweikardt); free-top if no free variable stands below a bound one in the order. Invariant: the
//! variables and relations named are a counterexample to the definition. Cost: quadratic in the
//! variables.

use ringview_explain::Condition;

use crate::graph::hypergraph::core;
use crate::graph::set::Set;
use crate::logical::Representation;
use crate::plan::{OrderNode, Plan};

/// A hypergraph with names.
struct Named<'a> {
    relations: &'a [(String, Vec<usize>)],
    variables: &'a [(String, bool)],
    edges: Vec<Set>,
    /// By variable: its relations.
    of: Vec<Set>,
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
    let edges: Vec<Set> = relations
        .iter()
        .map(|(_, variables)| variables.iter().copied().collect())
        .collect();
    let of = |variable: usize| -> Set {
        let has = |relation: &usize| edges[*relation].contains(variable);
        (0..edges.len()).filter(has).collect()
    };
    let of = (0..variables.len()).map(of).collect();
    let named = Named {
        relations,
        variables,
        edges,
        of,
    };
    let acyclic = named.acyclic();
    let connex = named.free_connex(&acyclic);
    let hierarchical = named.hierarchical();
    let q_hierarchical = named.q_hierarchical(&hierarchical);
    vec![acyclic, connex, hierarchical, q_hierarchical]
}

impl Plan {
    pub(super) fn conditions(&self) -> Vec<Condition> {
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
    fn acyclic(&self) -> Condition {
        let cycle = core(&self.edges);
        let because = if cycle.is_empty() {
            String::new()
        } else {
            format!("{} form a cycle", self.listed(&cycle, &self.edges))
        };
        let (yes, no) = (
            "the join has an order in which nothing outgrows what it leads to",
            "a view over a part of the cycle may outgrow the relations where no other bounds it",
        );
        let (variables, relations) = self.named(&cycle, &self.edges);
        condition("alpha-acyclic", because, (yes, no), variables, relations)
    }

    fn free_connex(&self, acyclic: &Condition) -> Condition {
        let (yes, no) = (
            "the groups can be listed with constant delay from views of linear size",
            "no views of linear size list the groups with constant delay",
        );
        if !acyclic.holds {
            let because = "it is not alpha-acyclic".to_owned();
            let (variables, relations) = (acyclic.variables.clone(), acyclic.relations.clone());
            return condition("free-connex", because, (yes, no), variables, relations);
        }
        let mut edges = self.edges.clone();
        let free = (0..self.variables.len()).filter(|id| self.variables[*id].1);
        edges.push(free.collect());
        let mut cycle = core(&edges);
        let head = edges.len() - 1;
        cycle.retain(|edge| *edge != head);
        let because = if cycle.is_empty() {
            String::new()
        } else {
            format!(
                "{} form a cycle with the result [{}]",
                self.listed(&cycle, &edges),
                self.names(edges[head]).join(", ")
            )
        };
        let (variables, relations) = self.named(&cycle, &edges);
        condition("free-connex", because, (yes, no), variables, relations)
    }

    fn hierarchical(&self) -> Condition {
        let variables = 0..self.of.len();
        let crossing = variables.clone().find_map(|x| {
            let crosses = |y: &usize| {
                let (x, y) = (self.of[x], self.of[*y]);
                x.meets(y) && !x.within(y) && !y.within(x)
            };
            Some((x, variables.clone().find(crosses)?))
        });
        let (yes, no) = (
            "at each variable the relations below it share the variables above it",
            "some change meets a group of rows, not one",
        );
        let Some((x, y)) = crossing else {
            return condition(
                "hierarchical",
                String::new(),
                (yes, no),
                Vec::new(),
                Vec::new(),
            );
        };
        let (of_x, of_y) = (self.of[x], self.of[y]);
        let (only_x, only_y, both) = (of_x - of_y, of_y - of_x, of_x & of_y);
        let (x, y) = (&self.variables[x].0, &self.variables[y].0);
        let relation = |of: Set| of.iter().next().map_or("", |at| &self.relations[at].0);
        let (r, s, t) = (relation(only_x), relation(both), relation(only_y));
        condition(
            "hierarchical",
            format!("{r} has {x} without {y}, {t} has {y} without {x}, and {s} has both"),
            (yes, no),
            vec![x.clone(), y.clone()],
            [r, s, t].map(str::to_owned).to_vec(),
        )
    }

    fn q_hierarchical(&self, hierarchical: &Condition) -> Condition {
        let (yes, no) = (
            "a change can cost O(1), or else only the groups that it moves",
            "without unique keys or static relations, some change or the next row read costs more \
             than O(1)",
        );
        if !hierarchical.holds {
            let because = "it is not hierarchical".to_owned();
            let of = (
                hierarchical.variables.clone(),
                hierarchical.relations.clone(),
            );
            return condition("q-hierarchical", because, (yes, no), of.0, of.1);
        }
        let variables = 0..self.of.len();
        let buried = variables
            .clone()
            .filter(|x| self.variables[*x].1)
            .find_map(|x| {
                let over = |y: &usize| {
                    !self.variables[*y].1
                        && self.of[x].within(self.of[*y])
                        && self.of[x] != self.of[*y]
                };
                Some((x, variables.clone().find(over)?))
            });
        let Some((x, y)) = buried else {
            return condition(
                "q-hierarchical",
                String::new(),
                (yes, no),
                Vec::new(),
                Vec::new(),
            );
        };
        let more = (self.of[y] - self.of[x]).iter().next();
        let more = more.map_or("", |at| &self.relations[at].0);
        let both = self.of[x]
            .iter()
            .next()
            .map_or("", |at| &self.relations[at].0);
        let (x, y) = (&self.variables[x].0, &self.variables[y].0);
        condition(
            "q-hierarchical",
            format!(
                "{x} is kept and {y} summed away, but {both} has both and {more} has {y} without \
                 {x}"
            ),
            (yes, no),
            vec![x.clone(), y.clone()],
            vec![both.to_owned(), more.to_owned()],
        )
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

    /// What lies in two of the edges of a cycle, or in one and the head.
    fn shared(&self, cycle: &[usize], edges: &[Set]) -> Set {
        let head = edges.get(self.edges.len()).copied();
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
