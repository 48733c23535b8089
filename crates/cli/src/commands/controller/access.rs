//! Flags of every command that talks to a controller.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Result;
use clap::Args;
use laxity_controller::Access;
use laxity_fabric::rendezvous::Secret;

use crate::{
    args::KeyArgs,
    failure::{Explain, usage},
    keys::Protection,
};

/// Where the controller is and how to know it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Controller")]
pub(crate) struct AccessArgs {
    /// The controller's address, such as `10.0.0.1:7400`.
    #[arg(long, value_name = "HOST:PORT")]
    controller: String,

    /// The controller's certificate, the file `controller.pem` that `laxity controller certificate`
    /// wrote; not needed with --insecure.
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,

    #[command(flatten)]
    key: KeyArgs,
}

/// What hosts have to prove that they have.
pub(super) fn secret(key: &KeyArgs) -> Result<Secret> {
    Ok(match key.protection()? {
        Protection::Key(key) => Secret::Key(key),
        Protection::Insecure => Secret::Insecure,
    })
}

/// A certificate, in the form in which `laxity controller certificate` writes it.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
    let pem = fs::read(path)?;
    match pem.windows(BEGIN.len()).any(|window| window == BEGIN) {
        true => Ok(pem),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "there is no certificate in it")),
    }
}

impl AccessArgs {
    /// As the library wants it.
    pub(crate) fn access(&self) -> Result<Access> {
        let secret = secret(&self.key)?;
        let certificate = match (&self.certificate, &secret) {
            (Some(path), _) => Some(read(path).explain(
                format!("cannot read the certificate `{}`", path.display()),
                "copy `controller.pem` from the controller's machine",
            )?),
            (None, Secret::Insecure) => None,
            (None, Secret::Key(_)) => {
                return Err(usage(
                    "no certificate was given\n  \
                     try:     give `--certificate controller.pem`, copied from the controller's \
                     machine; `--insecure` does without any protection",
                ));
            }
        };
        // What is no port would be left out on the way, and somebody else asked.
        let port = self.controller.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(1..))) {
            let what = if port.is_none() { "has no port" } else { "has no port that there can be" };
            return Err(usage(format!(
                "`{}` {what}; write HOST:PORT, such as 10.0.0.1:7400",
                self.controller
            )));
        }
        Ok(Access { controller: self.controller.clone(), secret, certificate })
    }

    /// The address, for errors.
    pub(crate) fn at(&self) -> &str {
        &self.controller
    }
}
