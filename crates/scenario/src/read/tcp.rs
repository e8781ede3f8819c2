//! The endpoint of a class of flows: TCP's options, and what of them contradicts what.

use std::borrow::Cow;

use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::registry::{CongestionSpec, congestion};
use ackclock_algorithms::{DefaultValue, Time, Value as Setpoint};

use super::{Item, Place, Reader, Table, join};
use crate::diagnostic::quoted_list;
use crate::model::Tcp;
use crate::options::{
    EcnFeedback, LossDetection, Named, PeerEcn, Recovery, RttSamples, Style, Undo, WindowReduction,
};
use crate::tree::Value;
use crate::units::format_time;

impl Reader<'_> {
    /// The options of TCP. All are read before any is judged beside another.
    pub(super) fn tcp(&self, table: &Table<'_>) -> Option<Tcp> {
        let style = self
            .item(table, "style")
            .and_then(|item| self.option(&item))?;
        let options = Options {
            reader: self,
            table,
            style,
        };
        let get = |key: &str| options.get(key);
        let flag = |key: &str| options.flag(key);
        let time = |key: &str| options.time(key);
        let congestion = self.congestion(table, style);
        let needs = congestion
            .as_ref()
            .map(CongestionSpec::needs)
            .unwrap_or_default();
        let recovery = options.choice("recovery");
        let reduction = options.choice("reduction").map(|reduction| {
            // a congestion control that steers the window itself; what is given is judged below
            if needs.delivery && table.given("reduction").is_none() {
                WindowReduction::AtOnce
            } else {
                reduction
            }
        });
        let loss_detection = options.choice("loss_detection");
        let detect_lost_retransmissions = flag("detect_lost_retransmissions");
        let (ecn_feedback, peer_ecn) = (options.choice("ecn_feedback"), options.choice("peer_ecn"));
        let undo = options.choice("undo");
        let initial_window = get("initial_window").and_then(|item| self.initial_window(&item));
        let initial_ssthresh =
            options.word_or("initial_ssthresh", f64::INFINITY, |item| self.packets(item));
        let max_window = options.word_or("max_window", None, |item| {
            self.whole_packets(item).map(Some)
        });
        let ecn = match get("ecn") {
            None => Some((needs.marks, needs.marks)),
            Some(item) if item.is_word() => Some((true, true)),
            Some(item) => self.flag(&item).map(|ecn| (ecn, ecn && needs.marks)),
        };
        let (pacing, hystart, search) = (options.choice("pacing"), flag("hystart"), flag("search"));
        let saved_window =
            options.word_or("saved_window", None, |item| self.packets(item).map(Some));
        let saved_rtt = options.word_or("saved_rtt", None, |item| self.time(item).map(Some));
        let (handshake, delayed_ack) = (flag("handshake"), flag("delayed_ack"));
        let (limited_transmit, ecn_pause) = (flag("limited_transmit"), flag("ecn_pause"));
        let delayed_ack_timeout = time("delayed_ack_timeout");
        let (min_rto, max_rto, initial_rto) =
            (time("min_rto"), time("max_rto"), time("initial_rto"));
        let rtt_samples = options.choice("rtt_samples");
        let clock_granularity =
            options.word_or("clock_granularity", Time::ZERO, |item| self.time(item));
        let restart_rto_on_every_ack = flag("restart_rto_on_every_ack");
        let dup_threshold = get("dup_threshold")
            .and_then(|item| self.integer(&item))
            .and_then(|number| u32::try_from(number).ok());
        let tcp = Tcp {
            style,
            congestion: congestion?,
            recovery: recovery?,
            reduction: reduction?,
            loss_detection: loss_detection?,
            detect_lost_retransmissions: detect_lost_retransmissions?,
            handshake: handshake?,
            initial_window: initial_window?,
            initial_ssthresh: initial_ssthresh?,
            max_window: max_window?,
            ecn: ecn?.0,
            accurate_ecn: ecn?.1,
            ecn_feedback: ecn_feedback?,
            peer_ecn: peer_ecn?,
            pacing: pacing?,
            hystart: hystart?,
            search: search?,
            resume: self.resume(table, saved_window?, saved_rtt?)?,
            delayed_ack: delayed_ack?,
            delayed_ack_timeout: delayed_ack_timeout?,
            limited_transmit: limited_transmit?,
            ecn_pause: ecn_pause?,
            min_rto: min_rto?,
            max_rto: max_rto?,
            initial_rto: initial_rto?,
            rtt_samples: rtt_samples?,
            clock_granularity: clock_granularity?,
            restart_rto_on_every_ack: restart_rto_on_every_ack?,
            undo: undo?,
            dup_threshold: dup_threshold?,
        };
        let fits = self.fits_recovery(table, &tcp)
            && self.fits_slow_start(table, &tcp)
            && self.fits_congestion(table, &tcp)
            && self.fits_style(table, &tcp)
            && self.fits_ecn(table, &tcp)
            && self.bounds_of_timer(table, &tcp);
        fits.then_some(tcp)
    }

    /// Refuses the first of `rules` (key, whether it contradicts) that is given; what is a default
    /// contradicts nothing.
    fn none_given(
        &self,
        table: &Table<'_>,
        rules: &[(&str, bool)],
        problem: &str,
        allowed: &str,
    ) -> bool {
        let given = rules
            .iter()
            .filter(|(_, contradicts)| *contradicts)
            .find_map(|(key, _)| table.given(key));
        if let Some(item) = &given {
            self.refuse(item, problem, allowed);
        }
        given.is_none()
    }

    /// What needs selective acknowledgements. What style "linux" sets by itself is written with the
    /// scenario, and contradicts nothing.
    fn fits_recovery(&self, table: &Table<'_>, tcp: &Tcp) -> bool {
        let linux = tcp.style == Style::Linux;
        let reduces = match tcp.reduction {
            WindowReduction::AtOnce => false,
            WindowReduction::Prr => !linux,
            _ => true,
        };
        let rack = tcp.loss_detection == LossDetection::Rack;
        tcp.recovery == Recovery::Sack
            || self.none_given(
                table,
                &[
                    ("reduction", reduces),
                    ("loss_detection", rack && !linux),
                    ("undo", tcp.undo == Undo::Dsack),
                    (
                        "detect_lost_retransmissions",
                        tcp.detect_lost_retransmissions,
                    ),
                ],
                "needs selective acknowledgements",
                "with recovery = \"sack\" only",
            )
    }

    /// What is known of the path: both, or neither.
    #[expect(clippy::option_option, reason = "refused, or not there, or there")]
    fn resume(
        &self,
        table: &Table<'_>,
        window: Option<f64>,
        rtt: Option<Time>,
    ) -> Option<Option<(f64, Time)>> {
        self.none_given(
            table,
            &[
                ("saved_window", window.is_some() && rtt.is_none()),
                ("saved_rtt", rtt.is_some() && window.is_none()),
            ],
            "contradicts what is not given beside it: a path is known by both",
            "saved_window and saved_rtt, or neither",
        )
        .then(|| window.zip(rtt))
    }

    fn fits_slow_start(&self, table: &Table<'_>, tcp: &Tcp) -> bool {
        self.none_given(
            table,
            &[("search", tcp.hystart && tcp.search)],
            "contradicts hystart, which ends slow start its own way",
            "one of both",
        )
    }

    fn fits_congestion(&self, table: &Table<'_>, tcp: &Tcp) -> bool {
        !tcp.congestion.needs().delivery
            || self.none_given(
                table,
                &[
                    ("recovery", tcp.recovery != Recovery::Sack),
                    ("reduction", tcp.reduction != WindowReduction::AtOnce),
                    ("hystart", tcp.hystart),
                    ("search", tcp.search),
                    ("saved_window", tcp.resume.is_some()),
                ],
                "contradicts the congestion control, which steers the window from selective acknowledgements itself",
                &format!(
                    "recovery \"sack\", reduction \"at-once\", hystart and search false, no saved_window with \"{}\"",
                    tcp.congestion.kind()
                ),
            )
    }

    fn fits_style(&self, table: &Table<'_>, tcp: &Tcp) -> bool {
        tcp.style != Style::Linux
            || self.none_given(
                table,
                &[("ecn_pause", tcp.ecn_pause)],
                "Linux sends on",
                "true with style = \"rfc\" only",
            ) && self.none_given(
                table,
                &[
                    ("rtt_samples", tcp.rtt_samples != RttSamples::EveryAck),
                    ("clock_granularity", tcp.clock_granularity != Time::ZERO),
                    ("restart_rto_on_every_ack", tcp.restart_rto_on_every_ack),
                ],
                "contradicts style \"linux\", whose timer has samples and ticks of its own",
                "in style \"rfc\" only",
            )
    }

    fn fits_ecn(&self, table: &Table<'_>, tcp: &Tcp) -> bool {
        let unasked = |given: bool| !tcp.ecn && given;
        self.none_given(
            table,
            &[
                (
                    "ecn_feedback",
                    unasked(tcp.ecn_feedback != EcnFeedback::Auto),
                ),
                ("peer_ecn", unasked(tcp.peer_ecn != PeerEcn::Same)),
            ],
            "needs ECN",
            "with ecn = true only",
        )
    }

    fn bounds_of_timer(&self, table: &Table<'_>, tcp: &Tcp) -> bool {
        let crossed = tcp.min_rto > tcp.max_rto;
        self.none_given(
            table,
            &[("min_rto", crossed), ("max_rto", crossed)],
            "min_rto is above max_rto",
            &format!(
                "min_rto {} at most max_rto {}",
                format_time(tcp.min_rto),
                format_time(tcp.max_rto)
            ),
        )
    }

    /// `congestion = "cubic"` or `{ kind = "compound", ... }`.
    fn congestion(&self, table: &Table<'_>, style: Style) -> Option<CongestionSpec> {
        let item = self.item(table, "congestion")?;
        let Value::Table(entries) = &item.node.value else {
            let meta = self.algorithm(&item, congestion(), "congestion control")?;
            let empty = Table {
                place: item.place.clone(),
                entries: &[],
                keys: &[],
            };
            let values = in_style(style, meta, self.parameters(&empty, meta)?);
            return CongestionSpec::from_values(meta.kind, &values)
                .map_err(|error| self.refused(&item.place, &error))
                .ok();
        };
        let Some((_, kind)) = entries.iter().find(|(name, _)| name.text == "kind") else {
            let names: Vec<_> = congestion().iter().map(|meta| meta.kind).collect();
            self.missing(&item.place, "kind", quoted_list(names));
            return None;
        };
        let place = Place {
            key: join(&item.place.key, "kind"),
            span: kind.span.clone(),
        };
        let meta = self.algorithm(
            &Item {
                node: Cow::Borrowed(kind),
                place,
                rule: item.rule,
            },
            congestion(),
            "congestion control",
        )?;
        let names: Vec<&str> = std::iter::once("kind")
            .chain(meta.parameters.iter().map(|spec| spec.name))
            .collect();
        let inner = self.table(&item.node, item.place.clone(), &[], &names)?;
        let values = in_style(style, meta, self.parameters(&inner, meta)?);
        CongestionSpec::from_values(meta.kind, &values)
            .map_err(|error| self.refused(&Self::place_of_parameter(&inner, &error.name), &error))
            .ok()
    }
}

/// The options of a class, with the defaults of its style.
struct Options<'o, 's, 'n> {
    reader: &'o Reader<'s>,
    table: &'o Table<'n>,
    style: Style,
}

impl<'n> Options<'_, '_, 'n> {
    fn get(&self, key: &str) -> Option<Item<'n>> {
        self.reader.item_in(self.table, key, self.style)
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(|item| self.reader.flag(&item))
    }

    fn time(&self, key: &str) -> Option<Time> {
        self.get(key).and_then(|item| self.reader.time(&item))
    }

    fn choice<T: Named>(&self, key: &str) -> Option<T> {
        self.get(key).and_then(|item| self.reader.option(&item))
    }

    /// A value for the word that may stand in place of one.
    fn word_or<T>(
        &self,
        key: &str,
        word: T,
        value: impl FnOnce(&Item<'n>) -> Option<T>,
    ) -> Option<T> {
        let item = self.get(key)?;
        if item.is_word() {
            Some(word)
        } else {
            value(&item)
        }
    }
}

/// The values given, and those that the style has in place of defaults.
fn in_style(
    style: Style,
    meta: &Meta,
    mut given: Vec<(String, Setpoint)>,
) -> Vec<(String, Setpoint)> {
    if style == Style::Linux {
        for (name, value) in meta.linux {
            let value = match value {
                DefaultValue::Required => continue,
                DefaultValue::Number(number) => Setpoint::Number(*number),
                DefaultValue::Flag(flag) => Setpoint::Flag(*flag),
                DefaultValue::Word(word) => Setpoint::Word((*word).to_owned()),
            };
            if given.iter().all(|(other, _)| other != name) {
                given.push(((*name).to_owned(), value));
            }
        }
    }
    given
}
