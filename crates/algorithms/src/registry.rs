//! The registry, made from the lists of algorithms in [`crate::congestion`] and [`crate::aqm`]:
//! specifications, dispatch, fluid laws, metadata.

use std::fmt;
use std::sync::Arc;

use crate::aqm::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Spacing, Verdict, forward_aqm,
};
use crate::congestion::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Delivery, Lost, Needs, Reduction, Window,
    forward_congestion_control,
};
use crate::fluid::{
    AqmInput, AqmStart, FluidAqm, FluidTcp, Path, QueueModel, Scheduled, TcpInput,
    forward_fluid_aqm, forward_fluid_tcp,
};
use crate::library::{Closed, Endpoints, LIBRARY_KEYS, Library, LibraryKind};
use crate::meta::{Algorithm, Meta, unknown_kind};
use crate::params::Fault;
use crate::{Parameters, Scalar, Stream, Time, Value, ValueError};

/// Makes the controllers of a congestion control that is not registered (a user's own).
pub trait ControllerFactory: fmt::Debug + Send + Sync {
    /// Its name in results.
    fn kind(&self) -> &str;
    /// The controller of flow number `flow`.
    fn build(&self, flow: u32) -> Box<dyn CongestionControl + Send>;
    /// Its parameters in a scenario, by name.
    fn values(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
    /// The library that is to be opened before a run.
    fn library(&self) -> Option<&Library> {
        None
    }
    /// True if it is a whole transport, which the engine's TCP gives way to.
    fn is_endpoint(&self) -> bool {
        false
    }
    /// The makers of its connections, if it is a whole transport.
    fn endpoints(&self) -> Option<&Endpoints> {
        None
    }
}

/// Makes the instances of an AQM that is not registered (a user's own).
pub trait AqmFactory: fmt::Debug + Send + Sync {
    /// Its name in results.
    fn kind(&self) -> &str;
    /// The AQM of a link's queue.
    fn build(&self, link: &LinkView) -> Box<dyn Aqm + Send>;
    /// Its parameters in a scenario, by name.
    fn values(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

impl ControllerFactory for Library {
    fn kind(&self) -> &str {
        self.kind.name()
    }

    fn build(&self, _flow: u32) -> Box<dyn CongestionControl + Send> {
        Box::new(Closed)
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let texts = [self.path.clone(), self.options.clone()];
        LIBRARY_KEYS
            .into_iter()
            .zip(texts.map(Value::Word))
            .collect()
    }

    fn library(&self) -> Option<&Library> {
        Some(self)
    }

    fn is_endpoint(&self) -> bool {
        self.kind == LibraryKind::Endpoint
    }
}

impl ControllerFactory for Endpoints {
    fn kind(&self) -> &str {
        self.factory.name()
    }

    fn build(&self, _flow: u32) -> Box<dyn CongestionControl + Send> {
        Box::new(Closed)
    }

    fn is_endpoint(&self) -> bool {
        true
    }

    fn endpoints(&self) -> Option<&Endpoints> {
        Some(self)
    }
}

fn custom(name: &str, value: f64) -> ValueError {
    let allowed = "a user's own algorithm has no registered parameters".to_owned();
    ValueError {
        name: name.to_owned(),
        fault: Fault::NotChangeable,
        found: value.to_string(),
        allowed,
    }
}

/// Makes the enums of one kind of algorithm from the list of its file.
macro_rules! registry {
    (
        congestion {
            with fluid law { $($fluid_tcp:ident ($fluid_tcp_params:ident),)* }
            packets only { $($tcp:ident ($tcp_params:ident),)* }
        }
    ) => {
        registry!(@spec
            CongestionSpec, ControllerFactory, "A congestion control and its parameters.",
            congestion: $($fluid_tcp($fluid_tcp_params) [FluidTcp],)* $($tcp($tcp_params) [],)*
        );
        registry!(@controller $($fluid_tcp($fluid_tcp_params),)* $($tcp($tcp_params),)*);

        impl CongestionSpec {
            /// The controller of flow number `flow`.
            #[must_use]
            pub fn build(&self, flow: u32) -> Controller {
                match self {
                    $(Self::$fluid_tcp(params) => Controller::$fluid_tcp(params.build(flow)),)*
                    $(Self::$tcp(params) => Controller::$tcp(params.build(flow)),)*
                    Self::Custom(factory) => Controller::Custom(factory.build(flow)),
                }
            }

            /// The services that it asks of the endpoint.
            #[must_use]
            pub fn needs(&self) -> Needs {
                self.build(0).needs()
            }

            /// The user's own, if it is one.
            #[must_use]
            pub fn custom(&self) -> Option<&dyn ControllerFactory> {
                match self {
                    Self::Custom(factory) => Some(&**factory),
                    _ => None,
                }
            }

            /// The library that is to be opened before a run.
            #[must_use]
            pub fn library(&self) -> Option<&Library> {
                self.custom()?.library()
            }

            /// True if it is a whole transport, which the engine's TCP gives way to.
            #[must_use]
            pub fn is_endpoint(&self) -> bool {
                self.custom().is_some_and(ControllerFactory::is_endpoint)
            }

            /// Its fluid law, if it has one.
            #[must_use]
            pub fn fluid(&self) -> Option<TcpLaw> {
                match self {
                    $(Self::$fluid_tcp(params) => params.has_law().then_some(TcpLaw::$fluid_tcp(*params)),)*
                    _ => None,
                }
            }
        }

        /// The fluid law of a congestion control, over a scalar.
        #[derive(Clone, Copy, Debug)]
        pub enum TcpLaw<S = f64> {
            $(
                #[doc = concat!("See [`crate::congestion::", stringify!($fluid_tcp_params), "`].")]
                $fluid_tcp(crate::congestion::$fluid_tcp_params<S>),
            )*
        }

        impl TcpLaw {
            /// The same law in another scalar.
            #[must_use]
            pub fn lift<S: Scalar>(&self) -> TcpLaw<S> {
                match self {
                    $(Self::$fluid_tcp(params) => TcpLaw::$fluid_tcp(params.lift()),)*
                }
            }

            /// See [`FluidTcp::schedule`].
            #[must_use]
            pub fn schedule(&self, state: &[f64], rtt: f64) -> Vec<Scheduled> {
                match self {
                    $(Self::$fluid_tcp(params) => params.schedule(state, rtt),)*
                }
            }
        }

        forward_fluid_tcp!(TcpLaw congestion { $($fluid_tcp($fluid_tcp_params),)* });

        impl<S: Scalar> TcpLaw<S> {
            /// See [`FluidTcp::AT_EQUILIBRIUM`].
            #[must_use]
            pub fn at_equilibrium(&self) -> bool {
                match self {
                    $(Self::$fluid_tcp(_) => <crate::congestion::$fluid_tcp_params as FluidTcp>::AT_EQUILIBRIUM,)*
                }
            }

            /// See [`FluidTcp::BY_DELAY`].
            #[must_use]
            pub fn by_delay(&self) -> bool {
                match self {
                    $(Self::$fluid_tcp(_) => <crate::congestion::$fluid_tcp_params as FluidTcp>::BY_DELAY,)*
                }
            }

            /// See [`FluidTcp::BY_RATE`].
            #[must_use]
            pub fn by_rate(&self) -> bool {
                match self {
                    $(Self::$fluid_tcp(_) => <crate::congestion::$fluid_tcp_params as FluidTcp>::BY_RATE,)*
                }
            }

            /// Sets a numeric parameter, to differentiate in it.
            ///
            /// # Errors
            /// Names the parameter if there is none of that name, it is not numeric, or the value
            /// is out of its range.
            pub fn set(&mut self, name: &str, value: S) -> Result<(), ValueError> {
                match self {
                    $(Self::$fluid_tcp(params) => params.set_scalar(name, value),)*
                }
            }
        }
    };

    (
        aqm {
            with fluid law { $($fluid_aqm:ident ($fluid_aqm_params:ident),)* }
            packets only { $($aqm:ident ($aqm_params:ident),)* }
        }
    ) => {
        registry!(@spec
            AqmSpec, AqmFactory, "An AQM and its parameters.",
            aqms: $($fluid_aqm($fluid_aqm_params) [FluidAqm],)* $($aqm($aqm_params) [],)*
        );
        registry!(@manager $($fluid_aqm($fluid_aqm_params),)* $($aqm($aqm_params),)*);

        impl AqmSpec {
            /// The AQM of a link's queue.
            #[must_use]
            pub fn build(&self, link: &LinkView) -> AqmInstance {
                match self {
                    $(Self::$fluid_aqm(params) => AqmInstance::$fluid_aqm(params.build(link)),)*
                    $(Self::$aqm(params) => AqmInstance::$aqm(params.build(link)),)*
                    Self::Custom(factory) => AqmInstance::Custom(factory.build(link)),
                }
            }

            /// The same with the numbers that words stand for on a link, where it has a fluid law:
            /// see [`FluidAqm::on_link`].
            #[must_use]
            pub fn on_link(&self, link: &LinkView) -> Self {
                match self {
                    $(Self::$fluid_aqm(params) => Self::$fluid_aqm(params.on_link(link)),)*
                    _ => self.clone(),
                }
            }

            /// Its fluid law on a link, if it has one.
            #[must_use]
            pub fn fluid(&self, link: &LinkView) -> Option<AqmLaw> {
                match self {
                    $(Self::$fluid_aqm(params) => Some(AqmLaw::$fluid_aqm(params.on_link(link))),)*
                    _ => None,
                }
            }
        }

        /// The fluid law of an AQM on a link, over a scalar.
        #[derive(Clone, Copy, Debug)]
        pub enum AqmLaw<S = f64> {
            $(
                #[doc = concat!("See [`crate::aqm::", stringify!($fluid_aqm_params), "`].")]
                $fluid_aqm(crate::aqm::$fluid_aqm_params<S>),
            )*
        }

        impl AqmLaw {
            /// The same law in another scalar.
            #[must_use]
            pub fn lift<S: Scalar>(&self) -> AqmLaw<S> {
                match self {
                    $(Self::$fluid_aqm(params) => AqmLaw::$fluid_aqm(params.lift()),)*
                }
            }
        }

        forward_fluid_aqm!(AqmLaw aqm { $($fluid_aqm($fluid_aqm_params),)* });

        impl<S: Scalar> AqmLaw<S> {
            /// Sets a numeric parameter, to differentiate in it.
            ///
            /// # Errors
            /// Names the parameter if there is none of that name, it is not numeric, or the value
            /// is out of its range.
            pub fn set(&mut self, name: &str, value: S) -> Result<(), ValueError> {
                match self {
                    $(Self::$fluid_aqm(params) => params.set_scalar(name, value),)*
                }
            }
        }
    };

    (@spec $spec:ident, $factory:ident, $doc:literal, $list:ident: $($name:ident($params:ident) $fluid:tt,)*) => {
        #[doc = $doc]
        #[derive(Clone, Debug)]
        pub enum $spec {
            $(
                #[doc = concat!("See [`crate::", registry!(@module $spec), "::", stringify!($params), "`].")]
                $name(registry!(@path $spec $params)),
            )*
            /// A user's own.
            Custom(Arc<dyn $factory>),
        }

        impl $spec {
            /// Every registered algorithm.
            pub const ALL: &'static [Meta] = &[
                $(registry!(@meta $spec $params $fluid),)*
            ];

            /// The algorithm `kind` with the given parameters, and defaults for all others. Checks
            /// ranges and consistency.
            ///
            /// # Errors
            /// Names the parameter (or `"kind"`), what was given and what is allowed.
            pub fn from_values(kind: &str, values: &[(String, Value)]) -> Result<Self, ValueError> {
                $(
                    if kind == <registry!(@path $spec $params)>::ABOUT.kind {
                        let params = <registry!(@path $spec $params)>::from_values(values)?;
                        params.check()?;
                        return Ok(Self::$name(params));
                    }
                )*
                Err(unknown_kind(kind, Self::ALL))
            }

            /// The algorithm's name in a scenario.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$name(_) => <registry!(@path $spec $params)>::ABOUT.kind,)*
                    Self::Custom(factory) => factory.kind(),
                }
            }

            /// Its metadata; `None` for a user's own.
            #[must_use]
            pub fn meta(&self) -> Option<&'static Meta> {
                Self::ALL.iter().find(|meta| meta.kind == self.kind())
            }

            /// Every parameter with its value, in order.
            #[must_use]
            pub fn values(&self) -> Vec<(&'static str, Value)> {
                match self {
                    $(Self::$name(params) => params.values(),)*
                    Self::Custom(factory) => factory.values(),
                }
            }

            /// Compares parameters with each other.
            ///
            /// # Errors
            /// Names the parameter that contradicts another.
            pub fn check(&self) -> Result<(), ValueError> {
                match self {
                    $(Self::$name(params) => params.check(),)*
                    Self::Custom(_) => Ok(()),
                }
            }

            /// Sets a numeric parameter; nothing changes if the result would not be allowed.
            ///
            /// # Errors
            /// Names the parameter, what was given and what is allowed.
            pub fn set(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
                match self {
                    $(
                        Self::$name(params) => {
                            let mut changed = params.clone();
                            changed.set(name, value)?;
                            changed.check()?;
                            *params = changed;
                            Ok(())
                        }
                    )*
                    Self::Custom(_) => Err(custom(name, value)),
                }
            }
        }

        #[doc = concat!("Every registered algorithm of [`", stringify!($spec), "`].")]
        #[must_use]
        pub fn $list() -> &'static [Meta] {
            $spec::ALL
        }
    };
    (@meta $spec:ident $params:ident []) => {
        Meta::new(&<registry!(@path $spec $params)>::ABOUT, <registry!(@path $spec $params)>::SPEC)
            .without_fluid(<registry!(@path $spec $params)>::NO_LAW)
            .in_linux(<registry!(@path $spec $params) as Algorithm>::LINUX)
            .by_rate(<registry!(@path $spec $params) as Algorithm>::BY_RATE)
            .without_ecn(<registry!(@path $spec $params) as Algorithm>::WITHOUT_ECN)
    };
    (@meta $spec:ident $params:ident [$fluid:ident]) => {
        Meta::with_fluid(
            &<registry!(@path $spec $params)>::ABOUT,
            <registry!(@path $spec $params)>::SPEC,
            <registry!(@path $spec $params) as $fluid>::APPROXIMATION,
            registry!(@by_delay $fluid $spec $params),
        )
        .in_linux(<registry!(@path $spec $params) as Algorithm>::LINUX)
        .by_rate(<registry!(@path $spec $params) as Algorithm>::BY_RATE)
        .without_ecn(<registry!(@path $spec $params) as Algorithm>::WITHOUT_ECN)
    };
    (@by_delay FluidTcp $spec:ident $params:ident) => {
        <registry!(@path $spec $params) as FluidTcp>::BY_DELAY
    };
    (@by_delay FluidAqm $spec:ident $params:ident) => { false };
    (@module CongestionSpec) => { "congestion" };
    (@module AqmSpec) => { "aqm" };
    (@path CongestionSpec $params:ident) => { crate::congestion::$params };
    (@path AqmSpec $params:ident) => { crate::aqm::$params };

    (@controller $($name:ident($params:ident),)*) => {
        /// A sender's congestion control at work: the registered ones inline, a user's own behind a
        /// pointer.
        #[allow(missing_debug_implementations)]
        pub enum Controller {
            $(
                #[doc = concat!("See [`crate::congestion::", stringify!($params), "`].")]
                $name(<crate::congestion::$params as CongestionAlgorithm>::Controller),
            )*
            /// A user's own.
            Custom(Box<dyn CongestionControl + Send>),
        }

        forward_congestion_control!([] Controller { $($name,)* Custom });
    };

    (@manager $($name:ident($params:ident),)*) => {
        /// A queue's AQM at work: the registered ones inline, a user's own behind a pointer.
        #[allow(missing_debug_implementations)]
        #[allow(clippy::large_enum_variant)] // one a link: speed counts, size does not
        pub enum AqmInstance {
            $(
                #[doc = concat!("See [`crate::aqm::", stringify!($params), "`].")]
                $name(<crate::aqm::$params as AqmAlgorithm>::Instance),
            )*
            /// A user's own.
            Custom(Box<dyn Aqm + Send>),
        }

        forward_aqm!([] AqmInstance { $($name,)* Custom });

        impl AqmInstance {
            /// Another one in the same state; `None` of a user's own.
            #[must_use]
            pub fn replica(&self) -> Option<Self> {
                match self {
                    $(Self::$name(aqm) => Some(Self::$name(aqm.clone())),)*
                    Self::Custom(_) => None,
                }
            }
        }
    };
}

crate::congestion::every_congestion_control!(registry);
crate::aqm::every_aqm!(registry);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DefaultValue, Kind};

    const LINK: LinkView = LinkView {
        rate: 10e6,
        delay: 0.01,
        capacity_packets: 100.0,
    };

    /// Values for parameters without a default.
    fn required(meta: &Meta) -> Vec<(String, Value)> {
        let needed = meta
            .parameters
            .iter()
            .filter(|spec| spec.default == DefaultValue::Required);
        needed
            .map(|spec| {
                (
                    spec.name.to_owned(),
                    Value::Number(spec.range.low.max(0.0) + 1.0),
                )
            })
            .collect()
    }

    #[test]
    fn every_default_is_allowed_and_survives_a_round_trip() {
        for meta in congestion() {
            let spec = CongestionSpec::from_values(meta.kind, &required(meta)).unwrap();
            let values: Vec<_> = spec
                .values()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            let again = CongestionSpec::from_values(spec.kind(), &values).unwrap();
            assert_eq!(spec.values(), again.values());
            assert_eq!(spec.fluid().is_some(), meta.has_fluid, "{}", meta.kind);
        }
        for meta in aqms() {
            let spec = AqmSpec::from_values(meta.kind, &required(meta)).unwrap();
            let values: Vec<_> = spec
                .values()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            let again = AqmSpec::from_values(spec.kind(), &values).unwrap();
            assert_eq!(spec.values(), again.values());
            assert_eq!(spec.fluid(&LINK).is_some(), meta.has_fluid, "{}", meta.kind);
        }
    }

    #[test]
    fn kinds_and_names_are_unique_and_described() {
        for list in [congestion(), aqms()] {
            for (index, meta) in list.iter().enumerate() {
                assert!(
                    list[..index].iter().all(|other| other.kind != meta.kind),
                    "{} twice",
                    meta.kind
                );
                assert!(
                    !meta.title.is_empty() && !meta.summary.is_empty() && !meta.citation.is_empty()
                );
                for (index, spec) in meta.parameters.iter().enumerate() {
                    assert!(
                        meta.parameters[..index]
                            .iter()
                            .all(|other| other.name != spec.name),
                        "{} twice",
                        spec.name
                    );
                    assert!(
                        !spec.doc.is_empty() && !spec.source.is_empty(),
                        "{}",
                        spec.name
                    );
                    assert!(!spec.doc.starts_with(' '), "{}", spec.doc);
                }
            }
        }
    }

    #[test]
    fn what_is_not_allowed_is_refused_with_its_name() {
        for meta in aqms() {
            for spec in meta.parameters {
                let mut values = required(meta);
                values.retain(|(name, _)| name != spec.name);
                let bad = if spec.kind.is_numeric() {
                    Value::Number(f64::NAN)
                } else {
                    Value::Number(1.0)
                };
                values.push((spec.name.to_owned(), bad));
                let error = AqmSpec::from_values(meta.kind, &values).unwrap_err();
                assert_eq!(error.name, spec.name);
                assert!(!error.allowed.is_empty());
            }
        }
        let error =
            CongestionSpec::from_values("aimd", &[("gamma".to_owned(), Value::Number(1.0))])
                .unwrap_err();
        assert_eq!(
            (error.name.as_str(), error.fault),
            ("gamma", Fault::Unknown)
        );
        assert_eq!(
            error.allowed,
            "alpha, beta, whole_packets, min_window, halve_in_slow_start"
        );
        let error = CongestionSpec::from_values("renno", &[]).unwrap_err();
        assert_eq!(
            (error.name.as_str(), error.fault, error.found.as_str()),
            ("kind", Fault::Unknown, "\"renno\"")
        );
    }

    #[test]
    fn a_refused_change_changes_nothing() {
        let mut spec = CongestionSpec::from_values("aimd", &[]).unwrap();
        let before = spec.values();
        let error = spec.set("beta", 1.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`beta` is 1; it must be above 0, below 1"
        );
        assert_eq!(spec.values(), before);
        spec.set("beta", 0.875).unwrap();
        assert_eq!(spec.values()[1], ("beta", Value::Number(0.875)));
    }

    #[test]
    fn controllers_are_small_and_go_between_threads() {
        fn sendable<T: Send>() {}
        sendable::<Controller>();
        sendable::<AqmInstance>();
        assert!(
            size_of::<Controller>() <= 128,
            "{}",
            size_of::<Controller>()
        );
        assert_eq!(aqms()[1].parameters[0].kind, Kind::Packets);
    }

    #[derive(Debug)]
    struct Own;

    impl ControllerFactory for Own {
        fn kind(&self) -> &str {
            "own"
        }
        fn build(&self, _flow: u32) -> Box<dyn CongestionControl + Send> {
            Box::new(
                crate::congestion::RenoParams::from_values(&[])
                    .expect("the defaults are valid")
                    .build(0),
            )
        }
    }

    #[test]
    fn a_users_own_algorithm_is_driven_like_a_registered_one() {
        let spec = CongestionSpec::Custom(Arc::new(Own));
        assert_eq!(
            (spec.kind(), spec.meta().is_none(), spec.fluid().is_none()),
            ("own", true, true)
        );
        let mut window = Window {
            cwnd: 20.0,
            ssthresh: 20.0,
        };
        spec.build(3)
            .on_congestion(&crate::congestion::test::loss(20.0), &mut window);
        assert_eq!(window.cwnd, 10.0);
    }
}
