//! The messages of one connection, one after the other.
//!
//! Invariant: statements are done in the order in which they were received. After an error of the extended protocol,
//! messages are skipped up to the next Sync. Cost: of a statement, its calls; memory for one piece of its rows beside
//! the rows.

use std::sync::Arc;
use std::time::Duration;

use arrow_schema::SchemaRef;
use futures_util::SinkExt;
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{
    BindComplete, CloseComplete, Describe, Execute, Parse, ParseComplete, PortalSuspended,
    TARGET_TYPE_BYTE_STATEMENT,
};
use pgwire::messages::response::EmptyQueryResponse;
use pgwire::messages::startup::ParameterStatus;
use tokio::task::spawn_blocking;

use crate::backend::{Answer, Failure, Outcome, Status};
use crate::codec::Out;
use crate::encode::rows::{Layout, Pieces, as_described};
use crate::line::{Done, Line};
use crate::prepared::{Cursor, Names, Portal, Statement};
use crate::reply::{self, Problem};

/// One connection.
pub(crate) struct Connection {
    pub(crate) line: Line,
    /// The longest that a statement may take.
    pub(crate) limit: Option<Duration>,
    pub(crate) state: State,
}

/// State of a connection.
#[derive(Default)]
pub(crate) struct State {
    names: Names,
    status: Status,
    /// Whether messages are skipped up to the next Sync.
    skips: bool,
}

impl Connection {
    /// Deals with all its messages.
    pub(crate) async fn serve(mut self) {
        while let Some(message) = self.line.next().await {
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
        let session = self.line.session;
        // Nobody is left to receive an error.
        let _ = spawn_blocking(move || session.close()).await;
    }

    async fn take(&mut self, message: Request) -> Done {
        match message {
            Request::Query(query) => self.query(query.query).await,
            Request::Parse(parse) => self.parse(parse).await,
            Request::Bind(bind) => {
                self.state.names.bind(&bind)?;
                self.line
                    .feed(Message::BindComplete(BindComplete::new()))
                    .await
            }
            Request::Describe(describe) => self.describe(describe).await,
            Request::Execute(execute) => self.execute(execute).await,
            Request::Close(close) => {
                let name = close.name.unwrap_or_default();
                match close.target_type == TARGET_TYPE_BYTE_STATEMENT {
                    true => drop(self.state.names.statements.remove(&name)),
                    false => drop(self.state.names.portals.remove(&name)),
                }
                self.line
                    .feed(Message::CloseComplete(CloseComplete::new()))
                    .await
            }
            Request::Sync(_) => {
                self.state.skips = false;
                if self.state.status == Status::Idle {
                    self.state.names.portals.clear();
                }
                self.line.send(reply::ready(self.state.status)).await
            }
            Request::Flush(_) => Ok(self.line.socket.flush().await?),
            // A client may still send data of a COPY that failed.
            Request::CopyData(_) | Request::CopyDone(_) | Request::CopyFail(_) => Ok(()),
            _ => Err(Failure::new("08P01", "this message has no place here").into()),
        }
    }

    async fn failed(&mut self, failure: Failure, extended: bool) -> Done {
        if self.state.status == Status::Open {
            self.state.status = Status::Failed;
            self.line.work(None, |session| session.fail()).await?;
        }
        self.state.skips = extended;
        self.line.feed(reply::error(failure, "ERROR")).await?;
        match extended {
            true => Ok(self.line.socket.flush().await?),
            false => self.line.send(reply::ready(self.state.status)).await,
        }
    }

    async fn query(&mut self, sql: String) -> Done {
        self.line.session.begin();
        let limit = self.limit;
        let answer = self
            .line
            .work(limit, move |session| session.run(&sql, None))
            .await?;
        for outcome in self.announce(answer).await? {
            match outcome? {
                Outcome::Empty => {
                    self.line
                        .feed(Message::EmptyQueryResponse(EmptyQueryResponse::new()))
                        .await?;
                }
                Outcome::Done(tag) => self.line.feed(reply::done(tag)).await?,
                Outcome::Copy(schema, format, source) => {
                    self.copy(&schema, &format, &source).await?;
                }
                Outcome::CopyIn(copy) => self.copy_in(copy).await?,
                Outcome::Rows(rows) => {
                    self.line.feed(reply::columns(&rows.schema, &[])).await?;
                    let (tag, mut cursor) = (rows.tag.clone(), Cursor::new(rows));
                    let count = self.rows(&mut cursor, usize::MAX, &[]).await?;
                    self.line
                        .feed(reply::done(format!("{tag} {count}")))
                        .await?;
                }
            }
        }
        self.line.send(reply::ready(self.state.status)).await
    }

    async fn parse(&mut self, parse: Parse) -> Done {
        let sql = parse.query.clone();
        let is = self
            .line
            .work(None, move |session| session.prepare(&sql))
            .await??;
        let statement = Statement {
            sql: parse.query,
            oids: parse.type_oids,
            is,
            described: None,
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
        self.line
            .feed(Message::ParseComplete(ParseComplete::new()))
            .await
    }

    async fn describe(&mut self, describe: Describe) -> Done {
        let name = describe.name.unwrap_or_default();
        if describe.target_type != TARGET_TYPE_BYTE_STATEMENT {
            return self.describe_portal(&name).await;
        }
        let mut statement = Arc::clone(self.state.names.statement(&name)?);
        let types = ParameterDescription::new(statement.parameter_types());
        self.line.feed(Message::ParameterDescription(types)).await?;
        if !statement.is.is_query {
            return self.line.feed(Message::NoData(NoData::new())).await;
        }
        let columns = self.columns(&statement).await?;
        self.line.feed(reply::columns(&columns, &[])).await?;
        Arc::make_mut(&mut statement).described = Some(columns);
        self.state.names.statements.insert(name, statement);
        Ok(())
    }

    /// The columns of a statement that gives rows.
    async fn columns(&mut self, statement: &Statement) -> Result<SchemaRef, Problem> {
        let (sql, oids) = (statement.sql.clone(), statement.oids.clone());
        self.line.session.begin();
        let limit = self.limit;
        let found = self
            .line
            .work(limit, move |session| session.describe(&sql, &oids));
        Ok(found.await??)
    }

    /// The columns of a query, by evaluating it: a client that describes a portal is about to run it. A cursor of SQL
    /// is a portal, too.
    async fn describe_portal(&mut self, name: &str) -> Done {
        if !name.is_empty() && !self.state.names.portals.contains_key(name) {
            let cursor = name.to_owned();
            let found = self.line.work(None, move |session| session.cursor(&cursor));
            let columns = found.await??;
            return self.line.feed(reply::columns(&columns, &[])).await;
        }
        let portal = self.state.names.portal(name)?;
        if !portal.statement.is.is_query {
            return self.line.feed(Message::NoData(NoData::new())).await;
        }
        if portal.statement.is.changes && portal.rows.is_none() {
            let mut statement = Arc::clone(&portal.statement);
            let columns = match &statement.described {
                Some(columns) => SchemaRef::clone(columns),
                None => self.columns(&statement).await?,
            };
            let portal = self.state.names.portal(name)?;
            let message = reply::columns(&columns, &portal.binary);
            Arc::make_mut(&mut statement).described = Some(columns);
            portal.statement = statement;
            return self.line.feed(message).await;
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
        self.line.feed(message).await
    }

    /// Does the statement of a portal.
    async fn run(&mut self, name: &str) -> Result<Vec<Result<Outcome, Failure>>, Problem> {
        let portal = self.state.names.portal(name)?;
        let (statement, values) = (Arc::clone(&portal.statement), portal.values.clone());
        self.line.session.begin();
        let (sql, limit) = (statement.sql.clone(), self.limit);
        let answer = self
            .line
            .work(limit, move |session| session.run(&sql, Some(&values)))
            .await?;
        let mut outcomes = self.announce(answer).await?;
        if let (Some(described), Some(Ok(Outcome::Rows(rows)))) =
            (&statement.described, outcomes.first_mut())
        {
            let batches = rows
                .batches
                .iter()
                .map(|batch| as_described(batch, described));
            rows.batches = batches.collect::<Result<_, _>>()?;
            rows.schema = SchemaRef::clone(described);
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
                    self.line
                        .feed(Message::EmptyQueryResponse(EmptyQueryResponse::new()))
                        .await?;
                }
                Outcome::Done(tag) => self.line.feed(reply::done(tag)).await?,
                Outcome::Copy(schema, format, source) => {
                    self.copy(&schema, &format, &source).await?;
                }
                Outcome::CopyIn(copy) => self.copy_in(copy).await?,
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
            true => self.line.feed(reply::done(format!("{tag} {count}"))).await,
            false => {
                self.line
                    .feed(Message::PortalSuspended(PortalSuspended::new()))
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
            while let Some(piece) = pieces.piece()? {
                self.line.socket.feed(Out::Bytes(piece)).await?;
            }
        }
        Ok(count)
    }

    /// Sends the client an answer's warnings and settings; returns its outcomes, with the failure behind them.
    pub(crate) async fn announce(
        &mut self,
        answer: Answer,
    ) -> Result<Vec<Result<Outcome, Failure>>, Problem> {
        self.state.status = answer.status;
        for warning in answer.warnings {
            self.line.feed(reply::notice(warning)).await?;
        }
        for (name, value) in answer.settings {
            self.line
                .feed(Message::ParameterStatus(ParameterStatus::new(name, value)))
                .await?;
        }
        let outcomes = answer.outcomes.into_iter().map(Ok);
        Ok(outcomes.chain(answer.failure.map(Err)).collect())
    }
}
