//! Certificates: a controller's own, and which one a host expects.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

/// A name that every certificate of [`make_certificate`] has, whatever the machine is called: hosts know
/// the certificate itself, so its names say nothing more.
const SERVER_NAME: &str = "laxity-controller";
/// How long a stranger may take to greet: without a limit a port scanner holds a connection for ever.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// What hosts are given.
pub const CERTIFICATE_FILE: &str = "controller.pem";
/// What the controller keeps.
pub const KEY_FILE: &str = "controller.key";

/// A controller's certificate with its private key, both as PEM.
#[derive(Clone)]
pub struct TlsIdentity {
    /// What hosts are given.
    pub certificate: Vec<u8>,
    /// What only the controller has.
    pub key: Vec<u8>,
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsIdentity").finish_non_exhaustive()
    }
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// It could not be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// It could not be written or read.
    #[error("cannot {what} `{path}`: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl TlsIdentity {
    /// A new one that vouches for itself.
    pub fn new() -> Result<Self, CertificateError> {
        let params = rcgen::CertificateParams::new([SERVER_NAME.to_owned()])?;
        let key = rcgen::KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            certificate: certificate.pem().into_bytes(),
            key: key.serialize_pem().into_bytes(),
        })
    }

    /// The files of a folder, as [`make_certificate`] wrote them.
    pub fn read(folder: &Path) -> Result<Self, CertificateError> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).map_err(|source| CertificateError::File { what: "read", path, source })
        };
        Ok(Self { certificate: read(CERTIFICATE_FILE)?, key: read(KEY_FILE)? })
    }

    pub(crate) fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new()
            .identity(Identity::from_pem(&self.certificate, &self.key))
            .timeout(HANDSHAKE)
    }
}

/// What a host needs to know its controller: the certificate it was given.
pub(crate) fn client(certificate: &[u8]) -> ClientTlsConfig {
    ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(certificate))
        .domain_name(SERVER_NAME)
}

/// Makes a certificate and writes it into a folder: [`CERTIFICATE_FILE`] for all hosts and [`KEY_FILE`],
/// which only its owner can read. Existing files are not replaced.
pub fn make_certificate(folder: &Path) -> Result<TlsIdentity, CertificateError> {
    let made = TlsIdentity::new()?;
    let file = |what: &'static str, path: &Path| {
        let path = path.to_owned();
        move |source| CertificateError::File { what, path, source }
    };
    fs::create_dir_all(folder).map_err(file("make", folder))?;
    for (name, bytes, mode) in
        [(KEY_FILE, &made.key, 0o600), (CERTIFICATE_FILE, &made.certificate, 0o644)]
    {
        let path = folder.join(name);
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(mode).open(&path);
        let written = opened.and_then(|mut out| out.write_all(bytes).and_then(|()| out.sync_all()));
        written.map_err(file("write", &path))?;
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_certificate_is_written_once_and_its_key_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let made = make_certificate(folder.path()).unwrap();
        let read = TlsIdentity::read(folder.path()).unwrap();
        assert_eq!((made.certificate, made.key), (read.certificate, read.key));
        let mode = fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let error = make_certificate(folder.path()).unwrap_err().to_string();
        assert!(error.contains(KEY_FILE), "{error}");
    }
}
