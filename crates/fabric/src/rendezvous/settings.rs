//! Who this process is, from the environment that torchrun and its like set up.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use laxity_interface::{Rate, Span};
use laxity_protocol::{Key, KeyError};
use serde::{Deserialize, Serialize};

use super::secret::Secret;
use crate::{
    carrier::{laxity::LaxitySettings, tcp::TcpSettings},
    rank::Rank,
};

/// What carries the parcels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Transport {
    /// Laxity's own.
    Laxity,
    /// Kernel TCP.
    Tcp,
}

impl Transport {
    /// Its name in `LAXITY_TRANSPORT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Laxity => "laxity",
            Self::Tcp => "tcp",
        }
    }
}

/// How a process takes part in a job.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Which member it is.
    pub rank: Rank,
    /// How many there are.
    pub world: u32,
    /// Its number on its host.
    pub local_rank: u32,
    /// `host:port` of the store. Rank 0 opens it there unless it is open already.
    pub store: String,
    /// The job's key.
    pub secret: Secret,
    /// What carries the parcels.
    pub transport: Transport,
    /// Where the carrier listens. Default: a free port at the address that reaches the store.
    pub bind: Option<SocketAddr>,
    /// The address that others are told, where it is not the one listened at: behind a forwarded port.
    /// Default: the one listened at.
    pub advertise: Option<SocketAddr>,
    /// How long to wait for the store, and then for the other ranks. Default 60 s.
    pub patience: Duration,
    /// The TCP carrier's own.
    pub tcp: TcpSettings,
    /// Laxity's own.
    pub laxity: LaxitySettings,
}

/// Why the environment does not say who this process is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A variable is not set.
    #[error("{name} is not set: {advice}")]
    Missing {
        /// Which.
        name: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A variable has a value that it cannot have.
    #[error("{name} is `{value}`: {advice}")]
    Value {
        /// Which.
        name: &'static str,
        /// What it is.
        value: String,
        /// What it can be.
        advice: String,
    },
    /// The key's file cannot be read.
    #[error("cannot read the key file `{}` that LAXITY_KEY_FILE names: {source}", .path.display())]
    KeyFile {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The key's file holds no key.
    #[error("`{}` that LAXITY_KEY_FILE names holds no key: {source}", .path.display())]
    Key {
        /// Which.
        path: PathBuf,
        /// Why.
        source: KeyError,
    },
}

/// The port that torchrun uses when nobody says otherwise.
const TORCH_PORT: u16 = 29_500;

impl Settings {
    /// For this rank of this many with the store at `host:port`, everything else by default.
    pub fn new(rank: Rank, world: u32, store: impl Into<String>, secret: Secret) -> Self {
        Self {
            rank,
            world,
            local_rank: 0,
            store: store.into(),
            secret,
            transport: Transport::Laxity,
            bind: None,
            advertise: None,
            patience: Duration::from_secs(60),
            tcp: TcpSettings::default(),
            laxity: LaxitySettings::default(),
        }
    }

    /// From this process's environment. See `docs/fabric-transports.md` for the variables.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// From any other.
    pub fn from_lookup(
        look: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Self, SettingsError> {
        let given = |name| look(name).filter(|value| !value.is_empty());
        let launch = "start the program with torchrun or `laxity train`, or set RANK, WORLD_SIZE, \
                      MASTER_ADDR and MASTER_PORT yourself";
        let needed = |name| given(name).ok_or(SettingsError::Missing { name, advice: launch });
        let world: u32 = number("WORLD_SIZE", &needed("WORLD_SIZE")?)?;
        let rank: u32 = number("RANK", &needed("RANK")?)?;
        if rank >= world {
            let advice = format!("WORLD_SIZE is {world}, so ranks are below it");
            return Err(SettingsError::Value { name: "RANK", value: rank.to_string(), advice });
        }
        let store = match given("LAXITY_STORE") {
            Some(store) => store,
            None => {
                let port = given("MASTER_PORT").map(|port| number("MASTER_PORT", &port));
                let port: u16 = port.transpose()?.unwrap_or(TORCH_PORT);
                // torchrun's agent has its own store at MASTER_PORT then.
                let agent = given("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|v| v == "True");
                let port = if agent { port.wrapping_add(1) } else { port };
                let host = needed("MASTER_ADDR")?;
                let host = if host.contains(':') { format!("[{host}]") } else { host };
                format!("{host}:{port}")
            }
        };
        let mut settings = Self::new(Rank::new(rank), world, store, secret(&given)?);
        if let Some(local) = given("LOCAL_RANK") {
            settings.local_rank = number("LOCAL_RANK", &local)?;
        }
        if let Some(value) = given("LAXITY_TRANSPORT") {
            settings.transport = match value.as_str() {
                "laxity" => Transport::Laxity,
                "tcp" => Transport::Tcp,
                _ => return Err(refuse("LAXITY_TRANSPORT", &value, "it can be laxity or tcp")),
            };
        }
        if let Some(value) = given("LAXITY_BIND") {
            let address = value.parse::<SocketAddr>();
            let address = address.or_else(|_| value.parse().map(|ip| SocketAddr::new(ip, 0)));
            let advice = "it is an address of this host, such as 10.0.0.3 or 10.0.0.3:4000";
            settings.bind = Some(address.map_err(|_| refuse("LAXITY_BIND", &value, advice))?);
        }
        if let Some(value) = given("LAXITY_ADVERTISE") {
            let address = value.parse::<SocketAddr>();
            let advice = "it is an address and port, such as 192.0.2.1:4000";
            settings.advertise =
                Some(address.map_err(|_| refuse("LAXITY_ADVERTISE", &value, advice))?);
        }
        if let Some(value) = given("LAXITY_JOIN_TIMEOUT") {
            settings.patience = span("LAXITY_JOIN_TIMEOUT", &value)?;
        }
        if let Some(value) = given("LAXITY_DEAD_AFTER") {
            let time = span("LAXITY_DEAD_AFTER", &value)?;
            (settings.tcp.dead_after, settings.laxity.dead_after) = (time, time);
        }
        settings.tcp.congestion = given("LAXITY_TCP_CONGESTION");
        if let Some(value) = given("LAXITY_LINE_RATE") {
            let rate = value.parse::<Rate>().ok().filter(|rate| rate.as_bps() > 0);
            let advice = "it is the speed of this host's interface, such as 25Gbps";
            settings.laxity.line_rate =
                Some(rate.ok_or_else(|| refuse("LAXITY_LINE_RATE", &value, advice))?);
        }
        if let Some(value) = given("LAXITY_CIPHER") {
            let choice = value.parse();
            settings.laxity.cipher = choice
                .map_err(|_| refuse("LAXITY_CIPHER", &value, "it can be fastest or aes-256-gcm"))?;
        }
        Ok(settings)
    }
}

fn secret(given: &impl Fn(&'static str) -> Option<String>) -> Result<Secret, SettingsError> {
    if let Some(path) = given("LAXITY_KEY_FILE").map(PathBuf::from) {
        let text = std::fs::read_to_string(&path)
            .map_err(|source| SettingsError::KeyFile { path: path.clone(), source })?;
        let key: Key = text.parse().map_err(|source| SettingsError::Key { path, source })?;
        return Ok(Secret::Key(key));
    }
    match given("LAXITY_INSECURE").as_deref() {
        Some("1") => Ok(Secret::Insecure),
        Some(value) => Err(refuse("LAXITY_INSECURE", value, "only 1 turns protection off")),
        None => Err(SettingsError::Missing {
            name: "LAXITY_KEY_FILE",
            advice: "make a key with `laxity keygen` and give its file to all ranks; \
                     LAXITY_INSECURE=1 does without protection",
        }),
    }
}

fn refuse(name: &'static str, value: &str, advice: &str) -> SettingsError {
    SettingsError::Value { name, value: value.to_owned(), advice: advice.to_owned() }
}

fn number<T: std::str::FromStr>(name: &'static str, value: &str) -> Result<T, SettingsError> {
    value.trim().parse().map_err(|_| refuse(name, value, "it is a whole number"))
}

fn span(name: &'static str, value: &str) -> Result<Duration, SettingsError> {
    match value.parse::<Span>() {
        Ok(span) if !span.is_zero() => Ok(span.to_std()),
        _ => Err(refuse(name, value, "it is a time such as 5s or 500ms")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &str)]) -> Result<Settings, SettingsError> {
        Settings::from_lookup(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    const TORCH: [(&str, &str); 6] = [
        ("LAXITY_INSECURE", "1"),
        ("RANK", "3"),
        ("WORLD_SIZE", "8"),
        ("LOCAL_RANK", "1"),
        ("MASTER_ADDR", "node0"),
        ("MASTER_PORT", "2000"),
    ];

    #[test]
    fn what_torchrun_sets_is_enough() {
        let settings = read(&TORCH).expect("complete");
        assert_eq!((settings.rank, settings.world, settings.local_rank), (Rank::new(3), 8, 1));
        assert_eq!(settings.store, "node0:2000");
        let agent = [&TORCH[..], &[("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat();
        assert_eq!(read(&agent).expect("complete").store, "node0:2001", "torch has 2000 itself");
        let other = [&TORCH[..], &[("LAXITY_STORE", "a:1"), ("LAXITY_TRANSPORT", "tcp")]].concat();
        let other = read(&other).expect("complete");
        assert_eq!((other.store.as_str(), other.transport), ("a:1", Transport::Tcp));
        let v6 = [&[("MASTER_ADDR", "::1")], &TORCH[..]].concat();
        assert_eq!(read(&v6).expect("complete").store, "[::1]:2000");
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for name in ["RANK", "WORLD_SIZE", "MASTER_ADDR"] {
            let rest: Vec<_> = TORCH.into_iter().filter(|(known, _)| *known != name).collect();
            let error = read(&rest).expect_err("incomplete").to_string();
            assert!(error.starts_with(&format!("{name} is not set")), "{error}");
        }
        let error = read(&TORCH[1..]).expect_err("no key").to_string();
        assert!(error.contains("laxity keygen"), "{error}");
        for (name, value) in [
            ("RANK", "8"),
            ("WORLD_SIZE", "many"),
            ("LAXITY_TRANSPORT", "pigeon"),
            ("LAXITY_BIND", "here"),
            ("LAXITY_ADVERTISE", "10.0.0.1"),
            ("LAXITY_DEAD_AFTER", "5"),
            ("LAXITY_JOIN_TIMEOUT", "0s"),
            ("LAXITY_INSECURE", "yes"),
            ("LAXITY_LINE_RATE", "fast"),
            ("LAXITY_CIPHER", "rot13"),
        ] {
            let pairs = [&[(name, value)], &TORCH[..]].concat();
            let error = read(&pairs).expect_err(name).to_string();
            assert!(error.starts_with(&format!("{name} is `{value}`")), "{error}");
        }
        let keyed = [&[("LAXITY_KEY_FILE", "/nowhere/key")], &TORCH[..]].concat();
        let error = read(&keyed).expect_err("no such file").to_string();
        assert!(error.contains("/nowhere/key"), "{error}");
    }
}
