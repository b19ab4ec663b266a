//! A delta meets relations along a compiled path: F-IVM's delta rule over any relations.
//!
//! A [`Rule`] says what follows of a change of one relation: which relations its delta is
//! multiplied with, in which order, and what is summed into which relation. Compiled to a [`Path`]
//! it contains the access to the matches of each step, and a [`Propagation`] takes deltas along it.
//!
//! Invariant: after `Propagation::apply(dR)` every `into` holds what it held plus the sum that the rule
//! names, over the relations as they are. Cost: a row costs one probe a relation whose key is
//! bound, else the group that it walks; where relations are intersected, the smallest of their groups.
//!
//! | file | holds |
//! |---|---|
//! | `rule` | what follows of a change, and how it is compiled |
//! | `path` | a compiled rule: steps and levels |
//! | `propagation` | the way of a delta along a path |
//! | `one` | a delta of one row at a relation with one match |
//! | `meet` | the last relations of a level, met at once where the ring multiplies with all together |
//! | `matches` | the pairs of rows and matches where a row has many |
//! | `intersect` | the matches that several relations agree on, by the smallest group |
//! | `sides` | the relations that are intersected, and the groups of rows in them |
//! | `work` | room for that, and counted steps |
//!
//! Triangles that an edge of R closes, `dQ = sum dR(a, b) * S(b, c) * T(c, a)`:
//!
//! ```
//! use ringview_core::Budget;
//! use ringview_relation::join::{Propagation, Join, LevelRule, Rule, Work};
//! use ringview_relation::{Delta, KeyField, KeyLayout, KeyedTable, Relation};
//! use ringview_ring::{NumberKind, PayloadRing, SumProduct, SumProductShape, TermProduct};
//!
//! let count = SumProductShape::new(&[NumberKind::Integer]);
//! let times = TermProduct::new(&count, &count, &count, &[(0, 0)]);
//! let word = KeyField { bits: 64, signed: true };
//! let relation = |name: &str, fields| {
//!     let table = KeyedTable::new(KeyLayout::new(&vec![word; fields]), SumProduct::stride(&count));
//!     Relation::<SumProduct>::new(name.to_owned(), count.clone(), Some(table))
//! };
//! let mut relations = [relation("R", 2), relation("S", 2), relation("T", 2), relation("Q", 0)];
//! let (r, s, t, q) = (0, 1, 2, 3);
//! let (a, b, c) = (0, 1, 2);
//! let rule = |from, fields, joins| Rule { from, fields, levels: joins };
//! let into_q = LevelRule {
//!     joins: vec![
//!         Join { relation: s, fields: vec![b, c], product: times.clone() },
//!         Join { relation: t, fields: vec![c, a], product: times.clone() },
//!     ],
//!     into: q,
//!     keep: vec![],
//!     intersect: true,
//! };
//! let follows = rule(r, vec![a, b], vec![into_q]).compile(&[word; 3], &mut relations);
//! let only_s = rule(s, vec![b, c], vec![]).compile(&[word; 3], &mut relations);
//! let only_t = rule(t, vec![c, a], vec![]).compile(&[word; 3], &mut relations);
//!
//! let (mut work, budget) = (Work::default(), Budget::free());
//! for (path, edges) in [
//!     (&only_s, vec![[2, 3], [2, 4]]),
//!     (&only_t, vec![[3, 1], [4, 1], [4, 7]]),
//!     (&follows, vec![[1, 2]]),
//! ] {
//!     let mut delta = Delta::with_registers(path.registers);
//!     for edge in edges {
//!         delta.columns[0].push(edge[0]);
//!         delta.columns[1].push(edge[1]);
//!         delta.payload.push(1);
//!         delta.rows += 1;
//!     }
//!     delta.width = SumProduct::stride(&count);
//!     let mut propagation = Propagation { relations: &mut relations, path, work: &mut work, budget: &budget };
//!     propagation.apply(&mut delta)?;
//! }
//! relations.iter_mut().for_each(|relation| drop(relation.commit()));
//! let triangles: Vec<u64> = relations[q].table().unwrap().payloads().to_vec();
//! assert_eq!(triangles, [2]);
//! # Ok::<(), ringview_core::Error>(())
//! ```

mod intersect;
mod matches;
mod meet;
mod one;
mod path;
mod propagation;
mod rule;
mod sides;
mod walk;
mod work;

pub use matches::Matches;
pub use path::{Access, Level, Path, Step, Together};
pub use propagation::Propagation;
pub use rule::{Join, LevelRule, Rule};
pub use work::Work;
