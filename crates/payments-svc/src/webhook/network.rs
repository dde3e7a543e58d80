//! The addresses to which the service sends webhooks. An app chooses the address, but the service
//! connects, from inside the operator's network. Otherwise an app could reach servers there that
//! trust their neighbours, such as databases, or the metadata service of a cloud, which gives out
//! credentials (server-side request forgery).
//!
//! 1. **After resolution, at each delivery.** The name of an endpoint can get another address at
//!    any time. So [`PermittedAddresses`] checks the addresses that the connection will use: the
//!    HTTP client connects to no other.
//! 2. **Addresses in URLs** skip the resolver. [`Reach::permits_host`] checks them.
//! 3. **No redirect is followed, no proxy is used**: see [`super::sender`].
//!
//! Decision: the networks are listed here, where they can be compared with the registries of IANA.
//! `is_global` of the standard library is not stable yet.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use common::{limits::Networks, names::Names};
use ipnet::{Ipv4Net, Ipv6Net};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The networks of the IANA registry of special-purpose IPv4 addresses that are not reachable from
/// everywhere, and multicast.
const RESERVED_IPV4: [Ipv4Net; 16] = [
    ipv4([0, 0, 0, 0], 8),        // this network, and the unspecified address
    ipv4([10, 0, 0, 0], 8),       // private
    ipv4([100, 64, 0, 0], 10),    // carrier-grade NAT; metadata of Alibaba Cloud
    ipv4([127, 0, 0, 0], 8),      // loopback
    ipv4([168, 63, 129, 16], 32), // public, but inside Azure the address of its host agent
    ipv4([169, 254, 0, 0], 16),   // link-local; metadata of most clouds
    ipv4([172, 16, 0, 0], 12),    // private
    ipv4([192, 0, 0, 0], 24),     // protocol assignments; metadata of Oracle Cloud
    ipv4([192, 0, 2, 0], 24),     // documentation
    ipv4([192, 88, 99, 0], 24),   // 6to4 relays
    ipv4([192, 168, 0, 0], 16),   // private
    ipv4([198, 18, 0, 0], 15),    // benchmarks
    ipv4([198, 51, 100, 0], 24),  // documentation
    ipv4([203, 0, 113, 0], 24),   // documentation
    ipv4([224, 0, 0, 0], 4),      // multicast
    ipv4([240, 0, 0, 0], 4),      // reserved, and broadcast
];

/// All public IPv6 addresses are in this network. Outside are, for example, loopback, link-local
/// and unique local addresses, multicast, and the forms that contain an IPv4 address: mapped,
/// compatible, NAT64.
const GLOBAL_UNICAST: Ipv6Net = ipv6([0x2000, 0], 3);

/// The networks in [`GLOBAL_UNICAST`] that are not public, or contain an IPv4 address.
const RESERVED_IPV6: [Ipv6Net; 4] = [
    ipv6([0x2001, 0], 23),     // protocol assignments, such as Teredo
    ipv6([0x2001, 0xdb8], 32), // documentation
    ipv6([0x2002, 0], 16),     // 6to4
    ipv6([0x3fff, 0], 20),     // documentation
];

const fn ipv4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn ipv6([first, second]: [u16; 2], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), prefix)
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !RESERVED_IPV4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_UNICAST.contains(&address)
                && !RESERVED_IPV6.iter().any(|network| network.contains(&address))
        }
    }
}

/// The addresses to which an HTTP client may connect.
#[derive(Debug)]
pub(super) enum Reach {
    /// Only this machine.
    Loopback,
    /// The internet, and these networks.
    Public(Networks),
}

impl Reach {
    pub(super) fn permits(&self, address: IpAddr) -> bool {
        match self {
            Self::Loopback => address.is_loopback(),
            Self::Public(networks) => is_public(address) || networks.contains(address),
        }
    }

    /// Whether the host is a permitted address, or a name, which has to be resolved first.
    pub(super) fn permits_host(&self, url: &Url) -> bool {
        match url.host() {
            Some(Host::Ipv4(address)) => self.permits(address.into()),
            Some(Host::Ipv6(address)) => self.permits(address.into()),
            Some(Host::Domain(_)) => true,
            None => false,
        }
    }
}

/// The name has only addresses to which the service must not connect.
#[derive(Debug, thiserror::Error)]
#[error("the service must not connect to this address")]
pub(super) struct ForbiddenAddress;

/// The maximum number of look-ups of names at once. An app chooses the name, and its name server may
/// not answer. So these look-ups leave threads to other work.
const LOOKUPS: usize = 64;

/// The names of endpoints.
pub(crate) fn names() -> Arc<Names> {
    Arc::new(Names::new("webhook_lookups", LOOKUPS))
}

/// Resolves names, and drops the addresses that are not permitted.
pub(super) struct PermittedAddresses {
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) reach: Arc<Reach>,
}

impl Resolve for PermittedAddresses {
    /// Decision: a name may also have addresses that are not permitted. With DNS64, every name of
    /// an IPv4 server has one of NAT64, too.
    fn resolve(&self, name: Name) -> Resolving {
        let (resolving, reach) = (self.resolver.resolve(name), Arc::clone(&self.reach));
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = resolving.await?.collect();
            let permitted = addresses.into_iter().filter(|address| reach.permits(address.ip()));
            let permitted: Vec<SocketAddr> = permitted.collect();
            if permitted.is_empty() {
                return Err(ForbiddenAddress.into());
            }
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

impl fmt::Debug for PermittedAddresses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PermittedAddresses")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(networks: &str, address: &str) -> bool {
        Reach::Public(networks.parse().unwrap()).permits(address.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_permitted() {
        let public = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 172.15.255.255 \
                      172.32.0.0 192.167.255.255 198.20.0.0 223.255.255.255 2606:4700:4700::1111 \
                      2001:4860:4860::8888 2a00::1 3ffe:ffff::1";
        for address in public.split(' ') {
            assert!(permits("", address), "{address}");
            assert!(!Reach::Loopback.permits(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn other_addresses_are_refused() {
        for (kind, addresses) in [
            ("loopback and unspecified", "127.0.0.1 127.255.255.254 ::1 0.0.0.0 0.1.2.3 ::"),
            (
                "private",
                "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 \
                 100.127.255.255 fc00::1 fdff:ffff::1 fec0::1",
            ),
            (
                "link-local and metadata",
                "169.254.0.1 169.254.169.254 169.254.170.2 100.100.100.200 192.0.0.192 \
                 168.63.129.16 fe80::1 febf::1 fd00:ec2::254 fd20:ce::254",
            ),
            (
                "of no single server",
                "224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 ff02::1 ff0e::1 192.0.2.1 \
                 198.51.100.1 203.0.113.1 198.19.255.255 2001:db8::1 3fff::1 100::1",
            ),
            (
                "IPv6 with an IPv4 address",
                "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:1.1.1.1 \
                 ::ffff:0:127.0.0.1 ::127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe \
                 64:ff9b:1::a00:1 2002:7f00:1::1 2002:a00:1:: 2001:0:7f00:1::1",
            ),
        ] {
            for address in addresses.split(' ') {
                assert!(!permits("", address), "{kind}: {address}");
            }
        }
        assert!(!Reach::Loopback.permits("::ffff:127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn listed_networks_are_permitted() {
        let networks = "10.1.0.0/16, fd00:1::/32, 127.0.0.1";
        for address in ["10.1.2.3", "fd00:1::5", "127.0.0.1", "::ffff:10.1.2.3", "1.1.1.1"] {
            assert!(permits(networks, address), "{address}");
        }
        for address in ["10.2.0.1", "fd00:2::1", "127.0.0.2", "::ffff:10.2.0.1", "169.254.169.254"]
        {
            assert!(!permits(networks, address), "{address}");
        }
    }

    #[test]
    fn an_address_in_a_url_is_checked_however_it_is_written() {
        let reach = Reach::Public(Networks::default());
        let own = "127.0.0.1 127.1 2130706433 0x7f.0.0.1 0177.0.0.1 127.0.0.1. １２７.0.0.1 [::1] \
                   [::ffff:127.0.0.1] [::ffff:7f00:1]";
        for host in own.split(' ') {
            let url = Url::parse(&format!("https://{host}/")).unwrap();
            assert!(!reach.permits_host(&url), "{host}");
            assert!(!matches!(url.host(), Some(Host::Domain(_))), "{host}");
        }
        for host in ["1.1.1.1", "[2606:4700::1]", "shop.example"] {
            let url = Url::parse(&format!("https://{host}/")).unwrap();
            assert!(reach.permits_host(&url), "{host}");
        }
    }
}
