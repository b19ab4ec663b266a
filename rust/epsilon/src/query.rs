//! Joins of three relations, told apart by what they join on.
//!
//! Invariant: relation k joins with relation k+1 on key k+2, and with relation k+2 on key k+1 (modulo 3), so
//! the key z is what the two relations other than z share. Every field is in two relations or more:
//! what is in one alone was summed away before. Cost: none that depends on data.

use ringview_relation::KeyField;

/// The classes of appendix H: how many pairs of relations join on variables that the third lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Two pairs do: linear preprocessing, O(N^max(e, 1-e)) a change.
    Two,
    /// All do, as in the triangle: O(N^(3/2)) preprocessing, O(N^max(e, 1-e)) a change.
    Three,
}

impl Class {
    /// As the paper writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::Two => "3R2",
            Class::Three => "3R3",
        }
    }
}

/// Why a join cannot be kept by this engine, for a message: what it is, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The condition that fails.
    pub why: String,
    /// What works instead.
    pub instead: String,
}

/// An exponent of the size: 0 to 1, a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epsilon(f64);

impl Epsilon {
    /// The one at which a change is cheapest.
    pub const HALF: Epsilon = Epsilon(0.5);

    /// Checks an exponent.
    ///
    /// # Errors
    /// When it is below 0, above 1, or no number.
    pub fn new(epsilon: f64) -> Result<Self, Refused> {
        if (0.0..=1.0).contains(&epsilon) {
            return Ok(Self(epsilon));
        }
        Err(Refused {
            why: format!("epsilon is {epsilon}, and must be a number from 0 to 1"),
            instead: "leave it out, or give 0.5, at which a change costs least".to_owned(),
        })
    }

    /// The number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

/// Three relations by the fields of their keys.
#[derive(Clone, Debug)]
pub struct Triple {
    /// The fields of each relation's key.
    pub fields: [Vec<usize>; 3],
    /// How each field is packed.
    pub packing: Vec<KeyField>,
}

impl Triple {
    /// The two relations that share key z, in the order of the circle.
    #[must_use]
    pub fn sharing(z: usize) -> [usize; 2] {
        [(z + 1) % 3, (z + 2) % 3]
    }

    /// The fields of key z.
    #[must_use]
    pub fn key(&self, z: usize) -> Vec<usize> {
        let [i, j] = Self::sharing(z);
        let of_both = |field: &&usize| self.fields[j].contains(field);
        self.fields[i].iter().filter(of_both).copied().collect()
    }

    /// Whether the two relations of key z join on something that relation z lacks. If not, the key has
    /// no partition: its values would be treated alike (H.1.4).
    #[must_use]
    pub fn is_pair(&self, z: usize) -> bool {
        let lacks = |field: &usize| !self.fields[z].contains(field);
        self.key(z).iter().any(lacks)
    }

    /// The class of the join.
    ///
    /// # Errors
    /// For a hierarchical one, which a view tree keeps in constant time, and for a field of one relation
    /// alone.
    pub fn class(&self) -> Result<Class, Refused> {
        for (k, fields) in self.fields.iter().enumerate() {
            let [left, right] = [self.key((k + 1) % 3), self.key((k + 2) % 3)];
            let joins = |field: &usize| left.contains(field) || right.contains(field);
            if let Some(field) = fields.iter().find(|field| !joins(field)) {
                return Err(Refused {
                    why: format!("the variable {field} is in one relation alone"),
                    instead: "sum it away before".to_owned(),
                });
            }
        }
        match (0..3).filter(|&z| self.is_pair(z)).count() {
            3 => Ok(Class::Three),
            2 => Ok(Class::Two),
            _ => Err(Refused {
                why: "the join is hierarchical: no two pairs of its relations join on variables \
                      that the third lacks"
                    .to_owned(),
                instead: "leave the engine out: a view tree keeps it in constant time".to_owned(),
            }),
        }
    }
}
