//! Derives the compact tables in `profiles/` from a folder with `MODEL.params.csv` and
//! `MODEL.graph.csv` (unpack the latter first).
//!
//! `cargo run -p laxity-flowsim --example derive -- FOLDER OUT`

use std::{fs, path::Path};

use laxity_flowsim::profile::import;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [folder, out] = &arguments[..] else { return Err("give FOLDER and OUT".into()) };
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let name = file.file_name().to_string_lossy().into_owned();
        let Some(model) = name.strip_suffix(".params.csv") else { continue };
        let graph = fs::read_to_string(Path::new(folder).join(format!("{model}.graph.csv")))?;
        let profile = import::tf_slim(model, &fs::read_to_string(file.path())?, &graph)?;
        let table = profile.to_table();
        println!("{model}: {} layers, {} bytes", profile.steps.len() / 2, table.len());
        fs::write(Path::new(out).join(format!("{model}.csv")), table)?;
    }
    Ok(())
}
