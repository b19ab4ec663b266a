//! Sessions that run, for requests to cancel them, which use connections of their own.
//!
//! Invariant: a client without the secret of a session cancels nothing. Cost: O(1) a request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pgwire::messages::cancel::CancelRequest;
use pgwire::messages::startup::SecretKey;

use crate::backend::Session;

type Sessions = HashMap<i32, (SecretKey, Arc<dyn Session>)>;

/// The sessions of a server.
#[derive(Default)]
pub(crate) struct Running(Mutex<Sessions>);

/// One of them, until it is dropped.
pub(crate) struct Registered {
    all: Arc<Running>,
    number: i32,
}

impl Running {
    pub(crate) fn register(
        self: &Arc<Self>,
        (number, secret): (i32, SecretKey),
        session: &Arc<dyn Session>,
    ) -> Registered {
        self.sessions(|all| all.insert(number, (secret, Arc::clone(session))));
        Registered {
            all: Arc::clone(self),
            number,
        }
    }

    pub(crate) fn cancel(&self, request: &CancelRequest) {
        self.sessions(|all| {
            if let Some((secret, session)) = all.get(&request.pid)
                && secret.eq_value(&request.secret_key)
            {
                session.cancel();
            }
        });
    }

    pub(crate) fn cancel_all(&self) {
        self.sessions(|all| all.values().for_each(|(_, session)| session.cancel()));
    }

    fn sessions<T>(&self, with: impl FnOnce(&mut Sessions) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.all.sessions(|all| all.remove(&self.number));
    }
}
