//! An end of a connection of quinn-proto, or of noq-proto, which began as a copy of it: what is the
//! same with both. `crate::proto` is the one or the other, and `crate::stack` has what differs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ackclock_endpoint::{Ecn, Endpoint, Ends, Setup, Status};
use bytes::{Bytes, BytesMut};

use crate::null::Null;
use crate::proto::congestion::ControllerFactory;
use crate::proto::{
    self, ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator,
    DatagramEvent, Dir, EcnCodepoint, EndpointConfig, Event, ServerConfig, StreamId, TimeSource,
    TransportConfig, ValidationTokenConfig, VarInt,
};
use crate::stack;

/// Bytes that the application hands in at a time.
const PIECE: usize = 1 << 16;
static DATA: [u8; PIECE] = [0; PIECE];
/// Flow-control windows, bytes.
const WINDOW: u32 = 1 << 28;
/// Bytes that wait in the send buffer: more than any window of a path here.
const SEND_BUFFER: u64 = 1 << 26;

/// Connection IDs in order, so that nothing is random.
struct Counted {
    base: u64,
    issued: u64,
}

impl ConnectionIdGenerator for Counted {
    fn generate_cid(&mut self) -> ConnectionId {
        self.issued += 1;
        ConnectionId::new(&(self.base ^ (self.issued << 40)).to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Tokens are of no time.
struct Epoch;

impl TimeSource for Epoch {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// The two ends of a connection under this congestion control.
pub(crate) fn connect(
    setup: &Setup,
    controller: Arc<dyn ControllerFactory + Send + Sync>,
) -> Result<Ends, String> {
    let mtu = u16::try_from(setup.max_datagram)
        .ok()
        .filter(|mtu| *mtu >= 1200)
        .ok_or("QUIC needs datagrams of 1200 to 65535 bytes (RFC 9000, section 14)")?;
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(controller)
        .initial_mtu(mtu)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .max_idle_timeout(None)
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(SEND_BUFFER);
    let transport = Arc::new(transport);
    // what instants are measured from; only differences matter
    let base = Instant::now();
    let end = |which: u64| {
        let mut config = EndpointConfig::new(Arc::new(Null));
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&setup.seed.to_be_bytes());
        seed[8] = which as u8;
        let cids = setup.seed.rotate_left(16) ^ which;
        config.rng_seed(Some(seed));
        stack::identify(&mut config, move || {
            Box::new(Counted {
                base: cids,
                issued: 0,
            })
        });
        let mut server = ServerConfig::new(Arc::new(Null), Arc::new(Null));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        server
            .transport_config(Arc::clone(&transport))
            .validation_token_config(tokens)
            .time_source(Arc::new(Epoch));
        let server = (which == 1).then(|| Arc::new(server));
        End {
            endpoint: stack::endpoint(config, server, seed),
            connection: None,
            base,
            answers: Vec::new(),
            stream: None,
            read: 0,
            written: 0,
            is_established: false,
            ecn: setup.ecn,
            is_client: which == 0,
            reason: None,
            state: Status::default(),
        }
    };
    let (mut client, server) = (end(0), end(1));
    let mut config = ClientConfig::new(Arc::new(Null));
    let first = setup.seed;
    config
        .transport_config(transport)
        .initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first.to_be_bytes())));
    let connection = client
        .endpoint
        .connect(base, config, ADDRESSES[1], "server");
    client.connection = Some(connection.map_err(|error| error.to_string())?);
    Ok([Box::new(client), Box::new(server)])
}

const ADDRESSES: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433),
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433),
];

struct End {
    endpoint: proto::Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    base: Instant,
    /// Datagrams of the endpoint itself.
    answers: Vec<Vec<u8>>,
    stream: Option<StreamId>,
    read: u64,
    written: u64,
    is_established: bool,
    ecn: bool,
    is_client: bool,
    reason: Option<String>,
    /// The path's, as of the last call.
    state: Status,
}

impl End {
    /// Lets endpoint and connection hear of each other.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else {
            return;
        };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.is_established = true,
                Event::ConnectionLost { reason } => self.reason = Some(reason.to_string()),
                _ => {}
            }
        }
    }

    fn write(&mut self, written: u64) {
        let Some((_, connection)) = &mut self.connection else {
            return;
        };
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(stream) = self.stream else { return };
        while self.written < written {
            let length = (written - self.written).min(PIECE as u64) as usize;
            let mut pieces = [Bytes::from_static(&DATA[..length])];
            match stack::write(connection, stream, &mut pieces) {
                Some(bytes) if bytes > 0 => self.written += bytes,
                _ => break,
            }
        }
    }

    fn take(&mut self) {
        let Some((_, connection)) = &mut self.connection else {
            return;
        };
        if self.stream.is_none() {
            self.stream = connection.streams().accept(Dir::Uni);
        }
        let Some(stream) = self.stream else { return };
        let mut received = connection.recv_stream(stream);
        if let Ok(mut chunks) = received.read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.read += chunk.bytes.len() as u64;
            }
            let _ = chunks.finalize();
        }
    }
}

impl Endpoint for End {
    fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn> {
        if let Some(answer) = self.answers.pop() {
            datagram.extend_from_slice(&answer);
            return Some(Ecn::NotEct);
        }
        let (_, connection) = self.connection.as_mut()?;
        let transmit = stack::poll(connection, self.base + now, datagram)?;
        datagram.truncate(transmit.size);
        Some(match transmit.ecn.filter(|_| self.ecn) {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        })
    }

    fn handle_datagram(&mut self, now: Duration, datagram: &[u8], ecn: Ecn) {
        let now = self.base + now;
        let from = ADDRESSES[usize::from(self.is_client)];
        let ecn = EcnCodepoint::from_bits(ecn.bits());
        let mut answer = Vec::new();
        let bytes = BytesMut::from(datagram);
        match stack::handle(&mut self.endpoint, now, from, ecn, bytes, &mut answer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => self.reason = Some(error.cause.to_string()),
                }
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                answer.truncate(transmit.size);
                self.answers.push(answer);
            }
            None => {}
        }
        self.settle();
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        let (_, connection) = self.connection.as_mut()?;
        let due = connection.poll_timeout()?;
        Some(due.saturating_duration_since(self.base))
    }

    fn handle_timeout(&mut self, now: Duration) {
        let now = self.base + now;
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.settle();
    }

    fn application(&mut self, _now: Duration, written: u64) -> u64 {
        if self.is_established && written > 0 {
            self.write(written);
        }
        if written == 0 {
            self.take();
        }
        self.settle();
        let connection = self.connection.as_mut();
        if let Some(state) = connection.and_then(|(_, connection)| stack::state(connection)) {
            self.state = state;
        }
        self.read
    }

    fn status(&self) -> Status {
        Status {
            failure: self.reason.clone(),
            ..self.state.clone()
        }
    }
}
