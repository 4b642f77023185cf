//! What does this processor offer: features, cores, last-level cache, family and model?

use std::fs;

/// Features that some path or the description rests on, sorted; empty on processors other than x86-64.
#[cfg(target_arch = "x86_64")]
pub fn features() -> Vec<&'static str> {
    macro_rules! present {
        ($($name:tt),*) => {{
            let mut found = Vec::new();
            $(if std::arch::is_x86_feature_detected!($name) { found.push($name); })*
            found
        }};
    }
    present!(
        "avx",
        "avx2",
        "avx512bf16",
        "avx512bw",
        "avx512dq",
        "avx512f",
        "avx512fp16",
        "avx512vl",
        "avx512vnni",
        "avxvnni",
        "f16c",
        "fma",
        "sse2",
        "sse4.1"
    )
}

/// Features that some path or the description rests on, sorted; empty on processors other than x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub fn features() -> Vec<&'static str> {
    Vec::new()
}

/// Cores that this process may use, at least 1.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Family, model and stepping of an x86 processor, as its maker counts them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Maker's string: `AuthenticAMD`, `GenuineIntel`, …
    pub vendor: String,
    /// Family, extension included (25 for 19h).
    pub family: u32,
    /// Model, extension included.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
    /// Marketing name, as the processor or its hypervisor gives it.
    pub name: String,
}

/// Who the processor says it is; `None` where there is no CPUID.
#[cfg(target_arch = "x86_64")]
pub fn identity() -> Option<Identity> {
    use std::arch::x86_64::__cpuid;
    let leaf = |n: u32| {
        // SAFETY: every x86-64 processor has CPUID. (Newer compilers know, and call this block unused.)
        #[allow(unused_unsafe)]
        let r = unsafe { __cpuid(n) };
        [r.eax, r.ebx, r.ecx, r.edx]
    };
    let text = |words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|&b| b != 0).collect();
        String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let [_, b, c, d] = leaf(0);
    let signature = leaf(1)[0];
    let (base, extended) = (signature >> 8 & 0xF, signature >> 20 & 0xFF);
    let family = if base == 0xF { base + extended } else { base };
    let low = signature >> 4 & 0xF;
    let model = if base == 0xF || base == 6 { low + ((signature >> 16 & 0xF) << 4) } else { low };
    let name = if leaf(0x8000_0000)[0] >= 0x8000_0004 {
        text(&[leaf(0x8000_0002), leaf(0x8000_0003), leaf(0x8000_0004)].concat())
    } else {
        String::new()
    };
    Some(Identity { vendor: text(&[b, d, c]), family, model, stepping: signature & 0xF, name })
}

/// Who the processor says it is; `None` where there is no CPUID.
#[cfg(not(target_arch = "x86_64"))]
pub fn identity() -> Option<Identity> {
    None
}

/// Bytes of memory that the system has, from `/proc/meminfo`; 0 where that does not say.
pub fn memory_bytes() -> u64 {
    parse_mem_total(&fs::read_to_string("/proc/meminfo").unwrap_or_default())
}

fn parse_mem_total(meminfo: &str) -> u64 {
    let kibibytes = |line: &str| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok();
    meminfo.lines().find_map(kibibytes).unwrap_or(0) * 1024
}

/// Bytes of the last-level cache that core 0 sees, from sysfs; 32 MiB where sysfs does not say.
pub fn last_level_cache() -> usize {
    let folder = "/sys/devices/system/cpu/cpu0/cache";
    let read = |index: &str, file: &str| fs::read_to_string(format!("{folder}/{index}/{file}")).ok();
    let caches = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).filter_map(|entry| {
        let index = entry.file_name().into_string().ok()?;
        let level: u32 = read(&index, "level")?.trim().parse().ok()?;
        Some((level, parse_cache_size(&read(&index, "size")?)?))
    });
    caches.max().map_or(32 << 20, |(_, bytes)| bytes)
}

/// A size as sysfs writes it: `32768K`, `1M`, `512`.
fn parse_cache_size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<usize>().ok()?.checked_shl(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_sizes_are_read_as_sysfs_writes_them() {
        assert_eq!(parse_cache_size("32768K\n"), Some(32 << 20));
        assert_eq!(parse_cache_size("2M"), Some(2 << 20));
        assert_eq!(parse_cache_size("512"), Some(512));
        assert_eq!(parse_cache_size(""), None);
        assert_eq!(parse_cache_size("K"), None);
    }

    #[test]
    fn meminfo_is_read() {
        assert_eq!(parse_mem_total("MemTotal:       2 kB\nMemFree: 1 kB\n"), 2048);
        assert_eq!(parse_mem_total("nonsense"), 0);
    }

    #[test]
    fn features_are_sorted() {
        assert!(features().is_sorted());
    }
}
