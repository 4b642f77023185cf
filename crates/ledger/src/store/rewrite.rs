//! How is a file of rows written again, in another order or with some rows left out?

use crate::store::directory;
use crate::store::error::StoreError;
use crate::store::evidence::SpanReader;
use crate::store::scan::Span;
use std::path::Path;

/// A file as it was written.
pub(crate) struct Written {
    /// Where the spans stand now, in the order given.
    pub(crate) spans: Vec<Option<Span>>,
    pub(crate) digest: blake3::Hash,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
}

/// Writes a header and spans of other files (each with the index of its source), whole or not at all.
///
/// The target may be one of the sources. Memory is bounded, however large the files are.
pub(crate) fn rewrite(
    target: &Path,
    header: &str,
    sources: &[&Path],
    spans: impl Iterator<Item = (usize, Option<Span>)>,
) -> Result<Written, StoreError> {
    let mut readers = sources.iter().map(|path| SpanReader::open(path)).collect::<Result<Vec<_>, _>>()?;
    let mut hasher = blake3::Hasher::new();
    let mut written = Written { spans: Vec::new(), digest: hasher.finalize(), bytes: header.len() as u64, rows: 0 };
    directory::put(target, |out| {
        hasher.update(header.as_bytes());
        out.write_all(header.as_bytes()).map_err(StoreError::io(target, "write"))?;
        for (source, span) in spans {
            let Some(span) = span else {
                written.spans.push(None);
                continue;
            };
            readers[source].each(span, &mut |bytes| {
                hasher.update(bytes);
                out.write_all(bytes).map_err(StoreError::io(target, "write"))
            })?;
            written.spans.push(Some(Span { offset: written.bytes, line: written.rows + 2, ..span }));
            written.bytes += span.bytes;
            written.rows += u64::from(span.rows);
        }
        Ok(())
    })?;
    written.digest = hasher.finalize();
    Ok(written)
}
