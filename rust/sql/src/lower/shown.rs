//! Lowered rows as a query: those of a join, or groups that a condition chooses.
//!
//! Invariant: the result has the columns in their order under the names that are given. Cost: O(columns).

use std::collections::BTreeMap;

use ringview_core::Result;
use ringview_expr::Scalar;
use ringview_query::graph::set::Set;
use ringview_query::{Block, Branch, ColumnRef, Output, Query, Rows};

use super::levels::NestedPredicate;
use super::lowered::{Lowered, Wanted};
use super::pending::Pending;
use super::prune::{narrow, read_by};
use super::state::{BAG, Lowering, free, named, over};

impl Lowering<'_> {
    /// The query of rows that are shown under these names.
    pub(crate) fn shown(&mut self, mut rows: Pending, names: &[String]) -> Result<Query> {
        if is_wide(&rows) {
            return self.unordered(rows, names, false);
        }
        let wanted = Wanted::columns(&std::mem::take(&mut rows.columns));
        let lowered = self.lower(rows, wanted)?;
        if let Some(query) = self.inlined(&lowered, names) {
            return Ok(query);
        }
        match self.on_read(&lowered, names) {
            Some(query) => Ok(query),
            None => self.listed(&lowered, names),
        }
    }

    /// The query of rows of one block that keeps them in an order, computed as they are read: so the result is kept once.
    fn on_read(&self, lowered: &Lowered, names: &[String]) -> Option<Query> {
        let ([name], [filter]) = (&lowered.atoms[..], &lowered.filters[..]) else {
            return None;
        };
        if !self.computes_on_read || !lowered.nested.conditions.is_empty() {
            return None;
        }
        let block = |name: &String| self.blocks.iter().find(|block| block.name == *name);
        let (mut of, mut map) = (&block(name)?.query, None);
        if let Some(Rows::Map { names, branches }) = &of.rows
            && let ([atom], [branch]) = (&of.atoms[..], &branches[..])
        {
            map = Some((names, branch));
            of = &block(&atom.table)?.query;
        }
        let is_supported = matches!(&of.rows, Some(Rows::Parted(_) | Rows::Latest(_)));
        let is_plain = |branch: &Branch| !branch.minus && branch.unnested.is_empty();
        let is_free = map.is_none_or(|(_, branch)| filter.is_none() && is_plain(branch));
        if !is_supported || !is_free {
            return None;
        }
        let column = |at: usize| {
            let name = lowered.column(at).column;
            match map {
                Some((names, branch)) => {
                    let place = names.iter().position(|own| *own == name)?;
                    branch.columns[place].clone()
                }
                None => Some(Scalar::column(&name)),
            }
        };
        let columns = (0..names.len()).map(|at| column(at).map(Some));
        let branch = Branch {
            filter: match map {
                Some((_, branch)) => branch.filter.clone(),
                None => filter.clone(),
            },
            columns: columns.collect::<Option<_>>()?,
            minus: false,
            unnested: Vec::new(),
        };
        let mut query = of.clone();
        narrow(&mut query, &read_by(&branch));
        query.rows = Some(Rows::Computed {
            of: Box::new(query.rows?),
            names: names.to_vec(),
            branch,
        });
        Some(query)
    }

    /// The rows of a join as a query.
    pub(super) fn listed(&mut self, lowered: &Lowered, names: &[String]) -> Result<Query> {
        let columns = (0..names.len()).map(|at| lowered.column(at));
        let columns: Vec<ColumnRef> = columns.collect();
        let outputs = names
            .iter()
            .zip(&columns)
            .map(|(name, column)| Output::Group {
                name: name.clone(),
                column: column.clone(),
            });
        let outputs = outputs.collect();
        let mut group_by: Vec<ColumnRef> = Vec::new();
        for column in columns {
            if !group_by.contains(&column) {
                group_by.push(column);
            }
        }
        let query = Query {
            group_by,
            outputs,
            bag: Some(BAG),
            ..lowered.query()
        };
        if let ([of], [None]) = (&lowered.atoms[..], &lowered.filters[..])
            && !lowered.nested.conditions.is_empty()
            && let Some(groups) = self.groups_of(of)
            && !groups.query.outputs.iter().any(is_cofactor)
        {
            let groups = groups.clone();
            return self.filtered_groups(groups, &lowered.nested, &query);
        }
        Ok(query)
    }

    /// The groups of a block that a condition chooses: the columns of GROUP BY find one, shown or not.
    ///
    /// The block calls its columns as the result does.
    fn filtered_groups(
        &mut self,
        groups: Block,
        nested: &NestedPredicate,
        shown: &Query,
    ) -> Result<Query> {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for output in &shown.outputs {
            if let Output::Group { name, column } = output {
                names.entry(column.column.clone()).or_insert(name.clone());
            }
        }
        let mut block = groups.query;
        for output in &mut block.outputs {
            let old = output.name().to_owned();
            if !names.contains_key(&old) {
                let is_taken = |name: &str| names.values().any(|other| other == name);
                names.insert(old.clone(), free(&old, &is_taken));
            }
            *output = named(output.clone(), &names[&old]);
        }
        let column = |name: &str| ColumnRef {
            atom: 0,
            column: names.get(name).cloned().unwrap_or_default(),
        };
        let nested = nested.renamed(&|_, name| column(name).column)?;
        let mut query = Query {
            condition: Scalar::all_of(nested.conditions),
            subqueries: nested.subqueries,
            ..over(&[self.emit(&groups.name, block)?])
        };
        for output in &shown.outputs {
            if let Output::Group { name, column: of } = output {
                query.outputs.push(Output::Group {
                    name: name.clone(),
                    column: column(&of.column),
                });
            }
        }
        let own = shown.group_by.iter().map(|of| of.column.as_str());
        let keys = groups_of_outputs(&self.blocks, &query.atoms[0].table);
        for name in own.map(|name| column(name).column).chain(keys) {
            let of = ColumnRef {
                atom: 0,
                column: name,
            };
            if !query.group_by.contains(&of) {
                query.group_by.push(of);
            }
        }
        query.is_chosen = true;
        Ok(query)
    }
}

/// Whether rows of one table have more columns than a join has variables.
pub(super) fn is_wide(rows: &Pending) -> bool {
    rows.columns.len() > Set::CAPACITY && rows.is_plain()
}

/// The columns of a block that identify its groups.
fn groups_of_outputs(blocks: &[Block], name: &str) -> Vec<String> {
    let block = blocks.iter().find(|block| block.name == name);
    let outputs = block.into_iter().flat_map(|block| &block.query.outputs);
    let keys = outputs.filter(|output| matches!(output, Output::Group { .. }));
    keys.map(|output| output.name().to_owned()).collect()
}

fn is_cofactor(output: &Output) -> bool {
    matches!(output, Output::Cofactor { .. })
}
