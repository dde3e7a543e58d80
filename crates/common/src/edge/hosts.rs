//! The host of a request, and the setting `ALLOWED_HOSTS`.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use axum::http::{HeaderMap, header};

/// Maximum number of characters of a host in the log: the longest name that DNS has.
const MAX_SHOWN: usize = 253;

/// The host of a request, as `Host` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host<'a> {
    /// A name or an IP address, as the client wrote it; an IPv6 address in brackets.
    pub name: &'a str,
    /// `None` if the client left it out.
    pub port: Option<u16>,
}

impl<'a> Host<'a> {
    /// The effective host of a request that has passed [`Admit`](super::Admit): the authority of an
    /// absolute target, otherwise `Host`. `None` only for HTTP/1.0, which may have neither.
    pub fn of(headers: &'a HeaderMap) -> Option<Self> {
        Self::parse(headers.get(header::HOST)?.to_str().ok()?)
    }

    /// Parses a host with an optional port, as RFC 9110 defines `Host`.
    pub fn parse(text: &'a str) -> Option<Self> {
        // The colons of an IPv6 address are inside its brackets.
        let (name, port) = match text.rfind(':').filter(|&colon| !text[colon..].contains(']')) {
            Some(colon) => (&text[..colon], &text[colon + 1..]),
            None => (text, ""),
        };
        let port = match port {
            "" => None,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            _ => return None,
        };
        let host = Self { name, port };
        (host.is_address() || is_registered_name(name)).then_some(host)
    }

    /// Whether the host is an IP address and no name.
    pub fn is_address(&self) -> bool {
        match self.name.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').is_some_and(is::<Ipv6Addr>),
            None => is::<Ipv4Addr>(without_dot(self.name)),
        }
    }

    /// The beginning of the name, for the log.
    pub(super) fn shown(&self) -> &'a str {
        // All characters of a host are ASCII.
        self.name.get(..MAX_SHOWN).unwrap_or(self.name)
    }
}

fn is<T: FromStr>(text: &str) -> bool {
    text.parse::<T>().is_ok()
}

/// The characters of `reg-name` in RFC 3986. It is not empty, because an http URL needs a host.
fn is_registered_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    while let Some(byte) = bytes.next() {
        let is_valid = match byte {
            b'%' => [bytes.next(), bytes.next()]
                .iter()
                .all(|digit| digit.is_some_and(|digit| digit.is_ascii_hexdigit())),
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte),
        };
        if !is_valid {
            return false;
        }
    }
    !name.is_empty()
}

/// The root of DNS may end a name.
fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// The host names to which a service answers. By default, all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Option<Vec<String>>);

/// An entry of `ALLOWED_HOSTS` that is no host name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a host name such as api.example.com, without scheme and port")]
pub struct InvalidHostName(String);

impl FromStr for AllowedHosts {
    type Err = InvalidHostName;

    fn from_str(text: &str) -> Result<Self, InvalidHostName> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<_> = names.map(host_name).collect::<Result<_, _>>()?;
        Ok(Self((!names.is_empty()).then_some(names)))
    }
}

fn host_name(name: &str) -> Result<String, InvalidHostName> {
    let bare = without_dot(name);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let is_name = bare.split('.').all(is_label);
    is_name.then(|| bare.to_owned()).ok_or_else(|| InvalidHostName(name.to_owned()))
}

impl AllowedHosts {
    /// Only `localhost`, if these are not set and `address` is a loopback address: nobody but this
    /// machine can then reach the service, and a web page is a visitor of this machine.
    #[must_use]
    pub fn or_localhost(self, address: IpAddr) -> Self {
        match self.0 {
            None if address.to_canonical().is_loopback() => {
                Self(Some(vec!["localhost".to_owned()]))
            }
            _ => self,
        }
    }

    /// Also `name`. If all hosts are allowed, they stay allowed.
    #[must_use]
    pub fn and(mut self, name: &str) -> Self {
        if let Some(names) = &mut self.0 {
            names.push(without_dot(name).to_owned());
        }
        self
    }

    /// Whether the service answers to this host.
    pub fn contains(&self, host: Host<'_>) -> bool {
        let Some(names) = &self.0 else { return true };
        let name = without_dot(host.name);
        names.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)) || host.is_address()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(hosts: &AllowedHosts, host: &str) -> bool {
        hosts.contains(Host::parse(host).unwrap_or_else(|| panic!("{host} is no host")))
    }

    #[test]
    fn a_host_is_a_name_or_an_address_with_a_port() {
        for (text, name, port) in [
            ("localhost", "localhost", None),
            ("Example.com.:8080", "Example.com.", Some(8080)),
            ("my_service:", "my_service", None),
            ("192.0.2.1:1", "192.0.2.1", Some(1)),
            ("[::1]", "[::1]", None),
            ("[::1]:5001", "[::1]", Some(5001)),
            ("a%2Fb", "a%2Fb", None),
        ] {
            assert_eq!(Host::parse(text), Some(Host { name, port }), "{text}");
        }
        let wrong = ":80,a/b,a?b,a#b,a b,a@b,a\",a\\b,a:b,a:65536,a:-1,a:1:2,::1,[::1,[::1]x,\
                     [fe80::1%25lo],[1.2.3.4],%zz,%4,é,";
        for text in wrong.split(',') {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_compared_without_case_port_and_last_dot() {
        let hosts: AllowedHosts = "API.example.com, other.example.,".parse().unwrap();
        for host in ["api.example.com", "api.EXAMPLE.com.", "api.example.com:81", "other.example"] {
            assert!(is_allowed(&hosts, host), "{host}");
        }
        for host in [
            "example.com",
            "api.example.com.evil.example",
            "xapi.example.com",
            "api.example.com..",
            "localhost",
            "127.1",
            "0x7f000001",
        ] {
            assert!(!is_allowed(&hosts, host), "{host}");
        }
        assert!(is_allowed(&hosts.and("pay.example."), "pay.example"));
    }

    #[test]
    fn addresses_pass_every_list() {
        let hosts: AllowedHosts = "api.example.com".parse().unwrap();
        for host in ["127.0.0.1", "192.0.2.7.:80", "[::1]:5001", "[2001:db8::7]"] {
            assert!(is_allowed(&hosts, host), "{host}");
        }
    }

    #[test]
    fn a_loopback_service_answers_to_localhost_only_unless_it_has_a_list() {
        let unset: AllowedHosts = "".parse().unwrap();
        assert!(is_allowed(&unset, "any.example"));
        let [v4, v6, other] = [
            IpAddr::from([127, 0, 0, 2]),
            Ipv6Addr::LOCALHOST.into(),
            IpAddr::from([192, 0, 2, 1]),
        ];
        for loopback in [v4, v6] {
            let hosts = unset.clone().or_localhost(loopback);
            assert!(is_allowed(&hosts, "LocalHost:1") && !is_allowed(&hosts, "any.example"));
        }
        assert_eq!(unset.clone().or_localhost(other), unset);
        assert_eq!(unset.clone().and("pay.example"), unset);
        let set: AllowedHosts = "a.example".parse().unwrap();
        assert_eq!(set.clone().or_localhost(v4), set);
    }

    #[test]
    fn an_entry_that_is_no_host_name_is_named() {
        for wrong in
            "https://a.example|a.example:80|*.example|a..b|.|a b|[::1]|é.example".split('|')
        {
            let list = format!("good.example,{wrong}");
            assert_eq!(list.parse::<AllowedHosts>(), Err(InvalidHostName(wrong.to_owned())));
        }
    }
}
