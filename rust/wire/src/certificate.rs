//! The certificate of a server, which is read again once its files change.
//!
//! Invariant: a connection is served by the files as they were at its beginning, or, while they fit no longer together,
//! by those that last did. A change that cannot be read is reported once. Cost: two looks at files a connection.

use std::fs::{Metadata, metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use pgwire::tokio::TlsAcceptor;
use pgwire::tokio::tokio_rustls::rustls::ServerConfig;
use pgwire::tokio::tokio_rustls::rustls::crypto::ring::default_provider;
use pgwire::tokio::tokio_rustls::rustls::pki_types::pem::PemObject;
use pgwire::tokio::tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Time, length and number of a file, by which a changed one differs.
type Mark = (Option<SystemTime>, u64, u64);

/// The files of a certificate and its key, and what they last held.
pub(crate) struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    held: Mutex<Held>,
}

struct Held {
    acceptor: TlsAcceptor,
    /// The files that it was read from.
    read: [Option<Mark>; 2],
    /// The files that could not be read.
    refused: Option<[Option<Mark>; 2]>,
}

impl Certificate {
    /// Reads the files.
    ///
    /// # Errors
    /// Files that are not there or do not fit together.
    pub(crate) fn new(chain: PathBuf, key: PathBuf) -> io::Result<Certificate> {
        let read = [mark(&chain), mark(&key)];
        let held = Mutex::new(Held {
            acceptor: acceptor(&chain, &key)?,
            read,
            refused: None,
        });
        Ok(Certificate { chain, key, held })
    }

    /// The acceptor of a connection that begins now; and why changed files were not taken, the first time.
    pub(crate) fn current(&self) -> (TlsAcceptor, Option<io::Error>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before they are read: what changes meanwhile is seen the next time.
        let now = [mark(&self.chain), mark(&self.key)];
        if now == held.read {
            return (held.acceptor.clone(), None);
        }
        let problem = match acceptor(&self.chain, &self.key) {
            Ok(acceptor) => {
                *held = Held {
                    acceptor,
                    read: now,
                    refused: None,
                };
                None
            }
            // They are read again at the next connection, as they may be written just now.
            Err(problem) => (held.refused.replace(now) != Some(now)).then_some(problem),
        };
        (held.acceptor.clone(), problem)
    }
}

fn mark(path: &Path) -> Option<Mark> {
    let found = metadata(path).ok()?;
    Some((found.modified().ok(), found.len(), number(&found)))
}

#[cfg(unix)]
fn number(of: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(of)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

fn acceptor(chain: &Path, key: &Path) -> io::Result<TlsAcceptor> {
    let bad = |path: &Path, what: String| {
        let what = format!("{}: {what}; give a file in PEM", path.display());
        io::Error::new(io::ErrorKind::InvalidInput, what)
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad(chain, error.to_string()))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| {
            config
                .with_no_client_auth()
                .with_single_cert(certificates, secret)
        })
        .map_err(|error| bad(chain, error.to_string()))?;
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
