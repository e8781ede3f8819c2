//! smoltcp's whole TCP/IP at both ends of ackclock's flows, unmodified.
//!
//! Options: `reno`, `cubic` (the default of a build with both), or `none`. Datagrams are whole IPv4
//! packets; buffers are 4 MiB, everything else is smoltcp's default, but for Nagle's algorithm: off,
//! and no delay of ACKs beyond its own. Its window is private, so that `cwnd` is the data in
//! flight, read off the segments that it sends.

use std::collections::VecDeque;
use std::time::Duration;

use ackclock_endpoint::{Ecn, Endpoint, EndpointFactory, Ends, Setup, Status, export_endpoints};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

const BUFFER: usize = 1 << 22;
const PORT: u16 = 5001;

/// Connections of smoltcp.
#[derive(Clone, Copy, Debug, Default)]
pub struct Smoltcp;

export_endpoints!(Smoltcp);

/// Packets that wait for the stack, and for the network.
struct Wire {
    arrived: VecDeque<Vec<u8>>,
    leaving: VecDeque<Vec<u8>>,
    mtu: usize,
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

struct Sent<'w>(&'w mut VecDeque<Vec<u8>>);

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let answer = f(&mut packet);
        self.0.push_back(packet);
        answer
    }
}

impl Device for Wire {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sent<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Received(packet), Sent(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sent<'_>> {
        Some(Sent(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

fn address(end: u8) -> IpAddress {
    IpAddress::v4(10, 0, 0, 1 + end)
}

fn instant(now: Duration) -> Instant {
    Instant::from_micros(now.as_micros() as i64)
}

impl EndpointFactory for Smoltcp {
    fn name(&self) -> &str {
        "smoltcp"
    }

    fn header(&self) -> u32 {
        0
    }

    fn connect(&self, setup: &Setup) -> Result<Ends, String> {
        let control = match setup.options.as_str() {
            "reno" => CongestionControl::Reno,
            "" | "cubic" => CongestionControl::Cubic,
            "none" => CongestionControl::None,
            other => {
                return Err(format!(
                    "options are \"reno\", \"cubic\" or \"none\", not {other:?}"
                ));
            }
        };
        let end = |which: u8| -> Result<End, String> {
            let mut wire = Wire {
                arrived: VecDeque::new(),
                leaving: VecDeque::new(),
                mtu: setup.max_datagram,
            };
            let mut config = Config::new(HardwareAddress::Ip);
            config.random_seed = setup.seed ^ u64::from(which);
            let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
            interface.update_ip_addrs(|addresses| {
                let _ = addresses.push(IpCidr::new(address(which), 24));
            });
            let buffer = || SocketBuffer::new(vec![0; BUFFER]);
            let mut socket = Socket::new(buffer(), buffer());
            socket.set_congestion_control(control);
            socket.set_nagle_enabled(false);
            if which == 0 {
                socket
                    .connect(interface.context(), (address(1), PORT), PORT + 1)
                    .map_err(|error| error.to_string())?;
            } else {
                socket.listen(PORT).map_err(|error| error.to_string())?;
            }
            let mut sockets = SocketSet::new(Vec::new());
            let socket = sockets.add(socket);
            Ok(End {
                interface,
                sockets,
                socket,
                wire,
                zeros: vec![0; 1 << 16],
                written: 0,
                read: 0,
                highest: None,
                acknowledged: None,
                lost: 0,
                now: Instant::ZERO,
            })
        };
        Ok([Box::new(end(0)?), Box::new(end(1)?)])
    }
}

struct End {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    wire: Wire,
    zeros: Vec<u8>,
    written: u64,
    read: u64,
    /// First sequence number never sent, and last one acknowledged.
    highest: Option<u32>,
    acknowledged: Option<u32>,
    lost: u64,
    /// The last time that the stack was told.
    now: Instant,
}

/// Sequence number, acknowledgement, and payload (bytes) of a TCP segment in IPv4.
fn segment(packet: &[u8]) -> Option<(u32, u32, u32)> {
    let header = usize::from(packet.first()? & 15) * 4;
    let tcp = packet.get(header..)?;
    let number = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
    let offset = usize::from(tcp.get(12)? >> 4) * 4;
    Some((number(4)?, number(8)?, (tcp.len() - offset) as u32))
}

impl End {
    fn poll(&mut self, now: Duration) {
        self.now = instant(now);
        self.interface
            .poll(self.now, &mut self.wire, &mut self.sockets);
    }
}

impl Endpoint for End {
    fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn> {
        if self.wire.leaving.is_empty() {
            self.poll(now);
        }
        let packet = self.wire.leaving.pop_front()?;
        if let Some((number, _, length)) = segment(&packet)
            && length > 0
        {
            let end = number.wrapping_add(length);
            match self.highest {
                Some(highest) if (end.wrapping_sub(highest) as i32) <= 0 => self.lost += 1,
                _ => self.highest = Some(end),
            }
        }
        datagram.extend_from_slice(&packet);
        Some(Ecn::NotEct)
    }

    fn handle_datagram(&mut self, now: Duration, datagram: &[u8], _ecn: Ecn) {
        if let Some((_, acknowledged, _)) = segment(datagram) {
            let newer = |last: u32| (acknowledged.wrapping_sub(last) as i32) > 0;
            if self.acknowledged.is_none_or(newer) {
                self.acknowledged = Some(acknowledged);
            }
        }
        self.wire.arrived.push_back(datagram.to_vec());
        self.poll(now);
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        // smoltcp asks to be polled at once where it may send; all that it could send is out
        let now = self.now;
        let due = self.interface.poll_at(now, &self.sockets)?;
        let due = due.total_micros().max(now.total_micros() + 1);
        Some(Duration::from_micros(due as u64))
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.poll(now);
    }

    fn application(&mut self, _now: Duration, written: u64) -> u64 {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        while self.written < written && socket.can_send() {
            let most = (written - self.written).min(self.zeros.len() as u64) as usize;
            match socket.send_slice(&self.zeros[..most]) {
                Ok(sent) if sent > 0 => self.written += sent as u64,
                _ => break,
            }
        }
        while socket.can_recv() {
            match socket.recv(|bytes| (bytes.len(), bytes.len())) {
                Ok(length) if length > 0 => self.read += length as u64,
                _ => break,
            }
        }
        self.read
    }

    fn status(&self) -> Status {
        let socket = self.sockets.get::<Socket<'_>>(self.socket);
        let flight = self.highest.zip(self.acknowledged);
        Status {
            cwnd: flight.map(|(highest, ack)| u64::from(highest.wrapping_sub(ack))),
            lost: self.lost,
            failure: (socket.state() == State::Closed).then(|| "the connection is closed".into()),
            ..Status::default()
        }
    }
}
