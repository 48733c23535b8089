//! Writes every chart of the test gallery and one page, to be looked at:
//! `cargo run -p laxity-report --example gallery -- DIRECTORY`.

use std::path::PathBuf;

#[path = "../tests/gallery/mod.rs"]
mod gallery;

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "gallery".into()));
    std::fs::create_dir_all(&directory)?;
    for (name, svg) in gallery::charts() {
        std::fs::write(directory.join(name).with_extension("svg"), svg)?;
    }
    std::fs::write(directory.join("page.html"), gallery::page())?;
    print!("{}", gallery::report().to_table());
    Ok(())
}
