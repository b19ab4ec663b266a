//! The programs that ringview is set beside, none of which is generic over queries and rings.
//!
//! | folder | holds |
//! |---|---|
//! | `handwritten` | the ceiling: a program for each stream, sums alone |
//! | `first_order` | base relations and no views, by hand, sums alone |
//! | `strategies` | first order and recursive, for the cofactor matrix of any natural join |
//! | `table` | the containers of the programs by hand |

pub(crate) mod first_order;
pub(crate) mod handwritten;
pub(crate) mod strategies;
pub(crate) mod table;
