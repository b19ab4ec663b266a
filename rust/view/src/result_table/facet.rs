//! One query's view of groups that several queries are answered from.
//!
//! The groups are those of a union of queries: they have the terms of all. A facet has the columns, HAVING and computed
//! columns of one of them, over its own terms. Invariant: its rows and its changes are exactly those of a view of its
//! query alone; the terms of others do not affect it. Cost: that of reading groups; a transaction costs it O(groups
//! touched) where a column may not fit, or its delta is requested, and nothing else.

use arrow_array::RecordBatch;
use ringview_core::{Budget, Dictionary, Result};
use ringview_query::{Bound, PlanOutput, Results, Variable};

use super::ResultTable;
use super::groups::{CheckedGroups, GroupAnswer};
use super::partial::{Since, write_groups};
use crate::answer::Outputs;
use crate::delta::{Context, Delta};

/// See the module.
#[derive(Debug)]
pub struct Facet {
    /// Number of the grouping that it is answered from.
    grouping: usize,
    /// By term of the query: its number among the terms of the groups.
    terms: Vec<usize>,
    variables: Vec<Variable>,
    columns: Vec<PlanOutput>,
    measures: Vec<PlanOutput>,
    results: Option<Results>,
    /// Outputs that may not fit, once a transaction was prepared.
    checked: Option<CheckedGroups>,
}

impl Facet {
    /// That of a query whose terms are these of the groups of a grouping.
    #[must_use]
    pub fn new(query: &Bound, (grouping, terms): (usize, Vec<usize>)) -> Self {
        let renumbered = |outputs: &[PlanOutput]| -> Vec<PlanOutput> {
            let outputs = outputs.iter();
            outputs.map(|output| output.renumbered(&terms)).collect()
        };
        Self {
            grouping,
            variables: query.variables.clone(),
            columns: renumbered(&query.outputs),
            measures: renumbered(&query.measures),
            results: query.results.clone(),
            checked: None,
            terms,
        }
    }

    /// Number of the grouping that it is answered from.
    #[must_use]
    pub fn grouping(&self) -> usize {
        self.grouping
    }

    /// The terms of the groups that it reads.
    #[must_use]
    pub fn terms(&self) -> &[usize] {
        &self.terms
    }

    /// Its answer.
    #[must_use]
    pub fn answer<'a>(&'a self, groups: ResultTable<'a>) -> GroupAnswer<'a> {
        GroupAnswer(self.rows(groups))
    }

    fn rows<'a>(&'a self, groups: ResultTable<'a>) -> ResultTable<'a> {
        ResultTable {
            outputs: Outputs {
                variables: &self.variables,
                columns: &self.columns,
                measures: &self.measures,
                results: self.results.as_ref(),
            },
            ..groups
        }
    }

    /// Refuses what cannot be shown of groups that are there already. O(groups) where a column may not fit.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn check(&self, groups: ResultTable<'_>, dictionary: &Dictionary) -> Result<()> {
        let rows = self.rows(groups);
        CheckedGroups::of(rows).check_all(rows, dictionary)
    }

    /// Refuses what cannot be shown of the groups that the running transaction changed; how its rows change.
    ///
    /// # Errors
    /// As [`View::prepare`](crate::View::prepare).
    pub fn prepare(&mut self, groups: ResultTable<'_>, cx: &Context<'_, '_>) -> Result<Delta> {
        if let Some(checked) = &self.checked
            && checked.has_nothing_to_do(groups, cx)
        {
            return Ok(Delta::default());
        }
        let mut checked = match self.checked.take() {
            Some(checked) => checked,
            None => CheckedGroups::of(self.rows(groups)),
        };
        let delta = checked.prepare(self.rows(groups), cx);
        self.checked = Some(checked);
        delta
    }

    /// As that of a view of its query alone.
    ///
    /// # Errors
    /// As [`View::partial`](crate::View::partial).
    pub fn partial(
        &self,
        query: &Bound,
        groups: ResultTable<'_>,
        since: Since,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        let rows = (self.rows(groups), Some(&self.terms[..]));
        write_groups(query, rows, Vec::new(), since, reading)
    }
}
