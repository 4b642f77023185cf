//! How are the lines of a cell added to several files, to all or to none?

use crate::store::blocks::count_lines;
use crate::store::error::{FileFault, StoreError};
use crate::store::scan::Span;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Something that bytes are added to, and that can be cut back.
pub(crate) trait Tail: Write {
    /// Cuts it to a length.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Tail for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// A file that rows are added to.
#[derive(Debug)]
struct Open<T> {
    path: PathBuf,
    tail: T,
    length: u64,
    lines: u64,
}

/// Files that grow together, written in the order in which they were added.
#[derive(Debug)]
pub(crate) struct Journal<T> {
    files: Vec<Open<T>>,
    poisoned: bool,
}

impl Journal<File> {
    /// Adds a file on disk that holds whole lines.
    pub(crate) fn open(&mut self, path: &Path, length: u64, lines: u64) -> Result<(), StoreError> {
        let file = File::options().append(true).open(path).map_err(StoreError::io(path, "open"))?;
        self.add(path, file, length, lines);
        Ok(())
    }
}

impl<T: Tail> Journal<T> {
    pub(crate) fn new() -> Self {
        Journal { files: Vec::new(), poisoned: false }
    }

    pub(crate) fn add(&mut self, path: &Path, tail: T, length: u64, lines: u64) {
        self.files.push(Open { path: path.to_owned(), tail, length, lines });
    }

    /// Refuses further lines: the files are about to be replaced.
    pub(crate) fn poison(&mut self) {
        self.poisoned = true;
    }

    /// Adds some lines to each file, in order; after an error none of them has any. Gives where they stand.
    pub(crate) fn commit(&mut self, parts: &[&[u8]]) -> Result<Vec<Option<Span>>, StoreError> {
        if let Some(file) = self.files.first().filter(|_| self.poisoned) {
            return Err(StoreError::file(&file.path, FileFault::Poisoned));
        }
        for (i, (file, bytes)) in self.files.iter_mut().zip(parts).enumerate() {
            if let Err(source) = file.tail.write_all(bytes).and_then(|()| file.tail.flush()) {
                let error = StoreError::io(&file.path, "write")(source);
                // Every file is tried, the commit record first, even if one cannot be cut.
                let cuts = self.files[..=i].iter_mut().rev().map(|file| file.tail.cut(file.length));
                self.poisoned = cuts.filter(Result::is_err).count() > 0;
                return Err(error);
            }
        }
        let spans = self.files.iter_mut().zip(parts).map(|(file, bytes)| {
            let (offset, line, rows) = (file.length, file.lines + 1, count_lines(bytes));
            file.length += bytes.len() as u64;
            file.lines += rows;
            (rows > 0).then_some(Span { offset, bytes: bytes.len() as u64, line, rows: rows as u32 })
        });
        Ok(spans.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in memory on a disk that is full after some bytes.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
        cuts: bool,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.room.saturating_sub(self.bytes.len()).min(bytes.len());
            if room == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(&bytes[..room]);
            Ok(room)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Tail for Disk {
        fn cut(&mut self, length: u64) -> io::Result<()> {
            if !self.cuts {
                return Err(io::ErrorKind::Other.into());
            }
            self.bytes.truncate(length as usize);
            Ok(())
        }
    }

    fn journal(rooms: [usize; 3], cuts: bool) -> Journal<Disk> {
        let mut journal = Journal::new();
        for (room, name) in rooms.into_iter().zip(["samples.csv", "witness.csv", "cells.csv"]) {
            journal.add(Path::new(name), Disk { bytes: b"header\n".to_vec(), room, cuts }, 7, 1);
        }
        journal
    }

    #[test]
    fn a_full_disk_leaves_whole_cells_only_and_the_writer_goes_on_when_there_is_room() {
        for full in 0..3 {
            for room in 7..30 {
                let mut rooms = [1000; 3];
                rooms[full] = room;
                let mut journal = journal(rooms, true);
                let mut written = 0;
                let error = loop {
                    match journal.commit(&[b"sample\n", b"witness\n", b"cell\n"]) {
                        Ok(_) => written += 1,
                        Err(error) => break error,
                    }
                };
                let name = ["samples.csv", "witness.csv", "cells.csv"][full];
                assert!(error.to_string().contains(name) && error.to_string().contains("free some space"), "{error}");
                for (file, line) in journal.files.iter().zip([7, 8, 5]) {
                    assert_eq!(file.tail.bytes.len(), 7 + written * line);
                }
                journal.files[full].tail.room = 1000;
                let spans = journal.commit(&[b"sample\n", b"", b"cell\n"]).unwrap();
                assert_eq!(
                    spans[0],
                    Some(Span { offset: 7 + 7 * written as u64, bytes: 7, line: 2 + written as u64, rows: 1 })
                );
                assert_eq!(spans[1], None);
            }
        }
    }

    #[test]
    fn what_cannot_be_taken_back_stops_the_writer() {
        let mut journal = journal([10, 1000, 1000], false);
        assert!(matches!(journal.commit(&[b"sample\n", b"w\n", b"c\n"]), Err(StoreError::Io { .. })));
        let error = journal.commit(&[b"sample\n", b"w\n", b"c\n"]).unwrap_err();
        assert!(matches!(error, StoreError::File { fault: FileFault::Poisoned, .. }), "{error}");
    }
    #[cfg(target_os = "linux")]
    #[test]
    fn the_full_device_of_the_system_is_told_by_name() {
        let mut journal = Journal::new();
        journal.open(Path::new("/dev/full"), 0, 0).unwrap();
        let error = journal.commit(&[b"sample\n"]).unwrap_err().to_string();
        assert!(error.starts_with("/dev/full: cannot write") && error.contains("free some space"), "{error}");
    }
}
