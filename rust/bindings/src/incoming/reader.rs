//! Streams, read to their end.
//!
//! Invariant: the interpreter is free while a producer works, whose own threads may want it; no lock of a database is
//! held, so a producer may call that database. Calls of one stream never overlap.
//!
//! Ctrl-C reaches a program in its main thread alone. So a stream that the main thread reads, and that is not in memory
//! already, is read by a thread of its own, in the context variables of the caller, while the main thread waits and
//! listens: whatever the producer does, in Python or not, Ctrl-C is heard. The producer is then left alone: its stream
//! is released when it returns. A read in any other thread hears nothing and needs no help.
//!
//! An error that a producer raises in Python is raised as that very exception if its batches can be read in Python:
//! readers of pyarrow. The C interface itself passes on a text.
//!
//! Cost: a thread for a stream that is not in memory, some tens of microseconds.

use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyType};

use super::schemas::refused;

use crate::ending::{attach, detach};

/// Time between two checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// An item of a stream.
pub(super) enum Item {
    Schema(FFI_ArrowSchema),
    Array(FFI_ArrowArray),
    /// Anything with `__arrow_c_array__`.
    Batch(Py<PyAny>),
}

/// Why a stream ended early.
enum Failure {
    /// In the producer's words.
    Reported(String),
    Raised(PyErr),
}

/// A stream that is being read.
pub(super) enum Source {
    C {
        stream: FFI_ArrowArrayStream,
        begun: bool,
    },
    /// A reader of pyarrow.
    Reader(Py<PyAny>),
}

impl Source {
    pub(super) fn of(stream: FFI_ArrowArrayStream) -> Source {
        Source::C {
            stream,
            begun: false,
        }
    }

    /// The next item; None behind the last.
    fn next(&mut self) -> Result<Option<Item>, Failure> {
        match self {
            Source::C { stream, begun } if *begun => next_array(stream),
            Source::C { stream, begun } => {
                *begun = true;
                schema(stream).map(Some)
            }
            Source::Reader(reader) => {
                attach(
                    |py| match reader.call_method0(py, intern!(py, "read_next_batch")) {
                        Ok(batch) => Ok(Some(Item::Batch(batch))),
                        Err(end) if end.is_instance_of::<PyStopIteration>(py) => Ok(None),
                        Err(raised) => Err(Failure::Raised(raised)),
                    },
                )
            }
        }
    }
}

fn schema(stream: &mut FFI_ArrowArrayStream) -> Result<Item, Failure> {
    let (Some(get), Some(_), Some(_)) = (stream.get_schema, stream.get_next, stream.release) else {
        let text = "its stream was read already".to_owned();
        return Err(Failure::Reported(text));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is not released, so its callbacks may be called with it; `schema` is ours.
    // Test: tests/python/test_arrow_edge.py::test_a_failed_stream_of_another_library_says_why
    match unsafe { get(stream, &raw mut schema) } {
        0 => Ok(Item::Schema(schema)),
        code => Err(last_error(stream, code)),
    }
}

fn next_array(stream: &mut FFI_ArrowArrayStream) -> Result<Option<Item>, Failure> {
    let mut array = FFI_ArrowArray::empty();
    let Some(get) = stream.get_next else {
        return Ok(None);
    };
    // SAFETY: as above; `array` is ours, and empty.
    // Test: tests/python/test_arrow_edge.py::test_a_failed_stream_of_another_library_says_why
    match unsafe { get(stream, &raw mut array) } {
        0 if array.is_released() => Ok(None),
        0 => Ok(Some(Item::Array(array))),
        code => Err(last_error(stream, code)),
    }
}

/// The failure of a stream, with its own message.
fn last_error(stream: &mut FFI_ArrowArrayStream, code: i32) -> Failure {
    let text = stream.get_last_error.and_then(|get| {
        // SAFETY: the stream is not released; the text is NULL or lives until its next call.
        // Test: tests/python/test_arrow_edge.py::test_a_failed_stream_of_another_library_says_why
        let text = unsafe { get(stream) };
        if text.is_null() {
            return None;
        }
        // SAFETY: it is not NULL, and the interface promises a C string.
        // Test: tests/python/test_arrow_edge.py::test_a_failed_stream_of_another_library_says_why
        let text = unsafe { CStr::from_ptr(text) };
        Some(text.to_string_lossy().into_owned())
    });
    Failure::Reported(text.unwrap_or_else(|| format!("its stream failed with code {code}")))
}

/// Hands every item of a stream to `take`.
pub(super) fn read(
    py: Python<'_>,
    mut source: Source,
    in_memory: bool,
    mut take: impl FnMut(Item) -> PyResult<()>,
) -> PyResult<()> {
    if !in_memory && hears(py)? {
        return listening(py, source, take);
    }
    let outcome = loop {
        let item = match in_memory {
            true => source.next(),
            false => detach(py, || source.next()),
        };
        match item {
            Ok(None) => break Ok(()),
            Ok(Some(item)) => {
                if let Err(error) = take(item) {
                    break Err(error);
                }
            }
            Err(failure) => break Err(failure.raise(py)),
        }
    };
    if !in_memory {
        detach(py, || drop(source));
    }
    outcome
}

impl Failure {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Reported(text) => refused(py, &text),
            Failure::Raised(raised) => raised,
        }
    }
}

/// Whether this is the thread that Ctrl-C reaches.
pub(crate) fn hears(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import(intern!(py, "threading"))?;
    let here = threading.call_method0(intern!(py, "get_ident"))?;
    let main = threading.call_method0(intern!(py, "main_thread"))?;
    here.eq(main.getattr(intern!(py, "ident"))?)
}

type Message = Result<Item, Failure>;

fn listening(
    py: Python<'_>,
    source: Source,
    mut take: impl FnMut(Item) -> PyResult<()>,
) -> PyResult<()> {
    let (send, mut receive) = sync_channel::<Message>(1);
    let (go_on, asked) = sync_channel::<()>(1);
    let context = py
        .import(intern!(py, "contextvars"))?
        .call_method0(intern!(py, "copy_context"))?
        .unbind();
    let read = Mutex::new(Some((source, send, asked)));
    let run = PyCFunction::new_closure(py, None, None, move |args, _| {
        let taken = read.lock().ok().and_then(|mut read| read.take());
        detach(args.py(), || {
            if let Some((source, send, asked)) = taken {
                hand_over(source, &send, &asked);
            }
        });
    })?
    .unbind();
    let work = move || {
        attach(|py| {
            // Nothing is raised in there that is not handed over.
            let _ = context.call_method1(py, intern!(py, "run"), (run,));
        });
    };
    thread::Builder::new()
        .name("ringview-reader".to_owned())
        .spawn(work)?;
    // No more is read of a stream that failed or was refused, and it is released before this returns. Only Ctrl-C
    // leaves it behind: `go_on` is dropped, and the thread ends when its producer lets it.
    let (mut go_on, mut outcome) = (Some(go_on), Ok(()));
    loop {
        match wait(py, &mut receive) {
            Ok(message) => {
                let taken = message
                    .map_err(|failure| failure.raise(py))
                    .and_then(&mut take);
                let asked = go_on.take().filter(|_| taken.is_ok());
                go_on = asked.filter(|go_on| go_on.send(()).is_ok());
                outcome = outcome.and(taken);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return outcome,
        }
        py.check_signals()?;
    }
}

fn wait(py: Python<'_>, receive: &mut Receiver<Message>) -> Result<Message, RecvTimeoutError> {
    detach(py, move || receive.recv_timeout(LOOK))
}

/// Sends every requested item; the stream is released before the sender is dropped.
fn hand_over(mut source: Source, send: &SyncSender<Message>, asked: &Receiver<()>) {
    loop {
        let message = match source.next() {
            Ok(None) => return,
            Ok(Some(item)) => Ok(item),
            Err(failure) => Err(failure),
        };
        let ended = message.is_err();
        if send.send(message).is_err() || ended || asked.recv().is_err() {
            return;
        }
    }
}

/// Classes whose streams are in memory, so that reading one neither waits nor runs Python.
const IN_MEMORY: [(&str, &str); 4] = [
    ("pyarrow.lib", "Table"),
    ("polars.dataframe.frame", "DataFrame"),
    ("polars.series.series", "Series"),
    ("ringview._native", "Rows"),
];

/// Whether the rows of a class are in memory.
pub(super) fn in_memory(class: &Bound<'_, PyType>) -> bool {
    IN_MEMORY
        .iter()
        .any(|(module, name)| is(class, module, name))
}

/// Whether a class is pyarrow's reader of batches, or made from it.
pub(super) fn is_reader(class: &Bound<'_, PyType>) -> bool {
    class.mro().iter().any(|base| {
        let base = base.cast::<PyType>();
        base.is_ok_and(|base| is(base, "pyarrow.lib", "RecordBatchReader"))
    })
}

fn is(class: &Bound<'_, PyType>, module: &str, name: &str) -> bool {
    class.name().is_ok_and(|found| found == name)
        && class.module().is_ok_and(|found| found == module)
}
