//! Round trips of every type through the encoding.
use std::sync::Arc;

use arrow_array::*;
use proptest::prelude::*;
use ringview_core::{Error, TimeUnit, Type};

use crate::common::{DECIMAL, through, timestamp};

macro_rules! round_trip {
    ($name:ident, $array:ty, $native:ty, $ty:expr, $values:expr) => {
        proptest! {
            #[test]
            fn $name(values in prop::collection::vec(prop::option::weighted(0.8, $values), 0..70),
                     start in 0..70_usize) {
                let array: $array = values.iter().cloned().collect::<Vec<Option<$native>>>().into();
                let start = start.min(array.len());
                let array: ArrayRef = Arc::new(array.slice(start, array.len() - start));
                let back = through(array.clone(), &$ty, true).unwrap();
                prop_assert_eq!(back.as_ref(), array.as_ref());
            }
        }
    };
}

round_trip!(bools, BooleanArray, bool, Type::Bool, any::<bool>());
round_trip!(int8s, Int8Array, i8, Type::Int8, any::<i8>());
round_trip!(int16s, Int16Array, i16, Type::Int16, any::<i16>());
round_trip!(int32s, Int32Array, i32, Type::Int32, any::<i32>());
round_trip!(int64s, Int64Array, i64, Type::Int64, any::<i64>());
round_trip!(uint8s, UInt8Array, u8, Type::UInt8, any::<u8>());
round_trip!(uint16s, UInt16Array, u16, Type::UInt16, any::<u16>());
round_trip!(uint32s, UInt32Array, u32, Type::UInt32, any::<u32>());
round_trip!(uint64s, UInt64Array, u64, Type::UInt64, any::<u64>());
round_trip!(
    float32s,
    Float32Array,
    f32,
    Type::Float32,
    any::<f32>().prop_map(|x| x + 0.0)
);
round_trip!(
    float64s,
    Float64Array,
    f64,
    Type::Float64,
    any::<f64>().prop_map(|x| x + 0.0)
);
round_trip!(dates, Date32Array, i32, Type::Date32, any::<i32>());
round_trip!(strings, StringArray, String, Type::Utf8, "\\PC{0,4}|zero");
round_trip!(
    seconds,
    TimestampSecondArray,
    i64,
    timestamp(TimeUnit::Second),
    any::<i64>()
);
round_trip!(
    millis,
    TimestampMillisecondArray,
    i64,
    timestamp(TimeUnit::Millisecond),
    any::<i64>()
);
round_trip!(
    micros,
    TimestampMicrosecondArray,
    i64,
    timestamp(TimeUnit::Microsecond),
    any::<i64>()
);
round_trip!(
    nanos,
    TimestampNanosecondArray,
    i64,
    timestamp(TimeUnit::Nanosecond),
    any::<i64>()
);

proptest! {
    #[test]
    fn decimal128s(values in prop::collection::vec(prop::option::of(any::<i128>()), 0..70)) {
        let values: Vec<_> = values.iter().map(|v| v.map(|v| v % 10_i128.pow(38))).collect();
        let array = Decimal128Array::from(values).with_precision_and_scale(38, 4).unwrap();
        let array: ArrayRef = Arc::new(array);
        let back = through(array.clone(), &DECIMAL, true).unwrap();
        prop_assert_eq!(back.as_ref(), array.as_ref());
    }

    #[test]
    fn integers_convert_exactly_or_not_at_all(values in prop::collection::vec(
        prop_oneof![any::<i64>(), -300..300_i64, any::<i32>().prop_map(i64::from)], 1..6)) {
        let array: ArrayRef = Arc::new(Int64Array::from(values.clone()));
        for ty in [Type::Int8, Type::UInt8, Type::Int32, Type::UInt32, Type::UInt64] {
            let (low, high) = ty.integer_range().unwrap();
            let unrepresentable = values.iter().position(|&v| !(low..=high).contains(&i128::from(v)));
            match (through(array.clone(), &ty, false), unrepresentable) {
                (Ok(back), None) => {
                    let texts = |a: &dyn Array| format!("{a:?}").split_once('[').unwrap().1.to_owned();
                    prop_assert_eq!(texts(&back), texts(&array));
                }
                (Err(Error::Value { place, problem }), Some(row)) => {
                    prop_assert_eq!(place, format!("row {}, column \"x\" of table \"t\"", 100 + row));
                    prop_assert_eq!(problem, format!("{} does not fit {ty} ({low} to {high})", values[row]));
                }
                (outcome, unrepresentable) => prop_assert!(false, "{:?} {:?}", outcome, unrepresentable),
            }
        }
    }
}
