//! The view-tree engine: joins with group-by aggregates, kept fresh by deltas along leaf-to-root paths.
