//! An aggregate over the rows of a partition, or over a frame around each of them.
//!
//! Invariant: the value of a row is that of its frame alone. Rows are added while a frame grows, and taken back where that
//! leaves no residue; else the frame is computed anew. Cost: O(rows) for a whole partition, for frames that grow, and for
//! sums of integers and decimals, counts and extremes; O(rows of the frame) a row for the others.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow_schema::SortOptions;
use datafusion_common::arrow::compute::{
    SortColumn, and, cast, filter, is_not_null, lexsort_to_indices, take_arrays,
};
use datafusion_common::arrow::row::{RowConverter, SortField};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::window_state::WindowFrameContext;
use datafusion_expr::{Accumulator, WindowFrame};
use ringview_core::sortable;

use super::aggregate::{Accumulation, Aggregate};

/// See the module.
#[derive(Debug)]
pub(super) struct Aggregated {
    pub(super) aggregate: Aggregate,
    /// Columns of the rows.
    pub(super) arguments: Vec<usize>,
    pub(super) filter: Option<usize>,
    pub(super) order: Vec<(usize, SortOptions)>,
    pub(super) distinct: bool,
    pub(super) ignore_nulls: bool,
    /// None for one value of the whole partition.
    pub(super) frame: Option<Arc<WindowFrame>>,
}

/// The columns of a partition, as an aggregate takes them.
struct Taken {
    arguments: Vec<ArrayRef>,
    order: Vec<SortColumn>,
    selected: Option<BooleanArray>,
}

impl Aggregated {
    /// One value, or one for each row; `order` are the columns that the partition is ordered by.
    pub(super) fn evaluate(
        &self,
        columns: &[ArrayRef],
        rows: usize,
        order: &[SortColumn],
    ) -> Result<ArrayRef> {
        let taken = self.taken(columns, rows)?;
        let values = match &self.frame {
            None => self.value(&taken, 0..rows)?.to_array_of_size(1)?,
            Some(frame) => ScalarValue::iter_to_array(self.framed(&taken, rows, order, frame)?)?,
        };
        Ok(cast(&values, &self.aggregate.ty)?)
    }

    fn taken(&self, columns: &[ArrayRef], rows: usize) -> Result<Taken> {
        let casts = self.arguments.iter().zip(&self.aggregate.takes);
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for (&at, ty) in casts {
            arguments.push(cast(&columns[at], ty)?);
        }
        if arguments.is_empty() {
            arguments.push(Arc::new(BooleanArray::from(vec![true; rows])));
        }
        let mut masks = Vec::new();
        if let Some(at) = self.filter {
            let passes = columns[at].as_any().downcast_ref::<BooleanArray>();
            let passes = passes
                .into_iter()
                .flatten()
                .map(|one| Some(one == Some(true)));
            masks.push(passes.collect::<BooleanArray>());
        }
        if self.aggregate.skips_nulls || self.ignore_nulls {
            let nullable = arguments.iter().filter(|one| one.null_count() > 0);
            for argument in nullable {
                masks.push(is_not_null(argument)?);
            }
        }
        let mut selected = None;
        for mask in masks {
            selected = Some(match selected {
                None => mask,
                Some(before) => and(&before, &mask)?,
            });
        }
        let mut order = Vec::with_capacity(self.order.len());
        for (at, options) in &self.order {
            order.push(SortColumn {
                values: sortable(&columns[*at])
                    .map_err(|problem| DataFusionError::External(Box::new(problem)))?,
                options: Some(*options),
            });
        }
        Ok(Taken {
            order,
            arguments,
            selected,
        })
    }

    /// A value a row, each over its frame.
    fn framed(
        &self,
        taken: &Taken,
        rows: usize,
        order: &[SortColumn],
        frame: &Arc<WindowFrame>,
    ) -> Result<Vec<ScalarValue>> {
        let options = order.iter().map(|key| key.options.unwrap_or_default());
        let mut frames = WindowFrameContext::new(Arc::clone(frame), options.collect());
        let by: Vec<ArrayRef> = order.iter().map(|key| Arc::clone(&key.values)).collect();
        let mut values: Vec<ScalarValue> = Vec::with_capacity(rows);
        let mut open: Option<Box<dyn Accumulator>> = None;
        let mut last = 0..0;
        for row in 0..rows {
            let mut range = frames.calculate_range(&by, &last, rows, row)?;
            range.end = range.end.max(range.start);
            if let Some(value) = values.last().filter(|_| range == last) {
                values.push(value.clone());
                continue;
            }
            let value = match &self.aggregate.accumulation {
                Accumulation::Streamed(make) if !self.rearranges() => {
                    open = self.slid(taken, open, (&last, &range))?;
                    let accumulator = match &mut open {
                        Some(accumulator) => accumulator,
                        none => {
                            let accumulator = none.insert(make()?);
                            accumulator.update_batch(&self.rows(taken, range.clone())?)?;
                            accumulator
                        }
                    };
                    accumulator.evaluate()?
                }
                _ => self.value(taken, range.clone())?,
            };
            values.push(value);
            last = range;
        }
        Ok(values)
    }

    /// Whether an aggregate reads the rows of a frame filtered or reordered, so that frames cannot
    /// slide.
    fn rearranges(&self) -> bool {
        self.distinct || self.aggregate.distinct || !self.order.is_empty()
    }

    /// The accumulator of the last frame, moved to the next; none where it is recomputed.
    fn slid(
        &self,
        taken: &Taken,
        open: Option<Box<dyn Accumulator>>,
        (last, next): (&Range<usize>, &Range<usize>),
    ) -> Result<Option<Box<dyn Accumulator>>> {
        let Some(mut accumulator) = open else {
            return Ok(None);
        };
        let grows = next.start == last.start && next.end >= last.end;
        let slides = next.start >= last.start && next.start <= last.end && next.end >= last.end;
        if !(grows || slides && self.aggregate.is_invertible) {
            return Ok(None);
        }
        if next.end > last.end {
            accumulator.update_batch(&self.rows(taken, last.end..next.end)?)?;
        }
        if next.start > last.start {
            accumulator.retract_batch(&self.rows(taken, last.start..next.start)?)?;
        }
        Ok(Some(accumulator))
    }

    /// The value of some rows.
    fn value(&self, taken: &Taken, range: Range<usize>) -> Result<ScalarValue> {
        let rows = self.rows(taken, range)?;
        if rows[0].is_empty() && !self.aggregate.counts {
            return ScalarValue::try_from(&self.aggregate.ty);
        }
        match &self.aggregate.accumulation {
            Accumulation::Whole(of) => of(&rows),
            Accumulation::Streamed(make) => {
                let mut accumulator = make()?;
                accumulator.update_batch(&rows)?;
                accumulator.evaluate()
            }
        }
    }

    /// The arguments of some rows: those that pass the filter, in the given order, with DISTINCT each once.
    fn rows(&self, taken: &Taken, range: Range<usize>) -> Result<Vec<ArrayRef>> {
        let (from, len) = (range.start, range.len());
        let mask = taken.selected.as_ref().map(|mask| mask.slice(from, len));
        let selected = |of: &ArrayRef| match &mask {
            Some(mask) => filter(&of.slice(from, len), mask),
            None => Ok(of.slice(from, len)),
        };
        let mut rows = taken
            .arguments
            .iter()
            .map(selected)
            .collect::<std::result::Result<Vec<_>, _>>()?;
        if !taken.order.is_empty() {
            let mut keys = Vec::with_capacity(taken.order.len() + 1);
            for key in &taken.order {
                keys.push(SortColumn {
                    values: selected(&key.values)?,
                    options: key.options,
                });
            }
            // Rows that are equal stay in the order of the partition.
            keys.push(SortColumn {
                values: Arc::new(UInt64Array::from_iter_values(0..rows[0].len() as u64)),
                options: None,
            });
            rows = take_arrays(&rows, &lexsort_to_indices(&keys, None)?, None)?;
        }
        if self.distinct || self.aggregate.distinct {
            rows = different(&rows)?;
        }
        Ok(rows)
    }
}

/// The first of each.
fn different(rows: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let fields = rows
        .iter()
        .map(|column| SortField::new(column.data_type().clone()));
    let encoded = RowConverter::new(fields.collect())?.convert_columns(rows)?;
    let mut seen = HashSet::new();
    let first = encoded.iter().map(|row| Some(seen.insert(row.data())));
    let first: BooleanArray = first.collect();
    let selected = rows.iter().map(|column| filter(column, &first));
    Ok(selected.collect::<std::result::Result<_, _>>()?)
}
