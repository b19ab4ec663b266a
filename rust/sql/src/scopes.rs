//! Names of WITH that hide those of a query around.
//!
//! The binder refuses a name that a query around has given too, so the inner one gets a name of its own, and what reads
//! it keeps the name as an alias. Invariant: a name means what the innermost WITH that is over says, and in its own
//! query what it meant before. Cost: linear in the text, times the depth of WITH.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Ident, ObjectNamePart, Query, TableAlias, TableFactor, VisitorMut,
};

/// Gives such names others.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    open: Vec<Scope>,
    given: usize,
}

/// The names of one WITH: what the text says, and what it is called.
#[derive(Debug, Default)]
struct Scope {
    names: Vec<(String, String)>,
    /// Number of their queries that were visited.
    known: usize,
    /// Whether a name is known in its own query.
    is_recursive: bool,
}

impl Scope {
    /// The names that have a meaning now.
    fn meant(&self) -> &[(String, String)] {
        let known = self.known + usize::from(self.is_recursive);
        &self.names[..known.min(self.names.len())]
    }
}

impl Scopes {
    /// New name of a name in FROM, if a WITH defines it.
    fn called(&self, name: &str) -> Option<&str> {
        let scopes = self.open.iter().rev();
        let mut names = scopes.flat_map(|scope| scope.meant().iter().rev());
        let found = names.find(|(said, _)| said.eq_ignore_ascii_case(name));
        found.map(|(_, called)| called.as_str())
    }
}

impl VisitorMut for Scopes {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut scope = Scope {
            is_recursive: query.with.as_ref().is_some_and(|with| with.recursive),
            ..Scope::default()
        };
        for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let said = table.alias.name.value.clone();
            let mut around = self.open.iter().flat_map(|scope| &scope.names);
            if around.any(|(other, _)| other.eq_ignore_ascii_case(&said)) {
                self.given += 1;
                let called = format!("{said} {}", self.given + 1);
                table.alias.name = Ident::with_quote('"', called.clone());
                scope.names.push((said, called));
            } else {
                scope.names.push((said.clone(), said));
            }
        }
        self.open.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.open.pop();
        // The first queries within another are those of its WITH.
        if let Some(around) = self.open.last_mut() {
            around.known = (around.known + 1).min(around.names.len());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let [part] = &mut name.0[..] else {
            return ControlFlow::Continue(());
        };
        let Some(said) = part.as_ident().cloned() else {
            return ControlFlow::Continue(());
        };
        let Some(called) = self.called(&said.value).map(str::to_owned) else {
            return ControlFlow::Continue(());
        };
        if called != said.value {
            *part = ObjectNamePart::Identifier(Ident::with_quote('"', called));
            alias.get_or_insert_with(|| TableAlias {
                explicit: true,
                name: said,
                columns: Vec::new(),
                at: None,
            });
        }
        ControlFlow::Continue(())
    }
}
