//! Followers with names, whose places are kept.
//!
//! Invariant: a follower that is opened again, here or after the file was reopened, receives all changes of its view
//! since it last committed its cursor. A cursor is a number of records of the file, whose changes the follower has.
//! Changes that were delivered and not committed are kept, and are delivered again in the same parts, unless the
//! process died. A rewrite of the file removes its records, and stores the rows that a follower is still to receive
//! instead. Cost: a commit of a cursor is one of the file; to open it, records behind the first place are replayed one
//! by one.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use ringview_core::{Error, Result};
use ringview_engine::ViewFollower;

use crate::cursors::{FollowerCursor, Move};
use crate::database::DurableDatabase;
use crate::journal::Durability;
use crate::record::{read_part, write_part};
use crate::standing::{Standing, unwritten};
use crate::unread::damaged;

/// A follower of a view under a name; all that open it share one place.
#[derive(Clone, Debug)]
pub struct NamedFollower {
    view: String,
    name: String,
    cursor: ViewFollower,
}

impl DurableDatabase {
    /// Follows a view under a name. An existing follower returns to its last commit; a new one begins as with
    /// [`follow`](ringview_engine::Database::follow).
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` for samples and what reads them; `Storage` if the file cannot be written.
    pub fn follow_as(&mut self, view: &str, name: &str, from_now: bool) -> Result<NamedFollower> {
        let key = (view.to_owned(), name.to_owned());
        let read = self.engine.rests_on(view)?;
        if !self.named.contains_key(&key) {
            self.refuse_samples(view, &read)?;
            let cursor = self.engine.follow(view, from_now)?;
            let at = from_now.then(|| self.records());
            let standing = Standing {
                cursor,
                at,
                committed: at,
                parts: VecDeque::new(),
                given: 0,
            };
            if let Err(problem) = self.store_cursor(Move::Put(standing.cursor(&key, 0)?)) {
                self.engine.unfollow(standing.cursor);
                return Err(problem);
            }
            self.named.insert(key.clone(), standing);
        }
        let (cursor, _) = self.standing(&key)?;
        cursor.given = 0;
        Ok(NamedFollower {
            cursor: cursor.cursor.clone(),
            view: key.0,
            name: key.1,
        })
    }

    /// The names under which a view is followed.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn followers(&self, view: &str) -> Result<Vec<String>> {
        self.engine.view_id(view)?;
        let own = self.named.keys().filter(|(of, _)| of == view);
        Ok(own.map(|(_, name)| name.clone()).collect())
    }

    /// The next changes of a follower. They stay the same until [`given`](Self::given) is called.
    ///
    /// # Errors
    /// As [`changes`](ringview_engine::Database::changes); `Value` if the name was forgotten.
    pub fn changes_as(&mut self, follower: &NamedFollower) -> Result<RecordBatch> {
        let records = self.records();
        let (standing, engine) = self.of(follower)?;
        if let Some(part) = standing.parts.get(standing.given) {
            return Ok(part.clone());
        }
        let moved = engine.changes(&standing.cursor)?;
        engine.advance(&standing.cursor)?;
        standing.at = Some(records);
        if moved.num_rows() > 0 {
            standing.parts.push_back(moved.clone());
        }
        Ok(moved)
    }

    /// A follower was given what `changes_as` says.
    ///
    /// # Errors
    /// The same.
    pub fn given(&mut self, follower: &NamedFollower) -> Result<()> {
        let (standing, _) = self.of(follower)?;
        standing.given = (standing.given + 1).min(standing.parts.len());
        Ok(())
    }

    /// A follower has done with all that it was given: it is never given that again.
    ///
    /// # Errors
    /// The same; `Storage` if the file cannot be written.
    pub fn commit_cursor(&mut self, follower: &NamedFollower) -> Result<()> {
        let key = (follower.view.clone(), follower.name.clone());
        let (standing, _) = self.of(follower)?;
        let given = standing.given;
        if given == 0 && standing.at == standing.committed {
            return Ok(());
        }
        let cursor = standing.cursor(&key, given)?;
        self.store_cursor(Move::Put(cursor))?;
        let (standing, _) = self.standing(&key)?;
        standing.parts.drain(..given);
        (standing.given, standing.committed) = (0, standing.at);
        Ok(())
    }

    /// Whether `changes_as` may have rows for a follower.
    ///
    /// # Errors
    /// The same.
    pub fn has_changes_as(&mut self, follower: &NamedFollower) -> Result<bool> {
        let (standing, engine) = self.of(follower)?;
        Ok(standing.given < standing.parts.len() || engine.has_changes(&standing.cursor)?)
    }

    /// Forgets the cursor of a follower, if there is one of this name.
    ///
    /// # Errors
    /// `UnknownView`; `Storage` if the file cannot be written.
    pub fn forget_follower(&mut self, view: &str, name: &str) -> Result<()> {
        self.engine.view_id(view)?;
        let key = (view.to_owned(), name.to_owned());
        if self.named.contains_key(&key) {
            self.store_cursor(Move::Remove(key.0.clone(), key.1.clone()))?;
        }
        if let Some(standing) = self.named.remove(&key) {
            self.engine.unfollow(standing.cursor);
        }
        Ok(())
    }

    /// Forgets those of a view that is no more; the file has done so.
    pub(crate) fn forget_followers(&mut self, view: &str) {
        self.named.retain(|(of, _), _| of != view);
    }

    /// Stores the pending changes of followers, before the records that contain them are removed.
    pub(crate) fn take_in_changes(&mut self) -> Result<()> {
        let records = self.records();
        for standing in self.named.values_mut() {
            if standing.at.is_none() {
                // It is given the whole view, of whatever time.
                continue;
            }
            let moved = self.engine.changes(&standing.cursor)?;
            self.engine.advance(&standing.cursor)?;
            standing.at = Some(records);
            if moved.num_rows() > 0 {
                standing.parts.push_back(moved);
            }
        }
        Ok(())
    }

    /// The places of all followers, for a file that is written anew.
    pub(crate) fn cursors(&self) -> Result<Vec<FollowerCursor>> {
        let cursor = |(key, standing): (&(String, String), &Standing)| {
            let mut cursor = standing.cursor(key, 0)?;
            if standing.at.is_some() {
                let moved = self.engine.changes(&standing.cursor)?;
                if moved.num_rows() > 0 {
                    cursor
                        .parts
                        .push(write_part(&moved).map_err(|problem| unwritten(&key.0, &problem))?);
                }
            }
            Ok(cursor)
        };
        self.named.iter().map(cursor).collect()
    }

    /// The file was written anew, with so many records.
    pub(crate) fn renumber(&mut self, records: u64) {
        for standing in self
            .named
            .values_mut()
            .filter(|standing| standing.at.is_some())
        {
            standing.at = Some(records);
            standing.committed = standing.at;
        }
    }

    /// Restores a follower of the file at this point.
    pub(crate) fn resume(&mut self, cursor: &FollowerCursor) -> Result<()> {
        let from_now = cursor.at.is_some();
        let follower = self.engine.follow(&cursor.view, from_now);
        let standing = Standing {
            cursor: follower.map_err(|problem| damaged(&problem.to_string()))?,
            at: cursor.at,
            committed: cursor.at,
            parts: cursor.parts.iter().map(read_part).collect::<Result<_>>()?,
            given: 0,
        };
        let key = (cursor.view.clone(), cursor.name.clone());
        self.named.insert(key, standing);
        Ok(())
    }

    /// Number of records of its file.
    fn records(&self) -> u64 {
        self.journal
            .file
            .as_ref()
            .map_or(0, |file| file.head.records)
    }

    fn store_cursor(&mut self, cursor: Move) -> Result<()> {
        self.ahead = true;
        match (&mut self.journal.file, self.journal.durability) {
            (Some(file), Durability::Transaction) => file.move_cursor(cursor),
            _ => Ok(()),
        }
    }

    /// State of a follower, if its view and its name still exist.
    fn of(
        &mut self,
        follower: &NamedFollower,
    ) -> Result<(&mut Standing, &mut ringview_engine::Database)> {
        self.engine.has_changes(&follower.cursor)?;
        self.standing(&(follower.view.clone(), follower.name.clone()))
    }

    fn standing(
        &mut self,
        key: &(String, String),
    ) -> Result<(&mut Standing, &mut ringview_engine::Database)> {
        let standing = self.named.get_mut(key).ok_or_else(|| Error::Value {
            place: format!("the follower {:?} of view {:?}", key.1, key.0),
            problem: "it was forgotten; follow the view under this name again".to_owned(),
        })?;
        Ok((standing, &mut self.engine))
    }

    fn refuse_samples(&self, view: &str, read: &[String]) -> Result<()> {
        let mut samples = self.definitions.samples();
        match samples.find(|sample| read.iter().any(|name| name == sample)) {
            None => Ok(()),
            Some(sample) => Err(Error::Unsupported {
                what: format!("following view {view:?} under a name"),
                why: format!(
                    "the sample {sample:?} may hold other rows once its file is opened after a crash, and \
                     what moved between both is in no file"
                ),
                instead: "follow it without a name, or read the whole view".to_owned(),
            }),
        }
    }
}
