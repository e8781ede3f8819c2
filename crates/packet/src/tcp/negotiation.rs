//! Which ECN two ends agree upon in the handshake (RFC 3168, RFC 9768).

/// What two ends have agreed upon in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Marks are counted.
    AccEcn,
    /// Marks are echoed (RFC 3168).
    Classic,
    /// No ECN.
    NotEcn,
}

/// What the header bits (AE, CWR, ECE) of a SYN-ACK come to, which answer a SYN with all three of
/// them (section 3.1.2, table 2), or one with CWR and ECE alone where AccECN is not `offered` (RFC
/// 3168, section 6.1.1). AccECN's answers are four, as they reflect the SYN's codepoint.
pub(super) fn agreed(offered: bool, answer: (bool, bool, bool)) -> Agreement {
    match (offered, answer) {
        (_, (false, false, true)) => Agreement::Classic,
        // an answer of ECN-nonce (RFC 3540), which is classic ECN without it
        (true, (true, false, true)) => Agreement::Classic,
        // a peer that reflects what it does not know, or has no ECN
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
