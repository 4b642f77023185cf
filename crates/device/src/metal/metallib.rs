//! What does a compiled Metal library say of itself, without a Mac?
//!
//! The format is not documented by its vendor. What is read here is the layout that MetalLibraryArchive (github.com/YuAo) and the wiki of naga
//! (github.com/gfx-rs/naga) found: a head of 88 bytes, then a list of functions with tagged fields.

/// A version: major and minor.
pub type Version = (u16, u16);

/// What a library says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metallib {
    /// Version of the file format.
    pub format: Version,
    /// The oldest system that it is for.
    pub minimum_os: Version,
    /// Its functions.
    pub functions: Vec<Function>,
}

/// A function of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Version of the intermediate language.
    pub air: Version,
    /// Version of the shading language.
    pub language: Version,
}

/// Bytes of the head.
const HEAD: usize = 88;

impl Metallib {
    /// Reads a library.
    ///
    /// # Errors
    /// What is not as it should be, and where.
    pub fn read(bytes: &[u8]) -> Result<Metallib, String> {
        if !bytes.starts_with(b"MTLB") || bytes.len() < HEAD {
            return Err(format!("{} bytes that do not begin as a Metal library does, with MTLB", bytes.len()));
        }
        let size = long(bytes, 16)?;
        if size != bytes.len() as u64 {
            return Err(format!("it says that it has {size} bytes and has {}", bytes.len()));
        }
        let mut at = place(bytes, 24)?;
        let count = word(bytes, at)?;
        at += 4;
        let mut functions = Vec::new();
        for number in 0..count {
            let length = word(bytes, at)? as usize;
            let end = at.checked_add(length).filter(|end| length >= 4 && *end <= bytes.len());
            let end = end.ok_or_else(|| format!("function {number} of {count} reaches past the end of the file"))?;
            functions.push(function(&bytes[at + 4..end]).map_err(|why| format!("function {number}: {why}"))?);
            at = end;
        }
        Ok(Metallib {
            format: (half(bytes, 6)?, half(bytes, 8)?),
            minimum_os: (half(bytes, 12)?, half(bytes, 14)?),
            functions,
        })
    }

    /// The newest language of its functions.
    pub fn language(&self) -> Option<Version> {
        self.functions.iter().map(|function| function.language).max()
    }
}

/// The fields of one function: four letters, the length of what follows, and that.
fn function(mut fields: &[u8]) -> Result<Function, String> {
    let mut found = Function { name: String::new(), air: (0, 0), language: (0, 0) };
    while !fields.is_empty() && !fields.starts_with(b"ENDT") {
        let length = half(fields, 4)? as usize;
        let (tag, rest) = fields.split_at_checked(4).ok_or("a field without a name")?;
        let value = rest.get(2..2 + length).ok_or("a field reaches past the end of its function")?;
        match tag {
            b"NAME" => found.name = String::from_utf8_lossy(value).trim_end_matches('\0').to_owned(),
            b"VERS" => {
                found.air = (half(value, 0)?, half(value, 2)?);
                found.language = (half(value, 4)?, half(value, 6)?);
            }
            _ => {}
        }
        fields = &rest[2 + length..];
    }
    Ok(found)
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], String> {
    let found = at.checked_add(N).and_then(|end| bytes.get(at..end)).and_then(|part| part.try_into().ok());
    found.ok_or_else(|| format!("it ends before byte {at}"))
}

fn half(bytes: &[u8], at: usize) -> Result<u16, String> {
    part(bytes, at).map(u16::from_le_bytes)
}

fn word(bytes: &[u8], at: usize) -> Result<u32, String> {
    part(bytes, at).map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Result<u64, String> {
    part(bytes, at).map(u64::from_le_bytes)
}

fn place(bytes: &[u8], at: usize) -> Result<usize, String> {
    let offset = long(bytes, at)?;
    usize::try_from(offset).map_err(|_| format!("an offset of {offset}"))
}

/// A library as the layout has it, with one function and no code: for tests.
pub fn built(minimum_os: Version, name: &str, language: Version) -> Vec<u8> {
    let mut fields = Vec::new();
    let mut field = |tag: &[u8; 4], value: &[u8]| {
        fields.extend(tag);
        fields.extend((value.len() as u16).to_le_bytes());
        fields.extend(value);
    };
    field(b"NAME", format!("{name}\0").as_bytes());
    field(b"TYPE", &[2]);
    let versions = [2, 7, language.0, language.1];
    field(b"VERS", &versions.iter().flat_map(|v: &u16| v.to_le_bytes()).collect::<Vec<u8>>());
    fields.extend(b"ENDT");
    let list = 4 + 4 + fields.len();
    let mut bytes = b"MTLB".to_vec();
    let halves = [0x8001, 1, 2];
    bytes.extend(halves.iter().flat_map(|h: &u16| h.to_le_bytes()));
    bytes.extend([0, 0x81]);
    bytes.extend([minimum_os.0, minimum_os.1].iter().flat_map(|h| h.to_le_bytes()));
    bytes.extend(((HEAD + list) as u64).to_le_bytes());
    bytes.extend([HEAD as u64, list as u64].iter().flat_map(|o| o.to_le_bytes()));
    bytes.resize(HEAD, 0);
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend((4 + fields.len() as u32).to_le_bytes());
    bytes.extend(fields);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_library_says_what_it_was_built_as() {
        let bytes = built((27, 0), "versions", (4, 1));
        let read = Metallib::read(&bytes).unwrap();
        let function = Function { name: "versions".into(), air: (2, 7), language: (4, 1) };
        assert_eq!(read, Metallib { format: (1, 2), minimum_os: (27, 0), functions: vec![function] });
        assert_eq!(read.language(), Some((4, 1)));
    }

    #[test]
    fn torn_and_changed_files_are_refused_in_words_and_never_panic() {
        let bytes = built((26, 5), "versions", (4, 0));
        for length in 0..bytes.len() {
            assert!(Metallib::read(&bytes[..length]).is_err(), "{length}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut hurt = bytes.clone();
                hurt[at] = value;
                let _ = Metallib::read(&hurt);
            }
        }
        assert!(Metallib::read(b"\x7fELF").unwrap_err().contains("MTLB"));
    }
}
