//! A query whose condition compares subqueries is kept as written, or decorrelated into views over views: whichever is
//! cheaper.
//!
//! Invariant: both mean the same, so the choice is by the worst-case cost of a change, over all blocks. The query as
//! written needs no blocks, and wins a tie. The explanation shows the query as written as well as the one that is kept.
//! If the user names an engine, the query is kept as written, unless that engine keeps no such condition. Cost: that of
//! planning both.

use std::borrow::Cow;

use ringview_core::Result;
use ringview_explain::Other;
use ringview_query::Query;
use ringview_view::Cost;

use super::Catalogue;
use super::choose::By;
use crate::plan::Planned;

const NAME: &str = "views over views";

impl Catalogue<'_> {
    /// Plans a query with a condition and the blocks before it: as written, or as blocks of its own and the rest.
    pub(crate) fn plan_either<'q>(
        &self,
        (block, query): (Option<&'q str>, &'q Query),
        by: By<'_>,
        plans: &mut Vec<Planned<'q>>,
    ) -> Result<()> {
        let standing = self.planned(block.map(Cow::Borrowed), Cow::Borrowed(query), by, plans);
        let mut standing = match standing {
            Ok(standing) if !by.is_open() => {
                plans.push(standing);
                return Ok(());
            }
            Err(refusal) if matches!(by, By::This(_)) => return Err(refusal),
            standing => standing,
        };
        let first = plans.len();
        let unnested = self.plan_unnested((block, query), by, plans);
        let costs = plans[first..]
            .iter()
            .map(|one| one.choice.candidate().change());
        let cost = costs.fold(Cost::Constant, Cost::and);
        match (&mut standing, unnested) {
            (Err(_), Ok(())) => return Ok(()),
            (Ok(standing), Ok(())) => {
                let other = standing.choice.candidate().change();
                let is_same = |last: &Planned<'_>| last.info.schema == standing.info.schema;
                let last = plans.last_mut().filter(|last| is_same(last));
                if let (true, Some(last)) = (cost.compare(&other).is_lt(), last) {
                    last.choice
                        .description
                        .instead_of(standing.choice.candidate(), cost);
                    return Ok(());
                }
                standing.choice.description.others.push(Other {
                    name: NAME.to_owned(),
                    cost: Some(cost.to_string()),
                    because: match query.subqueries[..] {
                        [] => "what it compares would be a filter above the rows of its join",
                        _ => {
                            "what it compares with queries within would be joins with their groups"
                        }
                    }
                    .to_owned(),
                });
            }
            (Ok(standing), Err(why)) => standing.choice.description.others.push(Other {
                name: NAME.to_owned(),
                cost: None,
                because: why,
            }),
            (Err(_), Err(_)) => {}
        }
        plans.truncate(first);
        plans.push(standing?);
        Ok(())
    }

    /// The same as blocks and what is left, or why not.
    fn plan_unnested<'q>(
        &self,
        (block, query): (Option<&'q str>, &'q Query),
        by: By<'_>,
        plans: &mut Vec<Planned<'q>>,
    ) -> std::result::Result<(), String> {
        let is_taken = |name: &str| {
            let is_block = plans.iter().any(|one| one.block.as_deref() == Some(name));
            let is_block = is_block || query.blocks.iter().any(|block| block.name == name);
            is_block || self.check_new(name).is_err()
        };
        let (blocks, rest) = match query.subqueries[..] {
            [] => query.above(&is_taken)?,
            _ => query.unnest(&is_taken)?,
        };
        let open = By::Choice(None);
        let blocks = blocks
            .into_iter()
            .map(|one| (Some(Cow::Owned(one.name)), one.query, open));
        for (name, own, by) in blocks.chain([(block.map(Cow::Borrowed), rest, by)]) {
            let planned = self.planned(name, Cow::Owned(own), by, plans);
            plans.push(planned.map_err(|refusal| refusal.to_string())?);
        }
        if let Some(last) = plans.last_mut() {
            last.asked = Some(query);
        }
        Ok(())
    }
}
