//! Which ECN two ends agree upon in the handshake (RFC 3168, RFC 9768).

//= RFC 9768 3.1.1/1..6: not applicable, what a handshake agrees upon is settled as a class is set
//=   up: SYNs carry no flags of ECN
//= RFC 9768 3.1.2/3..5, 3.1.2/7..8: not applicable, the same; the server is the receiver of data
//= RFC 9768 3.1.3/1..2, 3.1.3/4: not applicable, the same
//= RFC 9768 3.1.4.1/1, 3.1.4.1/3: done, test a_peer_without_accecn_is_fallen_back_to; every SYN
//=   asks for the same
//= RFC 9768 3.1.4.1/4..5: not applicable, no connection knows of another's attempts
//= RFC 9768 3.1.5/1..6: not applicable, one mode for a connection, agreed upon once
//= RFC 9768 3.1.5/7..10: not applicable, SYNs carry no flags of ECN
//= RFC 9768 3.1.1/7: done, test counted_marks_come_through_a_lossy_way_back; `recovery` is "sack"
//=   by default
//= RFC 9768 3.1.1/8: deviation, duplicates are reported where `undo` asks for it, and in style
//=   "linux"

/// Agreement of two ends in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Marks are counted.
    AccEcn,
    /// Marks are echoed (RFC 3168).
    Classic,
    /// No ECN.
    NotEcn,
}

/// Returns what the header bits (AE, CWR, ECE) of a SYN-ACK come to, which answer a SYN with all
/// three of them (section 3.1.2, table 2), or one with CWR and ECE alone where AccECN is not
/// `offered` (RFC 3168, section 6.1.1). AccECN's answers are four, as they reflect the SYN's
/// codepoint.
pub(super) fn agreed(offered: bool, answer: (bool, bool, bool)) -> Agreement {
    match (offered, answer) {
        //= RFC 9768 3.1.2/1..2: done, tests answers_to_the_syn,
        //=   a_peer_without_accecn_is_fallen_back_to
        (_, (false, false, true)) => Agreement::Classic,
        // an answer of ECN-nonce (RFC 3540), which is classic ECN without it
        //= RFC 9768 3.1.3/3: deviation, the reserved combination counts as the ECN-nonce that it
        //=   was, and so as classic ECN
        (true, (true, false, true)) => Agreement::Classic,
        // a peer that reflects what it does not know, or has no ECN
        //= RFC 9768 3.1.2/6: done, test answers_to_the_syn
        (false, _) | (true, (true, true, true) | (false, false, false)) => Agreement::NotEcn,
        (true, _) => Agreement::AccEcn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768, table 2: all eight answers to a SYN that offers AccECN; and to one of RFC 3168.
    #[test]
    fn answers_to_the_syn() {
        use Agreement::{AccEcn, Classic, NotEcn};
        let table = [
            NotEcn,  // 000: no ECN
            Classic, // 001
            AccEcn,  // 010: the SYN came Not-ECT
            AccEcn,  // 011: ECT(1)
            AccEcn,  // 100: ECT(0)
            Classic, // 101: ECN-nonce
            AccEcn,  // 110: CE
            NotEcn,  // 111: reflected
        ];
        for (bits, expected) in table.into_iter().enumerate() {
            let answer = (bits & 4 != 0, bits & 2 != 0, bits & 1 != 0);
            assert_eq!(agreed(true, answer), expected, "{bits:03b}");
            let classic = if bits == 1 { Classic } else { NotEcn };
            assert_eq!(agreed(false, answer), classic, "{bits:03b}");
        }
    }
}
