//! The declaration of a table's keys, from which all else about them follows.

use crate::key::{Fallback, Key};

/// Declares the keys of a table, each once:
///
/// ```text
/// keys! {
///     /// What the table describes.
///     pub struct Table / TableDraft {
///         /// What the key means, for the reference, the schema and Rust's documentation.
///         name: Type as Form = default, linux = default in style "linux", or "word" = "its meaning";
///     }
///     with {
///         /// What is no key of its own.
///         name: Type,
///     }
/// }
/// ```
///
/// Keys without a value of their own stand in brackets behind the one that they follow:
/// `[/// Its meaning. name: Kind = default;]`.
///
/// A form is a type of [`crate::form`]. A default is a value as it would stand in a file, or one of
/// [`Fallback`]; a choice may go without. Made of it are the struct of values, `Table::KEYS`,
/// `Table::read` (into a draft, whose missing values are filled by hand before it is finished) and
/// `Table::write`.
macro_rules! keys {
    (
        $(#[$about:meta])+
        $visible:vis struct $table:ident / $draft:ident {
            $(
                $(#[doc = $doc:literal])+
                $name:ident: $type:ty as $form:ty $(= $default:expr)?
                    $(, linux = $linux:expr)?
                    $(, or $word:literal = $meaning:literal)?;
                $([$(
                    $(#[doc = $bare_doc:literal])+
                    $bare:ident: $bare_kind:ident = $bare_default:expr;
                )+])?
            )+
        }
        with {
            $($(#[$extra_about:meta])+ $extra:ident: $extra_type:ty,)*
        }
    ) => {
        $(#[$about])+
        #[derive(Clone, Debug)]
        $visible struct $table {
            $($(#[doc = $doc])+ pub $name: $type,)+
            $($(#[$extra_about])+ pub $extra: $extra_type,)*
        }

        impl $table {
            /// Its keys.
            $visible const KEYS: &'static [Key] = &[$(
                Key::new(
                    stringify!($name),
                    <$form as Form<$type>>::KIND,
                    keys!(@default $type, $form $(, $default)?),
                    concat!($($doc),+).trim_ascii_start(),
                )
                $(.linux(crate::keys::declare::Literal($linux).fallback()))?
                $(.or($word, $meaning))?,
                $($(Key::new(
                    stringify!($bare),
                    Kind::$bare_kind,
                    crate::keys::declare::Literal($bare_default).fallback(),
                    concat!($($bare_doc),+).trim_ascii_start(),
                ),)+)?
            )+];

            /// The values that follow from their own keys alone; a message for each mistake.
            pub(crate) fn read(reader: &Reader<'_>, table: &Table<'_>, style: Style) -> $draft {
                $draft {
                    $($name: if <$form as Form<$type>>::READ_BY_HAND {
                        None
                    } else {
                        reader
                            .item_in(table, stringify!($name), style)
                            .and_then(|item| <$form as Form<$type>>::read(reader, &item, style))
                    },)+
                    $($extra: None,)*
                }
            }

            /// Each key with its value; of those by hand, what `by_hand` gives.
            pub(crate) fn write(
                &self,
                by_hand: impl Fn(&str) -> Option<Node>,
            ) -> Vec<(&'static str, Node)> {
                let write = |key: &'static Key| {
                    let value = match key.name {
                        $(stringify!($name) if !<$form as Form<$type>>::WRITTEN_BY_HAND => {
                            Some(<$form as Form<$type>>::write(&self.$name, key))
                        })+
                        other => by_hand(other),
                    };
                    value.map(|value| (key.name, value))
                };
                Self::KEYS.iter().filter_map(write).collect()
            }
        }

        /// Values of the table while it is read.
        pub(crate) struct $draft {
            $(pub(crate) $name: Option<$type>,)+
            $(pub(crate) $extra: Option<$extra_type>,)*
        }

        impl $draft {
            /// The table, if nothing is missing.
            pub(crate) fn finish(self) -> Option<$table> {
                Some($table {
                    $($name: self.$name?,)+
                    $($extra: self.$extra?,)*
                })
            }
        }
    };
    (@default $type:ty, $form:ty, $default:expr) => {
        crate::keys::declare::Literal($default).fallback()
    };
    (@default $type:ty, $form:ty) => {
        match <$form as Form<$type>>::DEFAULT {
            Some(default) => default,
            None => panic!("a key of this form is declared with a default"),
        }
    };
}

pub(crate) use keys;

/// The keys of two tables in one.
pub(crate) const fn joined<const N: usize>(some: &[Key], more: &[Key]) -> [Key; N] {
    let mut all = [some[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < some.len() {
            some[at]
        } else {
            more[at - some.len()]
        };
        at += 1;
    }
    all
}

/// A default as a declaration gives it.
pub(crate) struct Literal<T>(pub(crate) T);

impl Literal<&'static str> {
    pub(crate) const fn fallback(self) -> Fallback {
        Fallback::Text(self.0)
    }
}

impl Literal<bool> {
    pub(crate) const fn fallback(self) -> Fallback {
        Fallback::Flag(self.0)
    }
}

impl Literal<i64> {
    pub(crate) const fn fallback(self) -> Fallback {
        Fallback::Integer(self.0)
    }
}

impl Literal<Fallback> {
    pub(crate) const fn fallback(self) -> Fallback {
        self.0
    }
}

/// Whether something holds of a table.
type Holds<T> = fn(&T) -> bool;

/// Something in a table that contradicts another key.
pub(crate) struct Rule<T: 'static> {
    /// Keys, each with when its value contradicts. The first that does and is given is refused; what
    /// is a default contradicts nothing.
    pub(crate) refused: &'static [(&'static str, Holds<T>)],
    /// The problem.
    pub(crate) problem: &'static str,
    /// The values that would be right.
    pub(crate) allowed: fn(&T) -> String,
}
