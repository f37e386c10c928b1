//! `motemix completions` and `motemix man`.

use crate::cli::{Cli, Completions, Man};
use crate::failure::Failure;
use anyhow::Context;
use clap::CommandFactory;
use std::fs;

pub fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "motemix", &mut script);
    Ok(crate::report::print(&script)?)
}

pub fn man(args: &Man) -> Result<(), Failure> {
    fs::create_dir_all(&args.dir).with_context(|| format!("cannot make {}", args.dir.display()))?;
    clap_mangen::generate_to(Cli::command(), &args.dir)
        .with_context(|| format!("cannot write the pages to {}", args.dir.display()))?;
    Ok(())
}
