//! Flags of every command that talks to a peer.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::Result;
use clap::Args;
use laxity_endpoint::{Builder, CipherChoice, Endpoint};
use laxity_interface::{Layout, Rate};

use crate::{
    failure::Explain,
    keys::{self, Protection},
};

/// Who may talk to us.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Key")]
pub(crate) struct KeyArgs {
    /// The shared key, a file made by `laxity keygen`; the same on both sides.
    ///
    /// Default: the file named by the environment variable LAXITY_KEY_FILE.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) key_file: Option<PathBuf>,

    /// Do without a key: anybody who reaches the port can join, read and forge.
    ///
    /// For measurements and trusted wires. Both sides must say it.
    #[arg(long)]
    pub(crate) insecure: bool,
}

impl KeyArgs {
    /// The key, or the word to do without.
    pub(crate) fn protection(&self) -> Result<Protection> {
        keys::choose(self.key_file.as_deref(), self.insecure)
    }

    /// Whether anything was said about keys.
    pub(crate) fn given(&self) -> bool {
        self.key_file.is_some() || self.insecure || keys::from_environment().is_some()
    }
}

/// How we use the network.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkArgs {
    /// Speed of the interface, such as `10Gbps`: caps the rate, and makes shares fair when many send
    /// to one. Default: unknown, found out by sending.
    #[arg(long, value_name = "RATE")]
    pub(crate) line_rate: Option<Rate>,

    /// The largest datagram in bytes of UDP payload, 1200 to 65507. Default: what the route carries,
    /// at most 16376.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1200..=65_507))]
    pub(crate) max_datagram: Option<u16>,

    /// The layout of the queues in switches on the way: `shared` suits networks without any, too;
    /// `slack` where `laxity switch-config --layout slack` was applied. Say the same on all hosts.
    #[arg(long, value_name = "NAME", default_value_t)]
    pub(crate) layout: Layout,

    /// What protects packets, where there is a key: `fastest`, which is AEGIS where both processors
    /// have instructions for AES, or `aes-256-gcm`. It is enough that one side says the latter.
    #[arg(long, value_name = "NAME", default_value_t)]
    pub(crate) cipher: CipherChoice,

    /// Threads for the network, each with a socket of its own behind the same port.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) io_threads: u8,
}

impl NetworkArgs {
    /// Opens the first of these addresses that can be opened.
    pub(crate) fn bind(
        &self,
        protection: &Protection,
        addresses: &[SocketAddr],
        change: impl Fn(Builder) -> Builder,
    ) -> Result<Endpoint> {
        let mut outcome = Err(anyhow::anyhow!("no address to bind to"));
        for &address in addresses {
            let builder = change(self.builder(protection));
            match builder.bind(address) {
                Ok(endpoint) => return Ok(endpoint),
                Err(error) => {
                    outcome = Err(anyhow::Error::from(error)).explain(
                        format!("cannot open UDP port {address}"),
                        "choose another --bind address or port; `ss -ulpn` shows who has it",
                    );
                }
            }
        }
        outcome
    }

    fn builder(&self, protection: &Protection) -> Builder {
        let mut builder = Endpoint::builder();
        builder = builder.layout(self.layout).io_threads(self.io_threads).cipher(self.cipher);
        builder = match protection {
            Protection::Key(key) => builder.key(key.clone()),
            Protection::Insecure => builder.insecure(),
        };
        if let Some(rate) = self.line_rate {
            builder = builder.line_rate(rate);
        }
        if let Some(bytes) = self.max_datagram {
            builder = builder.max_datagram(bytes);
        }
        builder
    }
}
