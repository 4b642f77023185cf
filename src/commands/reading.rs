//! How is a file read that a user names?

use std::fs::{File, FileType};
use std::io::Read;
use std::path::Path;

/// The text of a regular file of at most `most` bytes. A pipe or a device could keep the reader waiting for ever, so it is
/// refused before it is opened.
///
/// # Errors
/// Why there is no such text, without the name.
pub fn text(path: &Path, most: u64) -> Result<String, String> {
    let kind = path.metadata().map_err(|e| e.to_string())?.file_type();
    if !kind.is_file() {
        return Err(format!("it is {}; name a regular file", what(kind)));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|e| e.to_string())?;
    file.take(most + 1).read_to_string(&mut text).map_err(|e| e.to_string())?;
    if text.len() as u64 > most {
        return Err(format!("it is longer than {most} bytes"));
    }
    Ok(text)
}

fn what(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_dir() { "a directory" } else { "no regular file" }
}
