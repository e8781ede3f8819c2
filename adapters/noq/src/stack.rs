//! What noq-proto's calls have of their own.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use ackclock_endpoint::Status;
use bytes::{Bytes, BytesMut};
use noq_proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig,
    FourTuple, PathId, ServerConfig, StreamId, Transmit,
};

/// Lets an endpoint take connection IDs from a generator.
pub(crate) fn identify(
    config: &mut EndpointConfig,
    generator: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(Arc::new(generator));
}

pub(crate) fn endpoint(
    config: EndpointConfig,
    server: Option<Arc<ServerConfig>>,
    _seed: [u8; 32], // `config` has it
) -> Endpoint {
    Endpoint::new(Arc::new(config), server, false)
}

/// Bytes that the stream has taken.
pub(crate) fn write(
    connection: &mut Connection,
    stream: StreamId,
    mut pieces: &mut [Bytes],
) -> Option<u64> {
    let done = connection
        .send_stream(stream)
        .write_chunks(&mut pieces)
        .ok()?;
    Some(done as u64)
}

pub(crate) fn poll(
    connection: &mut Connection,
    now: Instant,
    datagram: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, datagram)
}

pub(crate) fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::from_remote(from), ecn, bytes, answer)
}

/// The path's state, which noq counts up as it is asked.
pub(crate) fn state(connection: &mut Connection) -> Option<Status> {
    let path = connection.path_stats(PathId::ZERO)?;
    let control = connection.congestion_state(PathId::ZERO)?.metrics();
    Some(Status {
        cwnd: Some(path.cwnd),
        ssthresh: control.ssthresh.filter(|ssthresh| *ssthresh < u64::MAX),
        srtt: Some(path.rtt),
        lost: path.lost_packets,
        congestion_events: path.congestion_events,
        ..Status::default()
    })
}
