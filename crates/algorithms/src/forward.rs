//! Enums whose variants all implement one trait: its methods, forwarded to the variant.

/// Declares a trait and, under the name given first, a macro that implements the trait for an enum:
/// each method goes to the variant, inlined as said. A method that is added to the trait is
/// forwarded at once, so none can be forgotten and silently answered by its default.
macro_rules! forwarded {
    (
        $d:tt $forward:ident #[$inline:meta];
        $(#[$attribute:meta])*
        pub trait $trait:ident {
            $(
                $(#[$method_attribute:meta])*
                fn $method:ident(
                    &$($receiver:ident)+ $(, $argument:ident: $type:ty)* $(,)?
                ) $(-> $result:ty)? $(; $($required:lifetime)?)? $($body:block)?
            )*
        }
    ) => {
        $(#[$attribute])*
        pub trait $trait {
            $(
                $(#[$method_attribute])*
                fn $method(&$($receiver)+ $(, $argument: $type)*) $(-> $result)?
                $(; $($required)?)? $($body)?
            )*
        }

        /// Implements the trait for an enum, given its generics, its type and its variants.
        macro_rules! $forward {
            ([$d($d generics:tt)*] $d enum:ty { $d($d variant:ident),+ $d(,)? }) => {
                impl $d($d generics)* $trait for $d enum {
                    $(
                        $crate::forward::method! {
                            #[$inline] [$($receiver)+]
                            $method($($argument: $type),*) ($($argument),*)
                            ($(-> $result)?) $d($d variant)+
                        }
                    )*
                }
            };
        }
        #[allow(unused_imports)] // the enum may lie in the trait's own file
        pub(crate) use $forward;
    };
}
pub(crate) use forwarded;

/// One method of [`forwarded`].
macro_rules! method {
    (
        #[$inline:meta] [mut $self:ident] $method:ident($($argument:ident: $type:ty),*) $arguments:tt
        ($(-> $result:ty)?) $($variant:ident)+
    ) => {
        #[$inline]
        fn $method(&mut $self $(, $argument: $type)*) $(-> $result)? {
            match $self {
                $(Self::$variant(inner) => inner.$method $arguments,)+
            }
        }
    };
    (
        #[$inline:meta] [$self:ident] $method:ident($($argument:ident: $type:ty),*) $arguments:tt
        ($(-> $result:ty)?) $($variant:ident)+
    ) => {
        #[$inline]
        fn $method(&$self $(, $argument: $type)*) $(-> $result)? {
            match $self {
                $(Self::$variant(inner) => inner.$method $arguments,)+
            }
        }
    };
}
pub(crate) use method;

/// Declares the trait of a fluid law and, under the name given first, a macro that gives an enum
/// over a scalar the same methods: each goes to the parameters in the variant. The methods take
/// those over any scalar `S` (`params`), which the declaration leaves out; what is not of that kind
/// stands under `items`.
macro_rules! fluid_law {
    (
        $d:tt $forward:ident;
        $(#[$attribute:meta])*
        pub trait $trait:ident: Parameters {
            items { $($items:tt)* }
            law of S {
                $(
                    $(#[$method_attribute:meta])*
                    fn $method:ident(
                        $params:ident $(, $argument:ident: $type:ty)* $(,)?
                    ) $(-> $result:ty)? $(; $($required:lifetime)?)? $($body:block)?
                )*
            }
        }
    ) => {
        $(#[$attribute])*
        pub trait $trait: Parameters {
            $($items)*
            $(
                $(#[$method_attribute])*
                fn $method<S: Scalar>(
                    $params: &Self::Over<S> $(, $argument: $type)*
                ) $(-> $result)? $(; $($required)?)? $($body)?
            )*
        }

        /// Gives an enum over a scalar the methods of the law of its variants, the parameters in a
        /// module.
        macro_rules! $forward {
            ($d enum:ident $d module:ident { $d($d variant:ident($d inner:ident)),+ $d(,)? }) => {
                impl<S: Scalar> $d enum<S> {
                    $(
                        $crate::forward::law_method! {
                            $trait $d module $method($($argument: $type),*) ($($argument),*)
                            ($(-> $result)?) $d($d variant($d inner))+
                        }
                    )*
                }
            };
        }
        pub(crate) use $forward;
    };
}
pub(crate) use fluid_law;

/// One method of [`fluid_law`].
macro_rules! law_method {
    (
        $trait:ident $module:ident $method:ident($($argument:ident: $type:ty),*) $given:tt
        ($(-> $result:ty)?) $($variant:ident($inner:ident))+
    ) => {
        #[doc = concat!("See [`", stringify!($trait), "::", stringify!($method), "`].")]
        #[allow(clippy::must_use_candidate)] // of the trait's methods, some return nothing
        #[inline]
        pub fn $method(&self $(, $argument: $type)*) $(-> $result)? {
            match self {
                $(
                    Self::$variant(params) => $crate::forward::law_method!(
                        @call $trait $module $inner $method params $given
                    ),
                )+
            }
        }
    };
    (@call $trait:ident $module:ident $inner:ident $method:ident $params:ident ($($given:ident),*)) => {
        <$crate::$module::$inner as $trait>::$method($params $(, $given)*)
    };
}
pub(crate) use law_method;
