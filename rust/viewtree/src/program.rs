//! A plan compiled: for each relation, the path of its changes from its leaf to the root.
//!
//! dV = dC * S1 * S2 * .. with one sibling at a time, then the bound variables are summed away
//! (paper, section 4). At each sibling the path knows what is bound: the whole key (one probe a
//! row), a part of it (a walk through the group of an index) or nothing (a scan). The order is the
//! plan's, which `explain` reads too: fully bound siblings come first, since they can only make the
//! delta smaller, then those that a unique key determines. Siblings that lack the very same
//! fields are rivals: any of them can be walked and the others probed.

use crate::plan::Plan;
use ringview_relation::{KeyLayout, Part};
use ringview_ring::PayloadRing;

use ringview_view::fields::Fields;

/// How the payloads of a plan are multiplied: the ring's part of compiling a path.
pub(crate) trait ProductPlan<R: PayloadRing> {
    /// What the payloads of a node hold.
    fn shape(&self, node: usize) -> R::Shape;
    /// The products that turn payloads of child `from` into those of `node`, one a sibling.
    fn products(
        &self,
        plan: &Plan,
        node: usize,
        from: usize,
        siblings: &[usize],
    ) -> Vec<R::Product>;
}

/// How the rows of a delta find their partners in a sibling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// The registers that hold the sibling's key: at most one partner.
    Probe(Vec<usize>),
    /// The sibling's index on what is bound, and the registers that hold that. Each pair of
    /// `fetch` is a field of the sibling's key and the register that it fills.
    Walk {
        index: usize,
        bound: Vec<usize>,
        fetch: Vec<(usize, usize)>,
    },
    /// Every tuple is a partner.
    Scan { fetch: Vec<(usize, usize)> },
}

/// One factor of the delta rule: a sibling with its product, and what is still needed afterwards.
#[derive(Clone, Debug)]
pub(crate) struct Step<R: PayloadRing> {
    pub(crate) sibling: usize,
    pub(crate) access: Access,
    pub(crate) product: R::Product,
    /// Whether it is the level's last.
    pub(crate) last: bool,
    /// Registers that later steps read.
    pub(crate) live: Vec<usize>,
    /// At a walk: how each of the steps that follow, as many as there are rivals, would be walked
    /// in its place. They are probes.
    pub(crate) rivals: Vec<Access>,
}

/// What happens at one node of a path.
#[derive(Clone, Debug)]
pub(crate) struct Level<R: PayloadRing> {
    pub(crate) node: usize,
    pub(crate) steps: Vec<Step<R>>,
    /// The registers of the node's key: what is not marginalised.
    pub(crate) keys: Vec<usize>,
    /// How that key is packed.
    pub(crate) layout: KeyLayout,
    /// Registers that the steps read or keep.
    pub(crate) enter: Vec<usize>,
}

/// The path of an atom: its leaf, whose key stands in the first registers, and the levels above.
#[derive(Clone, Debug)]
pub(crate) struct Path<R: PayloadRing> {
    pub(crate) leaf: usize,
    pub(crate) keys: Vec<usize>,
    pub(crate) layout: KeyLayout,
    pub(crate) levels: Vec<Level<R>>,
    pub(crate) registers: usize,
    /// The field that each register holds.
    pub(crate) fields: Vec<usize>,
}

/// Compiles the path of one leaf, given the siblings that are met at each node, in order; adds to the siblings' parts the indexes that it walks.
pub(crate) fn compile<R: PayloadRing>(
    plan: &Plan,
    fields: &Fields,
    ring: &dyn ProductPlan<R>,
    (leaf, met): (usize, &[Vec<usize>]),
    parts: &mut [Option<&mut Part>],
) -> Path<R> {
    // Field by register.
    let mut registers = fields.of_all(&plan.tree.nodes[leaf].keys);
    let layout = fields.layout(&registers);
    let keys: Vec<usize> = (0..registers.len()).collect();
    let mut levels = Vec::new();
    let (mut child, mut bound) = (leaf, keys.clone());
    while let Some(node) = plan.tree.nodes[child].parent {
        let mut compiler = LevelCompiler {
            plan,
            fields,
            parts,
            registers: &mut registers,
            bound,
        };
        let siblings = met[child].clone();
        let joins: Vec<(Access, Vec<Access>)> = (0..siblings.len())
            .map(|at| compiler.join_with(siblings[at], &siblings[at + 1..]))
            .collect();
        let key_fields = fields.of_all(&plan.tree.nodes[node].keys);
        let keys: Vec<usize> = key_fields
            .iter()
            .map(|&field| compiler.register(field))
            .collect();
        let products = ring.products(plan, node, child, &siblings);
        let factors = siblings.into_iter().zip(joins).zip(products);
        let (steps, enter) = with_live(factors, &keys);
        levels.push(Level {
            node,
            steps,
            keys: keys.clone(),
            layout: fields.layout(&key_fields),
            enter,
        });
        (child, bound) = (node, keys);
    }
    Path {
        leaf,
        keys,
        layout,
        levels,
        registers: registers.len(),
        fields: registers,
    }
}

/// The steps of a level, each with the registers that are read after it; and those read from the
/// start.
fn with_live<R: PayloadRing>(
    factors: impl DoubleEndedIterator<Item = ((usize, (Access, Vec<Access>)), R::Product)>,
    keys: &[usize],
) -> (Vec<Step<R>>, Vec<usize>) {
    let mut live: Vec<usize> = keys.to_vec();
    let mut steps: Vec<Step<R>> = Vec::new();
    for ((sibling, (access, rivals)), product) in factors.rev() {
        let (reads, fetch): (&[usize], &[(usize, usize)]) = match &access {
            Access::Probe(keys) => (keys, &[]),
            Access::Walk { bound, fetch, .. } => (bound, fetch),
            Access::Scan { fetch } => (&[], fetch),
        };
        let after = live.clone();
        // What this step fills holds nothing before it.
        live.retain(|register| fetch.iter().all(|&(_, filled)| filled != *register));
        live.extend(reads);
        live.sort_unstable();
        live.dedup();
        steps.push(Step {
            sibling,
            access,
            product,
            last: steps.is_empty(),
            live: after,
            rivals,
        });
    }
    steps.reverse();
    (steps, live)
}

struct LevelCompiler<'a, 'p> {
    plan: &'a Plan,
    fields: &'a Fields,
    parts: &'a mut [Option<&'p mut Part>],
    registers: &'a mut Vec<usize>,
    /// The registers that hold a value at this point of the path.
    bound: Vec<usize>,
}

impl LevelCompiler<'_, '_> {
    /// The bound register of a field.
    fn find(&self, field: usize) -> Option<usize> {
        self.bound
            .iter()
            .copied()
            .find(|&register| self.registers[register] == field)
    }

    fn register(&self, field: usize) -> usize {
        match self.find(field) {
            Some(register) => register,
            None => unreachable!("a view's key comes from its children"),
        }
    }

    /// The fields of a node's key.
    fn key(&self, node: usize) -> Vec<usize> {
        self.fields.of_all(&self.plan.tree.nodes[node].keys)
    }

    /// Joins a sibling; where it is walked, also how those of the `followers` (the siblings joined
    /// next) that lack the same fields would be.
    fn join_with(&mut self, sibling: usize, followers: &[usize]) -> (Access, Vec<Access>) {
        let split = |node: usize| -> (Vec<usize>, Vec<usize>) {
            let known = |&field: &usize| self.find(field).is_some();
            self.key(node).into_iter().partition(known)
        };
        let (_, missing) = split(sibling);
        let rival = |&&other: &&usize| {
            let (shared, lacks) = split(other);
            !shared.is_empty() && lacks == missing
        };
        let rivals: Vec<usize> = followers.iter().take_while(rival).copied().collect();
        let access = self.join(sibling);
        let walked = matches!(access, Access::Walk { .. });
        let rivals = rivals.into_iter().filter(|_| walked);
        let walks = rivals.map(|rival| self.walk(rival, &missing)).collect();
        (access, walks)
    }

    /// How a sibling would be walked if the missing fields, which are bound by now, were not.
    fn walk(&mut self, node: usize, missing: &[usize]) -> Access {
        let key = self.key(node);
        let lacks = |at: &usize| missing.contains(&key[*at]);
        let (fetched, indexed): (Vec<usize>, Vec<usize>) = (0..key.len()).partition(lacks);
        let register = |at: usize| self.register(key[at]);
        let bound = indexed.iter().map(|&at| register(at)).collect();
        let fetch = fetched.iter().map(|&at| (at, register(at))).collect();
        if indexed.is_empty() {
            return Access::Scan { fetch };
        }
        let index = self.parts[node]
            .as_mut()
            .map_or(0, |part| part.add_index(&indexed));
        Access::Walk {
            index,
            bound,
            fetch,
        }
    }

    fn join(&mut self, node: usize) -> Access {
        let key = self.key(node);
        let known: Vec<usize> = key.iter().filter_map(|&field| self.find(field)).collect();
        if known.len() == key.len() {
            return Access::Probe(known);
        }
        let lacks = |&field: &usize| self.find(field).is_none();
        let missing: Vec<usize> = key.into_iter().filter(lacks).collect();
        for &field in &missing {
            self.registers.push(field);
            self.bound.push(self.registers.len() - 1);
        }
        self.walk(node, &missing)
    }
}
