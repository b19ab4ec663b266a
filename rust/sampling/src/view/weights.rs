//! Rows drawn from the whole join with chances in proportion to a product of columns.
//!
//! Invariant: a drawn row weighs more than 0; NULL weighs nothing, and weights that are negative or no number are refused,
//! whatever is drawn. Cost: see `weighted`.

use arrow_array::RecordBatch;
use ringview_core::{Budget, Dictionary, Error, Result, Type};
use ringview_query::nested::Quantity;

use super::SampleView;
use super::shape::OutputColumn;
use crate::Predicate;
use crate::weighted::{Draws, Weighted};

impl SampleView {
    /// Rows drawn from the whole join, with chances in proportion to the product of some columns: how many, the
    /// seed, and whether each is drawn from all, or from those not drawn yet.
    ///
    /// # Errors
    /// `Value` for a weight that is negative or no number, or if no result weighs anything and one must be drawn;
    /// `UnknownColumn` and `Type` for columns of other types; `Unsupported` where rows to be drawn without
    /// replacement have nearly no weight.
    pub fn draw_weighted(
        &self,
        (rows, seed, replacement): (u64, u64, bool),
        weight: &[String],
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        let sample = self.sample.sample();
        let index = sample.index();
        let atoms = self.sample.relations().atoms();
        let numbers = (0..atoms.len()).map(|atom| index.numbers(atom));
        let mut weights: Vec<Vec<f64>> = numbers.map(|tuples| vec![1.0; tuples]).collect();
        let needed: usize = weights.iter().map(|of| 40 * of.len()).sum();
        let words = 16 * (self.shape.words.len() as u64 + 1);
        let needed = (needed as u64).saturating_add(rows.saturating_mul(words));
        budget.reserve(
            needed,
            || format!("{rows} weighted rows of a join"),
            "draw fewer at a time",
        )?;
        for name in weight {
            self.multiply(self.weigh(name)?, &mut weights, budget)?;
        }
        let of = |atom: usize, tuple: u32| weights[atom][tuple as usize];
        let weighted = Weighted::new(
            (atoms, index),
            &mut |atom, tuple| Ok(of(atom, tuple)),
            budget,
        )?;
        let mut drawn = Vec::new();
        let mut of = Draws {
            counts: &mut |result| self.filter.holds(index, result),
            weight: &mut |result| {
                let tuples = result.iter().enumerate();
                tuples.map(|(atom, &tuple)| of(atom, tuple)).product()
            },
            take: &mut |result| drawn.push(self.words(result)),
        };
        weighted.take((rows, replacement, seed), &mut of, budget)?;
        self.arrow(&self.shape.batch(&drawn, |_| true), dictionary)
    }

    /// The column of a factor.
    fn weigh(&self, name: &str) -> Result<&OutputColumn> {
        let output = self.shape.outputs.iter().find(|output| output.name == name);
        let output = output.ok_or_else(|| Error::UnknownColumn {
            table: "the sample".to_owned(),
            column: name.to_owned(),
            known: self
                .shape
                .outputs
                .iter()
                .map(|output| output.name.clone())
                .collect(),
        })?;
        if output.ty.is_integer()
            || output.ty.is_float()
            || matches!(output.ty, Type::Decimal { .. })
        {
            return Ok(output);
        }
        Err(Error::Type {
            place: format!("the weight {name:?}"),
            expected: "a number".to_owned(),
            found: output.ty.to_string(),
        })
    }

    /// Multiplies the weights of a relation's tuples by a column.
    fn multiply(
        &self,
        output: &OutputColumn,
        weights: &mut [Vec<f64>],
        budget: &Budget<'_>,
    ) -> Result<()> {
        let place = |word: usize| self.words[word];
        let atom = place(output.word).atom();
        let index = self.sample.sample().index();
        for tuple in index.tuples(atom) {
            budget.work(1)?;
            let word = |at: usize| self.sample.word_of(tuple, place(at));
            let null = output.null.is_some_and(|null| word(null) == 1);
            let value = match null {
                true => 0.0,
                false => {
                    let (low, high) = (word(output.word), output.high.map_or(0, word));
                    Quantity::of_words(&output.ty, low, high).real()
                }
            };
            if !value.is_finite() || value < 0.0 {
                return Err(Error::Value {
                    place: format!("the weight {:?}", output.name),
                    problem: format!(
                        "it is {value} in some row; weights are finite, 0 or more: filter such rows"
                    ),
                });
            }
            weights[atom][tuple as usize] *= value;
        }
        Ok(())
    }
}
