//! A toy engine: keeps the rows of each atom, and recomputes their join when it prepares.
//!
//! It uses the parts that every engine may use: `view/read` makes rows a relation, `view/part` makes a relation of
//! groups a view: groups with MIN and MAX, or rows; both can be followed and read by other views. Invariant: between
//! transactions the groups are those of the rows. Cost: the product of all relations, each time.

use ringview_core::{Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::{Choice, Explanation};
use ringview_query::{Bound, Term};
use ringview_relation::{Delta, GatherScratch, KeyScratch, Relocated};
use ringview_ring as ring;
use ringview_ring::{PayloadRing, Slab, SumProduct, TermProduct};
use ringview_view::read::Leaf;
use ringview_view::result_table::{
    Grouped, Maintainer, MaintainerView, ResultTable, SumGroups, Summarized,
};
use ringview_view::{Candidate, Cost, Engine, Refusal, RowDelta, View};

/// The engine `recompute`.
#[derive(Debug)]
pub struct Recompute;

struct Plan(Bound);

#[derive(Debug)]
struct Recomputed {
    result: SumGroups,
    leaves: Vec<Leaf>,
    steps: u64,
}

impl Engine for Recompute {
    fn name(&self) -> &str {
        "recompute"
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        query.refuse_condition("it keeps rows")?;
        if query.features.is_some() {
            let (what, why) = ("COFACTOR".to_owned(), "recompute is a toy".to_owned());
            let instead = "let another engine keep the view".to_owned();
            return Err(Refusal::from(Error::Unsupported { what, why, instead }));
        }
        Ok(Box::new(Plan(query.clone())))
    }
}

impl Candidate for Plan {
    fn change(&self) -> Cost {
        Cost::power(self.0.atoms.len() as f64)
    }

    fn space(&self) -> f64 {
        1.0
    }

    fn explanation(&self) -> Explanation {
        description()
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        let Plan(query) = *self;
        let groups = Recomputed::new(&query)?;
        let all = Summarized::new(groups, &query.companions, Recomputed::new)?;
        Ok(Box::new(MaintainerView::of(&query, all)))
    }
}

fn description() -> Explanation {
    let (name, because) = ("recompute".to_owned(), "it joins all rows anew".to_owned());
    let (engine, all) = (Choice { name, because }, Explanation::default());
    Explanation { engine, ..all }
}

impl Recomputed {
    fn new(query: &Bound) -> Result<Self> {
        let mut query = query.clone();
        if query.terms.is_empty() {
            query.terms.push(Term::rows());
        }
        let result = SumGroups::new(query);
        let leaf = |atom| Leaf::new(&result.query, atom, &result.fields);
        let leaves = (0..result.query.atoms.len()).map(leaf);
        let (leaves, steps) = (leaves.collect::<Result<_>>()?, 0);
        Ok(Self {
            result,
            leaves,
            steps,
        })
    }

    /// All rows of the join, a register a field.
    fn join(&mut self) -> Result<Delta> {
        let shape = self.result.groups.shape();
        let registers: Vec<usize> = (0..self.result.fields.packing().len()).collect();
        let mut known = vec![false; registers.len()];
        let mut joined = Delta {
            rows: 1,
            columns: vec![vec![0]; registers.len()],
            payload: shape.one(),
            width: SumProduct::stride(shape),
            wide: false,
        };
        let pairs: Vec<_> = (0..shape.elements().len())
            .map(|term| (term, term))
            .collect();
        for leaf in &self.leaves {
            let (part, mut rows, mut slots) = (leaf.part(), Vec::new(), Vec::new());
            for row in 0..joined.rows {
                let agrees = |&slot: &u32| {
                    let mut own = leaf.fields.iter().enumerate();
                    own.all(|(at, &field)| {
                        !known[field] || joined.columns[field][row] == part.field(slot, at)
                    })
                };
                slots.extend(part.iter().filter(agrees));
                rows.resize(slots.len(), row as u32);
                self.steps += part.len() as u64;
            }
            let product = TermProduct::new(shape, leaf.rows.shape(), shape, &pairs);
            let left = (joined.slab(), ring::Rows::Picked(&rows));
            let right = (Slab::delta(part.payloads(), part.stride()), &slots[..]);
            let (each, mut out) = (ring::Groups::Each(rows.len()), Vec::new());
            SumProduct::multiply(&product, left, right, each, &mut (), &mut out)
                .map_err(|fault| self.result.groups.refusal(fault))?;
            joined.gather(&registers, &rows, &mut GatherScratch::default());
            joined.payload = out;
            for (at, &field) in leaf.fields.iter().enumerate() {
                joined.columns[field] = slots.iter().map(|&slot| part.field(slot, at)).collect();
                known[field] = true;
            }
        }
        Ok(joined)
    }
}

impl Grouped for Recomputed {
    fn grouped(&self) -> ResultTable<'_> {
        self.result.grouped()
    }
}

impl HoldsStrings for Recomputed {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.grouped().mark_strings(held);
        self.leaves.iter().for_each(|leaf| leaf.mark_strings(held));
    }

    fn string_words(&self) -> usize {
        let leaves = self.leaves.iter().map(Leaf::string_words);
        self.grouped().string_words() + leaves.sum::<usize>()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        let leaves = self.leaves.iter_mut();
        leaves.for_each(|leaf| leaf.forget_strings(gone));
    }
}

impl Maintainer for Recomputed {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.leaves[rows.atom].apply(rows, budget)
    }

    fn prepare(&mut self, _dictionary: &Dictionary, _meter: &Budget<'_>) -> Result<()> {
        let (mut joined, keys) = (self.join()?, self.result.key_fields());
        let groups = &mut self.result.groups;
        groups.rewrite(|payload| payload.fill(0));
        let (scratch, spare) = (&mut KeyScratch::default(), &mut GatherScratch::default());
        let added = groups.add(&mut joined, &keys, scratch, spare);
        added.map_err(|fault| groups.refusal(fault))?;
        if groups.fits() && self.leaves.iter().all(|leaf| leaf.rows.fits()) {
            return Ok(());
        }
        Err(groups.refusal(ring::Overflow { component: 0 }))
    }

    fn commit(&mut self, _dictionary: &Dictionary) -> Option<Relocated> {
        let leaves = self.leaves.iter_mut();
        leaves.for_each(|leaf| drop(leaf.rows.commit()));
        self.result.groups.commit()
    }

    fn rollback(&mut self) {
        self.leaves.iter_mut().for_each(|leaf| leaf.rows.rollback());
        self.result.groups.rollback();
    }

    fn explanation(&self) -> Explanation {
        description()
    }

    fn memory_usage(&self) -> usize {
        let leaves = self.leaves.iter().map(|leaf| leaf.part().memory_usage());
        self.grouped().table.memory_usage() + leaves.sum::<usize>()
    }

    fn steps(&self) -> u64 {
        self.steps
    }
}
