//! Packets as bytes: IPv4, TCP and UDP headers, in the blocks of a pcapng file
//! (draft-ietf-opsawg-pcapng).
//!
//! Payload is zeros and is not captured: a packet's original length is its size in the scenario.

use std::fmt::Write as _;

/// Blocks of the file.
const SECTION_BLOCK: u32 = 0x0A0D_0D0A;
const INTERFACE_BLOCK: u32 = 1;
const NAMES_BLOCK: u32 = 4;
const PACKET_BLOCK: u32 = 6;
/// LINKTYPE_RAW: an IP header comes first.
const RAW_IP: u16 = 101;
/// Options of blocks.
const END_OPTION: u16 = 0;
const COMMENT_OPTION: u16 = 1;
const INTERFACE_NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;
const APPLICATION_OPTION: u16 = 4;

/// Longest IP and TCP header.
pub(crate) const SNAP_LENGTH: usize = 120;
const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Where hosts are: senders in 10.0.0.0/9, receivers in 10.128.0.0/9.
const RECEIVER_ADDRESSES: u32 = 0x0A80_0001;
const SENDER_ADDRESSES: u32 = 0x0A00_0001;
const MAX_HOSTS: u32 = (1 << 23) - 2;
const RECEIVER_PORT: u16 = 44_444;
const FIRST_SENDER_PORT: u16 = 49_152;
const SENDER_PORTS: u32 = 16_384;

/// Bits of the TCP header, with AE of RFC 9768 above.
pub(crate) const SYN: u16 = 0x002;
pub(crate) const ACK: u16 = 0x010;
pub(crate) const ECE: u16 = 0x040;
pub(crate) const CWR: u16 = 0x080;
pub(crate) const AE: u16 = 0x100;

/// A connection's addresses: number of its flow, and which of the flow's connections it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    pub(crate) flow: u32,
    pub(crate) ordinal: u32,
}

impl Connection {
    fn addresses(self) -> (u32, u32) {
        let host = self.flow % MAX_HOSTS;
        (SENDER_ADDRESSES + host, RECEIVER_ADDRESSES + host)
    }

    fn sender_port(self) -> u16 {
        FIRST_SENDER_PORT + (self.ordinal % SENDER_PORTS) as u16
    }
}

/// A TCP header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segment {
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u16,
    pub(crate) window: u16,
    pub(crate) options: Vec<u8>,
}

impl Segment {
    /// Adds the options of a SYN: largest segment, window scale, and SACK where it is used.
    pub(crate) fn add_syn_options(&mut self, payload: u32, scale: u8, selective: bool) {
        let size = payload.min(u32::from(u16::MAX)) as u16;
        self.options.extend([2, 4]);
        self.options.extend(size.to_be_bytes());
        self.options.extend([1, 3, 3, scale]);
        if selective {
            self.options.extend([1, 1, 4, 2]);
        }
    }

    /// Adds SACK blocks (RFC 2018), four at most.
    pub(crate) fn add_blocks(&mut self, blocks: &[(u32, u32)]) {
        let blocks = &blocks[..blocks.len().min(4)];
        if blocks.is_empty() {
            return;
        }
        self.options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (from, to) in blocks {
            self.options.extend(from.to_be_bytes());
            self.options.extend(to.to_be_bytes());
        }
    }
}

/// Contents of a packet beyond its IP header.
pub(crate) enum Content {
    Tcp(Segment),
    Udp,
}

/// A packet's headers as they are on the wire, and its length there.
pub(crate) fn headers(
    connection: Connection,
    forward: bool,
    content: &Content,
    ecn: u8,
    size: u32,
) -> (Vec<u8>, u32) {
    let (mut from, mut to) = connection.addresses();
    let (mut source, mut target) = (connection.sender_port(), RECEIVER_PORT);
    if !forward {
        (from, to) = (to, from);
        (source, target) = (target, source);
    }
    let (protocol, header) = match content {
        Content::Tcp(segment) => (TCP, 20 + segment.options.len()),
        Content::Udp => (UDP, UDP_HEADER),
    };
    let length = (size as usize)
        .max(IP_HEADER + header)
        .min(usize::from(u16::MAX));
    let mut bytes = Vec::with_capacity(IP_HEADER + header);
    bytes.extend([0x45, ecn]);
    bytes.extend((length as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0]); // not to be fragmented
    bytes.extend([64, protocol, 0, 0]);
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    let sum = checksum(0, &bytes);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());

    let transport = (length - IP_HEADER) as u16;
    bytes.extend(source.to_be_bytes());
    bytes.extend(target.to_be_bytes());
    let sum_at = match content {
        Content::Tcp(segment) => {
            bytes.extend(segment.seq.to_be_bytes());
            bytes.extend(segment.ack.to_be_bytes());
            let offset = ((header / 4) as u16) << 12;
            bytes.extend((offset | segment.flags).to_be_bytes());
            bytes.extend(segment.window.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(&segment.options);
            IP_HEADER + 16
        }
        Content::Udp => {
            bytes.extend(transport.to_be_bytes());
            bytes.extend([0; 2]);
            IP_HEADER + 6
        }
    };
    let pseudo = u32::from(protocol) + u32::from(transport);
    let addresses = bytes[12..IP_HEADER].to_vec();
    let carried = !u32::from(checksum(pseudo, &addresses)) & 0xFFFF;
    let sum = match (checksum(carried, &bytes[IP_HEADER..]), content) {
        (0, Content::Udp) => 0xFFFF,
        (sum, _) => sum,
    };
    bytes[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
    (bytes, length as u32)
}

/// The Internet checksum (RFC 1071) of what has an even length, with `sum` added.
fn checksum(sum: u32, bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let mut sum = sum + words.sum::<u32>();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// A block with its length before and after it.
fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (12 + body.len().next_multiple_of(4)) as u32;
    out.extend(kind.to_le_bytes());
    out.extend(length.to_le_bytes());
    padded(out, body);
    out.extend(length.to_le_bytes());
}

fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes);
    out.resize(out.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    padded(out, value);
}

/// The head of a file with one interface, whose time is in nanoseconds.
pub(crate) fn head(application: &str, comment: &str, interface: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut section = Vec::new();
    section.extend(0x1A2B_3C4D_u32.to_le_bytes());
    section.extend([1, 0, 0, 0]);
    section.extend(u64::MAX.to_le_bytes()); // of a length not known
    option(&mut section, COMMENT_OPTION, comment.as_bytes());
    option(&mut section, APPLICATION_OPTION, application.as_bytes());
    option(&mut section, END_OPTION, &[]);
    block(&mut out, SECTION_BLOCK, &section);
    let mut body = Vec::new();
    body.extend(RAW_IP.to_le_bytes());
    body.extend([0, 0]);
    body.extend((SNAP_LENGTH as u32).to_le_bytes());
    option(&mut body, INTERFACE_NAME, interface.as_bytes());
    option(&mut body, TIME_RESOLUTION, &[9]);
    option(&mut body, END_OPTION, &[]);
    block(&mut out, INTERFACE_BLOCK, &body);
    out
}

/// Names of a flow's hosts.
pub(crate) fn names(out: &mut Vec<u8>, flow: u32, class: &str, index: usize) {
    let (sender, receiver) = Connection { flow, ordinal: 0 }.addresses();
    let mut body = Vec::new();
    for (address, end) in [(sender, "sender"), (receiver, "receiver")] {
        let mut name = String::new();
        // as names of hosts: letters, digits and hyphens
        let plain = class.chars().map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        });
        name.extend(plain);
        let _ = write!(name, "-{index}.{end}");
        name.push('\0');
        body.extend(1_u16.to_le_bytes()); // IPv4
        body.extend((4 + name.len() as u16).to_le_bytes());
        let mut record = address.to_be_bytes().to_vec();
        record.extend(name.as_bytes());
        padded(&mut body, &record);
    }
    body.extend([0; 4]); // no more
    block(out, NAMES_BLOCK, &body);
}

/// A packet at `time`, ns.
pub(crate) fn packet(out: &mut Vec<u8>, time: u64, captured: &[u8], length: u32) {
    let mut body = Vec::with_capacity(20 + captured.len() + 3);
    body.extend(0_u32.to_le_bytes());
    body.extend(((time >> 32) as u32).to_le_bytes());
    body.extend((time as u32).to_le_bytes());
    body.extend((captured.len() as u32).to_le_bytes());
    body.extend(length.to_le_bytes());
    padded(&mut body, captured);
    block(out, PACKET_BLOCK, &body);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, section 3: its example.
    #[test]
    fn checksum_of_the_example() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(0, &bytes), !0xddf2);
    }

    /// The sum over a packet with its checksum is zero.
    #[test]
    fn a_receiver_accepts_the_checksums() {
        let connection = Connection {
            flow: 7,
            ordinal: 3,
        };
        let mut segment = Segment {
            seq: 0xFFFF_FF00,
            ack: 1,
            flags: ACK | ECE,
            window: 1234,
            options: Vec::new(),
        };
        segment.add_blocks(&[(5, 9), (20, 30)]);
        let (bytes, length) = headers(connection, false, &Content::Tcp(segment), 1, 40);
        assert_eq!(
            (bytes.len(), length),
            (20 + 20 + 20, 60),
            "as long as its options ask for"
        );
        assert_eq!(checksum(0, &bytes[..20]), 0);
        let pseudo = 6 + 40;
        let addresses = !u32::from(checksum(pseudo, &bytes[12..20])) & 0xFFFF;
        assert_eq!(checksum(addresses, &bytes[20..]), 0);
    }

    #[test]
    fn blocks_are_multiples_of_four() {
        for name in ["a", "ab", "abc", "abcd"] {
            let mut out = head("x", name, name);
            names(&mut out, 3, name, 0);
            packet(&mut out, 1 << 40, &[1, 2, 3], 1500);
            let mut at = 0;
            while at < out.len() {
                let word = |at: usize| u32::from_le_bytes(out[at..at + 4].try_into().unwrap());
                let length = word(at + 4) as usize;
                assert_eq!(length % 4, 0);
                assert_eq!(word(at + length - 4) as usize, length);
                at += length;
            }
            assert_eq!(at, out.len());
        }
    }
}
