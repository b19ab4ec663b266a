//! The way a query is maintained, for explanations.
//!
//! Invariant: it describes how the query is maintained now. Cost: none; this is data.

/// Description of a query's maintenance, for explanations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The strategy.
    pub strategy: Strategy,
    /// Why the optimisation does not maintain it as a whole.
    pub why: Option<&'static str>,
    /// Keys that have rows of their own.
    pub parts: usize,
    /// Number of these with aggregates that are not monotone now, so that they are walked.
    pub walked: usize,
}

/// Strategies of maintaining a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// By aggregate indexes.
    Indexed,
    /// By aggregate indexes of each key.
    Partitioned,
    /// By the general algorithm for each key.
    PartitionedGeneral,
    /// By the general algorithm.
    General,
}
