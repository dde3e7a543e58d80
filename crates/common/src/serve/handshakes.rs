//! The end of a listener, which loses no connection.

use socket2::{SockFilter, SockRef};
use tokio::net::TcpListener;

/// Offset of the flags in the header of TCP.
const FLAGS: u32 = 13;
const SYN: u32 = 0x02;
const ACK: u32 = 0x10;

// Classic BPF: the codes of linux/bpf_common.h.
const LOAD_BYTE: u16 = 0x30;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Drops packets that ask for a connection, so that the queue of the listener can be emptied before
/// it closes. Handshakes that have begun go on. A client repeats its packet after a second.
pub(super) fn refuse(listener: &TcpListener) {
    let filter = [
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(AND, 0, 0, SYN | ACK),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ];
    if let Err(error) = SockRef::from(listener).attach_filter(&filter) {
        tracing::debug!(cause = %error, "the listener has no filter");
    }
}

#[cfg(test)]
mod tests {
    use std::{io::ErrorKind, net::Ipv4Addr, time::Duration};

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        time::timeout,
    };

    use super::*;

    #[tokio::test]
    async fn a_connection_in_the_queue_is_whole_and_a_new_one_is_refused() {
        let listener = crate::serve::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let mut queued = TcpStream::connect(address).await.unwrap();
        refuse(&listener);
        let late = tokio::spawn(TcpStream::connect(address));
        queued.write_all(b"request").await.unwrap();
        let (mut accepted, _) = listener.accept().await.unwrap();
        let mut request = [0; 7];
        accepted.read_exact(&mut request).await.unwrap();
        assert_eq!(&request, b"request");
        let next = timeout(Duration::from_millis(100), listener.accept()).await;
        assert!(next.is_err(), "{next:?}");
        assert!(!late.is_finished());
        drop(listener);
        assert_eq!(late.await.unwrap().unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
