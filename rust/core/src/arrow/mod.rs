//! The edge to Arrow: record batches to encoded batches, encoded columns to arrays, values to text.
//!
//! | file | holds |
//! |---|---|
//! | `encode` | [`Encoder`]: matches columns by name, checks nulls, names rows in errors |
//! | `fill` | raw words of one array, by the array's own type |
//! | `texts` | the texts of an array, each checked as it is read |
//! | `fix` | what turns raw words into words of the column's type, and refuses what would lose |
//! | `decode` | [`decode()`]: words back to an array |
//! | `format` | [`format_value`], [`format_row`]: for messages |

mod decode;
mod encode;
mod fill;
mod fix;
mod format;
mod texts;

pub use decode::decode;
pub use encode::Encoder;
pub use format::{format_row, format_value};
