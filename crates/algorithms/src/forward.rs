//! Enums whose variants all implement one trait: its methods, forwarded to the variant.

/// Declares a trait and, under the name given first, a macro that implements the trait for an enum:
/// each method goes to the variant. A method that is added to the trait is forwarded at once, so none
/// can be forgotten and silently answered by its default.
macro_rules! forwarded {
    (
        $d:tt $forward:ident;
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
                            [$($receiver)+] $method($($argument: $type),*) ($($argument),*)
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
        [mut $self:ident] $method:ident($($argument:ident: $type:ty),*) $arguments:tt
        ($(-> $result:ty)?) $($variant:ident)+
    ) => {
        #[inline]
        fn $method(&mut $self $(, $argument: $type)*) $(-> $result)? {
            match $self {
                $(Self::$variant(inner) => inner.$method $arguments,)+
            }
        }
    };
    (
        [$self:ident] $method:ident($($argument:ident: $type:ty),*) $arguments:tt
        ($(-> $result:ty)?) $($variant:ident)+
    ) => {
        #[inline]
        fn $method(&$self $(, $argument: $type)*) $(-> $result)? {
            match $self {
                $(Self::$variant(inner) => inner.$method $arguments,)+
            }
        }
    };
}
pub(crate) use method;
