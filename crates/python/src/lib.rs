//! The extension module `ackclock._core`: conversions, GIL release and error mapping, no maths.

use pyo3::prelude::*;

/// Compiled core of ackclock.
#[pymodule]
mod _core {
    /// Version of the compiled core.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
