//! The address by which limits count a client.

use std::{
    convert::Infallible,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use super::networks::{InvalidNetwork, Networks};
use crate::serve::Connection;
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, request::Parts},
};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Prefix length of the IPv6 network that one subscriber gets.
const IPV6_NETWORK: u32 = 64;

/// The address by which limits count: an IPv4 address, or the /64 network of an IPv6 address. Debug
/// output hides it, so that no log shows it by accident.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The address of a client that connects from `address`.
    pub fn new(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let network = address.to_bits() >> IPV6_NETWORK << IPV6_NETWORK;
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
        })
    }
}

impl fmt::Debug for ClientAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ClientAddress")
    }
}

impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let connection = parts.extensions.get::<Connection>();
        Ok(match connection {
            Some(connection) => connection.client(&parts.headers),
            None => Self::new(Ipv4Addr::UNSPECIFIED.into()),
        })
    }
}

/// Networks of proxies whose `X-Forwarded-For` is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Networks);

impl FromStr for TrustedProxies {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        text.parse().map(Self)
    }
}

impl TrustedProxies {
    /// Whether `address` belongs to a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(address)
    }

    /// Returns the client behind `peer`. It is the peer itself, unless the peer is a trusted proxy.
    /// Then it is the right-most address of `X-Forwarded-For` that is not a trusted proxy. Proxies
    /// append the address that they see, so clients can forge everything to the left of it. An
    /// invalid entry ends the search: the last proxy before it counts as the client.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        let mut client = peer;
        if self.contains(peer) {
            let values = headers.get_all(FORWARDED_FOR).iter().rev();
            let entries = values.flat_map(|value| value.as_bytes().rsplit(|&byte| byte == b','));
            for entry in entries {
                let Some(address) = forwarded(entry) else { break };
                client = address;
                if !self.contains(address) {
                    break;
                }
            }
        }
        ClientAddress::new(client)
    }
}

/// Parses an entry, which may have a port: `192.0.2.1:80`, `[2001:db8::1]:80`.
fn forwarded(entry: &[u8]) -> Option<IpAddr> {
    let entry = str::from_utf8(entry).ok()?.trim();
    let bare = entry.trim_start_matches('[').trim_end_matches(']');
    bare.parse()
        .ok()
        .or_else(|| entry.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client(proxies: &str, peer: &str, forwarded: &[&'static str]) -> IpAddr {
        let proxies: TrustedProxies = proxies.parse().unwrap();
        let mut headers = HeaderMap::new();
        for text in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_static(text));
        }
        proxies.client(peer.parse().unwrap(), &headers).0
    }

    #[test]
    fn only_trusted_proxies_can_set_the_client_address() {
        for (proxies, peer, forwarded, expected) in [
            ("", "192.0.2.1", &["198.51.100.7"][..], "192.0.2.1"),
            ("10.0.0.0/8", "192.0.2.1", &["198.51.100.7"], "192.0.2.1"),
            ("10.0.0.0/8", "10.1.2.3", &["198.51.100.7"], "198.51.100.7"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", &["198.51.100.7"], "198.51.100.7"),
            ("10.0.0.0/8", "10.1.2.3", &["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
            ("10.0.0.0/8", "10.1.2.3", &["203.0.113.9, 10.9.9.9"], "203.0.113.9"),
            ("10.0.0.0/8", "10.1.2.3", &["203.0.113.9", "198.51.100.7"], "198.51.100.7"),
            ("10.0.0.0/8", "10.1.2.3", &["198.51.100.7:4711"], "198.51.100.7"),
            ("10.0.0.0/8", "10.1.2.3", &["198.51.100.7, unknown"], "10.1.2.3"),
            ("10.0.0.0/8", "10.1.2.3", &["10.4.4.4"], "10.4.4.4"),
            ("10.0.0.0/8", "10.1.2.3", &[], "10.1.2.3"),
            ("::1, 10.0.0.1", "::1", &["[2001:db8:1:2:3::4]:80"], "2001:db8:1:2::"),
        ] {
            let expected: IpAddr = expected.parse().unwrap();
            assert_eq!(
                client(proxies, peer, forwarded),
                expected,
                "{proxies} {peer} {forwarded:?}"
            );
        }
    }

    #[test]
    fn ipv6_counts_by_network_and_mapped_ipv4_as_ipv4() {
        let address = |text: &str| ClientAddress::new(text.parse().unwrap());
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:1"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
    }
}
