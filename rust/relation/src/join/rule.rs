//! Delta rules over any relations, and their compilation to paths.
//!
//! dV = sum over what V does not keep of dR * S * T * .., one relation at a time in the order given
//! (F-IVM, section 4). At each the key is bound in one of three ways: wholly (one probe a row), in
//! part (a walk through the group of an index) or not at all (a scan). Relations that lack the very
//! same fields are intersected: any of them can be walked and the others probed.
//!
//! Invariant: the columns of a path are what the rule says, whatever the relations hold. Cost: once
//! a path, O(joins^2) look-ups of fields; the indexes that it walks are made, and filled when read.

use ringview_ring::PayloadRing;

use super::path::{Access, Level, Path, Step, Together};
use crate::layout::{KeyField, KeyLayout};
use crate::relation::Relation;

/// Delta rule of one relation. Relations and fields are numbers: those of a slice that the path is
/// used with, and those of the packing that it is compiled with.
#[derive(Clone, Debug)]
pub struct Rule<R: PayloadRing> {
    /// The relation that changes.
    pub from: usize,
    /// The fields of its key.
    pub fields: Vec<usize>,
    /// One after the other: what is kept at one is the delta at the next.
    pub levels: Vec<LevelRule<R>>,
}

/// dV = sum of dC * S * T * .. for the delta dC of the level below.
#[derive(Clone, Debug)]
pub struct LevelRule<R: PayloadRing> {
    /// Relations that dC is multiplied with, in this order.
    pub joins: Vec<Join<R>>,
    /// V, which need not be kept.
    pub into: usize,
    /// The fields of V's key.
    pub keep: Vec<usize>,
    /// Whether relations over the same fields are intersected: each row walks the one with the smallest group. Else the
    /// first is walked and the others are probed.
    pub intersect: bool,
}

/// A relation to be met.
#[derive(Clone, Debug)]
pub struct Join<R: PayloadRing> {
    /// Number of the relation.
    pub relation: usize,
    /// The fields of its key, each once. A relation that is met twice may name them otherwise each
    /// time.
    pub fields: Vec<usize>,
    /// The payloads so far times its own.
    pub product: R::Product,
}

impl<R: PayloadRing> Rule<R> {
    /// Compiles the rule; `packing` describes the packing of each field. Adds to the relations the
    /// indexes that the path walks.
    ///
    /// # Panics
    /// When the rule makes no sense: a kept field that nothing binds, a key that has other fields
    /// than the relation, a relation that is met on the path that adds to it.
    #[must_use]
    pub fn compile(self, packing: &[KeyField], relations: &mut [Relation<R>]) -> Path<R> {
        self.check(relations);
        let layout_of = |fields: &[usize]| {
            let keys: Vec<KeyField> = fields.iter().map(|&field| packing[field]).collect();
            KeyLayout::new(&keys)
        };
        let layout = layout_of(&self.fields);
        // Field by register.
        let mut registers = self.fields;
        let keys: Vec<usize> = (0..registers.len()).collect();
        let mut levels = Vec::with_capacity(self.levels.len());
        let mut bound = keys.clone();
        for level in self.levels {
            let mut compiler = LevelCompiler {
                level: &level,
                relations,
                registers: &mut registers,
                bound,
            };
            let accesses: Vec<(Access, Vec<Access>)> = (0..level.joins.len())
                .map(|at| compiler.join_intersected(at))
                .collect();
            let keep = level.keep.iter();
            let keys: Vec<usize> = keep.map(|&field| compiler.register(field)).collect();
            let (steps, enter) = with_live(level.joins.into_iter().zip(accesses), &keys);
            levels.push(Level {
                into: level.into,
                together: together(&steps),
                steps,
                keys: keys.clone(),
                layout: layout_of(&level.keep),
                enter,
            });
            bound = keys;
        }
        Path {
            from: self.from,
            keys,
            layout,
            levels,
            registers: registers.len(),
            fields: registers,
            branches: Vec::new(),
        }
    }

    /// Panics where the rule does not fit the relations.
    fn check(&self, relations: &[Relation<R>]) {
        let fits = |relation: usize, fields: &[usize]| {
            let once = (1..fields.len()).all(|at| !fields[..at].contains(&fields[at]));
            assert!(once, "a key has a field twice: {fields:?}");
            let table = relations[relation].table();
            assert!(
                table.is_none_or(|table| table.layout().fields() == fields.len()),
                "the key of {} has other fields than {fields:?}",
                relations[relation].name()
            );
        };
        fits(self.from, &self.fields);
        let adds = |relation: usize| self.levels.iter().any(|level| level.into == relation);
        for level in &self.levels {
            fits(level.into, &level.keep);
            for join in &level.joins {
                fits(join.relation, &join.fields);
                // A propagation adds a block before it meets the next one.
                let name = relations[join.relation].name();
                assert!(
                    !adds(join.relation),
                    "the path meets {name}, and adds to it"
                );
            }
        }
    }
}

/// The steps of a level, each with the registers that are read after it; and those read from the
/// start.
fn with_live<R: PayloadRing>(
    joins: impl DoubleEndedIterator<Item = (Join<R>, (Access, Vec<Access>))>,
    keys: &[usize],
) -> (Vec<Step<R>>, Vec<usize>) {
    let mut live: Vec<usize> = keys.to_vec();
    let mut steps: Vec<Step<R>> = Vec::new();
    for (join, (access, intersected)) in joins.rev() {
        let (reads, fetch): (&[usize], &[(usize, usize)]) = match &access {
            Access::Probe(keys) => (keys, &[]),
            Access::Walk { bound, fetch, .. } => (bound, fetch),
            Access::Scan { fetch } => (&[], fetch),
        };
        let after = live.clone();
        // A register that this step fills holds nothing before it.
        live.retain(|register| fetch.iter().all(|&(_, filled)| filled != *register));
        live.extend(reads);
        live.sort_unstable();
        live.dedup();
        steps.push(Step {
            relation: join.relation,
            access,
            product: join.product,
            last: steps.is_empty(),
            live: after,
            intersected,
        });
    }
    steps.reverse();
    (steps, live)
}

/// The steps behind the last walk, where the ring multiplies with all of them at once.
fn together<R: PayloadRing>(steps: &[Step<R>]) -> Option<Together<R>> {
    let is_probe = |step: &&Step<R>| matches!(step.access, Access::Probe(_));
    let mut first = steps.len() - steps.iter().rev().take_while(is_probe).count();
    if let Some(walk) = first.checked_sub(1) {
        // It looks up the next one, or those that it is intersected with, by itself.
        first += steps[walk].intersected.len().max(1);
    }
    let mut products = steps.get(first..)?.iter().map(|step| &step.product);
    let one = products.next().filter(|_| products.len() > 0)?;
    let product = products.try_fold(one.clone(), |product, next| R::then(&product, next))?;
    Some(Together { first, product })
}

struct LevelCompiler<'a, R: PayloadRing> {
    level: &'a LevelRule<R>,
    relations: &'a mut [Relation<R>],
    /// The field of each register.
    registers: &'a mut Vec<usize>,
    /// The registers that hold a value at this point of the path.
    bound: Vec<usize>,
}

impl<'a, R: PayloadRing> LevelCompiler<'a, R> {
    /// The bound register of a field.
    fn find(&self, field: usize) -> Option<usize> {
        let mut bound = self.bound.iter().copied();
        bound.find(|&register| self.registers[register] == field)
    }

    fn register(&self, field: usize) -> usize {
        match self.find(field) {
            Some(register) => register,
            None => panic!("nothing on the path binds field {field}"),
        }
    }

    /// Meets a relation; where it is walked, also how those of its followers that lack the same
    /// fields would be.
    fn join_intersected(&mut self, at: usize) -> (Access, Vec<Access>) {
        let joins: &'a [Join<R>] = &self.level.joins;
        let split = |join: &Join<R>| -> (Vec<usize>, Vec<usize>) {
            let known = |field: &usize| self.find(*field).is_some();
            join.fields.iter().partition(|field| known(field))
        };
        let (_, missing) = split(&joins[at]);
        let has_same_fields = |other: &&Join<R>| {
            let (shared, lacks) = split(other);
            !shared.is_empty() && lacks == missing
        };
        let followers = joins[at + 1..].iter().filter(|_| self.level.intersect);
        let intersected: Vec<&Join<R>> = followers.take_while(has_same_fields).collect();
        let access = self.join(&joins[at], &missing);
        let walked = matches!(access, Access::Walk { .. });
        let intersected = intersected.into_iter().filter(|_| walked);
        let intersected: Vec<&Join<R>> = intersected.collect();
        let walks: Vec<Access> = intersected
            .iter()
            .map(|join| self.walk(join, &missing))
            .collect();
        if !walks.is_empty() {
            let sides =
                std::iter::once((&joins[at], &access)).chain(intersected.into_iter().zip(&walks));
            sides.for_each(|(join, access)| self.filter(join.relation, access));
        }
        (access, walks)
    }

    /// Adds a filter to the index of a walk, whose groups are intersected.
    fn filter(&mut self, relation: usize, access: &Access) {
        if let (Access::Walk { index, .. }, Some(table)) =
            (access, self.relations[relation].table_mut())
        {
            table.filter_index(*index);
        }
    }

    fn join(&mut self, join: &Join<R>, missing: &[usize]) -> Access {
        if missing.is_empty() {
            return Access::Probe(join.fields.iter().map(|&f| self.register(f)).collect());
        }
        for &field in missing {
            self.registers.push(field);
            self.bound.push(self.registers.len() - 1);
        }
        self.walk(join, missing)
    }

    /// Access to a relation that would be walked if the missing fields, which are bound by now,
    /// were not.
    fn walk(&mut self, join: &Join<R>, missing: &[usize]) -> Access {
        let key = &join.fields;
        let lacks = |at: &usize| missing.contains(&key[*at]);
        let (fetched, indexed): (Vec<usize>, Vec<usize>) = (0..key.len()).partition(lacks);
        let register = |at: usize| self.register(key[at]);
        let bound = indexed.iter().map(|&at| register(at)).collect();
        let fetch = fetched.iter().map(|&at| (at, register(at))).collect();
        if indexed.is_empty() {
            return Access::Scan { fetch };
        }
        let table = self.relations[join.relation].table_mut();
        Access::Walk {
            index: table.map_or(0, |table| table.add_index(&indexed)),
            bound,
            fetch,
        }
    }
}
