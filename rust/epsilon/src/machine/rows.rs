//! The rows of a join, one after the other, as `strategy/triangles` keeps them.
//!
//! Invariant: each row is returned once, with its multiplicity, in an order that stays until the next change.
//! Cost: a step a row, one more a key of a root, which has a row below it, and one a list: constant delay.
//! To pass over rows costs a step a listed row, and one a key of a root.

use ringview_core::{Error, Result};
use ringview_relation::{ABSENT, KeyScratch, KeyedTable, Keys};
use ringview_ring::{PayloadRing, SumProduct};

use super::Machine;
use crate::algebra::Algebra;
use crate::query::{Class, Epsilon, Query, Refused};
use crate::strategy::{RowSources, Strategy, Tree};

/// Keys of a root that are looked below at a time.
const ROOTS: usize = 256;

/// A position among the rows: before the first by default.
#[derive(Clone, Debug, Default)]
pub struct RowCursor {
    /// The source: the list, then the trees.
    source: usize,
    /// Keys of it that were left behind.
    at: usize,
    /// Rows below the next key that were, too.
    below: usize,
    /// Rows and keys looked at so far.
    pub steps: u64,
}

/// Some rows.
#[derive(Clone, Debug, Default)]
pub struct RowBlock {
    /// Their fields, column by column.
    pub columns: Vec<Vec<u64>>,
    /// Multiplicity of each row.
    pub times: Vec<i64>,
}

/// Keys of a root with their groups of the level below.
struct Roots {
    /// The multiplicity of each, and its group.
    times: Vec<i64>,
    groups: Vec<u32>,
}

impl Machine<SumProduct> {
    /// For the rows of a join of three relations, all pairs of which join on variables that the third
    /// lacks: counts, and each row with constant delay.
    ///
    /// # Errors
    /// For a join of another class, or where epsilons are not three.
    pub fn triangles(
        query: &Query,
        epsilons: &[Epsilon],
        count: Algebra<SumProduct>,
    ) -> std::result::Result<Self, Refused> {
        let class = query.class()?;
        if class != Class::Three || epsilons.len() != 3 {
            return Err(Refused {
                why: format!(
                    "the join is of the class {}, and rows are kept of the class 3R3, as that of the \
                     triangle",
                    class.name()
                ),
                instead: "leave the engine out: a view tree keeps them".to_owned(),
            });
        }
        Ok(Self::of(
            Strategy::triangles(query, epsilons, &count),
            count,
        ))
    }

    /// Number of rows, each counted with its multiplicity. O(1).
    #[must_use]
    pub fn row_count(&self) -> i64 {
        self.result().map_or(0, |payload| payload[0] as i64)
    }

    /// The next rows, so many at the most; none behind the last.
    ///
    /// # Errors
    /// `Overflow` for a multiplicity that no number holds.
    pub fn read_rows(&self, cursor: &mut RowCursor, most: usize) -> Result<RowBlock> {
        let fields = self.strategy.rows.as_ref().map(|rows| rows.list);
        let fields = fields.map_or(0, |list| self.table_at(list).layout().fields());
        let mut block = RowBlock {
            columns: vec![Vec::new(); fields],
            times: Vec::new(),
        };
        let Some(rows) = &self.strategy.rows else {
            return Ok(block);
        };
        while block.times.len() < most && cursor.source <= rows.trees.len() {
            match cursor.source {
                0 => self.read_list(rows, cursor, most, &mut block),
                tree => self.read_tree(&rows.trees[tree - 1], cursor, most, &mut block)?,
            }
        }
        Ok(block)
    }

    /// Skips a number of rows, each counted with its multiplicity. Returns the number left to skip in the row or key
    /// where they end.
    ///
    /// # Errors
    /// As `read_rows`.
    pub fn skip_rows(&self, cursor: &mut RowCursor, mut left: u64) -> Result<u64> {
        let Some(rows) = &self.strategy.rows else {
            return Ok(0);
        };
        while cursor.source <= rows.trees.len() && cursor.below == 0 {
            let (table, all) = match cursor.source {
                0 => (self.table_at(rows.list), rows.all),
                tree => {
                    let tree = &rows.trees[tree - 1];
                    (self.table_at(tree.root), tree.all)
                }
            };
            let slots = without_gaps(table, all);
            let Some(&slot) = slots.get(cursor.at) else {
                *cursor = cursor.next_source();
                continue;
            };
            let times = table.payload(slot)[0];
            cursor.steps += 1;
            if left < times {
                break;
            }
            left -= times;
            cursor.at += 1;
        }
        Ok(left)
    }

    fn table_at(&self, relation: usize) -> &KeyedTable {
        match self.strategy.relations[relation].table() {
            Some(table) => table,
            None => unreachable!("all relations of a machine are kept"),
        }
    }

    fn read_list(
        &self,
        rows: &RowSources,
        cursor: &mut RowCursor,
        most: usize,
        block: &mut RowBlock,
    ) {
        let list = self.table_at(rows.list);
        let slots = &without_gaps(list, rows.all)[cursor.at..];
        let slots = &slots[..slots.len().min(most - block.times.len())];
        if slots.is_empty() {
            *cursor = cursor.next_source();
            return;
        }
        for (field, column) in block.columns.iter_mut().enumerate() {
            column.extend(slots.iter().map(|&slot| list.field(slot, field)));
        }
        let times = slots.iter().map(|&slot| list.payload(slot)[0] as i64);
        block.times.extend(times);
        cursor.at += slots.len();
        cursor.steps += slots.len() as u64;
    }

    fn read_tree(
        &self,
        tree: &Tree,
        cursor: &mut RowCursor,
        most: usize,
        block: &mut RowBlock,
    ) -> Result<()> {
        let leaf = self.table_at(tree.leaf);
        let wanted = ROOTS.min(most - block.times.len());
        let roots = self.roots(tree, cursor.at, wanted);
        if roots.times.is_empty() {
            *cursor = cursor.next_source();
            return Ok(());
        }
        for (&own, &group) in roots.times.iter().zip(&roots.groups) {
            let slots = &leaf.index_at(tree.below).group(group)[cursor.below..];
            let taken = &slots[..slots.len().min(most - block.times.len())];
            for (field, column) in block.columns.iter_mut().enumerate() {
                column.extend(taken.iter().map(|&slot| leaf.field(slot, field)));
            }
            for &slot in taken {
                let times = own.checked_mul(leaf.payload(slot)[0] as i64);
                block.times.push(times.ok_or_else(|| Error::Overflow {
                    place: "the multiplicity of a row of a join".to_owned(),
                })?);
            }
            cursor.steps += 1 + taken.len() as u64;
            if taken.len() < slots.len() {
                cursor.below += taken.len();
                return Ok(());
            }
            (cursor.at, cursor.below) = (cursor.at + 1, 0);
            if block.times.len() == most {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Some keys of a root, from one on.
    fn roots(&self, tree: &Tree, from: usize, most: usize) -> Roots {
        let root = self.table_at(tree.root);
        let slots = &without_gaps(root, tree.all)[from..];
        let slots = &slots[..slots.len().min(most)];
        let width = root.layout().fields();
        let column = |field| slots.iter().map(|&slot| root.field(slot, field)).collect();
        let columns: Vec<Vec<u64>> = (0..width).map(column).collect();
        let own: Vec<usize> = (0..width).collect();
        let (mut scratch, mut found, mut groups) = (KeyScratch::default(), Vec::new(), Vec::new());
        let keys = |fields| Keys {
            columns: &columns,
            fields,
            rows: slots.len(),
        };
        let (whole, leaf) = (self.table_at(tree.whole), self.table_at(tree.leaf));
        whole.find(keys(&own), &mut scratch, &mut found);
        let below = leaf.index_at(tree.below);
        below.find(keys(&tree.order), &mut scratch, &mut groups);
        let times = |&slot: &u32| match slot {
            ABSENT => 0,
            slot => whole.payload(slot)[0] as i64,
        };
        Roots {
            times: found.iter().map(times).collect(),
            groups,
        }
    }

    /// Rows that move are noted from now on, or no more.
    pub(crate) fn log_rows(&mut self, is_logged: bool) {
        if let Some(rows) = &mut self.strategy.rows {
            rows.is_logged = is_logged;
        }
    }

    /// The rows that the running transaction moved, by how much; with those that did not after all.
    pub(crate) fn changed_rows(&self) -> Option<&KeyedTable> {
        let rows = self.strategy.rows.as_ref()?;
        self.strategy.relations[rows.log].table()
    }
}

impl<R: PayloadRing> Machine<R> {
    /// Clears the log of changed rows, at a commit or a rollback.
    pub(super) fn clear_log(&mut self) {
        if let Some(rows) = &self.strategy.rows {
            self.strategy.relations[rows.log].rollback();
        }
    }

    /// Brings what rows are read by up to date.
    pub(super) fn refresh_rows(&mut self) {
        let Strategy {
            rows, relations, ..
        } = &mut self.strategy;
        let Some(rows) = rows else { return };
        let trees = rows.trees.iter();
        let trees = trees.flat_map(|tree| [(tree.root, tree.all), (tree.leaf, tree.below)]);
        for (relation, index) in trees.chain([(rows.list, rows.all)]) {
            if let Some(table) = relations[relation].table_mut() {
                table.refresh_index(index);
            }
        }
    }
}

impl RowCursor {
    /// The same before the first key of the next source.
    fn next_source(&self) -> Self {
        Self {
            source: self.source + 1,
            at: 0,
            below: 0,
            steps: self.steps + 1,
        }
    }
}

/// All slots of a table, by its index on nothing.
fn without_gaps(table: &KeyedTable, index: usize) -> &[u32] {
    let index = table.index_at(index);
    let keys = Keys {
        columns: &[],
        fields: &[],
        rows: 1,
    };
    let mut group = Vec::new();
    index.find(keys, &mut KeyScratch::default(), &mut group);
    index.group(group[0])
}
