//! Lists of algorithms without a user's own and without a fluid law: schedulers and what happens to
//! packets on a wire.

/// Makes the specification of one kind of algorithm from the list of its file.
macro_rules! plain_specs {
    ($(#[$attribute:meta])* $spec:ident, $list:ident: $($name:ident($params:ident),)*) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $spec {
            $(
                #[doc = concat!("See [`", stringify!($params), "`].")]
                $name($params),
            )*
        }

        impl $spec {
            /// The algorithm `kind` with the given parameters, and defaults for all others. Checks
            /// ranges and consistency.
            ///
            /// # Errors
            /// Names the parameter (or `"kind"`), what was given and what is allowed.
            pub fn from_values(kind: &str, values: &[(String, $crate::Value)]) -> Result<Self, $crate::ValueError> {
                $(
                    if kind == <$params as $crate::meta::Algorithm>::ABOUT.kind {
                        let params = <$params as $crate::Parameters>::from_values(values)?;
                        $crate::meta::Algorithm::check(&params)?;
                        return Ok(Self::$name(params));
                    }
                )*
                Err($crate::meta::unknown_kind(kind, $list()))
            }

            /// Its metadata.
            #[must_use]
            pub fn meta(&self) -> &'static $crate::meta::Meta {
                let kind = self.kind();
                // every variant stands in the list that this macro makes
                $list().iter().find(|meta| meta.kind == kind).unwrap_or(&$list()[0])
            }

            /// Its name in a scenario.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => <$params as $crate::meta::Algorithm>::ABOUT.kind,)*
                }
            }

            /// Every parameter with its value, in order.
            #[must_use]
            pub fn values(&self) -> Vec<(&'static str, $crate::Value)> {
                match self {
                    $(Self::$name(params) => $crate::Parameters::values(params),)*
                }
            }
        }

        #[doc = concat!("Every registered algorithm of [`", stringify!($spec), "`].")]
        #[must_use]
        pub fn $list() -> &'static [$crate::meta::Meta] {
            const ALL: &[$crate::meta::Meta] = &[
                $($crate::meta::Meta::new(
                    &<$params as $crate::meta::Algorithm>::ABOUT,
                    <$params as $crate::Parameters>::SPEC,
                ),)*
            ];
            ALL
        }
    };
}
pub(crate) use plain_specs;
