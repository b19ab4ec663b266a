//! Conditions hold exactly where comparing the clock at each moment says so.

use proptest::prelude::*;

use super::calendar::DAY;
use super::{Clock, ClockStep, Comparison, Interval, TimeCondition};
use ringview_expr::Scalar;

/// Quarters of a day, so that all interesting moments are a few.
const TICK: i64 = DAY / 4;

fn step() -> impl Strategy<Value = ClockStep> {
    let shift = (-40_i64..40).prop_map(|ticks| ClockStep::Shift {
        by: Interval {
            months: 0,
            micros: ticks * TICK,
        },
    });
    let floor = prop_oneof![Just(1_i64), Just(4), Just(28), Just(6)];
    let floor = (floor, -9_i64..9).prop_map(|(ticks, origin)| ClockStep::Floor {
        width: ticks * TICK,
        origin: origin * TICK,
    });
    let months = prop_oneof![Just(1), Just(3), Just(12)];
    let months = months.prop_map(|count| ClockStep::Months { count });
    prop_oneof![shift, floor, months]
}

fn clock() -> impl Strategy<Value = Clock> {
    let months = prop::option::of((-14_i32..14, -3_i64..3));
    let steps = prop::collection::vec(step(), 0..3);
    (steps, months, 0_usize..3).prop_map(|(mut steps, months, at)| {
        if let Some((months, ticks)) = months {
            let by = Interval {
                months,
                micros: ticks * TICK,
            };
            steps.insert(at.min(steps.len()), ClockStep::Shift { by });
        }
        Clock {
            steps,
            text: String::new(),
        }
    })
}

fn compare(op: Comparison, left: i64, right: i64) -> bool {
    match op {
        Comparison::Eq => left == right,
        Comparison::Ne => left != right,
        Comparison::Lt => left < right,
        Comparison::Le => left <= right,
        Comparison::Gt => left > right,
        Comparison::Ge => left >= right,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_condition_holds_where_it_says(
        clock in clock(),
        op in prop_oneof![
            Just(Comparison::Eq), Just(Comparison::Ne), Just(Comparison::Lt),
            Just(Comparison::Le), Just(Comparison::Gt), Just(Comparison::Ge),
        ],
        value in 0_i64..2_000,
        offset in -1_i64..2,
    ) {
        let value = value * TICK + offset;
        let condition = TimeCondition { value: Scalar::column("moment"), op, clock };
        let spans = condition.holds(value);
        let ends: Vec<_> = spans.iter().collect();
        for pair in ends.windows(2) {
            prop_assert!(pair[0].1 < pair[1].0, "{ends:?}");
        }
        for tick in -600_i64..2_600 {
            for now in [tick * TICK - 1, tick * TICK, tick * TICK + 1] {
                let expected = compare(op, value, condition.clock.at(now));
                prop_assert_eq!(spans.contains(now), expected, "{} of {:?}", now, ends);
            }
        }
    }

    #[test]
    fn an_interval_is_read_as_it_is_written(months in -30_i32..30, micros in any::<i64>()) {
        let interval = Interval { months, micros };
        prop_assume!(micros != i64::MIN);
        prop_assert_eq!(interval.to_string().parse::<Interval>().unwrap(), interval);
    }
}

#[test]
fn intervals_that_are_none_are_refused() {
    for text in [
        "",
        "7",
        "days",
        "7 moons",
        "1.5 days",
        "7 days 3",
        "9999999999 months",
    ] {
        assert!(text.parse::<Interval>().is_err(), "{text}");
    }
}
