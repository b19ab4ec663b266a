//! Machines against brute force after every single change, of streams that are made to hurt.
use proptest::prelude::*;
use ringview_epsilon::{Class, Epsilon, Query};
use ringview_relation::KeyField;

use crate::common::{Batch, EPSILONS, House, cycle, grouped, join, path, read, triangle};

/// Choice of the changes of a stream.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Inserts,
    Deletes,
    /// One vertex takes part in everything.
    Hub,
    /// The same few tuples are inserted and deleted.
    Toggle,
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Inserts),
        Just(Kind::Deletes),
        Just(Kind::Hub),
        Just(Kind::Toggle),
    ]
}

/// Raw numbers that a stream is made from: relation, values, how often.
type Raw = (usize, Vec<i64>, i64, bool);

fn raw() -> impl Strategy<Value = Vec<Raw>> {
    let one = (
        0..60usize,
        prop::collection::vec(0..7i64, 5),
        1..3i64,
        any::<bool>(),
    );
    prop::collection::vec(one, 1..90)
}

fn play(mut house: House, kind: Kind, raw: &[Raw]) {
    for (at, (relation, values, times, flag)) in raw.iter().enumerate() {
        let relation = relation % house.fields.len();
        let width = house.fields[relation].len();
        let mut tuple: Vec<i64> = values[..width].to_vec();
        if matches!(kind, Kind::Hub) {
            tuple[usize::from(*flag) % width] = 0;
        }
        if matches!(kind, Kind::Toggle) {
            tuple.iter_mut().for_each(|value| *value %= 2);
        }
        let present = house.times(relation, &tuple);
        let deletes = match kind {
            Kind::Inserts => at % 7 == 6,
            Kind::Deletes => at * 2 > raw.len(),
            Kind::Hub | Kind::Toggle => present > 0 && *flag,
        };
        let change = match deletes && present > 0 {
            true => -present.min(*times),
            false => *times,
        };
        house.change(relation, &[(tuple, change)], at % 5 == 4);
    }
    // All tuples are deleted again, one by one.
    for relation in 0..house.fields.len() {
        for (tuple, times) in house.tuples(relation) {
            house.change(relation, &[(tuple, -times)], false);
        }
    }
    assert_eq!(house.size(), 0);
}

/// A join, its groups, and the relation that they are read from.
type Read<'a> = (&'a [&'a [usize]], &'a [usize], usize);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 3))]

    #[test]
    fn triangles_are_counted(raw in raw(), kind in kinds(), at in 0..EPSILONS.len()) {
        play(triangle([EPSILONS[at]; 3]), kind, &raw);
    }

    /// Some of more than 32 bits are inserted among others, and deleted: prints of values are whole, or are not.
    #[test]
    fn triangles_of_values_of_any_size_are_counted(raw in raw(), kind in kinds(), own in any::<bool>()) {
        let sizes = |value: i64| [value, -value, value << 31, value << 40, 1 - (value << 32)][value as usize % 5];
        let raw: Vec<Raw> = raw
            .iter()
            .enumerate()
            .map(|(at, (relation, values, times, flag))| {
                let far = |value: &i64| if at > 9 { sizes(*value) } else { *value };
                (*relation, values.iter().map(far).collect(), *times, *flag)
            })
            .collect();
        play(if own { cycle(0.5) } else { triangle([0.5; 3]) }, kind, &raw);
    }

    #[test]
    fn triangles_are_counted_where_epsilons_differ(
        raw in raw(),
        kind in kinds(),
        at in prop::array::uniform3(0..EPSILONS.len()),
    ) {
        play(triangle(at.map(|at| EPSILONS[at])), kind, &raw);
    }

    #[test]
    fn one_relation_closes_its_own_triangles(
        raw in raw(),
        kind in kinds(),
        at in 0..EPSILONS.len(),
    ) {
        play(cycle(EPSILONS[at]), kind, &raw);
    }

    /// Joins on tuples of variables, with variables that all three have, and paths.
    #[test]
    fn all_joins_of_three_relations_are_counted(
        raw in raw(),
        kind in kinds(),
        at in 0..EPSILONS.len(),
        form in 0..6usize,
    ) {
        let fields: [&[usize]; 3] = [
            [&[0, 1, 3][..], &[1, 2, 3], &[3, 2, 0]],
            [&[0, 1, 3], &[3, 1, 2], &[2, 0]],
            [&[0, 1], &[1], &[0]],
            [&[1], &[2, 1], &[2]],
            [&[0, 3], &[2, 3], &[3, 2, 0]],
            [&[3, 0, 1], &[1, 3], &[0, 3]],
        ][form];
        play(join(&fields, &[EPSILONS[at]; 3]), kind, &raw);
    }

    /// Of degree 4 and 5, with keys that are tuples, with a variable that all have, and with keys that
    /// are not there.
    #[test]
    fn loomis_whitney_joins_are_counted(
        raw in raw(),
        kind in kinds(),
        at in 0..EPSILONS.len(),
        form in 0..6usize,
    ) {
        let forms: [&[&[usize]]; 6] = [
            &[&[0, 1, 2], &[1, 2, 3], &[2, 3, 0], &[3, 0, 1]],
            &[&[0, 1, 2, 3], &[1, 2, 3, 4], &[2, 3, 4, 0], &[3, 4, 0, 1], &[4, 0, 1, 2]],
            &[&[0, 4, 1, 2], &[1, 2, 3], &[2, 3, 0, 4], &[3, 4, 0, 1]],
            &[&[0, 1, 2, 4], &[1, 2, 3, 4], &[4, 2, 3, 0], &[3, 0, 1, 4]],
            &[&[0, 1], &[1, 0], &[0], &[1]],
            &[&[0, 1, 2], &[1, 2], &[2, 0], &[0, 1]],
        ];
        let fields = forms[form];
        play(join(fields, &vec![EPSILONS[at]; fields.len()]), kind, &raw);
    }

    #[test]
    fn loomis_whitney_joins_are_counted_where_epsilons_differ(
        raw in raw(),
        kind in kinds(),
        at in prop::array::uniform4(0..EPSILONS.len()),
    ) {
        let fields: [&[usize]; 4] = [&[0, 1, 2], &[1, 2, 3], &[2, 3, 0], &[3, 0, 1]];
        play(join(&fields, &at.map(|at| EPSILONS[at])), kind, &raw);
    }

    /// In any order, on tuples of variables, and with a variable that all have.
    #[test]
    fn paths_are_counted(
        raw in raw(),
        kind in kinds(),
        at in prop::array::uniform4(0..EPSILONS.len()),
        alike in any::<bool>(),
        form in 0..4usize,
    ) {
        let (fields, order): ([&[usize]; 4], [usize; 4]) = [
            ([&[0][..], &[0, 1], &[1, 2], &[2]], [0, 1, 2, 3]),
            ([&[0, 1], &[2], &[2, 1], &[0]], [1, 2, 0, 3]),
            ([&[0, 3], &[3, 1, 0], &[1, 2], &[2]], [0, 1, 2, 3]),
            ([&[0, 3], &[3, 0, 1], &[1, 2, 3], &[3, 2]], [0, 1, 2, 3]),
        ][form];
        let epsilons = at.map(|own| EPSILONS[if alike { at[0] } else { own }]);
        play(path(&fields, order, &epsilons), kind, &raw);
    }

    /// Every relation has what the result is grouped by.
    #[test]
    fn groups_are_counted(
        raw in raw(),
        kind in kinds(),
        at in 0..EPSILONS.len(),
        form in 0..3usize,
    ) {
        let (fields, groups): ([&[usize]; 3], &[usize]) = [
            ([&[0, 1, 3][..], &[1, 2, 3], &[3, 2, 0]], &[3][..]),
            ([&[0, 1, 3], &[3, 1], &[0, 3]], &[3]),
            ([&[4, 0, 1, 3], &[1, 2, 3, 4], &[3, 2, 4, 0]], &[3, 4]),
        ][form];
        play(grouped(&fields, groups, &[EPSILONS[at]; 3]), kind, &raw);
    }

    /// Groups by what one relation has are read, all and one by one: edges and vertices of triangles, tuples,
    /// of joins of four relations too.
    #[test]
    fn groups_of_one_relation_are_read(
        raw in raw(),
        kind in kinds(),
        at in 0..EPSILONS.len(),
        form in 0..9usize,
    ) {
        let triangle: &[&[usize]] = &[&[0, 1], &[1, 2], &[2, 0]];
        let tuples: &[&[usize]] = &[&[0, 1, 3], &[3, 1, 2], &[2, 0]];
        let four: &[&[usize]] = &[&[0, 1, 2], &[1, 2, 3], &[2, 3, 0], &[3, 0, 1]];
        let row: &[&[usize]] = &[&[0], &[0, 1], &[1, 2], &[2]];
        let forms: [Read<'_>; 9] = [
            (triangle, &[0, 1], 0),
            (triangle, &[0], 2),
            (triangle, &[2, 1], 1),
            (tuples, &[3, 0], 0),
            (&[&[0, 1], &[1], &[0]], &[1], 1),
            (four, &[0, 2], 2),
            (row, &[1, 0], 1),
            (row, &[2], 2),
            (row, &[0], 0),
        ];
        let (fields, groups, from) = forms[form];
        play(read(fields, groups, from, &vec![EPSILONS[at]; fields.len()]), kind, &raw);
    }

    /// The result is grouped by what two relations have, and the third never changes.
    #[test]
    fn groups_of_what_changes_are_counted(raw in raw(), at in 0..EPSILONS.len()) {
        let mut house = grouped(&[&[0, 1], &[1, 2], &[2, 0]], &[0], &[EPSILONS[at]; 3]);
        let still: Batch = raw.iter().map(|(_, values, times, _)| (values[2..4].to_vec(), *times)).collect();
        house.load(&[(1, still)]);
        for (step, (relation, values, times, flag)) in raw.iter().enumerate() {
            let relation = 2 * (relation % 2);
            let tuple = values[..2].to_vec();
            let present = house.times(relation, &tuple);
            let times = if *flag && present > 0 { -present } else { *times };
            house.change(relation, &[(tuple, times)], step % 5 == 4);
        }
    }

    #[test]
    fn batches_are_as_single_changes(
        batches in prop::collection::vec(
            (0..3usize, prop::collection::vec((0..6i64, 0..6i64, 0..3i64), 1..20)),
            1..12,
        ),
        at in 0..EPSILONS.len(),
        own in any::<bool>(),
    ) {
        let mut house = match own {
            true => cycle(EPSILONS[at]),
            false => triangle([EPSILONS[at]; 3]),
        };
        for (step, (relation, rows)) in batches.iter().enumerate() {
            let relation = relation % house.fields.len();
            let mut batch: Vec<(Vec<i64>, i64)> = Vec::new();
            for &(a, b, times) in rows {
                batch.push((vec![a, b], times));
            }
            // Rows of the batch before may leave with it.
            for (tuple, times) in house.tuples(relation).into_iter().take(step) {
                batch.push((tuple, -times));
            }
            house.change(relation, &batch, step % 3 == 1);
        }
    }
}

/// All ways to insert three tuples over two values and to delete them again.
#[test]
fn the_smallest_sizes_are_right() {
    for epsilon in EPSILONS {
        for ways in 0..2 * 64 {
            let mut house = match ways % 2 {
                0 => cycle(epsilon),
                _ => triangle([epsilon; 3]),
            };
            let relations = house.fields.len();
            let edge = |at: usize| {
                let code = (ways / 2) >> (2 * at) & 3;
                vec![code as i64 & 1, code as i64 >> 1]
            };
            for times in [1, -1] {
                for at in 0..3 {
                    house.change(at % relations, &[(edge(at), times)], at == 1);
                }
            }
            assert_eq!(house.machine.size().1, 0);
        }
    }
}

#[test]
fn joins_of_no_class_are_refused_with_the_reason() {
    let word = KeyField {
        bits: 64,
        signed: true,
    };
    let class = |fields: &[&[usize]]| {
        let query = Query {
            fields: fields.iter().map(|own| own.to_vec()).collect(),
            packing: vec![word; 5],
            groups: Vec::new(),
            read_from: None,
        };
        query.class()
    };
    assert_eq!(class(&[&[0, 1], &[1, 2], &[2, 0]]), Ok(Class::Three));
    assert_eq!(class(&[&[0, 1], &[1], &[0]]), Ok(Class::Two));
    let degree = [&[0, 1, 2][..], &[1, 2, 3], &[2, 3, 0], &[3, 0, 1]];
    assert_eq!(class(&degree), Ok(Class::LoomisWhitney(4)));
    for path in [
        [&[0][..], &[0, 1], &[1, 2], &[2]],
        [&[1, 2], &[2], &[0], &[1, 0]],
    ] {
        assert_eq!(class(&path), Ok(Class::Path));
    }
    let hierarchical: [&[&[usize]]; 4] = [
        &[&[0], &[0], &[0]],
        &[&[0, 1], &[0, 1], &[0]],
        &[&[0], &[0]],
        &[&[0, 1], &[0, 1], &[0, 2], &[0, 2]],
    ];
    for hierarchical in hierarchical {
        let refused = class(hierarchical).unwrap_err();
        assert!(refused.why.contains("hierarchical"), "{refused:?}");
        assert!(refused.instead.contains("view tree"), "{refused:?}");
    }
    let alone = class(&[&[0, 1, 3], &[1, 2], &[2, 0]]).unwrap_err();
    assert!(alone.why.contains("one relation alone"), "{alone:?}");
    // A cycle of four, and a path of five.
    let others: [&[&[usize]]; 2] = [
        &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]],
        &[&[0], &[0, 1], &[1, 2], &[2, 3], &[3]],
    ];
    for other in others {
        let refused = class(other).unwrap_err();
        assert!(refused.why.contains("is in 2 of"), "{refused:?}");
    }
}

#[test]
fn epsilons_are_numbers_from_0_to_1() {
    for epsilon in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        let refused = Epsilon::new(epsilon).unwrap_err();
        assert!(refused.why.contains("from 0 to 1"), "{refused:?}");
    }
    assert_eq!(Epsilon::new(0.5), Ok(Epsilon::HALF));
}
