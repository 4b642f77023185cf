//! Where is machine code kept, so that fresh processes need not compile it again?
//!
//! In `rigel/cubin` under RIGEL_CACHE, XDG_CACHE_HOME or `~/.cache`, one file a kernel, named by a hash of everything it was compiled
//! from. The file repeats all of that and is believed only when it agrees, so a collision or a torn file costs a compilation and no
//! more. A cache that cannot be read or written is no error.

use super::nvrtc::Cubin;
use std::fs;
use std::path::PathBuf;

fn file(key: &str) -> Option<PathBuf> {
    Some(crate::cache::folder("cubin")?.join(format!("{:016x}", super::text::fnv1a(key.bytes()))))
}

/// The machine code that was compiled from `key`.
pub fn read(key: &str) -> Option<Cubin> {
    unpacked(&fs::read(file(key)?).ok()?, key)
}

/// Keeps it.
pub fn write(key: &str, cubin: &Cubin) {
    let Some(file) = file(key) else { return };
    let temporary = file.with_extension(std::process::id().to_string());
    let written =
        file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&temporary, packed(key, cubin)));
    if written.and_then(|()| fs::rename(&temporary, &file)).is_err() {
        // Nobody waits for it: the kernel is compiled again next time.
        let _ = fs::remove_file(&temporary);
    }
}

fn packed(key: &str, cubin: &Cubin) -> Vec<u8> {
    let parts = [key.as_bytes(), cubin.log.as_bytes(), &cubin.bytes];
    let mut packed = parts.map(|part| (part.len() as u64).to_le_bytes()).concat();
    parts.iter().for_each(|part| packed.extend_from_slice(part));
    packed
}

fn unpacked(packed: &[u8], key: &str) -> Option<Cubin> {
    let (lengths, mut rest) = packed.split_at_checked(24)?;
    let mut parts = Vec::new();
    for length in lengths.chunks(8) {
        let length = u64::from_le_bytes(length.try_into().ok()?);
        let (part, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        parts.push(part);
        rest = behind;
    }
    let [found, log, bytes] = parts[..] else { return None };
    if found != key.as_bytes() || !rest.is_empty() {
        return None;
    }
    Some(Cubin { bytes: bytes.to_vec(), log: String::from_utf8_lossy(log).into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_back_for_its_own_key_and_whole_alone() {
        let cubin = Cubin { bytes: vec![1, 2, 3, 0], log: "2 registers".into() };
        let packed = packed("key", &cubin);
        assert_eq!(unpacked(&packed, "key"), Some(cubin));
        assert_eq!(unpacked(&packed, "kez"), None);
        for length in 0..packed.len() {
            assert_eq!(unpacked(&packed[..length], "key"), None);
        }
        assert_eq!(unpacked(&[&packed[..], &[0]].concat(), "key"), None);
        assert_eq!(unpacked(&[0xFF; 64], "key"), None);
    }
}
