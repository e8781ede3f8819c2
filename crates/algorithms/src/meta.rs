//! The metadata of an algorithm: its names, source, parameters and what it can do. Every
//! algorithm's file builds on it.

use crate::params::Fault;
use crate::{DefaultValue, ParameterSpec, Parameters, ValueError};

/// The metadata of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name in a scenario.
    pub kind: &'static str,
    /// Its name in prose.
    pub title: &'static str,
    /// Its behaviour, in a sentence or two.
    pub summary: &'static str,
    /// Where it is defined.
    pub citation: &'static str,
    /// For congestion control: whether it reacts to ECN marks. For an AQM: whether it can mark.
    pub ecn: bool,
}

/// Everything known about a registered algorithm, as plain data.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    /// Its name in a scenario.
    pub kind: &'static str,
    /// Its name in prose.
    pub title: &'static str,
    /// Its behaviour, in a sentence or two.
    pub summary: &'static str,
    /// Where it is defined.
    pub citation: &'static str,
    /// Its parameters, in order.
    pub parameters: &'static [ParameterSpec],
    /// Whether it has a fluid law, so that the fluid and stability engines know it.
    pub has_fluid: bool,
    /// Whether the mean-field engine has it too: an AQM with a fluid law, or a congestion control
    /// whose fluid law does not depend on the queueing delay.
    pub has_mean_field: bool,
    /// The approximation of its fluid law, and whose model it is, or why there is none; `None` for an
    /// exact law.
    pub approximation: Option<&'static str>,
    /// For congestion control: whether it reacts to ECN marks. For an AQM: whether it can mark.
    pub ecn: bool,
    /// Parameters whose value in Linux 6.1 is not the default, with that value.
    pub linux: &'static [(&'static str, DefaultValue)],
    /// For an AQM: whether it steers by the rate of its queue, which must therefore be known.
    pub by_rate: bool,
    /// For a congestion control that lives by ECN marks: how it behaves without ECN, in a few words.
    pub without_ecn: Option<&'static str>,
}

impl Meta {
    pub(crate) const fn new(about: &About, parameters: &'static [ParameterSpec]) -> Self {
        let About {
            kind,
            title,
            summary,
            citation,
            ecn,
        } = *about;
        Self {
            kind,
            title,
            summary,
            citation,
            parameters,
            has_fluid: false,
            has_mean_field: false,
            approximation: None,
            ecn,
            linux: &[],
            by_rate: false,
            without_ecn: None,
        }
    }

    pub(crate) const fn in_linux(self, linux: &'static [(&'static str, DefaultValue)]) -> Self {
        Self { linux, ..self }
    }

    pub(crate) const fn by_rate(self, by_rate: bool) -> Self {
        Self { by_rate, ..self }
    }

    pub(crate) const fn without_ecn(self, without_ecn: Option<&'static str>) -> Self {
        Self {
            without_ecn,
            ..self
        }
    }

    pub(crate) const fn without_fluid(self, why: Option<&'static str>) -> Self {
        Self {
            approximation: why,
            ..self
        }
    }

    pub(crate) const fn with_fluid(
        about: &About,
        parameters: &'static [ParameterSpec],
        approximation: Option<&'static str>,
        by_delay: bool,
    ) -> Self {
        Self {
            has_fluid: true,
            has_mean_field: !by_delay,
            approximation,
            ..Self::new(about, parameters)
        }
    }
}

/// The common behaviour of every algorithm's parameters: say what they belong to and check themselves.
pub trait Algorithm: Parameters {
    /// Its metadata.
    const ABOUT: About;
    /// Parameters whose value in Linux 6.1 is not the default, with that value.
    const LINUX: &'static [(&'static str, DefaultValue)] = &[];
    /// Why it has no fluid law, in a sentence; only of an algorithm without one.
    const NO_LAW: Option<&'static str> = None;
    /// For an AQM: whether it steers by the rate of its queue.
    const BY_RATE: bool = false;
    /// For a congestion control that lives by ECN marks: how it behaves without ECN, in a few words.
    const WITHOUT_ECN: Option<&'static str> = None;

    /// Compares parameters with each other.
    ///
    /// # Errors
    /// Names the parameter that contradicts another.
    fn check(&self) -> Result<(), ValueError> {
        Ok(())
    }
}

pub(crate) fn unknown_kind(kind: &str, known: &[Meta]) -> ValueError {
    let allowed = known
        .iter()
        .map(|meta| meta.kind)
        .collect::<Vec<_>>()
        .join(", ");
    ValueError {
        name: "kind".to_owned(),
        fault: Fault::Unknown,
        found: format!("\"{kind}\""),
        allowed,
    }
}
