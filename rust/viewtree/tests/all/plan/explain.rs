//! Explanations are right: classes by their definitions from the literature, failing conditions by a counterexample,
//! costs by what they must be for the class.

use std::collections::BTreeSet;

use crate::plan::common::joins::{Join, has_join_tree, joins};
use crate::plan::common::{Tables, group, order};
use proptest::prelude::*;
use ringview_explain::{Condition as ClassCondition, Explanation, Format, How, NodeKind};
use ringview_query::{Bag, Representation, bind};
use ringview_viewtree::plan::{Plan, Planning};

fn of<'a>(explanation: &'a Explanation, name: &str) -> &'a ClassCondition {
    explanation
        .conditions
        .iter()
        .find(|condition| condition.name == name)
        .unwrap()
}

fn relation(name: &str) -> usize {
    name.strip_prefix('r').unwrap().parse().unwrap()
}

/// The variables and relations of a failing condition must themselves break the definition.
fn check_offenders(join: &Join, explanation: &Explanation) {
    for condition in explanation
        .conditions
        .iter()
        .filter(|condition| !condition.holds)
    {
        let named: Vec<&BTreeSet<&str>> = match condition.name.as_str() {
            "free-top" => Vec::new(),
            _ => condition
                .relations
                .iter()
                .map(|r| &join.relations[relation(r)])
                .collect(),
        };
        let (cycle, text): (Vec<BTreeSet<&str>>, _) = (
            named.iter().map(|r| (*r).clone()).collect(),
            &condition.because,
        );
        let [x, y] = [0, 1].map(|at| condition.variables.get(at).map_or("", String::as_str));
        match condition.name.as_str() {
            "alpha-acyclic" => assert!(!has_join_tree(&cycle), "{text}"),
            "free-connex" => {
                let mut with_head = cycle.clone();
                with_head.push(join.free.clone());
                assert!(
                    !has_join_tree(&cycle) || !has_join_tree(&with_head),
                    "{text}"
                );
            }
            "hierarchical" => {
                assert!(named[0].contains(x) && !named[0].contains(y), "{text}");
                assert!(named[1].contains(x) && named[1].contains(y), "{text}");
                assert!(!named[2].contains(x) && named[2].contains(y), "{text}");
            }
            "q-hierarchical" if named.len() == 2 => {
                assert!(join.free.contains(x) && !join.free.contains(y), "{text}");
                assert!(named[0].contains(x) && named[0].contains(y), "{text}");
                assert!(!named[1].contains(x) && named[1].contains(y), "{text}");
                assert!(join.of(x).is_subset(&join.of(y)));
            }
            "q-hierarchical" => assert!(!join.hierarchical()),
            "free-top" => assert!(join.free.contains(x) && !join.free.contains(y), "{text}"),
            other => panic!("{other} is not tested"),
        }
        assert!(!condition.because.is_empty() && !condition.means.is_empty());
    }
}

/// Relations, free variables, then whether it is acyclic, free-connex, hierarchical, q-hierarchical;
/// and words of what the first that fails fails by.
const TABLE: [(&str, [bool; 4], &str); 12] = [
    ("ab ac ad : a", [true; 4], ""),
    ("ab ac : abc", [true; 4], ""),
    ("ab b : b", [true; 4], ""),
    (
        "ab b : a",
        [true, true, true, false],
        "a is kept and b summed away, but r0 has both and r1",
    ),
    (
        "ab bc cd :",
        [true, true, false, false],
        "r0 has b without c, r2 has c without b, and r1",
    ),
    (
        "ab bc : ac",
        [true, false, true, false],
        "r0[a, b], r1[b, c] form a cycle with the result [a, c]",
    ),
    (
        "ab bc cd : ad",
        [true, false, false, false],
        "r0[a, b], r1[b, c], r2[c, d] form a cycle with",
    ),
    (
        "ab bc cd : bc",
        [true, true, false, false],
        "r0 has b without c",
    ),
    (
        "ab bc ca :",
        [false; 4],
        "r0[a, b], r1[b, c], r2[a, c] form a cycle",
    ),
    (
        "ab bc ca : abc",
        [false; 4],
        "r0[a, b], r1[b, c], r2[a, c] form a cycle",
    ),
    (
        "ab bc cd da ae :",
        [false; 4],
        "r0[a, b], r1[b, c], r2[c, d], r3[a, d] form a cycle",
    ),
    (
        "ab bc ca abc : a",
        [true, true, false, false],
        "r2 has a without b, r1 has b without a, and r0 has both",
    ),
];

#[test]
fn classes_and_what_they_fail_by() {
    let names = [
        "alpha-acyclic",
        "free-connex",
        "hierarchical",
        "q-hierarchical",
    ];
    for (text, expected, because) in TABLE {
        let join = Join::new(text);
        let explanation = join.explain();
        assert_eq!(
            names.map(|name| explanation.holds(name)),
            expected,
            "{text}"
        );
        let fails = explanation
            .conditions
            .iter()
            .find(|condition| !condition.holds);
        let said = fails.map_or("", |condition| &condition.because);
        assert!(said.starts_with(because), "{text}: {said}");
        check_offenders(&join, &explanation);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn classes_are_those_of_the_definitions(join in joins()) {
        let (tables, query) = join.tables();
        let plan = tables.plan(&query);
        let explanation = plan.explanation();
        prop_assert_eq!(explanation.holds("alpha-acyclic"), has_join_tree(&join.relations));
        prop_assert_eq!(explanation.holds("free-connex"), join.free_connex());
        prop_assert_eq!(explanation.holds("hierarchical"), join.hierarchical());
        prop_assert_eq!(explanation.holds("q-hierarchical"), join.q_hierarchical());
        // The plan's own answers are the same.
        let class = &plan.class;
        let said = [class.acyclic, class.free_connex, class.hierarchical, class.q_hierarchical];
        let names = ["alpha-acyclic", "free-connex", "hierarchical", "q-hierarchical"];
        prop_assert_eq!(names.map(|name| explanation.holds(name)), said);
        check_offenders(&join, &explanation);
        // Without groups, exactly the q-hierarchical queries have constant changes; with groups,
        // no others have.
        let constant = explanation.changes.iter().all(|change| change.constant);
        if join.free.is_empty() {
            prop_assert_eq!(constant, explanation.holds("q-hierarchical"), "{}", explanation.text());
        } else {
            prop_assert!(!constant || explanation.holds("q-hierarchical"), "{}", explanation.text());
        }
        // JSON is all of it.
        let json = explanation.render(Format::Json).unwrap();
        prop_assert_eq!(serde_json::from_str::<Explanation>(&json).unwrap(), explanation);
    }

    /// Rows kept factorised, whatever columns are shown: constant changes for hierarchical joins.
    #[test]
    fn factorised_rows_change_at_once_where_the_join_is_hierarchical(join in joins()) {
        let (tables, mut query) = join.tables();
        query.outputs.pop();
        prop_assume!(!query.outputs.is_empty());
        query.bag = Some(Bag { representation: Some(Representation::Factorised), ..Bag::default() });
        let explanation = Plan::new(bind(&query, &tables).unwrap(), Planning::default()).unwrap().explanation();
        let constant = explanation.changes.iter().all(|change| change.constant);
        prop_assert_eq!(constant, join.hierarchical(), "{}", explanation.text());
        prop_assert_eq!(explanation.holds("q-hierarchical"), join.hierarchical());
        prop_assert_eq!(explanation.holds("free-connex"), has_join_tree(&join.relations));
    }
}

#[test]
fn a_triangle_names_its_projection_and_what_it_closes() {
    let explanation = Join::new("ab bc ca :").explain();
    let indicator = explanation
        .nodes
        .iter()
        .find(|node| node.kind == NodeKind::Indicator);
    let indicator = indicator.unwrap();
    assert_eq!(indicator.label, "∃[a, b] r0");
    assert_eq!(
        indicator.closes.as_deref(),
        Some("r0 closes a cycle with r1[b, c], r2[a, c]: V@c[a, b] has no more keys than it")
    );
    let of_r = &explanation.changes[0];
    assert_eq!(
        (of_r.climbs.len(), of_r.climbs[0].constant, of_r.constant),
        (2, true, false)
    );
    let hows: Vec<How> = of_r.climbs[1].meets.iter().map(|met| met.how).collect();
    assert_eq!(hows, [How::Group, How::SmallerGroup, How::Key]);
    let leaf = &explanation.nodes[of_r.climbs[0].leaf];
    assert!(leaf.stored, "{}", leaf.because);
    assert!(!explanation.text().contains("no relation bounds it"));
}

#[test]
fn a_square_says_what_stays_quadratic() {
    let text = Join::new("ab bc cd da :").explain().text();
    assert!(
        text.contains("may hold O(N^2) keys: no relation bounds it"),
        "{text}"
    );
}

/// The free variables keep their given places, and the explanation says so.
#[test]
fn a_given_order_can_bury_free_variables() {
    let (tables, mut query) = Join::new("ab ab : a").tables();
    assert!(tables.plan(&query).explanation().holds("free-top"));
    query.order = Some(order(&tables, &query, "b(a)"));
    let explanation = tables.plan(&query).explanation();
    let condition = of(&explanation, "free-top");
    assert!(!condition.holds);
    assert_eq!(
        condition.because,
        "a, which is free, stands below b, which is not"
    );
}

/// A sibling that a unique key determines is met before one that has to be walked: then that one is
/// met by its whole key.
#[test]
fn unique_keys_come_before_groups() {
    let tables = Tables::new("R(x) A(x, y, z, w) B(x, y)").with("A", |t| t.unique = Some(vec![0]));
    let mut query = tables.natural(&["R", "A", "B"]);
    query.group_by = crate::plan::common::columns("0.x 1.y 1.z 1.w");
    query.outputs = ["0.x", "1.y", "1.z", "1.w"].map(group).to_vec();
    let explanation = tables.plan(&query).explanation();
    let propagate = &explanation.changes[0].climbs[0];
    assert!(propagate.constant, "{}", explanation.text());
    let hows: Vec<How> = propagate.meets.iter().map(|met| met.how).collect();
    assert_eq!(hows, [How::UniqueKey, How::Key]);
}

/// Costs precede theory; a condition that fails only because another one does is not repeated.
#[test]
fn a_star_is_told_by_its_costs() {
    let tables = Tables::new("F(a, b, c) A(a, n) B(b) C(c)");
    let mut query = tables.natural(&["F", "A", "B", "C"]);
    query.group_by = crate::plan::common::columns("1.n");
    query.outputs = vec![group("1.n")];
    let text = tables.plan(&query).explanation().text();
    assert!(text.starts_with("a change of one row\n"), "{text}");
    let (costs, why) = text.split_once("\nwhy\n").unwrap();
    assert_eq!(why.matches("\n  not ").count(), 1, "{why}");
    assert!(why.contains("not hierarchical: "), "{why}");
    assert!(
        !text.contains("fails") && !costs.contains("hierarchical"),
        "{text}"
    );
    // JSON has all of them.
    let all = tables.plan(&query).explanation().conditions;
    assert_eq!(all.iter().filter(|condition| !condition.holds).count(), 3);
}

/// A table's columns have its own names, with that of the variable where it is another.
#[test]
fn tables_wear_their_own_names() {
    let tables = Tables::new("R(a, b) S(c, d)");
    let mut query = tables.natural(&["R", "S"]);
    query.joins = vec![crate::plan::common::columns("0.b 1.c")];
    query.group_by = crate::plan::common::columns("1.d");
    query.outputs = vec![group("1.d")];
    let explanation = tables.plan(&query).explanation();
    let labels: Vec<_> = explanation
        .nodes
        .iter()
        .map(|node| node.label.as_str())
        .collect();
    assert_eq!(labels, ["S[c=b, d]", "R[b]", "V@b[d]"]);
    assert_eq!(explanation.changes[0].cost, "O(group of (b) in S[c=b, d])");
}

#[test]
fn formats_have_names() {
    for (name, format) in Format::ALL {
        assert_eq!(name.parse::<Format>().unwrap(), format);
    }
    let refused = "svg".parse::<Format>().unwrap_err().to_string();
    assert!(
        refused.contains("\"svg\"") && refused.contains("\"mermaid\""),
        "{refused}"
    );
}
