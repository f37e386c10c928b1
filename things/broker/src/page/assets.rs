//! The files of the page, as `page/build.mjs` makes them.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

/// A file, and what tells it from others of its name.
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) media_type: &'static str,
    pub(super) bytes: &'static [u8],
    pub(super) etag: String,
}

fn asset(path: &'static str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
    let digest = Sha256::digest(bytes);
    let etag = format!("\"{}\"", base16ct::lower::encode_string(&digest));
    Asset { path, media_type, bytes, etag }
}

pub(super) static ASSETS: LazyLock<[Asset; 5]> = LazyLock::new(|| {
    [
        asset("/", "text/html; charset=utf-8", include_bytes!("../../page/dist/index.html")),
        asset("/page.js", "text/javascript; charset=utf-8", include_bytes!("../../page/dist/page.js")),
        asset("/page.css", "text/css; charset=utf-8", include_bytes!("../../page/dist/page.css")),
        asset("/icon.svg", "image/svg+xml", include_bytes!("../../page/dist/icon.svg")),
        asset("/licences.txt", "text/plain; charset=utf-8", include_bytes!("../../page/dist/licences.txt")),
    ]
});
