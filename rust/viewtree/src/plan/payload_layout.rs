//! Layout of the payloads of groups, by the plan: the payload fields of the root's payload, then those of the auxiliary
//! trees.
//!
//! Invariant: the first payload field is what the root of the tree holds.

use ringview_query::{OutputKind, PlanOutput};
use ringview_view::answer::{
    Categories, FeatureColumns, Outputs, PayloadField, PayloadLayout, TermSums,
};

use crate::plan::{CofactorPlan, Companion, Plan};

impl Plan {
    /// The payload fields of a group's payload: sums, or the degree-m payload in their place; that of `matrix`;
    /// summaries of the companions; origins of features.
    pub(crate) fn payload_layout(&self) -> PayloadLayout {
        let mut payload_layout = PayloadLayout::default();
        let root = self.tree.root;
        payload_layout.push(match &self.cofactor {
            Some(cofactor) => PayloadField::Cofactor(cofactor.columns(root)),
            None => {
                let kinds = self.payload.nodes[root].iter().map(|one| one.kind);
                PayloadField::Sums(TermSums::new(kinds.collect(), self.payload.terms.clone()))
            }
        });
        let matrix = self.matrix.as_deref();
        if let Some(cofactor) = matrix.and_then(|matrix| matrix.cofactor.as_ref()) {
            payload_layout.push(PayloadField::Cofactor(cofactor.columns(root)));
        }
        self.companions
            .iter()
            .for_each(|_| payload_layout.push(PayloadField::Summary));
        if let Some(cofactor) = self.features() {
            let features = cofactor.names.len();
            payload_layout.push(PayloadField::Origins { features });
        }
        payload_layout
    }

    /// Shows groups at the most, for what is shown of the sums is others' affair.
    pub(crate) fn output_groups(&mut self) {
        let is_group = |output: &PlanOutput| matches!(output.kind, OutputKind::Group { .. });
        if !self.outputs.iter().all(is_group) {
            self.outputs.clear();
        }
        self.measures.clear();
        self.results = None;
    }

    /// Outputs of the query.
    pub(crate) fn shown(&self) -> Outputs<'_> {
        Outputs {
            variables: &self.variables,
            columns: &self.outputs,
            measures: &self.measures,
            results: self.results.as_ref(),
        }
    }
}

impl CofactorPlan {
    /// The features as the payloads of a node have them.
    fn columns(&self, node: usize) -> FeatureColumns {
        let categories = |companion: &Companion, sums| Categories {
            name: companion.name.clone(),
            types: companion
                .values
                .iter()
                .map(|value| value.ty.clone())
                .collect(),
            sums,
        };
        let numeric = self.names.len();
        let pairs = self.pairs.iter().map(|pair| categories(&pair.counts, 0));
        FeatureColumns {
            names: self.names.clone(),
            order: self.nodes[node].clone(),
            categories: self
                .categories
                .iter()
                .map(|one| categories(one, numeric))
                .collect(),
            pairs: pairs.collect(),
        }
    }
}
