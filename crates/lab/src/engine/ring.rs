//! A packet socket on one interface, with a ring of frames that the kernel fills (TPACKET_V2).
//!
//! A slot is as long as a packet of the wire. A frame that holds several does not fit: then its slot
//! says that it waits, whole, in the socket's queue. So order and time are those of the ring, and
//! large frames take memory only while they are there.
#![allow(unsafe_code, reason = "packet sockets and memory shared with the kernel")]

use std::{
    ffi::CString,
    io, mem,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr::{self, NonNull},
    sync::atomic::{AtomicU32, Ordering},
};

use super::{
    EngineError,
    offload::virtio::{self, Meta, Unknown},
};

/// The ring is made of blocks of this many bytes; no frame lies across two.
const BLOCK: usize = 256 << 10;

/// Room before a frame: the kernel's header, an address, and padding.
const HEADROOM: usize = 128;

/// Room for the longest frame, and what is told about it.
const WHOLE: usize = virtio::LENGTH + (64 << 10) + 256;

/// `PACKET_COPY_THRESH` of linux/if_packet.h: whether frames that do not fit their slot are queued.
const QUEUE_LONG: libc::c_int = 7;
/// `PACKET_VNET_HDR` of the same.
const TELL: libc::c_int = 15;
/// `TP_STATUS_COPY` of the same: the frame is in the socket's queue.
const QUEUED: u32 = 1 << 1;

/// When a frame came, by the kernel's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) seconds: u32,
    pub(super) nanoseconds: u32,
}

/// Why a frame that is in the ring cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unreadable {
    /// It was too long for its slot, and for it the socket's queue was full.
    Lost,
    /// It holds something that nobody here can cut.
    Unknown,
}

impl From<Unknown> for Unreadable {
    fn from(Unknown: Unknown) -> Self {
        Self::Unknown
    }
}

/// A packet socket and its ring.
#[derive(Debug)]
pub(super) struct Ring {
    socket: OwnedFd,
    map: NonNull<u8>,
    length: usize,
    slot: usize,
    slots: usize,
    /// The slot that the kernel fills next.
    head: usize,
    /// A frame that was in the socket's queue.
    whole: Box<[u8]>,
}

// SAFETY: the mapping belongs to this value alone, and nothing about it is tied to a thread.
unsafe impl Send for Ring {}

/// How much memory may hold what goes into a socket, or what comes out of it.
#[derive(Clone, Copy, Debug)]
enum Memory {
    /// Frames that a host has not looked at yet: where its work is done on another core, the default is
    /// too small for the burst of a busy millisecond.
    Out,
    /// Frames that do not fit the ring.
    In,
}

fn hold(socket: &OwnedFd, which: Memory, bytes: usize) {
    let bytes = bytes as libc::c_int;
    let options = match which {
        Memory::Out => [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF],
        Memory::In => [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF],
    };
    for option in options {
        // SAFETY: the pointer and the length are those of one number.
        let answer = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                ptr::from_ref(&bytes).cast(),
                size_of_val(&bytes) as libc::socklen_t,
            )
        };
        // The first needs a privilege; with the second the system's own limit holds.
        if answer == 0 {
            return;
        }
    }
}

impl Ring {
    /// Opens a socket on an interface of this thread's namespace and begins to receive.
    pub(super) fn open(interface: &str, memory: usize) -> Result<Self, EngineError> {
        let fail = |what| {
            move |source| EngineError::Interface { what, interface: interface.into(), source }
        };
        let index = interface_index(interface).map_err(fail("find an index"))?;
        // Without a protocol nothing is received before the ring is there.
        let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: plain system call.
        let socket = check(unsafe { libc::socket(libc::AF_PACKET, flags, 0) })
            .map_err(fail("open a packet socket"))?;
        // SAFETY: a new descriptor that nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let mtu = mtu(&socket, interface).map_err(fail("read the MTU"))?;

        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        set(&socket, libc::PACKET_VERSION, &version).map_err(fail("choose TPACKET_V2"))?;
        let yes: libc::c_int = 1;
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &yes).map_err(fail("ignore own frames"))?;
        // Frames go straight to the driver; the queues are ours.
        set(&socket, libc::PACKET_QDISC_BYPASS, &yes).map_err(fail("bypass the queues"))?;
        set(&socket, TELL, &yes).map_err(fail("learn of offloads"))?;
        set(&socket, QUEUE_LONG, &yes).map_err(fail("queue long frames"))?;
        hold(&socket, Memory::Out, memory);
        hold(&socket, Memory::In, memory);
        let slot = (mtu + HEADROOM).next_power_of_two().clamp(2048, BLOCK);
        let blocks = memory.div_ceil(BLOCK).max(1);
        let length = blocks * BLOCK;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: (length / slot) as u32,
        };
        set(&socket, libc::PACKET_RX_RING, &request).map_err(fail("make a ring"))?;
        let (rights, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let map =
            unsafe { libc::mmap(ptr::null_mut(), length, rights, flags, socket.as_raw_fd(), 0) };
        if map == libc::MAP_FAILED {
            return Err(fail("map the ring")(io::Error::last_os_error()));
        }
        let map = NonNull::new(map.cast()).expect("mmap never maps the null page here");
        let whole = vec![0; WHOLE].into_boxed_slice();
        let ring = Self { socket, map, length, slot, slots: length / slot, head: 0, whole };
        ring.bind(index).map_err(fail("bind"))?;
        Ok(ring)
    }

    pub(super) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// When the oldest frame that was not released came, if there is one.
    pub(super) fn peek(&self) -> Option<Stamp> {
        let header = self.oldest()?;
        Some(Stamp { seconds: header.tp_sec, nanoseconds: header.tp_nsec })
    }

    /// The oldest frame that was not released, and what is told about it. To be called once for each.
    ///
    /// PRECONDITION: [`peek`](Self::peek) has found one.
    pub(super) fn read(&mut self) -> Result<(Meta, &[u8]), Unreadable> {
        let header = self.oldest().ok_or(Unreadable::Lost)?;
        if header.tp_status & QUEUED != 0 {
            return self.read_queued();
        }
        let (start, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let whole = header.tp_snaplen == header.tp_len && start + length <= self.slot;
        let told = start.checked_sub(virtio::LENGTH).filter(|_| whole).ok_or(Unreadable::Lost)?;
        // SAFETY: inside the slot (checked above), which the kernel does not touch until `release`,
        // and that needs `&mut self`.
        let bytes = unsafe {
            let slot = self.map.add(self.head * self.slot);
            std::slice::from_raw_parts(slot.add(told).as_ptr(), virtio::LENGTH + length)
        };
        split(bytes)
    }

    /// Takes the oldest frame out of the socket's queue.
    fn read_queued(&mut self) -> Result<(Meta, &[u8]), Unreadable> {
        let buffer = &mut self.whole;
        // SAFETY: the pointer and the length are those of one buffer.
        let length = unsafe {
            libc::recv(
                self.socket.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
            )
        };
        let length = usize::try_from(length).map_err(|_| Unreadable::Lost)?;
        split(self.whole.get(..length).ok_or(Unreadable::Lost)?)
    }

    /// What the kernel wrote about the oldest frame that was not released, if there is one.
    fn oldest(&self) -> Option<libc::tpacket2_hdr> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot is ours since the status says so, until `release`; the kernel wrote a
        // header at its beginning.
        Some(unsafe { self.header().read() })
    }

    /// Gives the oldest frame's slot back to the kernel.
    pub(super) fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.head = (self.head + 1) % self.slots;
    }

    /// Frames that did not fit the ring since the last call.
    pub(super) fn take_drops(&self) -> u64 {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of_val(&stats) as libc::socklen_t;
        // SAFETY: `stats` and `length` are valid places of the sizes given.
        let result = unsafe {
            libc::getsockopt(
                self.fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &mut length,
            )
        };
        if result == 0 { u64::from(stats.tp_drops) } else { 0 }
    }

    /// Forgets an error of the socket, such as an interface that went down: until then every sleep
    /// would end at once.
    pub(super) fn clear_error(&self) {
        let mut error: libc::c_int = 0;
        let mut length = size_of_val(&error) as libc::socklen_t;
        // SAFETY: `error` and `length` are valid places of the sizes given.
        unsafe {
            libc::getsockopt(
                self.fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut error).cast(),
                &mut length,
            )
        };
    }

    fn header(&self) -> NonNull<libc::tpacket2_hdr> {
        // SAFETY: `head` is below `slots`, so this is inside the mapping.
        unsafe { self.map.add(self.head * self.slot).cast() }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the status is the first word of every slot, aligned, and lives as long as `self`;
        // the kernel also accesses it atomically.
        unsafe { AtomicU32::from_ptr(self.header().cast().as_ptr()) }
    }

    fn bind(&self, index: i32) -> io::Result<()> {
        // SAFETY: all-zero bytes are a valid address.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: `address` is valid and of the length given.
        check(unsafe { libc::bind(self.fd(), (&raw const address).cast(), length) }).map(drop)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open` with this length and is not used any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.length) };
    }
}

/// What is told about a frame, and the frame behind it.
fn split(bytes: &[u8]) -> Result<(Meta, &[u8]), Unreadable> {
    let (told, frame) = bytes.split_first_chunk().ok_or(Unreadable::Lost)?;
    Ok((Meta::decode(*told)?, frame))
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn set<T>(socket: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    let value: *const T = value;
    // SAFETY: `value` points to `length` bytes.
    check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, name, value.cast(), length)
    })
    .map(drop)
}

fn interface_index(name: &str) -> io::Result<i32> {
    let name = CString::new(name)?;
    // SAFETY: a string that ends in zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index as i32),
    }
}

fn mtu(socket: &OwnedFd, name: &str) -> io::Result<usize> {
    // SAFETY: all-zero bytes are a valid request.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: `request` is valid and names an interface.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &mut request) })?;
    // SAFETY: SIOCGIFMTU has filled this field.
    Ok(unsafe { request.ifr_ifru.ifru_mtu } as usize)
}
