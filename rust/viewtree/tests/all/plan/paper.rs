//! The F-IVM paper's own examples: orders, views, what is stored, what a change costs.

use crate::plan::common::{Tables, col, columns, group, grouped, order, shown, sum, times, views};
use ringview_explain::NodeSize;
use ringview_query::{Kind, OutputKind};
use ringview_viewtree::plan::{Planning, Source};

fn example() -> Tables {
    Tables::new("R(A, B) S(A, C, E) T(C, D)")
}

fn retailer() -> Tables {
    Tables::new(
        "Inventory(locn, dateid, ksn, inventoryunits) Location(locn, zip, rgn_cd) \
         Census(zip, population) Item(ksn, prize) Weather(locn, dateid, rain)",
    )
}

const RETAILER: [&str; 5] = ["Inventory", "Location", "Census", "Item", "Weather"];

#[test]
fn figure_1_groups_by_a_and_c() {
    let tables = example();
    let mut query = tables.natural(&["R", "S", "T"]);
    query.outputs = vec![sum(times(times(col("0.B"), col("2.D")), col("1.E")))];
    let plan = tables.plan(&grouped(query, "1.A 1.C"));
    assert_eq!(shown(&plan), "A(C)");
    assert_eq!(
        views(&plan, |node| node.stored),
        ["S[A, C]", "T[C]", "V@C[A, C]", "R[A]", "V@A[A, C]"]
    );
    assert_eq!(plan.update_cost(1), "O(1)");
    assert_eq!(plan.update_cost(0), "O(group of (A) in V@C[A, C])");
    assert_eq!(plan.update_cost(2), "O(group of (C) in S[A, C])");
    let class = plan.class;
    assert!(class.acyclic && class.free_connex && !class.hierarchical);
    assert_eq!((class.width, class.space), (1.0, 1.0));
}

#[test]
fn figure_2_counts_along_the_given_order() {
    let tables = example();
    let mut query = tables.natural(&["R", "S", "T"]);
    // B, D and E are local: the plan sums them away at the leaves.
    query.order = Some(order(&tables, &query, "A(B C(D E))"));
    let plan = tables.plan(&query);
    assert_eq!(
        views(&plan, |_| true),
        ["S[A, C]", "T[C]", "V@C[A]", "R[A]", "V@A[]"]
    );
    assert_eq!(plan.update_cost(0), "O(1)");
    assert_eq!(plan.update_cost(1), "O(1)");
    assert_eq!(plan.update_cost(2), "O(group of (C) in S[A, C])");
}

#[test]
fn example_4_2_stores_the_root_and_siblings() {
    let tables = example().fixed(&["R", "S"]);
    let mut query = tables.natural(&["R", "S", "T"]);
    query.order = Some(order(&tables, &query, "A(C)"));
    let plan = tables.plan(&query);
    assert_eq!(views(&plan, |n| n.stored), ["S[A, C]", "R[A]", "V@A[]"]);
    assert_eq!(plan.update_cost(2), "O(group of (C) in S[A, C])");
    // Left to itself, the planner finds the order in which T's changes cost O(1).
    query.order = None;
    let plan = tables.plan(&query);
    assert_eq!(views(&plan, |n| n.stored), ["V@A[C]", "V@C[]"]);
    assert_eq!(plan.update_cost(2), "O(1)");
    let tables = tables.fixed(&["T"]);
    let plan = tables.plan(&tables.natural(&["R", "S", "T"]));
    assert_eq!(views(&plan, |n| n.stored), ["V@A[]"]);
}

#[test]
fn retailer_has_nine_views() {
    let tables = retailer();
    let mut query = tables.natural(&RETAILER);
    query.outputs = vec![sum(col("0.inventoryunits"))];
    let plan = tables.plan(&query);
    assert_eq!(shown(&plan), "locn(dateid(ksn) zip)");
    assert_eq!(plan.tree.nodes.len(), 9);
    assert!(plan.tree.nodes.iter().all(|node| node.stored));
    let inner = views(&plan, |node| node.atom.is_none());
    assert_eq!(
        inner,
        [
            "V@ksn[locn, dateid]",
            "V@dateid[locn]",
            "V@zip[locn]",
            "V@locn[]"
        ]
    );
    for (atom, cost) in [(0, "O(1)"), (1, "O(1)"), (4, "O(1)")] {
        assert_eq!(plan.update_cost(atom), cost);
    }
    assert_eq!(
        plan.update_cost(2),
        "O(group of (zip) in Location[locn, zip])"
    );
    assert_eq!(
        plan.update_cost(3),
        "O(group of (ksn) in Inventory[locn, dateid, ksn])"
    );
    assert_eq!(plan.root_variable(), Some(0));
}

#[test]
fn retailer_with_one_relation_changing() {
    let tables = retailer().fixed(&RETAILER[1..]);
    let mut query = tables.natural(&RETAILER);
    query.outputs = vec![sum(col("0.inventoryunits"))];
    let plan = tables.plan(&query);
    assert_eq!(shown(&plan), "locn(dateid(ksn) zip)");
    assert_eq!(
        views(&plan, |node| node.stored),
        [
            "Item[ksn]",
            "Weather[locn, dateid]",
            "V@zip[locn]",
            "V@locn[]"
        ]
    );
    assert_eq!(plan.update_cost(3), "static: never changes");
}

#[test]
fn housing_is_a_star_of_seven_views() {
    let names = [
        "House",
        "Shop",
        "Institution",
        "Restaurant",
        "Demographics",
        "Transport",
    ];
    let text: Vec<String> = names
        .iter()
        .map(|n| format!("{n}(postcode, x_{n})"))
        .collect();
    let tables = Tables::new(&text.join(" "));
    let mut query = tables.natural(&names);
    query.outputs = vec![sum(col("0.postcode"))];
    let plan = tables.plan(&query);
    assert_eq!(plan.tree.nodes.len(), 7);
    assert!(plan.class.q_hierarchical);
    for atom in 0..names.len() {
        assert_eq!(plan.update_cost(atom), "O(1)");
        // The postcode is lifted in one relation; the others need only count.
        let nodes = &plan.tree.nodes;
        let leaf = nodes.iter().position(|n| n.atom == Some(atom)).unwrap();
        let lifted = usize::from(atom == 0);
        assert_eq!(plan.payload.nodes[leaf].len(), 1 + lifted);
        assert_eq!(plan.atoms[atom].columns, [0]);
    }
    let root = &plan.payload.nodes[plan.tree.root];
    assert_eq!(root.len(), 2);
    let Source::Product { children } = &root[1].source else {
        panic!("the root joins");
    };
    assert_eq!(children.iter().sum::<usize>(), 1);
    assert_eq!(root[1].kind, Kind::Int);
    let [output] = &plan.outputs[..] else {
        panic!()
    };
    assert_eq!(
        output.kind,
        OutputKind::Sum {
            terms: vec![1],
            nonnull: 0
        }
    );
    assert_eq!(plan.payload.terms, [0, 1]);
}

#[test]
fn figure_6_triangle() {
    let tables = Tables::new("R(A, B) S(B, C) T(C, A)");
    let plan = tables.plan(&tables.natural(&["R", "S", "T"]));
    assert_eq!(shown(&plan), "A(B(C))");
    assert_eq!(
        views(&plan, |_| true),
        [
            "S[B, C]",
            "T[A, C]",
            "∃[A, B] R",
            "V@C[A, B]",
            "R[A, B]",
            "V@A,B[]"
        ]
    );
    assert!(!plan.class.acyclic && !plan.class.hierarchical && !plan.class.free_connex);
    assert_eq!((plan.class.width, plan.class.space), (1.5, 1.0));
    let groups = "O(min(group of (B) in S[B, C], group of (A) in T[A, C]))";
    assert_eq!(
        plan.update_cost(0),
        format!("O(1); where ∃[A, B] R changes, {groups}")
    );
    let groups = "O(min(group of (C) in T[A, C], group of (B) in ∃[A, B] R))";
    assert_eq!(plan.update_cost(1), groups);
}

/// The same without the projection: example 6.1.
#[test]
fn figure_6_without_the_indicator() {
    let tables = Tables::new("R(A, B) S(B, C) T(C, A)");
    let query = tables.natural(&["R", "S", "T"]);
    let plan = tables.plan_with(&query, Planning { indicators: false });
    assert_eq!(
        views(&plan, |_| true),
        ["S[B, C]", "T[A, C]", "V@C[A, B]", "R[A, B]", "V@A,B[]"]
    );
    assert_eq!((plan.class.width, plan.class.space), (2.0, 2.0));
    assert_eq!(plan.update_cost(0), "O(1)");
    assert_eq!(plan.update_cost(1), "O(group of (C) in T[A, C])");
}

/// The chord closes two triangles: it is projected twice, and listed once.
#[test]
fn loop_four_with_a_chord() {
    let tables = Tables::new("R(A, B) S(B, C) T(C, D) U(D, A) E(A, C)");
    let plan = tables.plan(&tables.natural(&["R", "S", "T", "U", "E"]));
    assert_eq!(shown(&plan), "A(C(B D))");
    assert_eq!(
        views(&plan, |_| true),
        [
            "R[A, B]",
            "S[C, B]",
            "∃[A, C] E",
            "V@B[A, C]",
            "T[C, D]",
            "U[A, D]",
            "∃[A, C] E",
            "V@D[A, C]",
            "E[A, C]",
            "V@A,C[]"
        ]
    );
    assert_eq!((plan.class.width, plan.class.space), (1.5, 1.0));
}

/// Two triangles at one variable; a relation wider than the cycle is projected; a tail is not.
#[test]
fn bow_tie_with_a_wide_wing() {
    let tables = Tables::new("R(A, B, X) S(B, C) T(C, A) U(A, D) V(D, E) W(E, A) Y(X, Z)");
    let mut query = tables.natural(&["R", "S", "T", "U", "V", "W", "Y"]);
    query.group_by = columns("6.Z");
    query.outputs = vec![group("6.Z")];
    let plan = tables.plan(&query);
    let projected = |node: &&ringview_viewtree::plan::Node| node.indicator.is_some();
    assert_eq!(plan.tree.nodes.iter().filter(projected).count(), 2);
    assert!(plan.explain().contains("∃[A, B] R"), "{}", plan.explain());
    assert_eq!(plan.class.space, 1.0);
}

/// A clique: the lowest view is bounded by the triangle of the relations outside it, and what is
/// above it by its own keys. Of two relations over the same variables one is enough, and the one
/// that never changes is taken.
#[test]
fn cliques_and_twins() {
    let tables = Tables::new("ab(a, b) ac(a, c) ad(a, d) bc(b, c) bd(b, d) cd(c, d)");
    let plan = tables.plan(&tables.natural(&["ab", "ac", "ad", "bc", "bd", "cd"]));
    assert_eq!((plan.class.width, plan.class.space), (2.0, 1.5));
    let indicators = plan.tree.nodes.iter().filter(|n| n.indicator.is_some());
    assert_eq!(indicators.count(), 3);
    let tables = Tables::new("R(A, B) S(B, C) T(C, A) Q(A, B)").fixed(&["Q"]);
    let mut query = tables.natural(&["R", "S", "T", "Q"]);
    query.order = Some(order(&tables, &query, "A(B(C))"));
    let plan = tables.plan(&query);
    let text = plan.explain();
    assert!(text.contains("∃[A, B] Q") && !text.contains("∃[A, B] R"));
    assert_eq!(plan.update_cost(0), "O(1)");
}

#[test]
fn the_largest_relation_gets_the_constant_update() {
    let tables = Tables::new("R(A, B) S(B, C) T(C, A)")
        .with("R", |t| t.rows = Some(10))
        .with("S", |t| t.rows = Some(1_000_000))
        .with("T", |t| t.rows = Some(10));
    let query = tables.natural(&["R", "S", "T"]);
    let plan = tables.plan_with(&query, Planning { indicators: false });
    assert_eq!(plan.update_cost(1), "O(1)");
}

/// If unique keys bound a view by one of its children, no indicator is needed.
#[test]
fn unique_keys_make_indicators_needless() {
    let tables = Tables::new("R(A, B) S(B, C) T(C, A)").with("T", |t| t.unique = Some(vec![0]));
    let mut query = tables.natural(&["R", "S", "T"]);
    query.order = Some(order(&tables, &query, "A(B(C))"));
    let plan = tables.plan(&query);
    let has = |node: &ringview_viewtree::plan::Node| node.indicator.is_some();
    assert!(!plan.tree.nodes.iter().any(has), "{}", plan.explain());
    assert_eq!(plan.update_cost(0), "O(1)");
}

#[test]
fn explain_reads_like_the_tree() {
    let tables = retailer().fixed(&["Census"]);
    let mut query = tables.natural(&RETAILER);
    query.outputs = vec![sum(col("0.inventoryunits"))];
    let plan = tables.plan(&query);
    let mut explanation = plan.explanation();
    let held = |at| NodeSize {
        rows: (at != 5).then_some(at),
        bytes: 10 * at,
        updates: 2 * at,
    };
    explanation.fill(&(0..9).map(held).collect::<Vec<_>>());
    let expected = "\
a change of one row
  Inventory  O(1)
  Location   O(1)
  Census     static: never changes
  Item       O(group of (ksn) in Inventory[locn, dateid, ksn])
  Weather    O(1)

view tree
  V@locn[]                               stored: count, 1 sum  8 rows, 80 bytes, 16 updates
  ├─ V@dateid[locn]                      stored: count, 1 sum  4 rows, 40 bytes, 8 updates
  │  ├─ V@ksn[locn, dateid]              stored: count, 1 sum  2 rows, 20 bytes, 4 updates
  │  │  ├─ Inventory[locn, dateid, ksn]  stored: count, 1 sum  0 rows, 0 bytes, 0 updates
  │  │  └─ Item[ksn]                     stored: count         1 rows, 10 bytes, 2 updates
  │  └─ Weather[locn, dateid]            stored: count         3 rows, 30 bytes, 6 updates
  └─ V@zip[locn]                         stored: count         7 rows, 70 bytes, 14 updates
     ├─ Location[locn, zip]              not stored            10 updates
     └─ Census[zip], static              stored: count         6 rows, 60 bytes, 12 updates

why
  engine: viewtree; joins by equality, with sums of products, follow a change along one path of a tree of views
  kept as groups: sums for each key of the root
  query: acyclic, free-connex; width 1; views of O(N) keys
  variable order: locn(dateid(ksn) zip)
  alpha-acyclic: the join has an order in which nothing outgrows what it leads to
  free-connex: the groups can be listed with constant delay from views of linear size
  not hierarchical: Location has locn without ksn, Item has ksn without locn, and Inventory has both; so some change meets a group of rows, not one
  free-top: the keys of the result stand above all that is summed away
";
    assert_eq!(explanation.text(), expected);
}

#[test]
fn free_variables_stay_wherever_they_stand() {
    let tables = Tables::new("R(a, b) S(b, c) T(c, d)");
    let query = grouped(tables.natural(&["R", "S", "T"]), "0.b 2.d");
    let plan = tables.plan(&query);
    assert_eq!(plan.tree.nodes[plan.tree.root].keys.len(), 2);
    let mut below = query.clone();
    below.order = Some(order(&tables, &query, "c(b d)"));
    let plan = tables.plan(&below);
    assert_eq!(shown(&plan), "c(b d)");
    assert_eq!(
        views(&plan, |_| true),
        ["R[b]", "S[c, b]", "V@b[c, b]", "T[c, d]", "V@c[b, d]"]
    );
    let mut chain = query.clone();
    chain.group_by = columns("1.c");
    chain.outputs = vec![group("2.c")];
    let plan = tables.plan(&chain);
    assert_eq!(shown(&plan), "c(b)");
}
