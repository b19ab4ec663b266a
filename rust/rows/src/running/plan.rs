//! Functions that are found by numbers and sums of the rows before a row.
//!
//! Invariant: the frames of all of them begin with their partition, and end with the row, with the rows that are equal to it
//! in the order, or with the partition. Cost: O(functions).

use arrow_schema::DataType;
use ringview_core::{Error, Result, Schema, Type};
use ringview_query::{Bound, Call, FrameEnd as End, Parted, Rows};

use crate::numbers::NARROW;

/// Kind of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Rank,
    DenseRank,
    /// Number of rows that take part; `None` for all.
    Count(Option<usize>),
    /// The sum at a weight of the rows, whose number is counted as by `Count`.
    Sum {
        at: usize,
        count: Option<usize>,
        scale: i8,
        is_wide: bool,
    },
    Average {
        at: usize,
        count: Option<usize>,
        scale: i8,
    },
    /// A sum of doubles, or their average: added up one behind the other.
    Real {
        of: usize,
        filter: Option<usize>,
        is_average: bool,
    },
    /// The least or greatest value.
    Extreme {
        of: usize,
        filter: Option<usize>,
        is_greatest: bool,
    },
    /// The value of the row of a number, counted from 0.
    Nth {
        of: usize,
        number: i64,
    },
    /// The value of the last row.
    Last {
        of: usize,
    },
}

/// A function with its frame.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) what: What,
    pub(super) end: End,
}

/// Weight that is summed over the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) of: Option<usize>,
    pub(super) filter: Option<usize>,
    pub(super) kind: Kind,
}

/// In which way a value is a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// 1 for each that takes part.
    Count,
    /// Itself.
    Sum,
    /// More than its magnitude, in units of 2^40.
    Size,
}

/// Functions, and their weights.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) functions: Vec<Function>,
    pub(super) weights: Vec<Weight>,
    /// Whether some function reads the number of rows, or of different values in the order.
    pub(super) counts: bool,
    pub(super) leads: bool,
    /// Whether some function needs all rows of a partition, one behind the other.
    pub(super) walks: bool,
}

impl Plan {
    /// That of a definition over rows of a schema; none where one of its functions is computed otherwise.
    pub(super) fn of(definition: &Parted, schema: &Schema) -> Result<Option<Self>> {
        if definition.grouped {
            return Ok(None);
        }
        let mut plan = Self::default();
        for call in &definition.calls {
            match plan.function(call, schema, definition.order.is_empty())? {
                Some(function) => plan.functions.push(function),
                None => return Ok(None),
            }
        }
        for Function { what, end, .. } in &plan.functions {
            plan.leads |= *what == What::DenseRank;
            plan.counts |= match what {
                What::Rank | What::Nth { .. } => true,
                What::Count(at) => at.is_none(),
                What::Sum { count, .. } | What::Average { count, .. } => count.is_none(),
                _ => false,
            };
            plan.walks |= match what {
                What::Real { .. } | What::Extreme { .. } => true,
                What::Last { .. } => *end == End::All,
                _ => false,
            };
        }
        Ok(Some(plan))
    }

    fn function(
        &mut self,
        call: &Call,
        schema: &Schema,
        is_unordered: bool,
    ) -> Result<Option<Function>> {
        let frame = call.frame.as_ref();
        let Some(end) = frame.and_then(|frame| End::of(frame, is_unordered)) else {
            // Numbers of rows do not look at it.
            return Ok(numbered(call));
        };
        let is_plain = call.order.is_empty() && !call.distinct && !call.ignore_nulls;
        if let Some(function) = numbered(call) {
            return Ok(Some(function).filter(|_| is_plain));
        }
        let [of, filter] = [call.arguments.first(), call.filter.as_ref()]
            .map(|name| name.map(|name| schema.index_of(name)).transpose());
        let (of, filter) = (of?, filter?);
        if !is_plain || call.arguments.len() > 1 {
            return Ok(None);
        }
        let nth = || {
            let number = call.constants.first()?.parse::<i64>().ok()?;
            (number > 0).then_some(number - 1)
        };
        let what = match (call.function.as_str(), of) {
            ("count", of) if call.constants.is_empty() => {
                Some(What::Count(self.counted(of, filter, schema)))
            }
            ("sum" | "avg" | "mean", Some(of)) if call.constants.is_empty() => {
                self.summed(call.function != "sum", (of, filter), schema)
            }
            ("min" | "max", Some(of)) if call.constants.is_empty() => {
                let is_float = matches!(schema.fields()[of].ty, Type::Float32 | Type::Float64);
                (!is_float).then_some(What::Extreme {
                    of,
                    filter,
                    is_greatest: call.function == "max",
                })
            }
            ("first_value", Some(of)) if filter.is_none() => Some(What::Nth { of, number: 0 }),
            ("nth_value", Some(of)) if filter.is_none() => {
                nth().map(|number| What::Nth { of, number })
            }
            ("last_value", Some(of)) if filter.is_none() => Some(What::Last { of }),
            _ => None,
        };
        let name = call.name.clone();
        Ok(what.map(|what| Function { name, what, end }))
    }

    /// The weight that counts the rows that take part; none where all do.
    fn counted(
        &mut self,
        of: Option<usize>,
        filter: Option<usize>,
        schema: &Schema,
    ) -> Option<usize> {
        let of = of.filter(|&of| schema.fields()[of].nullable);
        let takes_all = of.is_none() && filter.is_none();
        (!takes_all).then(|| self.weight(of, filter, Kind::Count))
    }

    fn summed(
        &mut self,
        is_average: bool,
        (of, filter): (usize, Option<usize>),
        schema: &Schema,
    ) -> Option<What> {
        let ty = &schema.fields()[of].ty;
        let (scale, digits) = match ty.to_arrow() {
            DataType::Float32 | DataType::Float64 => {
                return Some(What::Real {
                    of,
                    filter,
                    is_average,
                });
            }
            DataType::Decimal128(digits, scale) => (scale, digits),
            DataType::Boolean => (0, 1),
            other if other.is_integer() => (0, 20),
            _ => return None,
        };
        let count = self.counted(Some(of), filter, schema);
        let at = self.weight(Some(of), filter, Kind::Sum);
        let is_wide = digits > NARROW;
        if is_wide {
            self.weight(Some(of), filter, Kind::Size);
        }
        Some(if is_average {
            What::Average { at, count, scale }
        } else {
            What::Sum {
                at,
                count,
                scale,
                is_wide,
            }
        })
    }

    fn weight(&mut self, of: Option<usize>, filter: Option<usize>, kind: Kind) -> usize {
        let weight = Weight { of, filter, kind };
        let known = self.weights.iter().position(|known| *known == weight);
        known.unwrap_or_else(|| {
            self.weights.push(weight);
            self.weights.len() - 1
        })
    }

    /// The name of a function that reads a weight.
    pub(super) fn name_of(&self, weight: &Weight) -> String {
        let reads = |one: &&Function| match one.what {
            What::Sum { at, .. } | What::Average { at, .. } => {
                let own = &self.weights[at];
                own.of == weight.of && own.filter == weight.filter
            }
            _ => false,
        };
        let found = self.functions.iter().find(reads);
        found.map(|one| one.name.clone()).unwrap_or_default()
    }

    /// Whether some function shows values of other rows.
    pub(super) fn reads_other_rows(&self) -> bool {
        let mut all = self.functions.iter();
        all.any(|function| {
            matches!(
                function.what,
                What::Extreme { .. } | What::Nth { .. } | What::Last { .. }
            )
        })
    }
}

/// A sum that does not fit.
pub(super) fn overflow(name: &str) -> Error {
    Error::Overflow {
        place: format!("the expression {name}"),
    }
}

/// Whether all functions of a bound query are of that kind.
pub(crate) fn is_running(query: &Bound) -> bool {
    matches!(planned(query), Ok(Some(_)))
}

/// The plan of a bound query, where all its functions are of that kind.
pub(super) fn planned(query: &Bound) -> Result<Option<Plan>> {
    let Some(Rows::Parted(definition)) = query.rows.as_ref().map(Rows::stored) else {
        return Ok(None);
    };
    Plan::of(definition, &definition.schema(&query.atoms[0].schema)?)
}

/// A function that numbers rows.
fn numbered(call: &Call) -> Option<Function> {
    let (what, end) = match call.function.as_str() {
        "row_number" => (What::Count(None), End::Row),
        "rank" => (What::Rank, End::Peers),
        "dense_rank" => (What::DenseRank, End::Peers),
        _ => return None,
    };
    let name = call.name.clone();
    Some(Function { name, what, end })
}
