//! EXCLUDE and REPLACE of a star whose columns are known; the star of `FROM t` without SELECT.
//!
//! Invariant: a column that is left out is no output; one that is replaced keeps its name and its place. Cost: the
//! columns times the names that are given.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, ObjectName, Select, SelectFlavor, SelectItem, VisitorMut,
    WildcardAdditionalOptions,
};

/// Gives `FROM t` without SELECT a star.
pub(crate) struct FromFirst;

impl VisitorMut for FromFirst {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.flavor == SelectFlavor::FromFirstNoSelect && select.projection.is_empty() {
            let star = SelectItem::Wildcard(WildcardAdditionalOptions::default());
            select.projection.push(star);
            select.flavor = SelectFlavor::Standard;
        }
        ControlFlow::Continue(())
    }
}

/// The outputs of a star over these columns, by name; `None` where a name is none of them, or the star has other
/// options.
pub(crate) fn shown<T>(
    options: &WildcardAdditionalOptions,
    mut columns: Vec<(String, T)>,
    replaced: impl Fn(&str, &Expr) -> T,
) -> Option<Vec<(String, T)>> {
    let WildcardAdditionalOptions {
        opt_exclude,
        opt_replace,
        opt_ilike: None,
        opt_except: None,
        opt_rename: None,
        opt_alias: None,
        ..
    } = options
    else {
        return None;
    };
    let left_out: &[ObjectName] = match opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
        Some(ExcludeSelectItem::Multiple(names)) => names,
        None => &[],
    };
    for name in left_out {
        let [part] = &name.0[..] else {
            return None;
        };
        let name = &part.as_ident()?.value;
        let before = columns.len();
        columns.retain(|(column, _)| !column.eq_ignore_ascii_case(name));
        (columns.len() < before).then_some(())?;
    }
    for item in opt_replace.iter().flat_map(|replace| &replace.items) {
        let mut named = columns.iter_mut();
        let found = named.find(|(column, _)| column.eq_ignore_ascii_case(&item.column_name.value));
        let (name, output) = found?;
        *output = replaced(name, &item.expr);
    }
    Some(columns)
}
