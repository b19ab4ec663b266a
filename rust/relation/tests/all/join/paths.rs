//! Results of compiling a rule, and rules that make no sense.

use ringview_relation::join::Access;

use crate::join::common::{House, join, level, relation};
use crate::join::streams::triangle;

fn house(fields: &[usize]) -> House {
    let relations = fields.iter().map(|&fields| relation("V", fields));
    House::new(relations.collect())
}

#[test]
fn a_bound_key_is_probed_and_a_part_of_it_walked() {
    for intersect in [false, true] {
        let house = triangle(&[], intersect);
        let level = &house.paths[0].levels[0];
        let walk = Access::Walk {
            index: 0,
            bound: vec![1],
            fetch: vec![(1, 2)],
        };
        assert_eq!(level.steps[0].access, walk);
        assert_eq!(level.steps[0].live, [0, 2]);
        assert_eq!(level.steps[0].intersected.len(), usize::from(intersect));
        assert_eq!(level.steps[1].access, Access::Probe(vec![2, 0]));
        assert!(level.steps[1].last && level.steps[1].live.is_empty());
        assert_eq!(level.enter, [0, 1]);
        assert_eq!(house.paths[0].fields, [0, 1, 2]);
    }
}

#[test]
fn what_shares_nothing_is_scanned() {
    let mut house = house(&[1, 1, 1]);
    let levels = vec![level(vec![join(1, &[5])], 2, &[5], true)];
    let path = house.path(0, &[3], levels);
    let fetch = vec![(0, 1)];
    let step = &house.paths[path].levels[0].steps[0];
    assert_eq!(step.access, Access::Scan { fetch });
}

#[test]
#[should_panic(expected = "nothing on the path binds field 7")]
fn a_kept_field_must_be_bound() {
    let levels = vec![level(vec![join(1, &[5])], 2, &[7], true)];
    house(&[1, 1, 1]).path(0, &[3], levels);
}

#[test]
#[should_panic(expected = "the key of V has other fields than [5, 6]")]
fn a_relation_is_met_by_its_whole_key() {
    let levels = vec![level(vec![join(1, &[5, 6])], 2, &[5], true)];
    house(&[1, 1, 1]).path(0, &[3], levels);
}

#[test]
#[should_panic(expected = "a key has a field twice: [5, 5]")]
fn a_key_names_a_field_once() {
    let levels = vec![level(vec![join(1, &[5, 5])], 2, &[5], true)];
    house(&[1, 2, 1]).path(0, &[3], levels);
}

#[test]
#[should_panic(expected = "the path meets V, and adds to it")]
fn a_path_does_not_meet_what_it_adds_to() {
    let levels = vec![level(vec![join(1, &[3])], 1, &[3], true)];
    house(&[1, 1]).path(0, &[3], levels);
}
