//! Networks, as a setting lists them.

use std::{net::IpAddr, str::FromStr};

use ipnet::IpNet;

/// A list of networks and single addresses, separated by commas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

/// An entry that is neither an address nor a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither an address nor a network such as 10.0.0.0/8")]
pub struct InvalidNetwork(String);

impl FromStr for Networks {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let network = |name: &str| {
            let address = || name.parse::<IpAddr>().map(IpNet::from);
            name.parse().or_else(|_| address()).map_err(|_| InvalidNetwork(name.to_owned()))
        };
        names.map(network).collect::<Result<_, _>>().map(Self)
    }
}

impl Networks {
    /// Whether `address` is in one of the networks. An IPv4 address that is mapped to IPv6 counts
    /// as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_networks_is_parsed_or_rejected() {
        assert_eq!("".parse(), Ok(Networks::default()));
        assert_eq!("10.0.0.0/8, ::1".parse::<Networks>().unwrap().0.len(), 2);
        for wrong in ["10.0.0.0/33", "proxy", "10.0.0.0/8;::1"] {
            assert!(wrong.parse::<Networks>().is_err(), "{wrong}");
        }
    }
}
