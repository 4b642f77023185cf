//! How does a process that the device starts end with it?
//!
//! A worker that is killed because its compiler hangs cannot end the compiler, and a kernel that never returns would keep its process for
//! ever. Where the system can, it ends them itself.

use std::process::Command;

/// The system ends the process with the thread that starts it, however that ends. Elsewhere than on Linux nothing happens.
pub fn ending_with_parent(command: &mut Command) -> &mut Command {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_int, c_ulong};
        use std::os::unix::process::CommandExt;
        const PR_SET_PDEATHSIG: c_int = 1;
        const SIGKILL: c_ulong = 9;
        unsafe extern "C" {
            fn prctl(option: c_int, ...) -> c_int;
        }
        // SAFETY: between fork and exec only this call is made, which is a system call without memory of ours.
        unsafe {
            command.pre_exec(|| match prctl(PR_SET_PDEATHSIG, SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
        };
    }
    command
}
