//! The system calls of a process, traced with strace.

use std::{
    collections::HashMap,
    fs,
    iter::Peekable,
    path::{Path, PathBuf},
};

use blackbox::{process::DEADLINE, wrapped::wrapped};
use tokio::process::Command;

use crate::eventually::eventually;

/// The calls that write, send or sync, and those that change a directory or the length of a file.
/// An architecture may lack those with a question mark.
const CALLS: &str = "trace=write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,\
                     fsync,fdatasync,sync_file_range,openat,?open,?creat,mkdirat,?mkdir,\
                     ftruncate,truncate,fallocate,copy_file_range,?rename,renameat,renameat2,\
                     unlinkat,?unlink,linkat,?link";

/// Bytes of data printed for each call: a call writes less than that to the write-ahead log.
const DATA: &str = "131072";

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// As printed by strace, with the paths of open files.
    pub(crate) arguments: String,
    pub(crate) result: i64,
    /// The line number of the call's beginning.
    pub(crate) began: usize,
    /// The line number of the call's return.
    pub(crate) ended: usize,
}

impl Call {
    /// The path of the open file that the call is about. `None` if the file has no name any more.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let (_, rest) = self.arguments.split_once('<')?;
        let (path, rest) = rest.split_once('>')?;
        (!rest.starts_with("(deleted)")).then(|| path.into())
    }

    /// The first string of the arguments, at most [`DATA`] bytes.
    pub(crate) fn data(&self) -> Vec<u8> {
        let (_, printed) = self.arguments.split_once('"').unwrap_or_default();
        let mut printed = printed.bytes().peekable();
        let mut data = Vec::new();
        while let Some(byte) = printed.next().filter(|byte| *byte != b'"') {
            data.push(if byte == b'\\' { escaped(&mut printed) } else { byte });
        }
        data
    }

    /// The last argument.
    pub(crate) fn number(&self) -> usize {
        let (_, number) = self.arguments.rsplit_once(", ").unwrap();
        number.parse().unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The command that runs `inner` and writes its system calls to `log`. The traced process stays the
/// direct child of its caller.
pub(crate) fn traced(inner: &Command, log: &Path) -> Command {
    let log = log.to_str().unwrap();
    let arguments = ["-D", "-f", "-y", "-s", DATA, "-e", CALLS, "-o", log];
    wrapped(inner, "/usr/bin/strace", "strace", &arguments)
}

/// The byte after a backslash, which C escapes so.
fn escaped(printed: &mut Peekable<impl Iterator<Item = u8>>) -> u8 {
    match printed.next().unwrap() {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'v' => 0x0b,
        b'f' => 0x0c,
        digit @ b'0'..=b'7' => (0..2).fold(digit - b'0', |byte, _| {
            let digit = printed.next_if(|next| matches!(next, b'0'..=b'7'));
            digit.map_or(byte, |digit| byte * 8 + (digit - b'0'))
        }),
        other => other,
    }
}

/// The calls of a process, which has to end.
pub(crate) async fn calls(log: &Path) -> Vec<Call> {
    eventually("the trace ends", DEADLINE, async || {
        let text = String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned();
        let last = text.lines().last()?;
        last.contains("+++ exited with 0 +++").then(|| parse(&text))
    })
    .await
}

fn parse(text: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut unfinished = HashMap::new();
    for (at, line) in text.lines().enumerate() {
        let (thread, event) = line.split_once(' ').unwrap_or_default();
        let event = event.trim_start();
        if event.starts_with("+++") || event.starts_with("---") {
            continue;
        }
        if let Some(begun) = event.strip_suffix("<unfinished ...>") {
            unfinished.insert(thread, (at, begun));
            continue;
        }
        let (event, result) = event.rsplit_once(" = ").unwrap();
        let (began, event) = if event.starts_with("<... ") {
            let Some(begun) = unfinished.remove(thread) else { continue };
            begun
        } else {
            (at, event)
        };
        let (name, arguments) = event.split_once('(').unwrap();
        let arguments = arguments.trim_end().trim_end_matches(')');
        // A number, and the path of an opened file or the name of an error. A call interrupted by
        // the end of the process has no result.
        if let Ok(result) = result.split([' ', '<']).next().unwrap().parse() {
            let (name, arguments) = (name.to_owned(), arguments.to_owned());
            calls.push(Call { name, arguments, result, began, ended: at });
        }
    }
    calls
}
