//! A relation against an ordered map of exact sums, under random transactions.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringview_core::Error;
use ringview_relation::{
    Delta, GatherScratch, KeyField, KeyLayout, KeyScratch, KeyedTable, Keys, Relation,
};
use ringview_ring::{NumberKind, PayloadRing, SumProduct, SumProductShape};

/// Count and sum of each key.
type Model = BTreeMap<i64, (i64, i128)>;

/// A key, its number of rows, and the amount added to its sum.
type Row = (i64, i64, i64);

const WORD: KeyField = KeyField {
    bits: 64,
    signed: true,
};

fn relation() -> Relation<SumProduct> {
    let shape = SumProductShape::new(&[NumberKind::Integer, NumberKind::Integer]);
    let table = KeyedTable::new(KeyLayout::new(&[WORD]), SumProduct::stride(&shape));
    Relation::new("R".to_owned(), shape, Some(table))
}

fn add(relation: &mut Relation<SumProduct>, rows: &[Row]) {
    let mut delta = Delta::with_registers(1);
    for &(key, count, sum) in rows {
        delta.columns[0].push(key as u64);
        delta.payload.extend([count as u64, sum as u64]);
    }
    (delta.rows, delta.width) = (rows.len(), 2);
    relation.reached_by(rows.len());
    let (mut scratch, mut gather) = (KeyScratch::default(), GatherScratch::default());
    relation
        .add(&mut delta, &[0], &mut scratch, &mut gather)
        .unwrap();
}

fn held(relation: &Relation<SumProduct>) -> Model {
    let table = relation.table().unwrap();
    table.check();
    let row = |slot| {
        let payload = table.payload(slot);
        let sum = i128::from(payload[1] as i64);
        (table.field(slot, 0) as i64, (payload[0] as i64, sum))
    };
    table.iter().map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    /// Sums may pass out of range within a transaction; one that ends there does not fit, and is
    /// undone.
    #[test]
    fn sums_are_exact_or_do_not_fit(
        transactions in prop::collection::vec(
            (
                prop::collection::vec(
                    prop::collection::vec(
                        (0i64..5, -1i64..3, prop_oneof![-9i64..9, Just(i64::MAX), Just(-i64::MAX)]),
                        0..12,
                    ),
                    1..4,
                ),
                prop::bool::weighted(0.2),
            ),
            1..12,
        ),
    ) {
        let (mut found, mut model, mut updates) = (relation(), Model::new(), 0);
        for (batches, undo) in transactions {
            let (mut after, mut rows) = (model.clone(), 0);
            for batch in &batches {
                add(&mut found, batch);
                rows += batch.len() as u64;
                for &(key, count, sum) in batch {
                    let entry = after.entry(key).or_default();
                    *entry = (entry.0 + count, entry.1 + i128::from(sum));
                }
            }
            let fits = after.values().all(|(_, sum)| i64::try_from(*sum).is_ok());
            prop_assert_eq!(found.fits(), fits);
            prop_assert_eq!(found.reached(), updates + rows);
            if undo || !fits {
                found.rollback();
            } else {
                found.commit();
                after.retain(|_, entry| *entry != (0, 0));
                (model, updates) = (after, updates + rows);
            }
            prop_assert_eq!(held(&found), model.clone());
            prop_assert_eq!(found.updates(), updates);
            prop_assert!(found.fits());
        }
    }
}

/// Keys in ascending order, dense or far apart.
fn ascending() -> impl Strategy<Value = Vec<Row>> {
    let row = (1i64..3, prop_oneof![Just(0i64), -1i64..3], -9i64..9);
    let rows = prop::collection::vec(row, 0..200);
    (rows, prop_oneof![Just(1), Just(1i64 << 40)], -50i64..50).prop_map(|(rows, apart, first)| {
        let mut last = first * apart;
        let mut next = |step| {
            last += step * apart;
            last
        };
        let rows = rows.into_iter();
        rows.map(|(step, count, sum)| (next(step), count, sum))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    /// Rows that fill a relation in the order of their keys are not looked up, and the result is as if they had been
    /// added row by row: the slots, the index, the undone changes, and later additions.
    #[test]
    fn keys_in_their_order_fill_a_relation_as_any_do(
        rows in ascending(), later in prop::collection::vec((-60i64..500, -1i64..3, -9i64..9), 0..40), undo in any::<bool>(),
    ) {
        let (mut together, mut apart) = (relation(), relation());
        let index = together.table_mut().unwrap().add_index(&[]);
        for relation in [&mut together, &mut apart] {
            if undo {
                add(relation, &rows);
                relation.rollback();
            }
        }
        add(&mut together, &rows);
        rows.iter().for_each(|row| add(&mut apart, std::slice::from_ref(row)));
        for relation in [&mut together, &mut apart] {
            relation.commit();
        }
        prop_assert_eq!(held(&together), held(&apart));
        let slots = |relation: &Relation<SumProduct>| -> Vec<(u32, u64)> {
            let table = relation.table().unwrap();
            table.iter().map(|slot| (slot, table.field(slot, 0))).collect()
        };
        prop_assert_eq!(slots(&together), slots(&apart));
        for relation in [&mut together, &mut apart] {
            add(relation, &later);
            relation.commit();
        }
        prop_assert_eq!(held(&together), held(&apart));
        let table = together.table_mut().unwrap();
        table.refresh_index(index);
        table.check();
        let (mut scratch, mut slots) = (KeyScratch::default(), Vec::new());
        let all = Keys { columns: &[], fields: &[], rows: 1 };
        table.index_at(index).find(all, &mut scratch, &mut slots);
        prop_assert_eq!(table.index_at(index).length(slots[0]), table.len());
    }
}

#[test]
fn a_sum_that_does_not_fit_is_told_with_its_place() {
    let mut relation = relation();
    add(&mut relation, &[(3, 1, i64::MAX), (3, 1, 1)]);
    assert!(!relation.fits());
    let fault = ringview_ring::Overflow { component: 1 };
    let Error::Overflow { place } = relation.refusal(fault) else {
        panic!("another error")
    };
    assert_eq!(place, "a sum or count of R");
    add(&mut relation, &[(3, 0, -1)]);
    assert!(relation.fits());
    relation.commit();
    assert_eq!(
        held(&relation),
        Model::from([(3, (2, i128::from(i64::MAX)))])
    );
}

#[test]
fn what_is_rewritten_in_a_transaction_is_undone_with_it() {
    let mut relation = relation();
    add(&mut relation, &[(1, 1, 10), (2, 1, 20)]);
    relation.commit();
    let before = held(&relation);
    assert_eq!(relation.rewrite(|payload| payload[1] += 5), 2);
    assert_eq!(held(&relation)[&1], (1, 15));
    relation.rollback();
    assert_eq!(held(&relation), before);
}

#[test]
fn one_that_is_not_kept_takes_nothing_in() {
    let mut relation = relation();
    add(&mut relation, &[(1, 1, 10)]);
    relation.commit();
    relation.release();
    assert!(relation.table().is_none() && relation.filled().is_none());
    add(&mut relation, &[(1, 1, 10)]);
    assert!(relation.commit().is_none() && relation.payloads().words().is_empty());
    assert_eq!(relation.updates(), 2);
}
