//! The logical query: hypergraph, variable orders, view trees and what each view carries.
