//! What quinn-proto's calls have of their own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use ackclock_endpoint::Status;
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig,
    ServerConfig, StreamId, Transmit,
};

/// Lets an endpoint take connection IDs from a generator.
pub(crate) fn identify(
    config: &mut EndpointConfig,
    generator: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(generator);
}

pub(crate) fn endpoint(
    config: EndpointConfig,
    server: Option<Arc<ServerConfig>>,
    seed: [u8; 32],
) -> Endpoint {
    Endpoint::new(Arc::new(config), server, false, Some(seed))
}

/// Bytes that the stream has taken.
pub(crate) fn write(
    connection: &mut Connection,
    stream: StreamId,
    pieces: &mut [Bytes],
) -> Option<u64> {
    let done = connection.send_stream(stream).write_chunks(pieces).ok()?;
    Some(done.bytes as u64)
}

pub(crate) fn poll(
    connection: &mut Connection,
    now: Instant,
    datagram: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, 1, datagram)
}

pub(crate) fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, from, None, ecn, bytes, answer)
}

pub(crate) fn state(connection: &mut Connection) -> Option<Status> {
    let path = connection.stats().path;
    let control = connection.congestion_state().metrics();
    Some(Status {
        cwnd: Some(path.cwnd),
        ssthresh: control.ssthresh.filter(|ssthresh| *ssthresh < u64::MAX),
        srtt: Some(path.rtt),
        lost: path.lost_packets,
        congestion_events: path.congestion_events,
        ..Status::default()
    })
}
