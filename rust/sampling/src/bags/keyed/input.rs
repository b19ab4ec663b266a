//! The rows of a relation in a bag that is merged along keys: ids of its variables, and further words.
//!
//! Invariant: a row is linked while it is there once or more, and is then, for each path, in the list of its group; a deleted
//! row has its number and words until `forget`, so that a rollback restores them. Cost: O(1) expected a row and path; the
//! places that only deletes need are made, linear in the input, by the first of these.

use crate::bags::groups::Groups;
use crate::bags::numbers::Numbers;

const NONE: u32 = u32::MAX;

/// Distinct rows with how often each is there.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// Ids first, then the halves of further words.
    pub(super) rows: Numbers,
    /// Number of ids at the beginning of a row.
    pub(super) ids: usize,
    pub(super) count: Vec<u32>,
    paths: Vec<Path>,
}

/// Rows by the ids of some of their columns.
#[derive(Clone, Debug)]
struct Path {
    groups: Groups,
    lists: Vec<Vec<u32>>,
    /// By row, its place in its list, after the first delete.
    place: Option<Vec<u32>>,
}

impl Input {
    pub(super) fn new(ids: usize, words: usize) -> Input {
        Input {
            rows: Numbers::new(ids + 2 * words),
            ids,
            count: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// Adds a path to the rows by some columns, or returns an equal one. Before any row.
    pub(super) fn path(&mut self, columns: &[usize]) -> usize {
        let existing = self
            .paths
            .iter()
            .position(|path| path.groups.columns == columns);
        existing.unwrap_or_else(|| {
            self.paths.push(Path {
                groups: Groups::new(columns.to_vec()),
                lists: Vec::new(),
                place: None,
            });
            self.paths.len() - 1
        })
    }

    /// The rows of a path whose columns have these ids.
    #[inline]
    pub(super) fn group(&self, path: usize, ids: &[u32]) -> &[u32] {
        let path = &self.paths[path];
        let group = path.groups.find(ids);
        let list = group.and_then(|group| path.lists.get(group as usize));
        list.map_or(&[], Vec::as_slice)
    }

    /// The further words of a row.
    pub(super) fn word(&self, row: u32, at: usize) -> u64 {
        let halves = &self.rows.row(row)[self.ids + 2 * at..][..2];
        u64::from(halves[0]) << 32 | u64::from(halves[1])
    }

    /// The number of a row, a new one where it is not there.
    pub(super) fn number(&mut self, row: &[u32]) -> u32 {
        self.rows.find(row).unwrap_or_else(|| {
            let number = self.rows.add(row);
            if self.count.len() < self.rows.len() {
                self.count.push(0);
            }
            self.count[number as usize] = 0;
            number
        })
    }

    /// Inserts a row; whether it is the first.
    pub(super) fn increment(&mut self, number: u32) -> bool {
        let count = &mut self.count[number as usize];
        *count += 1;
        let first = *count == 1;
        if first {
            self.rows.link(number);
            for path in &mut self.paths {
                path.insert(number, self.rows.row(number));
            }
        }
        first
    }

    /// Deletes a row; whether it was the last.
    pub(super) fn decrement(&mut self, number: u32) -> bool {
        let count = &mut self.count[number as usize];
        *count -= 1;
        let last = *count == 0;
        if last {
            self.rows.unlink(number);
            for path in &mut self.paths {
                path.remove(number, &self.rows);
            }
        }
        last
    }

    pub(super) fn memory_usage(&self) -> usize {
        let paths = self.paths.iter().map(Path::memory_usage).sum::<usize>();
        self.rows.memory_usage() + self.count.capacity() * size_of::<u32>() + paths
    }

    /// Checks that each linked row is in the lists of its paths. For tests.
    pub(super) fn check(&self) {
        for path in &self.paths {
            let held: usize = path.lists.iter().map(Vec::len).sum();
            assert_eq!(held, self.rows.linked().count(), "a path has other rows");
        }
        for row in self.rows.linked() {
            assert!(self.count[row as usize] > 0, "a linked row is not there");
            for (at, path) in self.paths.iter().enumerate() {
                let columns = path.groups.columns.iter();
                let ids: Vec<u32> = columns.map(|&c| self.rows.row(row)[c]).collect();
                let place = self.group(at, &ids).iter().position(|&other| other == row);
                let noted = path
                    .place
                    .as_ref()
                    .map(|places| places[row as usize] as usize);
                assert!(place.is_some() && noted.is_none_or(|noted| Some(noted) == place));
            }
        }
    }
}

impl Path {
    fn insert(&mut self, number: u32, row: &[u32]) {
        let group = self.groups.insert(row) as usize;
        if self.lists.len() <= group {
            self.lists.resize_with(group + 1, Vec::new);
        }
        let list = &mut self.lists[group];
        if let Some(place) = &mut self.place {
            if place.len() <= number as usize {
                place.resize(number as usize + 1, NONE);
            }
            place[number as usize] = list.len() as u32;
        }
        list.push(number);
    }

    fn remove(&mut self, number: u32, rows: &Numbers) {
        let Some(group) = self.groups.of(rows.row(number)) else {
            unreachable!("a linked row has a group")
        };
        let lists = &self.lists;
        let places = self
            .place
            .get_or_insert_with(|| positions(lists, rows.len()));
        let place = places[number as usize] as usize;
        let list = &mut self.lists[group as usize];
        list.swap_remove(place);
        if let Some(&moved) = list.get(place) {
            places[moved as usize] = place as u32;
        }
        if list.len() < list.capacity() / 4 {
            list.shrink_to(list.len() * 2);
        }
        if list.is_empty() {
            self.groups.release(group);
        }
    }

    fn memory_usage(&self) -> usize {
        let lists: usize = self.lists.iter().map(Vec::capacity).sum();
        let places = self.place.as_ref().map_or(0, Vec::capacity);
        (lists + places) * size_of::<u32>()
            + self.lists.capacity() * size_of::<Vec<u32>>()
            + self.groups.memory_usage()
    }
}

/// By row, its place in its list.
fn positions(lists: &[Vec<u32>], rows: usize) -> Vec<u32> {
    let mut places = vec![NONE; rows];
    for list in lists {
        for (place, &row) in (0..).zip(list) {
            places[row as usize] = place;
        }
    }
    places
}
