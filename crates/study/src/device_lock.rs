//! Who measures on this device now, and may a second run begin?
//!
//! Provenance states how many cells ran on the device at the same time. Two runs that each state 1 while they share the
//! device would both be false, and both disturbed; so a run holds a lock on its device from before its first cell to its
//! end. The lock is advisory and lies in the directory for temporary files: it holds between runs of one host that share
//! that directory. It misleads where they do not (containers, other `TMPDIR`s), and it sees no other program's load.

use crate::origin::utc_now;
use rigel_ledger::Provenance;
use rigel_ledger::provenance::RunKind;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Most bytes of a lock file that a message repeats.
const SHOWN: u64 = 300;

/// The right to measure on a device; given back when dropped, and by the system when the process dies, however it dies.
#[derive(Debug)]
pub struct DeviceLock {
    file: File,
}

/// Why a device cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DeviceBusy {
    /// Another run holds it.
    #[error(
        "device `{id}` is in use by {holder}; two runs at once would disturb each other: wait until it ends, or choose \
         another device (lock: {})", path.display()
    )]
    Held {
        /// Device id.
        id: String,
        /// Process, start and command line as the lock file has them.
        holder: String,
        /// The lock file.
        path: PathBuf,
    },
    /// Nobody can say: the lock file cannot be opened or locked.
    #[error(
        "cannot tell whether device `{id}` is free, since {} cannot be locked: {source}; set TMPDIR to a local \
         directory that this user can write", path.display()
    )]
    Unlockable {
        /// Device id.
        id: String,
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl DeviceLock {
    /// The lock of the device that a run measures on; `None` for a simulated device, whose clock is virtual and which
    /// nothing can disturb.
    ///
    /// # Errors
    /// As [`DeviceLock::take`].
    pub fn of(run: &Provenance) -> Result<Option<DeviceLock>, DeviceBusy> {
        match run.kind {
            RunKind::Measured => {
                DeviceLock::take_in(&std::env::temp_dir(), &run.device.id, run.concurrent_cells > 1).map(Some)
            }
            RunKind::Simulated => Ok(None),
        }
    }

    /// Takes the lock of the device with this id, without waiting.
    ///
    /// # Errors
    /// [`DeviceBusy::Held`] while another lock on it lives, in this or any other process;
    /// [`DeviceBusy::Unlockable`] when the lock file cannot be opened or locked.
    pub fn take(id: &str) -> Result<DeviceLock, DeviceBusy> {
        DeviceLock::take_in(&std::env::temp_dir(), id, false)
    }

    /// A shared lock keeps runs out that want the device alone, and lets others in that share it.
    fn take_in(dir: &Path, id: &str, shared: bool) -> Result<DeviceLock, DeviceBusy> {
        let hash = blake3::hash(id.as_bytes()).to_hex();
        let path = dir.join(format!("rigel-{}.lock", &hash[..16]));
        let unlockable = |source| DeviceBusy::Unlockable { id: id.to_owned(), path: path.clone(), source };
        let file = open(&path).map_err(unlockable)?;
        match if shared { file.try_lock_shared() } else { file.try_lock() } {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = holder(&path);
                return Err(DeviceBusy::Held { id: id.to_owned(), holder, path });
            }
            Err(TryLockError::Error(source)) => return Err(unlockable(source)),
        }
        let command: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let text = format!("process {} since {}: {}\n", std::process::id(), utc_now(), command.join(" "));
        // The text only helps whoever is refused. Another user's file takes none, and its lock holds all the same.
        let _ = file.set_len(0).and_then(|()| (&file).write_all(text.as_bytes()));
        Ok(DeviceLock { file })
    }
}

impl Drop for DeviceLock {
    fn drop(&mut self) {
        // The file stays: removing a name that others are about to lock would let two of them in.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Opens a lock file for writing, or for reading where it is another user's.
fn open(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Err(io::Error::other("it is no plain file"));
    }
    match File::options().create(true).truncate(false).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        opened => opened,
    }
}

/// What a lock file says of its holder, without what could disturb a terminal.
fn holder(path: &Path) -> String {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SHOWN).read_to_end(&mut text));
    let text: String = String::from_utf8_lossy(&text).chars().filter(|c| !c.is_control()).collect();
    match read {
        Ok(_) if !text.is_empty() => text,
        _ => "another run".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_holds_a_device_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let first = DeviceLock::take_in(dir.path(), "GPU-1", false).unwrap();
        let refused = DeviceLock::take_in(dir.path(), "GPU-1", false).unwrap_err();
        assert!(matches!(&refused, DeviceBusy::Held { id, .. } if id == "GPU-1"), "{refused}");
        let text = refused.to_string();
        assert!(text.contains(&format!("process {} since 20", std::process::id())), "{text}");
        // Being refused takes nothing from the holder, and other devices are free.
        assert!(DeviceLock::take_in(dir.path(), "GPU-1", false).is_err());
        let other = DeviceLock::take_in(dir.path(), "GPU-2", false).unwrap();
        drop(first);
        drop(DeviceLock::take_in(dir.path(), "GPU-1", false).unwrap());
        assert!(DeviceLock::take_in(dir.path(), "GPU-2", false).is_err());
        drop(other);
    }

    #[test]
    fn runs_that_share_a_device_keep_out_one_that_wants_it_alone() {
        let dir = tempfile::tempdir().unwrap();
        let shared = [(); 3].map(|()| DeviceLock::take_in(dir.path(), "GPU-1", true).unwrap());
        assert!(DeviceLock::take_in(dir.path(), "GPU-1", false).is_err());
        drop(shared);
        let alone = DeviceLock::take_in(dir.path(), "GPU-1", false).unwrap();
        assert!(DeviceLock::take_in(dir.path(), "GPU-1", true).is_err());
        drop(alone);
    }

    #[test]
    fn what_a_dead_holder_left_binds_nobody() {
        let dir = tempfile::tempdir().unwrap();
        drop(DeviceLock::take_in(dir.path(), "cpu", false).unwrap());
        let path = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        fs::write(&path, "process 1 since 2000-01-01T00:00:00Z: rigel run, and much more text than ours").unwrap();
        let _held = DeviceLock::take_in(dir.path(), "cpu", false).unwrap();
        let text = DeviceLock::take_in(dir.path(), "cpu", false).unwrap_err().to_string();
        assert!(text.contains(&format!("process {}", std::process::id())) && !text.contains("much more"), "{text}");
    }

    #[test]
    fn a_place_that_cannot_be_locked_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = DeviceLock::take_in(&dir.path().join("missing"), "cpu", false).unwrap_err();
        drop(DeviceLock::take_in(dir.path(), "cpu", false).unwrap());
        let path = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let blocked = DeviceLock::take_in(dir.path(), "cpu", false).unwrap_err();
        assert!(blocked.to_string().contains(&path.display().to_string()), "{blocked}");
        for refused in [missing, blocked] {
            assert!(matches!(refused, DeviceBusy::Unlockable { .. }), "{refused}");
            assert!(refused.to_string().contains("TMPDIR"), "{refused}");
        }
    }
}
