//! Variables as key fields: layout of a variable in the columns of a delta and in a key.
//!
//! A variable is one field, its word. A decimal adds a field for its upper half, and a variable
//! that may be NULL adds one bit, so that NULL is a group of its own and equal to no value. The
//! layers below use only fields.

use std::ops::Range;

use ringview_query::{VarId, Variable};
use ringview_relation::{KeyField, KeyLayout};

/// Part of a variable that a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The word.
    Word,
    /// The upper half of a decimal.
    High,
    /// 1 where the value is NULL.
    Null,
}

/// A field of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Whose it is.
    pub variable: VarId,
    /// The part.
    pub aspect: Aspect,
    /// Packing into a key.
    pub key: KeyField,
    /// Whether it holds ids of strings.
    pub is_text: bool,
}

/// The fields of all variables of a query, numbered.
#[derive(Clone, Debug)]
pub struct Fields {
    all: Vec<Field>,
    of: Vec<Range<usize>>,
}

impl Fields {
    /// Those of some variables, in their order.
    #[must_use]
    pub fn new(variables: &[Variable]) -> Self {
        let mut fields = Self {
            all: Vec::new(),
            of: Vec::new(),
        };
        for (variable, description) in variables.iter().enumerate() {
            let start = fields.all.len();
            let ty = &description.ty;
            let mut push = |aspect, bits, signed| {
                let key = KeyField { bits, signed };
                fields.all.push(Field {
                    variable,
                    aspect,
                    key,
                    is_text: aspect == Aspect::Word && ty.is_interned(),
                });
            };
            push(Aspect::Word, ty.bits().min(64), ty.is_signed());
            if ty.bits() > 64 {
                push(Aspect::High, 64, true);
            }
            if description.nullable {
                push(Aspect::Null, 1, false);
            }
            fields.of.push(start..fields.all.len());
        }
        fields
    }

    /// Packing of each field, by its number.
    #[must_use]
    pub fn packing(&self) -> Vec<KeyField> {
        self.all.iter().map(|field| field.key).collect()
    }

    /// A field by its number.
    #[must_use]
    pub fn field(&self, id: usize) -> Field {
        self.all[id]
    }

    /// The fields of some variables, in their order.
    #[must_use]
    pub fn of_all(&self, variables: &[VarId]) -> Vec<usize> {
        variables.iter().flat_map(|&v| self.of[v].clone()).collect()
    }

    /// Positions of the fields of a variable among those of a key of these variables.
    #[must_use]
    pub fn positions(&self, keys: &[VarId], variable: VarId) -> Vec<usize> {
        let all = self.of_all(keys);
        let own = |&at: &usize| self.all[all[at]].variable == variable;
        (0..all.len()).filter(own).collect()
    }

    /// The fields of a key of these variables that hold ids of strings.
    #[must_use]
    pub fn texts(&self, keys: &[VarId]) -> Vec<usize> {
        let all = self.of_all(keys);
        let is_text = |&at: &usize| self.all[all[at]].is_text;
        (0..all.len()).filter(is_text).collect()
    }

    /// The layout of a key of these fields.
    #[must_use]
    pub fn layout(&self, ids: &[usize]) -> KeyLayout {
        let keys: Vec<KeyField> = ids.iter().map(|&id| self.all[id].key).collect();
        KeyLayout::new(&keys)
    }
}
