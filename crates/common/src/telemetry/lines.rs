//! The form of log lines.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Full, Json, Writer},
    },
    registry::LookupSpan,
};

use super::trace::Trace;

/// Lines whose last field is `trace_id`, if they are written in a trace.
pub(super) struct Lines<F> {
    format: F,
    /// Writes a line again, with the trace.
    add: fn(&str, Trace, Writer<'_>) -> fmt::Result,
}

impl Lines<Format<Full>> {
    pub(super) fn text(format: Format<Full>) -> Self {
        let add = |line: &str, trace, mut writer: Writer<'_>| {
            writeln!(writer, "{} trace_id={trace}", line.trim_end_matches('\n'))
        };
        Self { format, add }
    }
}

impl Lines<Format<Json>> {
    pub(super) fn json(format: Format<Json>) -> Self {
        let add = |line: &str, trace, mut writer: Writer<'_>| {
            let fields = line.strip_suffix("}\n").ok_or(fmt::Error)?;
            writeln!(writer, r#"{fields},"trace_id":"{trace}"}}"#)
        };
        Self { format, add }
    }
}

impl<S, N, F> FormatEvent<S, N> for Lines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(trace) = Trace::current() else {
            return self.format.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        (self.add)(&line, trace, writer)
    }
}
