//! Cost of the dearest change of a view, as a power of the rows: engines are ranked by it.

use crate::plan::common::{Tables, aggregate, col, grouped};
use ringview_query::{Function, Query};
use ringview_view::{Candidate, Cost};

fn tables() -> Tables {
    Tables::new("R(A, B) S(B, C) T(C, A) P(A, D) U(C, D) X(E) Y(F) Z(G)")
}

fn counted(names: &[&str]) -> Query {
    Query {
        outputs: vec![aggregate("n", Function::Count, None)],
        ..tables().natural(names)
    }
}

fn change(tables: &Tables, query: &Query) -> Cost {
    tables.plan(query).change()
}

#[test]
fn what_is_met_by_key_alone_is_constant() {
    let star = grouped(counted(&["R", "P"]), "0.A");
    assert_eq!(change(&tables(), &star), Cost::Constant);
    assert_eq!(change(&tables(), &counted(&["R"])), Cost::Constant);
    assert_eq!(
        change(&tables(), &counted(&["X", "Y", "Z"])),
        Cost::Constant
    );
}

#[test]
fn a_group_that_is_walked_costs_its_rows() {
    assert_eq!(
        change(&tables(), &counted(&["R", "S", "U"])),
        Cost::Power(1.0)
    );
    // Two variables are open, and one relation has both.
    assert_eq!(
        change(&tables(), &counted(&["R", "S", "T"])),
        Cost::Power(1.0)
    );
    let pairs = grouped(counted(&["X", "Y"]), "0.E 1.F");
    assert_eq!(change(&tables(), &pairs), Cost::Power(1.0));
}

#[test]
fn groups_of_several_relations_cost_as_their_join_may_have_rows() {
    let triples = grouped(counted(&["X", "Y", "Z"]), "0.E 1.F 2.G");
    assert_eq!(change(&tables(), &triples), Cost::Power(2.0));
    // One of R brings a C from all of S, and meets all of X.
    let triangles = grouped(counted(&["X", "R", "S", "T"]), "0.E 1.A 1.B 2.C");
    assert_eq!(change(&tables(), &triangles), Cost::Power(2.0));
    // One of X meets all triangles, of which there are N^1.5 at the most.
    let still = tables().fixed(&["R", "S", "T"]);
    assert_eq!(change(&still, &triangles), Cost::Power(1.5));
}

#[test]
fn unique_keys_and_static_tables_make_changes_cheaper() {
    let path = counted(&["R", "S", "U"]);
    assert_eq!(change(&tables(), &path), Cost::Power(1.0));
    let unique = |info: &mut ringview_query::TableInfo| info.unique = Some(vec![0]);
    let keyed = tables().with("S", unique).with("U", unique);
    assert_eq!(change(&keyed, &path), Cost::Constant);
    let still = tables().fixed(&["S", "U"]);
    assert_eq!(change(&still, &path), Cost::Constant);
}

#[test]
fn values_in_their_order_cost_a_logarithm() {
    let least = |function| Query {
        outputs: vec![aggregate("m", function, Some(col("0.B")))],
        ..tables().natural(&["R"])
    };
    let by_a = |function| grouped(least(function), "0.A");
    assert_eq!(change(&tables(), &by_a(Function::Min)), Cost::Logarithmic);
    assert_eq!(
        change(&tables(), &by_a(Function::CountDistinct)),
        Cost::Constant
    );
    // Beside a join the values are those of its rows: one of P brings a group of R.
    let joined = Query {
        outputs: vec![aggregate("m", Function::Min, Some(col("0.B")))],
        ..tables().natural(&["R", "P"])
    };
    assert_eq!(change(&tables(), &grouped(joined, "0.A")), Cost::Power(1.0));
}
