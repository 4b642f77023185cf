//! How does a run have one writer at a time, and none after `kill -9`?

use crate::store::directory::LOCK;
use crate::store::error::{FileFault, StoreError};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The lock that one writer of a run holds; the system takes it back when the process dies, however it dies.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Lock, StoreError> {
        let path = dir.join(LOCK);
        if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            return Err(StoreError::file(&path, FileFault::NotAFile));
        }
        super::directory::refuse_hard_link(&path)?;
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let mut file = file.map_err(StoreError::io(&path, "create"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(StoreError::Busy { dir: dir.to_owned() }),
            Err(fs::TryLockError::Error(error)) => return Err(StoreError::io(&path, "lock")(error)),
        }
        // Its last holder may have removed the name between opening and locking: then another file has it now.
        let mark = format!("{}\n", std::process::id());
        file.set_len(0).and_then(|()| file.write_all(mark.as_bytes())).map_err(StoreError::io(&path, "write"))?;
        match fs::read_to_string(&path) {
            Ok(text) if text == mark => Ok(Lock { path, file }),
            _ => Err(StoreError::Busy { dir: dir.to_owned() }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Failing to remove it is harmless: the file means nothing, its lock does.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}
