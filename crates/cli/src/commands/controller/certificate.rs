//! `laxity controller certificate`: a certificate that vouches for itself.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use laxity_controller::{CERTIFICATE_FILE, KEY_FILE, make_certificate};

use crate::{
    failure::Explain,
    output::{self, To},
};

/// Make a certificate for a controller
///
/// Writes two files: `controller.pem`, which all hosts get a copy of, and `controller.key`, which stays
/// with the controller. Existing files are not replaced.
#[derive(Debug, Args)]
pub(super) struct CertificateArgs {
    /// Where to.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(args: &CertificateArgs) -> Result<()> {
    let folder = args.folder.display();
    make_certificate(&args.folder).explain(
        format!("cannot make a certificate in `{folder}`"),
        "give another folder; one that was made before is still good",
    )?;
    let text = format!(
        "{folder}/{CERTIFICATE_FILE}: copy it to all hosts\n\
         {folder}/{KEY_FILE}: keep it here\n"
    );
    output::print(&text, To::Stdout)
}
