//! The macros that declare parameters, and what they are made with.

use super::{
    DefaultValue, Fault, Field, Interval, Kind, ParameterSpec, Value, ValueError, unknown,
};

/// Reads the field of parameter `index` from `values`. An implementation detail of
/// [`parameters!`](crate::parameters).
#[doc(hidden)]
pub fn read<T: Field>(
    specs: &[ParameterSpec],
    name: &str,
    values: &[(String, Value)],
) -> Result<T, ValueError> {
    let spec = specs
        .iter()
        .find(|spec| spec.name == name)
        .ok_or_else(|| unknown(specs, name))?;
    // the last of two equal keys counts; files cannot have two
    match values.iter().rev().find(|(key, _)| key == name) {
        Some((_, value)) => T::read(spec, value),
        None => match spec.default_value() {
            Some(value) => T::read(spec, &value),
            None => Err(spec.error(Fault::Missing, String::new())),
        },
    }
}

/// `first` and `second` in one array. An implementation detail of [`parameters!`](crate::parameters).
#[doc(hidden)]
#[must_use]
pub const fn join<const N: usize>(
    first: &[ParameterSpec],
    second: &[ParameterSpec],
) -> [ParameterSpec; N] {
    let empty = ParameterSpec {
        name: "",
        kind: Kind::Number,
        default: DefaultValue::Required,
        range: Interval::ANY,
        words: &[],
        doc: "",
        source: "",
    };
    let mut all = [empty; N];
    let mut index = 0;
    while index < N {
        all[index] = if index < first.len() {
            first[index]
        } else {
            second[index - first.len()]
        };
        index += 1;
    }
    all
}

/// Declares the parameters of an algorithm.
///
/// Each line holds documentation, name, kind, default, range and source:
///
/// ```
/// use ackclock_algorithms::{Interval, Parameters as _, Value, choices, parameters};
///
/// choices! {
///     /// What is counted.
///     pub enum Mode {
///         /// Packets.
///         Packets = "packets",
///         /// Bytes.
///         Bytes = "bytes",
///     }
/// }
///
/// parameters! {
///     /// Parameters of an example.
///     pub struct ExampleParams {
///         /// Where it begins.
///         threshold: packets = required, in Interval::at_least(0.0), "nowhere";
///         /// How fast it forgets.
///         weight: number("auto") = word "auto", in Interval::above_to(0.0, 1.0), "nowhere";
///         /// What is counted.
///         mode: choice(Mode) = Packets, "nowhere";
///         /// Whether it is kind.
///         gentle: flag = true, "nowhere";
///     }
/// }
///
/// let params = ExampleParams::from_values(&[("threshold".into(), Value::Number(5.0))]).unwrap();
/// assert_eq!(params.threshold, 5.0);
/// assert!(ExampleParams::from_values(&[]).is_err());
/// ```
///
/// The struct is generic over the scalar of its numbers (`ExampleParams<S = f64>`), so that an
/// analysis can differentiate in a parameter: `lift` changes the scalar, `set_scalar` sets a
/// numeric parameter to a scalar.
///
/// An algorithm built on another takes over its parameters with a first line `include base:
/// BaseParams;`.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {}
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        $visibility struct $name<S = f64>(std::marker::PhantomData<S>);

        $crate::parameters!(@common $name [] {});
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident without numbers {
            $(
                $(#[doc = $doc:literal])+
                $field:ident : flag = $default:literal, $source:literal;
            )+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visibility struct $name<S = f64> {
            $(
                $(#[doc = $doc])+
                pub $field: bool,
            )+
            scalar: std::marker::PhantomData<S>,
        }

        $crate::parameters!(@common $name [] {
            $(
                $field [flag]
                $crate::ParameterSpec {
                    name: stringify!($field),
                    kind: $crate::Kind::Flag,
                    default: $crate::DefaultValue::Flag($default),
                    range: $crate::Interval::ANY,
                    words: &[],
                    doc: concat!($($doc),+).trim_ascii_start(),
                    source: $source,
                };
            )+
        } [scalar]);
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $(include $base:ident: $base_type:ident;)?
            $(
                $(#[doc = $doc:literal])+
                $field:ident : $kind:ident $(($($word:tt),+))? = $default:tt $($default_word:literal)?
                    $(, in $range:expr)?, $source:literal;
            )+
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name<S = f64> {
            $(
                /// The parameters of the algorithm that this one is built on.
                pub $base: $base_type<S>,
            )?
            $(
                $(#[doc = $doc])+
                pub $field: $crate::parameters!(@type S $kind $(($($word),+))?),
            )+
        }

        // written out because `derive` does not take macros in types
        impl<S: Clone> Clone for $name<S> {
            fn clone(&self) -> Self {
                Self { $($base: self.$base.clone(),)? $($field: self.$field.clone()),+ }
            }
        }

        impl<S: Copy> Copy for $name<S> {}

        impl<S: std::fmt::Debug> std::fmt::Debug for $name<S> {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.debug_struct(stringify!($name))$(.field(stringify!($base), &self.$base))?$(.field(stringify!($field), &self.$field))+.finish()
            }
        }

        impl<S: PartialEq> PartialEq for $name<S> {
            fn eq(&self, other: &Self) -> bool {
                $(self.$base == other.$base &&)? $(self.$field == other.$field)&&+
            }
        }

        $crate::parameters!(@common $name [$($base $base_type)?] {
            $(
                $field [$kind $(($($word),+))?]
                $crate::ParameterSpec {
                    name: stringify!($field),
                    kind: $crate::parameters!(@kind $kind),
                    default: $crate::parameters!(@default [$default $($default_word)?] $kind $(($($word),+))?),
                    range: $crate::parameters!(@range $($range)?),
                    words: $crate::parameters!(@words $kind $(($($word),+))?),
                    doc: concat!($($doc),+).trim_ascii_start(),
                    source: $source,
                };
            )+
        });
    };

    (@common $name:ident [$($base:ident $base_type:ident)?] { $($field:ident [$($kind:tt)+] $spec:expr;)* } $([$marker:ident])?) => {
        impl $crate::Parameters for $name {
            const SPEC: &'static [$crate::ParameterSpec] = {
                const OWN: &[$crate::ParameterSpec] = &[$($spec),*];
                const BASE: &[$crate::ParameterSpec] = $crate::parameters!(@base_spec $($base_type)?);
                const ALL: [$crate::ParameterSpec; BASE.len() + OWN.len()] = $crate::params::join(BASE, OWN);
                &ALL
            };

            #[allow(unused_variables)] // without parameters nothing is read
            fn read(values: &[(String, $crate::Value)]) -> Result<Self, $crate::ValueError> {
                Ok($crate::parameters!(@build $name {
                    $($base: <$base_type as $crate::Parameters>::read(values)?,)?
                    $($field: $crate::params::read(Self::SPEC, stringify!($field), values)?,)*
                    $($marker: std::marker::PhantomData,)?
                }))
            }

            fn values(&self) -> Vec<(&'static str, $crate::Value)> {
                let own: Vec<(&'static str, $crate::Value)> =
                    vec![$((stringify!($field), $crate::params::Field::value(&self.$field))),*];
                $(
                    let base = <$base_type as $crate::Parameters>::values(&self.$base);
                    let own = [base, own].concat();
                )?
                own
            }

            fn set(&mut self, name: &str, value: f64) -> Result<(), $crate::ValueError> {
                self.set_scalar(name, value)
            }
        }

        impl $name {
            /// The same parameters in another scalar.
            #[must_use]
            pub fn lift<S: $crate::Scalar>(&self) -> $name<S> {
                $crate::parameters!(@build $name {
                    $($base: self.$base.lift(),)?
                    $($field: $crate::params::Lift::lift(&self.$field),)*
                    $($marker: std::marker::PhantomData,)?
                })
            }
        }

        impl<S: $crate::Scalar> $name<S> {
            /// Sets a numeric parameter, within its range.
            ///
            /// # Errors
            /// Names the parameter if there is none of that name, it is not numeric, or the value
            /// is out of its range.
            pub fn set_scalar(&mut self, name: &str, value: S) -> Result<(), $crate::ValueError> {
                $crate::params::settable(<$name as $crate::Parameters>::SPEC, name, value.re())?;
                self.assign(name, value);
                Ok(())
            }

            #[doc(hidden)]
            #[allow(unused_variables)] // without numbers nothing is assigned
            pub fn assign(&mut self, name: &str, value: S) {
                $($crate::parameters!(@assign self.$field, stringify!($field), name, value, $($kind)+);)*
                $(self.$base.assign(name, value);)?
            }
        }
    };
    (@base_spec) => { &[] };
    (@base_spec $base_type:ident) => { <$base_type as $crate::Parameters>::SPEC };
    (@assign $place:expr, $field:expr, $name:ident, $value:ident, flag) => {};
    (@assign $place:expr, $field:expr, $name:ident, $value:ident, choice($type:ident)) => {};
    (@assign $place:expr, $field:expr, $name:ident, $value:ident, $($kind:tt)+) => {
        if $name == $field {
            $crate::params::Assign::assign(&mut $place, $value);
        }
    };
    (@build $name:ident {}) => { $name(std::marker::PhantomData) };
    (@build $name:ident { $($field:ident: $value:expr,)+ }) => { $name { $($field: $value),+ } };

    (@type $s:ident flag) => { bool };
    (@type $s:ident choice($type:ident)) => { $type };
    (@type $s:ident $kind:ident ($($word:tt),+)) => { $crate::NumberOr<$s> };
    (@type $s:ident $kind:ident) => { $s };

    (@kind number) => { $crate::Kind::Number };
    (@kind time) => { $crate::Kind::Time };
    (@kind rate) => { $crate::Kind::Rate };
    (@kind packets) => { $crate::Kind::Packets };
    (@kind bytes) => { $crate::Kind::Bytes };
    (@kind frequency) => { $crate::Kind::Frequency };
    (@kind flag) => { $crate::Kind::Flag };
    (@kind choice) => { $crate::Kind::Choice };

    (@default [required] $($kind:tt)+) => { $crate::DefaultValue::Required };
    (@default [word $default:literal] $($kind:tt)+) => { $crate::DefaultValue::Word($default) };
    (@default [$default:tt] flag) => { $crate::DefaultValue::Flag($default) };
    (@default [$default:tt] choice($type:ident)) => { $crate::DefaultValue::Word($type::$default.name()) };
    (@default [$default:tt] $($kind:tt)+) => { $crate::DefaultValue::Number($default) };

    (@range) => { $crate::Interval::ANY };
    (@range $range:expr) => { $range };

    (@words choice($type:ident)) => { $type::NAMES };
    (@words $kind:ident) => { &[] };
    (@words $kind:ident ($($word:tt),+)) => { &[$($word),+] };
}

/// Declares an enum of named choices, for use in [`parameters!`](crate::parameters).
#[macro_export]
macro_rules! choices {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $type {
            $($(#[$variant_attribute])* $variant),+
        }

        impl $type {
            /// The names of the choices in a scenario.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Its name in a scenario.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl $crate::params::Field for $type {
            fn read(spec: &$crate::ParameterSpec, value: &$crate::Value) -> Result<Self, $crate::ValueError> {
                match value {
                    $($crate::Value::Word(word) if word == $name => Ok(Self::$variant),)+
                    $crate::Value::Word(_) => Err(spec.error($crate::Fault::OutOfRange, value.to_string())),
                    _ => Err(spec.error($crate::Fault::WrongKind, value.to_string())),
                }
            }

            fn value(&self) -> $crate::Value {
                $crate::Value::Word(self.name().to_owned())
            }
        }

        impl $crate::params::Lift<Self> for $type {
            fn lift(&self) -> Self {
                *self
            }
        }
    };
}
