//! The messages of COPY, either way.
//!
//! Invariant: rows are passed to their receiver after the last one, so that a client that gives up, disconnects or
//! sends a wrong one changes nothing. Cost: memory for a piece of the output, and for all rows that are read; two hops
//! between threads a piece.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::BytesMut;
use futures_util::SinkExt;
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::messages::copy::CopyDone;

use crate::backend::{Answer, CopyIn, Failure, Outcome, Source};
use crate::codec::Out;
use crate::connection::Connection;
use crate::copy::format::Format;
use crate::copy::reader::Reader;
use crate::copy::written;
use crate::encode::rows::{Layout, Pieces};
use crate::line::{Done, Late};
use crate::reply::{self, Problem};

/// Number of bytes that are read at a time.
const PIECE: usize = 1 << 16;

impl Connection {
    /// Copies rows out as they are produced, until they end or the client does.
    pub(crate) async fn copy(
        &mut self,
        schema: &SchemaRef,
        format: &Arc<Format>,
        source: &Arc<dyn Source>,
    ) -> Done {
        let copied = self.copy_all(schema, format, source).await;
        let source = Arc::clone(source);
        self.line.work(None, move |_| source.close()).await?;
        let count = copied?;
        self.line.feed(Message::CopyDone(CopyDone::new())).await?;
        self.line.feed(reply::done(format!("COPY {count}"))).await
    }

    async fn copy_all(
        &mut self,
        schema: &SchemaRef,
        format: &Arc<Format>,
        source: &Arc<dyn Source>,
    ) -> Result<usize, Problem> {
        let mut count = 0;
        let (mut opening, names) = written::opening(format, schema);
        let said = reply::copied(schema.fields().len(), format.is_binary());
        self.line.feed(said).await?;
        if let Some(names) = names {
            self.line.socket.feed(Out::Bytes(names)).await?;
        }
        self.line.socket.flush().await?;
        loop {
            let from = Arc::clone(source);
            let Some(batches) = self.line.work(None, move |_| from.next()).await?? else {
                if let Some(end) = written::closing(format, &opening) {
                    self.line.socket.feed(Out::Bytes(end)).await?;
                }
                return Ok(count);
            };
            for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
                count += batch.num_rows();
                let layout = Layout::Copy(Arc::clone(format));
                let mut pieces = Pieces::of(batch, 0..batch.num_rows(), layout)?
                    .behind(std::mem::take(&mut opening));
                while let Some(piece) = pieces.piece()? {
                    self.line.socket.feed(Out::Bytes(piece)).await?;
                }
            }
            self.line.socket.flush().await?;
        }
    }

    /// Reads the rows that a client sends, and hands them over when all are there.
    pub(crate) async fn copy_in(&mut self, copy: CopyIn) -> Done {
        let CopyIn {
            schema,
            format,
            limits,
            sink,
        } = copy;
        let columns = schema.fields().len();
        let binary = format.is_binary();
        let mut reader = Reader::new(schema, format, limits)?;
        self.line.send(reply::awaited(columns, binary)).await?;
        let mut pending = BytesMut::new();
        loop {
            match self.line.next().await.ok_or(Problem::Gone)? {
                Request::CopyData(data) => {
                    pending.extend_from_slice(&data.data);
                    if pending.len() >= PIECE {
                        let piece = pending.split();
                        let fed = move |mut reader: Reader| {
                            reader.push(&piece)?;
                            Ok::<_, Failure>(reader)
                        };
                        reader = self.line.work(None, move |_| fed(reader)).await??;
                    }
                }
                Request::CopyDone(_) => break,
                Request::CopyFail(why) => {
                    let what = format!("COPY from stdin failed: {}", why.message);
                    return Err(Failure::new("57014", what).into());
                }
                // Drivers of the extended protocol send them before the rows.
                Request::Flush(_) | Request::Sync(_) => {}
                _ => {
                    let what = "another message came before the end of the rows of COPY";
                    return Err(Failure::new("08P01", what).into());
                }
            }
        }
        let limit = self.limit;
        let taken = self.line.work(limit, move |_| {
            let read = reader.push(&pending).and_then(|()| reader.finish());
            Taken(read.map(|rows| sink.take(rows)))
        });
        let answer = taken.await?.0?;
        for outcome in self.announce(answer).await? {
            if let Outcome::Done(tag) = outcome? {
                self.line.feed(reply::done(tag)).await?;
            }
        }
        Ok(())
    }
}

/// Result of rows: the answer of their receiver, or the failure of a wrong one.
struct Taken(Result<Answer, Failure>);

impl Late for Taken {
    fn late(self) -> Taken {
        Taken(self.0.map(Answer::late))
    }
}
