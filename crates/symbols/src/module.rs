//! The mapped files of a process, and which of them an address belongs to.

use std::path::PathBuf;

use crate::demangle::shortened;

/// What the loader calls the kernel's own library, whichever name the kernel gives it.
pub(crate) const VDSO: &str = "linux-vdso.so.1";

/// One mapped module of the recorded process, as `dl_iterate_phdr` listed it inside that process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The file. For the main program the recorder fills in the resolved path, since the loader gives an empty one.
    pub path: PathBuf,
    /// Load bias (`dlpi_addr`): address in the process minus address in the file.
    pub bias: u64,
    /// First mapped address.
    pub start: u64,
    /// Address after the last mapped one.
    pub end: u64,
    /// The contents of `NT_GNU_BUILD_ID`, where the module has one.
    pub build_id: Option<Vec<u8>>,
}

impl Module {
    /// The address as the file states it.
    pub(crate) fn stated(&self, address: u64) -> u64 {
        address.wrapping_sub(self.bias)
    }

    /// The last part of the path.
    pub(crate) fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        shortened(&name).to_owned()
    }

    /// Whether the loader made this module up: the kernel's vDSO has a name, but no file.
    pub(crate) fn is_virtual(&self) -> bool {
        !self.path.as_os_str().as_encoded_bytes().contains(&b'/')
            && self.file_name().starts_with("linux-")
            && self.file_name().contains(".so")
    }
}
