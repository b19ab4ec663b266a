//! Where payloads come from: the rows of a leaf, and the lifting functions of joined variables.
//!
//! The tree is the same for every ring; what differs is behind this trait. `SumProductPayloads` is
//! its instance for counts and sums: component 0 of a row is its multiplicity, any other the
//! multiplicity times a factor of the row.

use std::collections::BTreeMap;

use arrow_schema::Field;
use ringview_core::{Batch, Dictionary, Result, Schema};
use ringview_query::{Component, Expr, Kind, Lift, OutputKind, Plan, PlanOutput, Source, VarId};
use ringview_ring::{
    Element, Groups, Number, NumberKind, PayloadRing, SumProduct, SumProductShape, TermProduct,
    Widen, sum_groups,
};

use crate::cells::Cells;
use crate::columns::Numbers;
use crate::factors::FactorRows;
use crate::leaf::{LeafProgram, LiftProgram, Selection, Values};
use crate::overflow;
use crate::program::{Operand, ProductPlan};
use crate::result::ResultRows;
use crate::tree::Tree;

/// What a tree asks of the source of its payloads.
pub(crate) trait Payloads: Send + Sync {
    /// The ring.
    type Ring: PayloadRing;

    /// Which rows of a batch take part at a leaf.
    fn select(
        &mut self,
        leaf: usize,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Selection,
    ) -> Result<()>;

    /// The payloads of the selected rows, times `sign`, summed by group into `out`.
    fn read(
        &mut self,
        leaf: usize,
        batch: &Batch,
        selection: &Selection,
        sign: i64,
        groups: Groups<'_>,
        out: &mut Vec<u64>,
    ) -> Result<()>;

    /// The payloads that a node lifts values of a variable to, given as words and upper halves.
    fn lift(
        &mut self,
        node: usize,
        variable: VarId,
        words: &[u64],
        high: &[u64],
        out: &mut Vec<u64>,
    ) -> Result<()>;

    /// Applies a change in factors to a tree, if its payloads are products of what the factors have;
    /// else says so and does nothing.
    fn apply_factors(
        _tree: &mut Tree<Self>,
        _atom: usize,
        _factors: &[FactorRows],
        _sign: i64,
        _dictionary: &Dictionary,
    ) -> Result<bool>
    where
        Self: Sized,
    {
        Ok(false)
    }

    /// Bytes that it takes.
    fn memory_usage(&self) -> usize;
}

/// How payloads are shown: the columns of a result that are no groups.
pub(crate) trait Aggregates {
    /// The Arrow field of an output of the plan.
    fn field(&self, plan: &Plan, output: &PlanOutput) -> Field;

    /// The column of an output, from the payloads of the rows.
    fn column(&self, plan: &Plan, rows: &ResultRows, output: &PlanOutput) -> Result<Cells>;
}

/// The field of an output that is no group: only counts are never NULL.
pub(crate) fn number(output: &PlanOutput) -> Field {
    let counts = matches!(
        output.kind,
        OutputKind::Count { .. } | OutputKind::Distinct { .. }
    );
    Field::new(&output.name, output.ty.to_arrow(), !counts)
}

/// The lifting functions of one variable at one node. Its payload is a count of 1, then each
/// function's value.
#[derive(Clone, Debug)]
struct NodeLift {
    programs: Vec<LiftProgram>,
    expressions: Vec<Expr>,
    shape: SumProductShape,
}

/// The payloads of counts and sums.
#[derive(Clone, Debug)]
pub(crate) struct SumProductPayloads {
    components: Vec<Vec<Component>>,
    shapes: Vec<SumProductShape>,
    leaves: BTreeMap<usize, LeafProgram>,
    lifts: BTreeMap<(usize, VarId), NodeLift>,
    /// Of the atoms.
    pub(crate) schemas: Vec<Schema>,
}

pub(crate) fn number_kind(kind: Kind) -> NumberKind {
    match kind {
        Kind::Int => NumberKind::Integer,
        Kind::Decimal { .. } => NumberKind::Decimal,
        Kind::Real => NumberKind::Real,
    }
}

/// The lifting functions of a component.
fn lifts_of(component: &Component) -> &[Lift] {
    match &component.source {
        Source::Product { lifts, .. } => lifts,
        Source::Count | Source::Leaf(_) => &[],
    }
}

impl SumProductPayloads {
    /// For each component of a node, which component of a child it takes.
    pub(crate) fn picks(&self, plan: &Plan, node: usize, child: usize) -> Vec<usize> {
        let children = &plan.tree.nodes[node].children;
        let at = children.iter().position(|&other| other == child);
        let pick = |component: &Component| match &component.source {
            Source::Product { children, .. } => children[at.unwrap_or(0)],
            Source::Count | Source::Leaf(_) => 0,
        };
        self.components[node].iter().map(pick).collect()
    }

    /// The right operand of a product at a node, and for each component of the node which
    /// component of it is taken.
    pub(crate) fn right(
        &self,
        plan: &Plan,
        node: usize,
        operand: Operand,
    ) -> (&SumProductShape, Vec<usize>) {
        match operand {
            Operand::Child(at) => {
                let child = plan.tree.nodes[node].children[at];
                (&self.shapes[child], self.picks(plan, node, child))
            }
            Operand::Lift(variable) => {
                let lift = &self.lifts[&(node, variable)];
                let pick = |component: &Component| {
                    let found = lifts_of(component).iter().find(|l| l.variable == variable);
                    let same = |l: &Lift| lift.expressions.iter().position(|e| *e == l.value);
                    found.and_then(same).map_or(0, |position| position + 1)
                };
                (
                    &lift.shape,
                    self.components[node].iter().map(pick).collect(),
                )
            }
        }
    }

    pub(crate) fn compile(plan: &Plan, schemas: &[Schema]) -> Result<Self> {
        let components = plan.payload.nodes.clone();
        let shape = |node: &Vec<Component>| {
            let kinds: Vec<NumberKind> = node.iter().map(|c| number_kind(c.kind)).collect();
            SumProductShape::new(&kinds)
        };
        let mut leaves = BTreeMap::new();
        for (node, description) in plan.tree.nodes.iter().enumerate() {
            if let Some(atom) = description.atom {
                leaves.insert(node, LeafProgram::compile(plan, node, &schemas[atom])?);
            }
        }
        let mut lifts: BTreeMap<(usize, VarId), NodeLift> = BTreeMap::new();
        for (node, components) in components.iter().enumerate() {
            for lift in components.iter().flat_map(lifts_of) {
                let entry = lifts
                    .entry((node, lift.variable))
                    .or_insert_with(|| NodeLift {
                        programs: Vec::new(),
                        expressions: Vec::new(),
                        shape: SumProductShape::new(&[NumberKind::Integer]),
                    });
                if !entry.expressions.contains(&lift.value) {
                    entry.programs.push(LiftProgram::compile(lift, plan)?);
                    entry.expressions.push(lift.value.clone());
                }
            }
        }
        for lift in lifts.values_mut() {
            let mut kinds = vec![NumberKind::Integer];
            kinds.extend(
                lift.programs
                    .iter()
                    .map(|program| number_kind(program.kind())),
            );
            lift.shape = SumProductShape::new(&kinds);
        }
        Ok(Self {
            shapes: components.iter().map(shape).collect(),
            components,
            leaves,
            lifts,
            schemas: schemas.to_vec(),
        })
    }
}

impl ProductPlan<SumProduct> for SumProductPayloads {
    fn shape(&self, node: usize) -> SumProductShape {
        self.shapes[node].clone()
    }

    fn lifted(&self, node: usize) -> Vec<VarId> {
        self.lifts
            .keys()
            .filter(|(at, _)| *at == node)
            .map(|(_, variable)| *variable)
            .collect()
    }

    fn products(
        &self,
        plan: &Plan,
        node: usize,
        from: usize,
        operands: &[Operand],
    ) -> Vec<TermProduct> {
        let components = &self.components[node];
        let mut picks = self.picks(plan, node, from);
        let rights: Vec<_> = operands
            .iter()
            .map(|&operand| self.right(plan, node, operand))
            .collect();
        let mut left = self.shapes[from].clone();
        let last = rights.len().saturating_sub(1);
        let mut products = Vec::new();
        for (at, (right, right_picks)) in rights.iter().enumerate() {
            let pairs: Vec<(usize, usize)> = picks
                .iter()
                .copied()
                .zip(right_picks.iter().copied())
                .collect();
            let kind = |&(l, r): &(usize, usize)| widest(left.elements()[l], right.elements()[r]);
            let out = if at == last {
                self.shapes[node].clone()
            } else {
                SumProductShape::new(&pairs.iter().map(kind).collect::<Vec<_>>())
            };
            products.push(TermProduct::new(&left, right, &out, &pairs));
            left = out;
            picks = (0..components.len()).collect();
        }
        products
    }
}

/// The kind of a product.
pub(crate) fn widest(left: Element, right: Element) -> NumberKind {
    use NumberKind::{Decimal, Integer, Real};
    match (left.kind, right.kind) {
        (Real, _) | (_, Real) => Real,
        (Decimal, _) | (_, Decimal) => Decimal,
        (Integer, Integer) => Integer,
    }
}

impl Payloads for SumProductPayloads {
    type Ring = SumProduct;

    fn select(
        &mut self,
        leaf: usize,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Selection,
    ) -> Result<()> {
        match self.leaves.get_mut(&leaf) {
            Some(program) => program.select(batch, dictionary, into),
            None => unreachable!("every leaf has a program"),
        }
    }

    fn read(
        &mut self,
        leaf: usize,
        batch: &Batch,
        selection: &Selection,
        sign: i64,
        groups: Groups<'_>,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let Some(program) = self.leaves.get_mut(&leaf) else {
            unreachable!("every leaf has a program")
        };
        let stride = SumProduct::stride(&self.shapes[leaf]);
        let rows = LeafRows {
            batch,
            selection,
            sign,
            groups,
            stride,
        };
        rows.read(program, &self.shapes[leaf], out)
    }

    fn lift(
        &mut self,
        node: usize,
        variable: VarId,
        words: &[u64],
        high: &[u64],
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let Some(lift) = self.lifts.get_mut(&(node, variable)) else {
            unreachable!("only lifted variables are asked for")
        };
        let stride = SumProduct::stride(&lift.shape);
        out.clear();
        out.resize(words.len() * stride, 1);
        for (program, element) in lift.programs.iter_mut().zip(&lift.shape.elements()[1..]) {
            let width = if element.kind == NumberKind::Decimal {
                2
            } else {
                1
            };
            let values = program.evaluate(words, high)?;
            for (payload, value) in out.chunks_exact_mut(stride).zip(values.chunks_exact(width)) {
                payload[element.word..][..width].copy_from_slice(value);
            }
        }
        Ok(())
    }

    fn apply_factors(
        tree: &mut Tree<Self>,
        atom: usize,
        factors: &[FactorRows],
        sign: i64,
        dictionary: &Dictionary,
    ) -> Result<bool> {
        crate::factors::apply(tree, atom, factors, sign, dictionary)?;
        Ok(true)
    }

    fn memory_usage(&self) -> usize {
        self.leaves.values().map(LeafProgram::memory_usage).sum()
    }
}

impl Aggregates for SumProductPayloads {
    fn field(&self, _: &Plan, output: &PlanOutput) -> Field {
        number(output)
    }

    fn column(&self, plan: &Plan, rows: &ResultRows, output: &PlanOutput) -> Result<Cells> {
        let shape = &self.shapes[plan.tree.root];
        Numbers { plan, shape }.column(rows, output)
    }
}

/// The rows of a leaf batch that take part.
pub(crate) struct LeafRows<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) selection: &'a Selection,
    pub(crate) sign: i64,
    pub(crate) groups: Groups<'a>,
    pub(crate) stride: usize,
}

impl LeafRows<'_> {
    /// What a leaf's program makes of the rows, summed by group into `out`.
    pub(crate) fn read(
        &self,
        program: &mut LeafProgram,
        shape: &SumProductShape,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        out.clear();
        out.resize(self.groups.len() * self.stride, 0);
        for (component, &element) in shape.elements().iter().enumerate() {
            let values = program.factor(component, self.batch, self.selection)?;
            let overflowed = match (values, element.kind) {
                (Values::Ones, _) => self.fill(element, |_| 1i64, out),
                (Values::Words(words), NumberKind::Integer) => {
                    self.fill(element, |row| i64::load(words, row), out)
                }
                (Values::Words(words), NumberKind::Decimal) => {
                    self.fill(element, |row| i128::load(words, 2 * row), out)
                }
                (Values::Words(words), NumberKind::Real) => {
                    self.fill(element, |row| f64::load(words, row), out)
                }
            };
            if overflowed {
                return Err(overflow("a sum or count of the rows of a batch".to_owned()));
            }
        }
        Ok(())
    }

    /// Sums multiplicity times value into one component; whether any number overflowed.
    #[inline(always)]
    fn fill<N>(&self, element: Element, value: impl Fn(usize) -> N, out: &mut [u64]) -> bool
    where
        N: Number,
        i64: Widen<N>,
    {
        let times = |row: usize, times: i64| {
            let times = times.wrapping_mul(self.sign);
            let (number, wrapped) = value(row).mul(Widen::<N>::widen(times));
            // The one multiplicity whose inverse is none.
            (number, wrapped | (times == i64::MIN))
        };
        let (groups, stride, word) = (self.groups, self.stride, element.word);
        match (&self.batch.multiplicity, self.selection.rows()) {
            (None, _) => sum_groups::<N>(groups, |row| times(row, 1), out, stride, word),
            (Some(all), None) => {
                sum_groups::<N>(groups, |row| times(row, all[row]), out, stride, word)
            }
            (Some(all), Some(rows)) => {
                let value = |row: usize| times(row, all[rows[row] as usize]);
                sum_groups::<N>(groups, value, out, stride, word)
            }
        }
    }
}
