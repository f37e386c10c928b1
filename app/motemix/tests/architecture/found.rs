//! What the workspace holds, read with `cargo metadata` and from its source files.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub struct Crate {
    pub name: String,
    /// Direct dependencies inside the workspace; those of tests do not count.
    pub workspace_dependencies: Vec<String>,
    /// Direct dependencies outside it.
    pub libraries: Vec<String>,
    /// Everything outside the workspace that is compiled for it, at any distance.
    pub reached: Vec<String>,
    pub files: Vec<File>,
}

pub struct File {
    /// From the root of the workspace.
    pub path: String,
    pub text: String,
}

pub fn read_workspace() -> Vec<Crate> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).exec().expect("cargo metadata");
    metadata.workspace_packages().into_iter().map(|package| read_crate(&metadata, package)).collect()
}

fn read_crate(metadata: &Metadata, package: &Package) -> Crate {
    let members: BTreeSet<_> = metadata.workspace_packages().iter().map(|p| p.name.to_string()).collect();
    let direct = package.dependencies.iter().filter(|used| used.kind == DependencyKind::Normal);
    let (workspace_dependencies, libraries) =
        direct.map(|used| used.name.clone()).partition(|name| members.contains(name));
    let folder = package.manifest_path.parent().expect("a manifest is in a folder").as_std_path();
    let mut files = Vec::new();
    read_files(&folder.join("src"), metadata.workspace_root.as_std_path(), &mut files);
    Crate {
        name: package.name.to_string(),
        workspace_dependencies,
        libraries,
        reached: reached(metadata, &package.id),
        files,
    }
}

/// Follows the edges that a build of the crate follows: not those of tests or build scripts.
fn reached(metadata: &Metadata, from: &PackageId) -> Vec<String> {
    let resolve = metadata.resolve.as_ref().expect("metadata with dependencies");
    let mut seen = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = resolve.nodes.iter().find(|node| node.id == *id).expect("every package is resolved");
        let compiled = |dep: &&cargo_metadata::NodeDep| {
            dep.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal && kind.target.is_none())
        };
        waiting.extend(node.deps.iter().filter(compiled).map(|dep| &dep.pkg));
    }
    let members: BTreeSet<_> = metadata.workspace_members.iter().collect();
    let outside = seen.into_iter().filter(|id| !members.contains(id));
    outside.map(|id| metadata[id].name.to_string()).collect()
}

fn read_files(folder: &Path, root: &Path, files: &mut Vec<File>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a folder's entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if path.is_dir() && name != "tests" {
            read_files(&path, root, files);
        } else if path.extension().is_some_and(|end| end == "rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).expect("source is UTF-8");
            let path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            files.push(File { path, text });
        }
    }
}
