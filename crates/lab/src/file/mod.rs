//! Lab files: what a network is like, in TOML or built in Rust.

mod change;
mod check;
mod error;
mod events;
mod network;
mod queues;
mod raw;
mod star;
#[cfg(test)]
mod tests;
mod text;

use serde::{Deserialize, Serialize};

pub use change::LabChange;
pub use error::FileError;
pub(crate) use network::{Background, Network, Pattern};
pub use network::{HostInfo, Program};
use raw::RawLab;
pub use raw::{Direction, Transport};
pub use star::Star;

/// A network that passed every check: hosts, switches, links, traffic, changes, programs.
///
/// ```
/// use laxity_lab::LabFile;
///
/// let file = LabFile::from_toml(
///     "link = { rate = '1Gbps', delay = '125us', loss = '1%' }
///      hosts = [{ name = 'h', count = 8 }]",
/// )?;
/// assert_eq!(file.hosts()[7].name, "h8");
///
/// let error = LabFile::from_toml("hosts = [{ name = 'a', switch = 'x' }]").unwrap_err();
/// assert_eq!(error.path(), Some("hosts[0].switch"));
/// # Ok::<(), laxity_lab::FileError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "RawLab", into = "RawLab")]
pub struct LabFile {
    raw: RawLab,
    network: Network,
}

impl LabFile {
    /// Reads a lab from TOML.
    pub fn from_toml(text: &str) -> Result<Self, FileError> {
        let raw: RawLab = toml::from_str(text).map_err(|error| FileError::Syntax {
            reason: error.to_string().trim_end().to_owned(),
        })?;
        raw.try_into()
    }

    /// Writes the lab as TOML that [`from_toml`](Self::from_toml) reads as the same lab.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(&self.raw).expect("whatever was read can be written")
    }

    /// The JSON schema of lab files.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(RawLab).to_value()
    }

    /// A star of hosts `h1`, `h2`, … around one switch, to be described further.
    ///
    /// ```
    /// use laxity_interface::{Bytes, Fraction, Rate, Span};
    /// use laxity_lab::LabFile;
    ///
    /// let file = LabFile::star(8)
    ///     .rate(Rate::from_gbps(1))
    ///     .delay(Span::from_us(125)) // of each link, one way: 500 us there and back
    ///     .buffer(Bytes::from_kib(64))
    ///     .loss(Fraction::new(0.01)?)
    ///     .build()?;
    /// assert_eq!(LabFile::from_toml(&file.to_toml())?, file);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn star(hosts: u32) -> Star {
        Star::new(hosts)
    }

    /// Its hosts, with the addresses that they will have.
    pub fn hosts(&self) -> Vec<HostInfo> {
        self.network.host_infos()
    }

    /// The programs that it asks for.
    pub fn programs(&self) -> &[Program] {
        &self.network.programs
    }

    pub(crate) fn network(&self) -> &Network {
        &self.network
    }
}

impl TryFrom<RawLab> for LabFile {
    type Error = FileError;

    fn try_from(raw: RawLab) -> Result<Self, FileError> {
        let network = check::check(&raw)?;
        Ok(Self { raw, network })
    }
}

impl From<LabFile> for RawLab {
    fn from(file: LabFile) -> Self {
        file.raw
    }
}
