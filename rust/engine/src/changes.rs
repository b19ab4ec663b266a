//! What moved in a view, for whoever follows it.
//!
//! Invariant: a follower is given each change once, in the order of transactions, and what it was not
//! told to have been given stays: `changes` forgets nothing, `advance` does. A follower is freed with
//! its last copy, at the next transaction of its view at the latest. Cost: see [`View::changes`](ringview_view::View::changes); a
//! transaction keeps one log a view, however many follow, and none where nobody does.

use arrow_array::RecordBatch;
use ringview_core::Result;
use ringview_view::Follower;

use crate::database::Database;
use crate::view::NamedView;

/// Somebody with a place of its own in the changes of a view.
#[derive(Clone, Debug)]
pub struct ViewFollower {
    name: String,
    view: u64,
    place: Follower,
}

impl Database {
    /// One more who follows a view. What it is given first is the whole view as it is at that moment;
    /// or, `from_now`, what moves from here on.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn follow(&mut self, view: &str, from_now: bool) -> Result<ViewFollower> {
        let index = self.view_index(view)?;
        let view = &mut self.views[index];
        view.followed = true;
        let place = view.kept.follow(from_now);
        Ok(view.follower(place))
    }

    /// The follower behind `view_changes`, which all who ask the view itself share.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn own_follower(&mut self, view: &str) -> Result<ViewFollower> {
        let index = self.view_index(view)?;
        let view = &mut self.views[index];
        view.followed = true;
        let place = view.own.get_or_insert_with(|| view.kept.follow(false));
        let place = place.clone();
        Ok(view.follower(place))
    }

    /// Lets `view_changes` begin with what moves from here on, in all views.
    pub fn begin_changes(&mut self) {
        for view in self.views.iter_mut().filter(|view| view.owner.is_none()) {
            view.followed = true;
            view.own = Some(view.kept.follow(true));
        }
    }

    /// Ends what `view_changes` began: nothing is logged for it until it is called again.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn forget_changes(&mut self, view: &str) -> Result<()> {
        let index = self.view_index(view)?;
        self.logging_less(index, |view| {
            view.own = None;
            view.kept.tidy();
        });
        Ok(())
    }

    /// What moved since a follower was last told to have been given it: old rows with multiplicity -1,
    /// new ones with 1; of a join, each row with how much its multiplicity moved. Asked again, it is
    /// the same and what came since. O(groups that moved).
    ///
    /// # Errors
    /// `UnknownView` if the view was dropped, `Stale` if there is a new one of its name; as
    /// `view_result`.
    pub fn changes(&self, follower: &ViewFollower) -> Result<RecordBatch> {
        let kept = &self.views[self.followed(follower)?].kept;
        kept.changes(&follower.place, &self.dictionary)
    }

    /// A follower was given what `changes` says now.
    ///
    /// # Errors
    /// `UnknownView` or `Stale` if the view was dropped.
    pub fn advance(&mut self, follower: &ViewFollower) -> Result<()> {
        let index = self.followed(follower)?;
        self.logging_less(index, |view| view.kept.advance(&follower.place));
        Ok(())
    }

    /// Whether `changes` may have rows for a follower.
    ///
    /// # Errors
    /// `UnknownView` or `Stale` if the view was dropped.
    pub fn has_moved(&self, follower: &ViewFollower) -> Result<bool> {
        let kept = &self.views[self.followed(follower)?].kept;
        Ok(kept.has_moved(&follower.place))
    }

    /// Frees at once what was kept for a follower alone.
    pub fn unfollow(&mut self, follower: ViewFollower) {
        let index = self.followed(&follower);
        drop(follower);
        if let Ok(index) = index {
            self.logging_less(index, |view| view.kept.tidy());
        }
    }

    /// What moved in a view since the last call; the first gives the whole view. Between two calls it
    /// keeps at most the rows that the view had and has. O(groups that moved).
    ///
    /// # Errors
    /// As `view_result`; what moved is then given by the next call.
    pub fn view_changes(&mut self, name: &str) -> Result<RecordBatch> {
        let follower = self.own_follower(name)?;
        let moved = self.changes(&follower)?;
        self.advance(&follower)?;
        Ok(moved)
    }

    /// Does what makes a view log less; strings that it alone held may go.
    fn logging_less(&mut self, view: usize, act: impl FnOnce(&mut NamedView)) {
        let view = &mut self.views[view];
        let before = view.kept.string_words();
        act(view);
        let left = before.saturating_sub(view.kept.string_words());
        self.words_left(left);
        self.collect_strings();
    }

    fn followed(&self, follower: &ViewFollower) -> Result<usize> {
        self.is_view(&follower.name, follower.view)?;
        self.view_index(&follower.name)
    }
}

impl NamedView {
    fn follower(&self, place: Follower) -> ViewFollower {
        ViewFollower {
            name: self.name.clone(),
            view: self.id,
            place,
        }
    }
}
