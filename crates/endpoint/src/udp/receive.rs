//! Receiving many datagrams at a time into buffers that are allocated once.

use std::{
    fmt, io,
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr},
    os::fd::AsRawFd,
    slice::ChunksMut,
    time::Duration,
};

use laxity_interface::{Dscp, Ecn};

use super::{
    address::{self, Name},
    cmsg::{self, RecvControl},
    socket::Socket,
};

/// The most messages that one receive takes; what the system call's arguments cost grows with it.
const MAX_MESSAGES: usize = 64;

/// Buffers begin where pages do. The kernel copies with `rep movsb`, and what a network card or a
/// neighbour wrote usually begins a little behind the start of a page; processors of AMD's third and
/// fourth generation copy 15 times slower to a place that lies 1 to 31 bytes further in its page than
/// the source does, which is where an allocator puts large buffers (16 bytes behind the start).
const PAGE: usize = 4096;

/// A message from the kernel: one datagram, or a run of equal-size ones from the same peer.
#[derive(Debug)]
pub struct Received<'a> {
    /// The peer; IPv4 peers of a dual-stack socket have plain IPv4 addresses.
    pub from: SocketAddr,
    /// Our address that the peer used, if the kernel told.
    pub to_local: Option<IpAddr>,
    /// The congestion mark, of every datagram in the run: the kernel joins only equal ones.
    pub ecn: Ecn,
    /// The code point, likewise.
    pub dscp: Dscp,
    /// When it reached this host (the first of a run), by the wall clock since the epoch, if the kernel
    /// told.
    pub arrived: Option<Duration>,
    /// The size of each datagram but the last, which may be shorter; never 0.
    pub stride: usize,
    /// The datagrams, one after the other, to be decrypted in place.
    pub bytes: &'a mut [u8],
}

/// The datagrams of one message.
pub type Datagrams<'a> = ChunksMut<'a, u8>;

impl<'a> Received<'a> {
    /// The datagrams one by one. (An empty datagram gives none.)
    pub fn datagrams(self) -> Datagrams<'a> {
        self.bytes.chunks_mut(self.stride)
    }

    /// How many datagrams there are.
    pub fn len(&self) -> usize {
        self.bytes.len().div_ceil(self.stride)
    }

    /// Whether there is nothing: somebody sent an empty datagram.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Where received messages go.
pub struct RecvBuffers {
    each: usize,
    /// From one buffer's start to the next one's.
    stride: usize,
    /// With some room at the front, so that the first buffer begins with a page.
    storage: Vec<u8>,
    first: usize,
    /// What the kernel writes beside the payload.
    notes: Vec<(Name, RecvControl)>,
    /// What we made of it; `None` for a message of no use.
    metas: Vec<Option<Meta>>,
    truncated: u64,
}

#[derive(Debug, Clone, Copy)]
struct Meta {
    from: SocketAddr,
    to_local: Option<IpAddr>,
    tos: u8,
    arrived: Option<Duration>,
    stride: usize,
    length: usize,
}

impl RecvBuffers {
    /// The size of a buffer that no message outgrows: the largest UDP payload.
    pub const WHOLE: usize = 65_535;

    /// `count` buffers (1 to 64) of `each` bytes.
    ///
    /// With receive offload a message is up to [`WHOLE`](Self::WHOLE) bytes however small its
    /// datagrams are; smaller buffers are for sockets without. What does not fit is lost and
    /// counted by [`truncated`](Self::truncated).
    pub fn new(count: usize, each: usize) -> Self {
        let (count, each) = (count.clamp(1, MAX_MESSAGES), each.max(1));
        let stride = each.next_multiple_of(PAGE);
        let storage = vec![0; count * stride + PAGE - 1];
        // Only a matter of speed, so an address that cannot be known is no harm.
        let first = storage.as_ptr().align_offset(PAGE).min(PAGE - 1);
        Self {
            each,
            stride,
            storage,
            first,
            notes: vec![(address::EMPTY, RecvControl::new()); count],
            metas: Vec::with_capacity(count),
            truncated: 0,
        }
    }

    /// How many messages one receive can take.
    pub fn capacity(&self) -> usize {
        self.notes.len()
    }

    /// Messages that lost their end, or all, because the buffer was too small for them.
    pub fn truncated(&self) -> u64 {
        self.truncated
    }

    /// The messages of the last receive.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = Received<'_>> {
        let places = self.storage[self.first..].chunks_exact_mut(self.stride);
        places.zip(&self.metas).filter_map(|(buffer, meta)| {
            let meta = meta.as_ref()?;
            Some(Received {
                from: meta.from,
                to_local: meta.to_local,
                ecn: Ecn::from_bits(meta.tos),
                dscp: Dscp::from_tos(meta.tos),
                arrived: meta.arrived,
                stride: meta.stride,
                bytes: &mut buffer[..meta.length],
            })
        })
    }
}

impl Default for RecvBuffers {
    /// Four buffers for whole runs. Measured over loopback in one thread: with runs of 64 kB, 16
    /// buffers cost a third more time than one, since they outgrow the cache; with datagrams that
    /// come singly, four save most of the cost of system calls that 16 save.
    fn default() -> Self {
        Self::new(4, Self::WHOLE)
    }
}

impl fmt::Debug for RecvBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvBuffers")
            .field("count", &self.capacity())
            .field("each", &self.each)
            .field("filled", &self.metas.len())
            .field("truncated", &self.truncated)
            .finish()
    }
}

impl Socket {
    /// Takes the messages that have arrived, as many as there are buffers; returns how many.
    ///
    /// Never waits: [`WouldBlock`](io::ErrorKind::WouldBlock) when there are none. What the buffers
    /// held before is gone. A return of less than [`capacity`](RecvBuffers::capacity) means that
    /// the queue was empty a moment ago.
    pub fn recv(&self, buffers: &mut RecvBuffers) -> io::Result<usize> {
        buffers.metas.clear();
        let mut slices = [const { MaybeUninit::<libc::iovec>::uninit() }; MAX_MESSAGES];
        let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MAX_MESSAGES];
        let count = buffers.notes.len();
        let places = buffers.storage[buffers.first..].chunks_exact_mut(buffers.stride);
        let places = places.map(|place| &mut place[..buffers.each]).zip(&mut buffers.notes);
        for ((place, (name, control)), (slice, header)) in
            places.zip(slices.iter_mut().zip(&mut headers))
        {
            let slice = slice
                .write(libc::iovec { iov_base: place.as_mut_ptr().cast(), iov_len: place.len() });
            // SAFETY: all zero is a valid mmsghdr.
            let header = header.write(unsafe { std::mem::zeroed() });
            header.msg_hdr.msg_name = (&raw mut *name).cast();
            header.msg_hdr.msg_namelen = size_of::<Name>() as libc::socklen_t;
            header.msg_hdr.msg_iov = slice;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr();
            header.msg_hdr.msg_controllen = RecvControl::CAPACITY as _;
        }
        let filled = loop {
            // SAFETY: the first `count` headers are initialised and point at disjoint places in
            // `storage`, `notes` and `slices`, which nobody else touches before the results are
            // read below.
            let result = unsafe {
                libc::recvmmsg(
                    self.as_raw_fd(),
                    headers.as_mut_ptr().cast(),
                    count as u32,
                    libc::MSG_DONTWAIT as _,
                    std::ptr::null_mut(),
                )
            };
            if result >= 0 {
                break result as usize;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        };
        for header in &headers[..filled] {
            // SAFETY: `filled` is at most `count`, so the header is initialised.
            let header = unsafe { header.assume_init_ref() };
            // SAFETY: the receive succeeded and filled this header; its control buffer is aligned.
            let notes = unsafe { cmsg::read(&header.msg_hdr) };
            if let Some(drops) = notes.drops {
                self.note_drops(drops);
            }
            // SAFETY: `msg_name` points at a `Name` that was initialised before the kernel wrote to
            // it.
            let from = address::decode(unsafe { &*header.msg_hdr.msg_name.cast::<Name>() });
            let mut length = header.msg_len as usize;
            let stride = notes.stride.unwrap_or(length).max(1);
            let mut of_use = true;
            if header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
                buffers.truncated += 1;
                // Half a datagram is none; those before it in a run are whole.
                length = notes.stride.map_or(0, |stride| length - length % stride.max(1));
                of_use = length > 0;
            }
            buffers.metas.push(from.filter(|_| of_use).map(|from| Meta {
                from,
                to_local: notes.local,
                tos: notes.tos,
                arrived: notes.arrived,
                stride,
                length,
            }));
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_begins_with_a_page() {
        for each in [1, 1500, PAGE, RecvBuffers::WHOLE] {
            let mut buffers = RecvBuffers::new(3, each);
            let meta = Meta {
                from: SocketAddr::from(([127, 0, 0, 1], 9)),
                to_local: None,
                tos: 0,
                arrived: None,
                stride: 1,
                length: each,
            };
            buffers.metas = vec![Some(meta); 3];
            let starts: Vec<_> = buffers.iter_mut().map(|one| one.bytes.as_ptr().addr()).collect();
            assert_eq!(starts.len(), 3, "{each}");
            assert!(starts.iter().all(|start| start % PAGE == 0), "{each}: {starts:x?}");
            assert!(starts.is_sorted_by(|a, b| b - a >= each), "{each}: {starts:x?}");
        }
    }
}
