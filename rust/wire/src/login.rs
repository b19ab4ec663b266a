//! Authentication: startup, and passwords by SCRAM-SHA-256.
//!
//! Invariant: a password never crosses the network, and is not kept: a salted hash of it, made once, checks it. Without
//! a password everybody who reaches the address is let in, so a server has one unless its address is this machine's
//! own. Cost: a hash of 4,096 rounds when the server starts, and none a connection.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::Sink;
use pgwire::api::auth::sasl::SASLAuthStartupHandler;
use pgwire::api::auth::sasl::scram::{SCRAM_ITERATIONS, ScramAuth, gen_salted_password};
use pgwire::api::auth::{
    AuthSource, LoginInfo, Password, ServerParameterProvider, StartupHandler,
    finish_authentication, protocol_negotiation, save_startup_parameters_to_metadata,
};
use pgwire::api::{ClientInfo, PidSecretKeyGenerator, RandomPidSecretKeyGenerator};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::{PgWireBackendMessage, PgWireFrontendMessage};

use crate::backend::Client;

/// Settings of the server that are reported to clients.
#[derive(Debug)]
pub(crate) struct Settings(Vec<(String, String)>);

impl ServerParameterProvider for Settings {
    fn server_parameters<C: ClientInfo>(&self, client: &C) -> Option<HashMap<String, String>> {
        let mut told: HashMap<String, String> = self.0.iter().cloned().collect();
        for (from, to) in [
            ("application_name", "application_name"),
            ("user", "session_authorization"),
        ] {
            if let Some(value) = client.metadata().get(from) {
                told.insert(to.to_owned(), value.clone());
            }
        }
        Some(told)
    }
}

/// A password, as salt and hash.
struct Salted {
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl fmt::Debug for Salted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salted")
    }
}

#[async_trait]
impl AuthSource for Salted {
    async fn get_password(&self, _login: &LoginInfo) -> PgWireResult<Password> {
        Ok(Password::new(Some(self.salt.clone()), self.hash.clone()))
    }
}

/// Lets clients in.
pub(crate) struct Login {
    settings: Arc<Settings>,
    numbers: Arc<RandomPidSecretKeyGenerator>,
    password: Option<Arc<Salted>>,
}

impl Login {
    /// With settings that are reported to clients, and a password.
    pub(crate) fn new(
        settings: Vec<(String, String)>,
        password: Option<&str>,
    ) -> std::io::Result<Login> {
        let password = match password {
            None => None,
            Some(password) => {
                let mut salt = vec![0; 16];
                getrandom::fill(&mut salt).map_err(std::io::Error::other)?;
                let hash = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
                Some(Arc::new(Salted { salt, hash }))
            }
        };
        Ok(Login {
            settings: Arc::new(Settings(settings)),
            numbers: Arc::default(),
            password,
        })
    }

    /// The handshake of one connection.
    pub(crate) fn handshake(&self) -> Handshake {
        let Some(password) = &self.password else {
            return Handshake::Trust(Arc::clone(&self.settings), Arc::clone(&self.numbers));
        };
        let source: Arc<dyn AuthSource> = Arc::<Salted>::clone(password);
        let handler = SASLAuthStartupHandler::new(Arc::clone(&self.settings))
            .with_scram(ScramAuth::new(source))
            .with_pid_secret_key_generator(Arc::<RandomPidSecretKeyGenerator>::clone(
                &self.numbers,
            ));
        Handshake::Password(Box::new(handler))
    }
}

/// The handshake of one connection.
pub(crate) enum Handshake {
    Trust(Arc<Settings>, Arc<RandomPidSecretKeyGenerator>),
    Password(Box<SASLAuthStartupHandler<Settings>>),
}

impl Handshake {
    /// Takes the next message of it.
    pub(crate) async fn take<C>(
        &self,
        client: &mut C,
        message: PgWireFrontendMessage,
    ) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::Error: fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        match (self, message) {
            (Handshake::Password(handler), message) => handler.on_startup(client, message).await,
            (Handshake::Trust(settings, numbers), PgWireFrontendMessage::Startup(startup)) => {
                protocol_negotiation(client, &startup).await?;
                save_startup_parameters_to_metadata(client, &startup);
                let (number, secret) = numbers.generate(&*client);
                client.set_pid_and_secret_key(number, secret);
                finish_authentication(client, &**settings).await
            }
            _ => Ok(()),
        }
    }
}

/// The client's own description of itself.
pub(crate) fn client_of(info: &impl ClientInfo) -> Client {
    let of = |name: &str| info.metadata().get(name).cloned().unwrap_or_default();
    Client {
        user: of("user"),
        database: of("database"),
        application: of("application_name"),
    }
}
