//! The ids of one column in rows with given ids of the others: the lists that a change in a cycle intersects.
//!
//! Invariant: the ids of a group are a list without duplicates, in an order that only the changes decide; a long list has
//! a table of its places as well. Cost: O(1) expected to insert, to remove and to look up an id; 4 to 8 bytes an id in a
//! short list, 7 or so more in a long one. Many look-ups of one group read a table of that group alone, which is small beside
//! the relation, and cached.

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::{prefetch, random_hasher};

use crate::bags::groups::Groups;
use crate::index::keys;
use crate::index::lists::{List, Lists};

const NONE: u32 = u32::MAX;
/// Lists up to this length are searched as they are; a table is dropped when half as many are left.
const SHORT: u32 = 32;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Matches {
    pub(super) groups: Groups,
    /// The column of the ids; none where a row has no columns: it has the id 0.
    pub(super) open: Option<usize>,
    heads: Vec<Head>,
    lists: Lists,
    /// By long list, the places of its ids.
    tables: Vec<HashTable<u32>>,
    free: Vec<u32>,
    hasher: SeedableRandomState,
}

/// A group's list, and the number of its table.
#[derive(Clone, Copy, Debug)]
struct Head {
    list: List,
    table: u32,
}

/// The ids of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids<'a> {
    pub(super) values: &'a [u32],
    table: Option<&'a HashTable<u32>>,
    hasher: &'a SeedableRandomState,
}

#[inline]
fn hash(hasher: &SeedableRandomState, id: u32) -> u64 {
    keys::hash(hasher, [u64::from(id)])
}

impl Ids<'_> {
    #[inline]
    pub(super) fn contains(&self, id: u32) -> bool {
        self.position(id).is_some()
    }

    #[inline]
    fn position(&self, id: u32) -> Option<u32> {
        match self.table {
            None => {
                let found = self.values.iter().position(|&other| other == id);
                found.map(|place| place as u32)
            }
            Some(table) => {
                let equal = |&place: &u32| self.values[place as usize] == id;
                table.find(hash(self.hasher, id), equal).copied()
            }
        }
    }
}

impl Matches {
    pub(super) fn new(columns: Vec<usize>, open: Option<usize>) -> Matches {
        Matches {
            groups: Groups::new(columns),
            open,
            heads: Vec::new(),
            lists: Lists::default(),
            tables: Vec::new(),
            free: Vec::new(),
            hasher: random_hasher(),
        }
    }

    /// The ids of a group, where there are any.
    #[inline]
    pub(super) fn of(&self, key: &[u32]) -> Option<Ids<'_>> {
        let group = self.groups.find(key)?;
        let ids = self.ids(*self.heads.get(group as usize)?);
        (!ids.values.is_empty()).then_some(ids)
    }

    #[inline]
    fn ids(&self, head: Head) -> Ids<'_> {
        Ids {
            values: self.lists.values(head.list),
            table: self.tables.get(head.table as usize),
            hasher: &self.hasher,
        }
    }

    #[inline]
    fn id(&self, row: &[u32]) -> u32 {
        self.open.map_or(0, |column| row[column])
    }

    /// Whether a row is there.
    pub(super) fn has(&mut self, row: &[u32]) -> bool {
        let group = self.groups.of(row);
        let head = group.and_then(|group| self.heads.get(group as usize));
        head.is_some_and(|&head| self.ids(head).contains(self.id(row)))
    }

    /// Prefetches the head of a row's group, or, `near` by, its ids.
    #[inline]
    pub(super) fn prefetch(&self, row: &[u32], near: bool) {
        let &[column] = &self.groups.columns[..] else {
            return;
        };
        self.prefetch_group(row[column], near);
    }

    #[inline]
    pub(super) fn prefetch_group(&self, group: u32, near: bool) {
        match near {
            false => prefetch(&self.heads, group as usize),
            true => {
                if let Some(head) = self.heads.get(group as usize) {
                    self.lists.prefetch(head.list);
                }
            }
        }
    }

    /// Inserts a row. False if it is there.
    pub(super) fn insert(&mut self, row: &[u32]) -> bool {
        let group = self.groups.insert(row) as usize;
        if self.heads.len() <= group {
            let (list, table) = (List::default(), NONE);
            self.heads.resize(group + 1, Head { list, table });
        }
        let (head, id) = (self.heads[group], self.id(row));
        if self.ids(head).contains(id) {
            return false;
        }
        let head = &mut self.heads[group];
        let place = self.lists.push(&mut head.list, id);
        let (values, hasher) = (self.lists.values(head.list), &self.hasher);
        let of = |&place: &u32| hash(hasher, values[place as usize]);
        if let Some(table) = self.tables.get_mut(head.table as usize) {
            table.insert_unique(hash(hasher, id), place, of);
        } else if head.list.len > SHORT {
            let mut table = HashTable::with_capacity(2 * SHORT as usize);
            for place in 0..head.list.len {
                table.insert_unique(of(&place), place, of);
            }
            head.table = match self.free.pop() {
                Some(free) => {
                    self.tables[free as usize] = table;
                    free
                }
                None => {
                    self.tables.push(table);
                    self.tables.len() as u32 - 1
                }
            };
        }
        true
    }

    /// Removes a row. False if it is not there.
    pub(super) fn remove(&mut self, row: &[u32]) -> bool {
        let group = self.groups.of(row);
        let id = self.id(row);
        let head = group.and_then(|group| self.heads.get(group as usize));
        let place = head.and_then(|&head| self.ids(head).position(id));
        let (Some(group), Some(place)) = (group, place) else {
            return false;
        };
        let head = &mut self.heads[group as usize];
        let moved = self.lists.take(&mut head.list, place);
        if let Some(table) = self.tables.get_mut(head.table as usize) {
            let left = hash(&self.hasher, id);
            if let Ok(entry) = table.find_entry(left, |&other| other == place) {
                entry.remove();
            }
            let last = head.list.len;
            let known = moved.and_then(|moved| {
                table.find_mut(hash(&self.hasher, moved), |&other| other == last)
            });
            if let Some(known) = known {
                *known = place;
            }
            if head.list.len < SHORT / 2 {
                *table = HashTable::new();
                self.free.push(std::mem::replace(&mut head.table, NONE));
            }
        }
        if head.list.len == 0 {
            self.groups.release(group);
        }
        true
    }

    /// Calls `see` with every row.
    pub(super) fn each(&self, see: &mut dyn FnMut(&[u32])) {
        let mut row = vec![0; self.groups.columns.len() + usize::from(self.open.is_some())];
        for (group, head) in (0..).zip(&self.heads) {
            if head.list.len == 0 {
                continue;
            }
            self.groups.write(group, &mut row);
            for &id in self.lists.values(head.list) {
                if let Some(column) = self.open {
                    row[column] = id;
                }
                see(&row);
            }
        }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        let lists = self.heads.iter().map(|head| head.list.len as usize);
        lists.sum()
    }

    /// Whether every list could double.
    pub(super) fn has_capacity(&self) -> bool {
        self.lists.has_capacity()
    }

    pub(super) fn memory_usage(&self) -> usize {
        let tables = self.tables.iter().map(HashTable::allocation_size);
        self.heads.capacity() * size_of::<Head>()
            + self.lists.memory_usage()
            + self.tables.capacity() * size_of::<HashTable<u32>>()
            + tables.sum::<usize>()
            + self.groups.memory_usage()
    }

    /// Checks that a long list has a table of all its places, and a short one none. For tests.
    pub(super) fn check(&self) {
        for head in &self.heads {
            let ids = self.ids(*head);
            match ids.table {
                None => assert!(head.list.len <= SHORT, "a long list without a table"),
                Some(table) => assert_eq!(table.len(), ids.values.len()),
            }
            for (place, &id) in (0..).zip(ids.values) {
                assert_eq!(
                    ids.position(id),
                    Some(place),
                    "an id is not where it is emit"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_are_there_while_they_are() {
        let mut random = crate::Random::new(3);
        // Groups by no column, by one and by two.
        let kinds = [(vec![], Some(0)), (vec![1], Some(0)), (vec![2, 0], Some(1))];
        for (columns, open) in kinds {
            let width = columns.len() + 1;
            let mut matches = Matches::new(columns, open);
            let mut model = BTreeSet::new();
            for step in 0..30_000u64 {
                // The last column has few values, so that lists are long.
                let range = |column: usize| if column + 1 == width { 3 } else { 60 };
                let row: Vec<u32> = (0..width)
                    .map(|column| random.below(range(column)) as u32)
                    .collect();
                match random.below(10) < if step / 6000 % 2 == 0 { 7 } else { 3 } {
                    true => assert_eq!(matches.insert(&row), model.insert(row)),
                    false => assert_eq!(matches.remove(&row), model.remove(&row)),
                }
                if step % 500 == 0 {
                    matches.check();
                    let mut all = BTreeSet::new();
                    matches.each(&mut |row| assert!(all.insert(row.to_vec())));
                    assert_eq!((all, matches.rows()), (model.clone(), model.len()));
                }
            }
        }
    }

    #[test]
    fn a_row_without_columns_is_there_once() {
        let mut matches = Matches::new(Vec::new(), None);
        assert!(matches.insert(&[]) && !matches.insert(&[]));
        assert!(matches.has(&[]) && matches.remove(&[]) && !matches.has(&[]));
    }
}
