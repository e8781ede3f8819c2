//! Cryptography that hides nothing: packets have the sizes and the handshake the round trips of
//! TLS 1.3, and nothing is random or takes time. `crate::proto` is the stack, and `crate::null` has
//! what differs between its traits and the other's.

use std::any::Any;

use crate::null::{Id, Null};
use crate::proto::crypto::{
    CryptoError, ExportKeyingMaterialError, HeaderKey, HmacKey, KeyPair, Keys, PacketKey, Session,
};
use crate::proto::transport_parameters::TransportParameters;
use crate::proto::{Side, TransportError};

/// Bytes of an AEAD tag, as AES-128-GCM has them.
pub(crate) const TAG: usize = 16;
/// Bytes of the server's flight beyond its transport parameters: a certificate chain and its proof.
const CERTIFICATE: usize = 2000;

impl HeaderKey for Null {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        16
    }
}

impl HmacKey for Null {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        // FNV-1a: reset tokens of different connection IDs must differ
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in data {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        for (index, byte) in out.iter_mut().enumerate() {
            *byte = (hash >> (8 * (index % 8))) as u8;
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _data: &[u8], _signature: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

fn pair() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair {
        local: Box::new(Null),
        remote: Box::new(Null),
    }
}

pub(crate) fn keys() -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(Null),
            remote: Box::new(Null),
        },
        packet: pair(),
    }
}

/// A handshake in TLS 1.3's flights: the client's parameters; an answer and the server's parameters;
/// the client's last word.
pub(crate) struct Handshake {
    side: Side,
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    /// What has come of the message that is being read.
    heard: Vec<u8>,
    /// Messages heard, and flights written.
    messages: u32,
    flights: u32,
}

impl Handshake {
    pub(crate) fn new(side: Side, params: &TransportParameters) -> Self {
        let mut own = Vec::new();
        params.write(&mut own);
        Self {
            side,
            own,
            peer: None,
            heard: Vec::new(),
            messages: 0,
            flights: 0,
        }
    }

    fn say(buf: &mut Vec<u8>, message: &[u8]) {
        buf.extend_from_slice(&(message.len() as u16).to_be_bytes());
        buf.extend_from_slice(message);
    }

    /// Takes a whole message.
    fn take(&mut self, message: &[u8]) -> Result<(), TransportError> {
        self.messages += 1;
        let has_parameters = match self.side {
            Side::Client => self.messages == 2,
            Side::Server => self.messages == 1,
        };
        if has_parameters {
            let size = u16::from_be_bytes([message[0], message[1]]);
            let mut given = &message[2..2 + usize::from(size)];
            self.peer = Some(TransportParameters::read(self.side, &mut given)?);
        }
        Ok(())
    }

    /// The parameters, and `more` bytes.
    fn parameters(&self, more: usize) -> Vec<u8> {
        let mut message = Vec::new();
        Self::say(&mut message, &self.own);
        message.resize(message.len() + more, 0);
        message
    }
}

impl Session for Handshake {
    fn initial_keys(&self, _: Id<'_>, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.messages < 2
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.heard.extend_from_slice(buf);
        while let Some((size, rest)) = self.heard.split_first_chunk::<2>() {
            let size = usize::from(u16::from_be_bytes(*size));
            if rest.len() < size {
                break;
            }
            let message = rest[..size].to_vec();
            self.heard.drain(..2 + size);
            self.take(&message)?;
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match (self.side, self.flights, self.messages) {
            (Side::Client, 0, _) => {
                Self::say(buf, &self.parameters(200));
                self.flights = 1;
                None
            }
            (Side::Client, 1, 1..) | (Side::Server, 0, 1..) => {
                if self.side == Side::Server {
                    Self::say(buf, &[0; 90]);
                }
                self.flights += 1;
                Some(keys())
            }
            (Side::Client, 2, 2..) => {
                Self::say(buf, &[0; 36]);
                self.flights = 3;
                Some(keys())
            }
            (Side::Server, 1, _) => {
                Self::say(buf, &self.parameters(CERTIFICATE));
                self.flights = 2;
                Some(keys())
            }
            _ => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(pair())
    }

    fn is_valid_retry(&self, _: Id<'_>, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}
