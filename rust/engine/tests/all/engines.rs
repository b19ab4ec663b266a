//! The choice of an engine: by cost, by name, and the description of the others.
use std::sync::Arc;

use ringview_core::{Error, Result};
use ringview_engine::{Database, Options, ViewTrees, engines};
use ringview_explain::Explanation;
use ringview_query::{Bound, Query};
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use crate::common::{unpolled, with_recompute};

/// View trees under another name, at another price; or none at all.
#[derive(Clone, Copy, Debug)]
struct Twin(&'static str, Option<Cost>);

struct Priced(Box<dyn Candidate>, Cost);

impl Engine for Twin {
    fn name(&self) -> &str {
        self.0
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        let Some(cost) = self.1 else {
            return Err(Refusal::from(Error::Unsupported {
                what: "this <query>".to_owned(),
                why: format!("{} keeps nothing", self.0),
                instead: "ask another".to_owned(),
            }));
        };
        let plan = ViewTrees::default().plan(query)?;
        Ok(Box::new(Priced(plan, cost)))
    }
}

impl Candidate for Priced {
    fn change(&self) -> Cost {
        self.1
    }

    fn space(&self) -> f64 {
        self.0.space()
    }

    fn explanation(&self) -> Explanation {
        let mut explanation = self.0.explanation();
        explanation.engine.name = format!("at {}", self.1);
        explanation
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        self.0.make()
    }
}

fn database(twins: &[Twin]) -> Database {
    let mut all = engines();
    all.extend(twins.iter().map(|twin| Arc::new(*twin) as Arc<dyn Engine>));
    crate::common::declared(Database::with_engines(Options::default(), all))
}

#[test]
fn the_cheapest_is_taken_and_the_first_among_equals() {
    let query = &crate::common::queries::all()[1];
    for (twins, taken) in [
        (vec![Twin("dear", Some(Cost::Power(2.0)))], "viewtree"),
        (vec![Twin("same", Some(Cost::Power(1.0)))], "viewtree"),
        (vec![Twin("cheap", Some(Cost::Logarithmic))], "at O(log N)"),
        (
            vec![
                Twin("cheap", Some(Cost::Logarithmic)),
                Twin("cheaper", Some(Cost::Constant)),
            ],
            "at O(1)",
        ),
        (vec![Twin("unable", None)], "viewtree"),
    ] {
        let explained = database(&twins).explanation(query).unwrap();
        assert_eq!(explained.engine.name, taken);
        assert_eq!(explained.others.len(), twins.len());
    }
}

#[test]
fn a_name_overrides_the_costs() {
    let query = &crate::common::queries::all()[1];
    let mut db = database(&[Twin("dear", Some(Cost::Power(2.0))), Twin("unable", None)]);
    db.create_view_with("v", query, Some("dear"), &mut unpolled)
        .unwrap();
    let explained = db.view_explanation("v").unwrap();
    assert!(explained.engine.because.starts_with("asked for by name"));
    let others: Vec<(&str, Option<&str>)> = explained
        .others
        .iter()
        .map(|other| (other.name.as_str(), other.cost.as_deref()))
        .collect();
    assert_eq!(others, [("viewtree", Some("O(N)")), ("unable", None)]);
    let refused = db.create_view_with("w", query, Some("unable"), &mut unpolled);
    assert!(
        matches!(refused, Err(Error::Unsupported { why, .. }) if why == "unable keeps nothing")
    );
    let unknown = db.create_view_with("w", query, Some("none"), &mut unpolled);
    let message = unknown.unwrap_err().to_string();
    assert!(
        message.contains("viewtree, epsilon, rpai, rows, dear, unable"),
        "{message}"
    );
    assert_eq!(db.views(), ["v"]);
    db.replace_view_with("v", query, Some("viewtree"), &mut unpolled, &mut || Ok(()))
        .unwrap();
    let explained = db.view_explanation("v").unwrap();
    assert_eq!(explained.others[0].name, "dear");
}

#[test]
fn every_form_of_explanation_tells_of_the_others() {
    let query = &crate::common::queries::all()[0];
    let db = database(&[Twin("dear", Some(Cost::Power(2.5))), Twin("unable", None)]);
    let explained = db.explanation(query).unwrap();
    let description = [
        "dear, which could, at O(N^2.5) a change",
        "unable, which cannot",
    ];
    for text in [explained.text(), explained.html(), explained.graphviz()] {
        assert!(description.iter().all(|part| text.contains(part)), "{text}");
    }
    assert!(explained.html().contains("this &lt;query&gt;"));
    assert!(explained.mermaid().contains("this #lt;query#gt;"));
    let alone = database(&[]).explanation(query).unwrap();
    assert!(alone.others.is_empty());
    assert!(!alone.text().contains("not taken") && !alone.mermaid().contains("engine"));
}

#[test]
fn an_engine_of_ones_own_is_told_of_and_taken_by_name() {
    let mut db = with_recompute(Options::default());
    let queries = crate::common::queries::all();
    let sums = &queries[1];
    let description = db.explanation(sums).unwrap().text();
    assert!(
        description.contains("recompute, which could, at O(N^2) a change"),
        "{description}"
    );
    let features = Query::from_json(
        r#"{"atoms": [{"table": "r", "alias": "r"}], "outputs": [{"kind": "cofactor", "name": "f",
            "columns": [{"atom": 0, "column": "a"}], "categorical": []}]}"#,
    );
    let features = &features.unwrap();
    let description = db.explanation(features).unwrap().text();
    assert!(
        description.contains("recompute, which cannot") && description.contains("is a toy"),
        "{description}"
    );
    let refused = db.create_view_with("v", features, Some("recompute"), &mut unpolled);
    assert!(matches!(refused, Err(Error::Unsupported { .. })));
    db.create_view_with("v", sums, Some("recompute"), &mut unpolled)
        .unwrap();
    let description = db.view_explanation("v").unwrap().text();
    let taken = "engine: recompute; asked for by name; it joins all rows anew";
    assert!(
        description.contains(taken) && description.contains("viewtree, which could"),
        "{description}"
    );
}
