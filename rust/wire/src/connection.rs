//! The messages of one connection, one after the other.
//!
//! Invariant: statements are done in the order in which they came. While one runs, the socket is read on, so that a client that
//! goes away ends it; `AHEAD` messages wait meanwhile. After an error of the extended protocol, messages are skipped up to the
//! next Sync. Cost: of a statement two hops between threads; memory for one piece of its rows beside the rows.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::SchemaRef;
use futures_util::{SinkExt, StreamExt};
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::messages::copy::CopyDone;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{
    BindComplete, CloseComplete, Describe, Execute, Parse, ParseComplete, PortalSuspended,
    TARGET_TYPE_BYTE_STATEMENT,
};
use pgwire::messages::response::EmptyQueryResponse;
use pgwire::messages::startup::ParameterStatus;
use pgwire::tokio::server::MaybeTls;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio_util::codec::Framed;

use crate::backend::{Answer, Failure, Outcome, Session, Source, Status};
use crate::codec::{Codec, Out};
use crate::encode::rows::{Layout, Pieces, as_described};
use crate::prepared::{Cursor, Names, Portal, Statement};
use crate::reply::{self, Problem};

/// How many messages wait while a statement runs.
const AHEAD: usize = 16;

type Done = Result<(), Problem>;

/// Limits of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Of a statement.
    pub(crate) statement: Option<Duration>,
    /// Between two messages.
    pub(crate) idle: Option<Duration>,
}

/// One connection.
pub(crate) struct Connection {
    pub(crate) socket: Framed<MaybeTls, Codec>,
    pub(crate) session: Arc<dyn Session>,
    pub(crate) limits: Limits,
    /// Changes when the server ends.
    pub(crate) end: watch::Receiver<bool>,
    pub(crate) state: State,
}

/// What a connection remembers.
#[derive(Default)]
pub(crate) struct State {
    names: Names,
    status: Status,
    waiting: VecDeque<Request>,
    /// Whether messages are skipped up to the next Sync.
    skips: bool,
}

impl Connection {
    /// Deals with all its messages.
    pub(crate) async fn serve(mut self) {
        while let Some(message) = self.next().await {
            let extended = message.is_extended_query();
            if self.state.skips && !matches!(message, Request::Sync(_)) {
                continue;
            }
            let done = match self.take(message).await {
                Err(Problem::Failed(failure)) => self.failed(failure, extended).await,
                done => done,
            };
            if done.is_err() {
                break;
            }
        }
        let session = self.session;
        // Nobody is left to be told of what fails here.
        let _ = spawn_blocking(move || session.close()).await;
    }

    /// The next message; `None` where there is none any more.
    async fn next(&mut self) -> Option<Request> {
        if let Some(message) = self.state.waiting.pop_front() {
            return Some(message);
        }
        let limit = self.limits.idle;
        let failure = tokio::select! {
            message = self.socket.next() => match message? {
                Ok(Request::Terminate(_)) => return None,
                Ok(message) => return Some(message),
                Err(error) => reply::protocol(&error),
            },
            () = sleep(limit) => Failure::new("57P05", "the connection was idle for too long"),
            _ = self.end.changed() => Failure::new("57P01", "the server was closed"),
        };
        // The client may not be there to be told.
        let _ = self.send(reply::error(failure, "FATAL")).await;
        None
    }

    async fn take(&mut self, message: Request) -> Done {
        match message {
            Request::Query(query) => self.query(query.query).await,
            Request::Parse(parse) => self.parse(parse).await,
            Request::Bind(bind) => {
                self.state.names.bind(&bind)?;
                self.feed(Message::BindComplete(BindComplete::new())).await
            }
            Request::Describe(describe) => self.describe(describe).await,
            Request::Execute(execute) => self.execute(execute).await,
            Request::Close(close) => {
                let name = close.name.unwrap_or_default();
                match close.target_type == TARGET_TYPE_BYTE_STATEMENT {
                    true => drop(self.state.names.statements.remove(&name)),
                    false => drop(self.state.names.portals.remove(&name)),
                }
                self.feed(Message::CloseComplete(CloseComplete::new()))
                    .await
            }
            Request::Sync(_) => {
                self.state.skips = false;
                if self.state.status == Status::Idle {
                    self.state.names.portals.clear();
                }
                self.send(reply::ready(self.state.status)).await
            }
            Request::Flush(_) => Ok(self.socket.flush().await?),
            // What a client still sends of a COPY that failed.
            Request::CopyData(_) | Request::CopyDone(_) | Request::CopyFail(_) => Ok(()),
            _ => Err(Failure::new("08P01", "this message has no place here").into()),
        }
    }

    async fn failed(&mut self, failure: Failure, extended: bool) -> Done {
        if self.state.status == Status::Open {
            self.state.status = Status::Failed;
            self.work(None, |session| session.fail()).await?;
        }
        self.state.skips = extended;
        self.feed(reply::error(failure, "ERROR")).await?;
        match extended {
            true => Ok(self.socket.flush().await?),
            false => self.send(reply::ready(self.state.status)).await,
        }
    }

    async fn query(&mut self, sql: String) -> Done {
        self.session.begin();
        let limit = self.limits.statement;
        let answer = self
            .work(limit, move |session| session.run(&sql, None))
            .await?;
        for outcome in self.told(answer).await? {
            match outcome? {
                Outcome::Empty => {
                    self.feed(Message::EmptyQueryResponse(EmptyQueryResponse::new()))
                        .await?;
                }
                Outcome::Done(tag) => self.feed(reply::done(tag)).await?,
                Outcome::Copy(schema, source) => self.copy(&schema, &source).await?,
                Outcome::Rows(rows) => {
                    self.feed(reply::columns(&rows.schema, &[])).await?;
                    let (tag, mut cursor) = (rows.tag.clone(), Cursor::new(rows));
                    let count = self.rows(&mut cursor, usize::MAX, &[]).await?;
                    self.feed(reply::done(format!("{tag} {count}"))).await?;
                }
            }
        }
        self.send(reply::ready(self.state.status)).await
    }

    async fn parse(&mut self, parse: Parse) -> Done {
        let sql = parse.query.clone();
        let is = self
            .work(None, move |session| session.prepare(&sql))
            .await??;
        let statement = Statement {
            sql: parse.query,
            oids: parse.type_oids,
            is,
            told: None,
        };
        let name = parse.name.unwrap_or_default();
        if !name.is_empty() && self.state.names.statements.contains_key(&name) {
            let what = format!("prepared statement \"{name}\" already exists");
            return Err(Failure::new("42P05", what).into());
        }
        self.state
            .names
            .statements
            .insert(name, Arc::new(statement));
        self.feed(Message::ParseComplete(ParseComplete::new()))
            .await
    }

    async fn describe(&mut self, describe: Describe) -> Done {
        let name = describe.name.unwrap_or_default();
        if describe.target_type != TARGET_TYPE_BYTE_STATEMENT {
            return self.describe_portal(&name).await;
        }
        let mut statement = Arc::clone(self.state.names.statement(&name)?);
        let types = ParameterDescription::new(statement.parameter_types());
        self.feed(Message::ParameterDescription(types)).await?;
        if !statement.is.is_query {
            return self.feed(Message::NoData(NoData::new())).await;
        }
        let (sql, oids) = (statement.sql.clone(), statement.oids.clone());
        self.session.begin();
        let limit = self.limits.statement;
        let columns = self
            .work(limit, move |session| session.describe(&sql, &oids))
            .await??;
        self.feed(reply::columns(&columns, &[])).await?;
        Arc::make_mut(&mut statement).told = Some(columns);
        self.state.names.statements.insert(name, statement);
        Ok(())
    }

    /// Of a query, by asking it: who describes a portal is about to.
    async fn describe_portal(&mut self, name: &str) -> Done {
        let portal = self.state.names.portal(name)?;
        if !portal.statement.is.is_query {
            return self.feed(Message::NoData(NoData::new())).await;
        }
        if portal.rows.is_none() {
            for outcome in self.run(name).await? {
                self.state.names.portal(name)?.rows = match outcome? {
                    Outcome::Rows(rows) => Some(Cursor::new(rows)),
                    _ => None,
                };
            }
        }
        let portal = self.state.names.portal(name)?;
        let message = match &portal.rows {
            Some(cursor) => reply::columns(&cursor.rows.schema, &portal.binary),
            None => Message::NoData(NoData::new()),
        };
        self.feed(message).await
    }

    /// Does the statement of a portal.
    async fn run(&mut self, name: &str) -> Result<Vec<Result<Outcome, Failure>>, Problem> {
        let portal = self.state.names.portal(name)?;
        let (statement, values) = (Arc::clone(&portal.statement), portal.values.clone());
        self.session.begin();
        let (sql, limit) = (statement.sql.clone(), self.limits.statement);
        let answer = self
            .work(limit, move |session| session.run(&sql, Some(&values)))
            .await?;
        let mut outcomes = self.told(answer).await?;
        if let (Some(told), Some(Ok(Outcome::Rows(rows)))) = (&statement.told, outcomes.first_mut())
        {
            let batches = rows.batches.iter().map(|batch| as_described(batch, told));
            rows.batches = batches.collect::<Result<_, _>>()?;
            rows.schema = SchemaRef::clone(told);
        }
        Ok(outcomes)
    }

    async fn execute(&mut self, execute: Execute) -> Done {
        let name = execute.name.unwrap_or_default();
        let most = match usize::try_from(execute.max_rows) {
            Ok(most) if most > 0 => most,
            _ => usize::MAX,
        };
        if let Some(cursor) = self.state.names.portal(&name)?.rows.take() {
            return self.hand_out(&name, cursor, most).await;
        }
        for outcome in self.run(&name).await? {
            match outcome? {
                Outcome::Empty => {
                    self.feed(Message::EmptyQueryResponse(EmptyQueryResponse::new()))
                        .await?;
                }
                Outcome::Done(tag) => self.feed(reply::done(tag)).await?,
                Outcome::Copy(schema, source) => self.copy(&schema, &source).await?,
                Outcome::Rows(rows) => self.hand_out(&name, Cursor::new(rows), most).await?,
            }
        }
        Ok(())
    }

    /// The next rows of a portal.
    async fn hand_out(&mut self, name: &str, mut cursor: Cursor, most: usize) -> Done {
        let binary = self.state.names.portal(name)?.binary.clone();
        let count = self.rows(&mut cursor, most, &binary).await?;
        let (is_done, tag) = (cursor.is_done(), cursor.rows.tag.clone());
        // One that is done has no rows more to give, and gives none.
        if let Ok(Portal { rows, .. }) = self.state.names.portal(name) {
            *rows = Some(cursor);
        }
        match is_done {
            true => self.feed(reply::done(format!("{tag} {count}"))).await,
            false => {
                self.feed(Message::PortalSuspended(PortalSuspended::new()))
                    .await
            }
        }
    }

    async fn rows(
        &mut self,
        cursor: &mut Cursor,
        most: usize,
        binary: &[bool],
    ) -> Result<usize, Problem> {
        let mut count = 0;
        while let Some((batch, range)) = (count < most).then(|| cursor.take(most - count)).flatten()
        {
            count += range.len();
            let mut pieces = Pieces::of(batch, range, Layout::Rows(binary.to_vec()))?;
            while let Some(piece) = pieces.next()? {
                self.socket.feed(Out::Bytes(piece)).await?;
            }
        }
        Ok(count)
    }

    /// Copies rows out as they come, until they end or the client does.
    async fn copy(&mut self, schema: &SchemaRef, source: &Arc<dyn Source>) -> Done {
        let copied = self.copy_all(schema, source).await;
        let source = Arc::clone(source);
        self.work(None, move |_| source.close()).await?;
        let count = copied?;
        self.feed(Message::CopyDone(CopyDone::new())).await?;
        self.feed(reply::done(format!("COPY {count}"))).await
    }

    async fn copy_all(
        &mut self,
        schema: &SchemaRef,
        source: &Arc<dyn Source>,
    ) -> Result<usize, Problem> {
        let mut count = 0;
        self.send(reply::copied(schema.fields().len())).await?;
        loop {
            let from = Arc::clone(source);
            let Some(batches) = self.work(None, move |_| from.next()).await?? else {
                return Ok(count);
            };
            for batch in batches {
                count += batch.num_rows();
                let mut pieces = Pieces::of(&batch, 0..batch.num_rows(), Layout::Copy)?;
                while let Some(piece) = pieces.next()? {
                    self.socket.feed(Out::Bytes(piece)).await?;
                }
            }
            self.socket.flush().await?;
        }
    }

    /// Tells the client what an answer says beside its outcomes, which it returns, the failure behind them.
    async fn told(&mut self, answer: Answer) -> Result<Vec<Result<Outcome, Failure>>, Problem> {
        self.state.status = answer.status;
        for warning in answer.warnings {
            self.feed(reply::notice(warning)).await?;
        }
        for (name, value) in answer.settings {
            self.feed(Message::ParameterStatus(ParameterStatus::new(name, value)))
                .await?;
        }
        let outcomes = answer.outcomes.into_iter().map(Ok);
        Ok(outcomes.chain(answer.failure.map(Err)).collect())
    }

    /// Runs what blocks on a thread of its own. A client that goes away, the end of the server and the limit all end it.
    async fn work<T: Late + Send + 'static>(
        &mut self,
        limit: Option<Duration>,
        call: impl FnOnce(&dyn Session) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (session, running) = (Arc::clone(&self.session), Arc::clone(&self.session));
        let mut task = spawn_blocking(move || call(&*session));
        let timer = sleep(limit);
        tokio::pin!(timer);
        let (mut late, mut gone) = (false, false);
        let done = loop {
            tokio::select! {
                done = &mut task => break done,
                message = self.socket.next(), if !gone && self.state.waiting.len() < AHEAD => {
                    match message {
                        Some(Ok(message)) if !matches!(message, Request::Terminate(_)) => {
                            self.state.waiting.push_back(message);
                        }
                        _ => gone = true,
                    }
                }
                _ = self.end.changed(), if !gone => gone = true,
                () = &mut timer, if !late => late = true,
            }
            if gone || late {
                running.cancel();
            }
        };
        match done {
            _ if gone => Err(Problem::Gone),
            Ok(done) if late => Ok(done.late()),
            Ok(done) => Ok(done),
            Err(_) => {
                let what = "a call of the database ended in a way that should be impossible; \
                            please report it";
                Err(Failure::new("XX000", what).into())
            }
        }
    }

    async fn feed(&mut self, message: Message) -> Done {
        Ok(self.socket.feed(Out::Message(message)).await?)
    }

    async fn send(&mut self, message: Message) -> Done {
        Ok(self.socket.send(Out::Message(message)).await?)
    }
}

/// Waits so long; for ever if there is no limit.
async fn sleep(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => pending().await,
    }
}

/// What a call comes to that was ended because it took too long.
trait Late {
    fn late(self) -> Self;
}

impl Late for () {
    fn late(self) {}
}

impl Late for Answer {
    fn late(mut self) -> Answer {
        self.failure = self.failure.map(timed_out);
        self
    }
}

impl<T> Late for Result<T, Failure> {
    fn late(self) -> Self {
        self.map_err(timed_out)
    }
}

fn timed_out(failure: Failure) -> Failure {
    match failure.code.as_str() {
        "57014" => Failure {
            message: "canceling statement due to statement timeout".to_owned(),
            ..failure
        },
        _ => failure,
    }
}
