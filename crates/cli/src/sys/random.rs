//! The operating system's randomness.

use std::io;

/// Fills `bytes`. Waits, early at boot, until the kernel has collected enough to be unpredictable,
/// which reading `/dev/urandom` does not.
pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &mut bytes[done..];
        // SAFETY: the kernel writes at most `rest.len()` bytes to `rest`.
        let count = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(count) {
            Ok(count) => done += count,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_fills_differ() {
        let (mut a, mut b) = ([0; 32], [0; 32]);
        super::fill(&mut a).unwrap();
        super::fill(&mut b).unwrap();
        assert_ne!(a, b);
    }
}
