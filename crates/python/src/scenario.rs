//! A scenario, parsed once and handed to every engine as an object.

use std::path::Path;
use std::sync::OnceLock;

use ackclock_algorithms::aqm::LinkView;
use ackclock_scenario::{End, Scenario};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::{library, scenario_error, whole};

/// A scenario without mistakes, every default filled in. Equal scenarios have equal JSON.
#[pyclass(name = "Scenario", module = "ackclock._core", frozen)]
pub(crate) struct PyScenario {
    pub(crate) inner: Scenario,
    json: OnceLock<String>,
}

impl PyScenario {
    fn text(&self) -> &str {
        self.json
            .get_or_init(|| ackclock_scenario::to_json(&self.inner))
    }
}

/// Text, origin, form and allowed folder of a scenario.
type Arguments = (Vec<u8>, &'static str, &'static str, Option<&'static str>);

#[pymethods]
impl PyScenario {
    /// Parses `text`, which is TOML or JSON as `form` says; errors call it `origin`.
    ///
    /// Files that it names are relative to `origin`. With `below` only those below that folder are
    /// read, none if it is empty.
    #[new]
    #[pyo3(signature = (text, origin, form, below = None))]
    fn new(
        py: Python<'_>,
        text: &[u8],
        origin: &str,
        form: &str,
        below: Option<&str>,
    ) -> PyResult<Self> {
        let files = |path: &str| {
            match below {
            None => beside(origin, path),
            Some("") => Err(
                "no file can be named here; write its steps, such as rate = { steps = [[\"0 s\", \"1 Mbit/s\"]] }"
                    .to_owned(),
            ),
            Some(folder) => within(folder, path),
        }
        };
        let parsed = match form {
            "toml" => ackclock_scenario::parse_with(text, origin, &files),
            "json" => ackclock_scenario::parse_json_with(text, origin, &files),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "form must be \"toml\" or \"json\", not {form:?}"
                )));
            }
        };
        let mut inner = parsed.map_err(|diagnostics| scenario_error(py, &diagnostics))?;
        if below.is_some() && !library::files(&inner).is_empty() {
            let problem = "a shared library cannot be named here".to_owned();
            return Err(scenario_error(py, &[whole(origin, problem)]));
        }
        library::place(&mut inner, origin);
        Ok(Self {
            inner,
            json: OnceLock::new(),
        })
    }

    /// JSON with every default.
    fn json(&self) -> &str {
        self.text()
    }

    /// JSON with every default, and numbers for the words by which the AQM of a link chooses its own.
    fn on_links(&self) -> String {
        let mut chosen = self.inner.clone();
        for link in &mut chosen.links {
            let shaped = link.shaper.map_or(link.rate, |shaper| shaper.rate);
            link.aqm = link.aqm.on_link(&LinkView {
                rate: link.rate.min(shaped),
                delay: link.delay.seconds(),
                capacity_packets: ackclock_averages::packets(link.capacity, 1500),
            });
        }
        ackclock_scenario::to_json(&chosen)
    }

    /// TOML with every default.
    fn toml(&self) -> String {
        ackclock_scenario::canonical_toml(&self.inner)
    }

    /// The scenario's name.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// Seed of every random stream.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    /// Files of the shared libraries that its runs open.
    #[getter]
    fn libraries(&self) -> Vec<String> {
        library::files(&self.inner)
    }

    /// When the run ends, s; None if that is not known before.
    #[getter]
    fn duration(&self) -> Option<f64> {
        match self.inner.duration {
            End::At(time) => Some(time.seconds()),
            End::UntilDone => None,
        }
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.text() == other.text()
    }

    /// Copies and other processes parse the JSON again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, Arguments) {
        let text = self.text().as_bytes().to_vec();
        // files have been read; libraries have their full paths
        let below = library::files(&self.inner).is_empty().then_some("");
        let arguments = (text, "scenario", "json", below);
        (py.get_type::<Self>(), arguments)
    }
}

/// The keys that a scenario in TOML gives, as JSON; errors call the text `origin`.
#[pyfunction]
pub(crate) fn toml_to_json(py: Python<'_>, text: &str, origin: &str) -> PyResult<String> {
    ackclock_scenario::toml_to_json(text, origin)
        .map_err(|diagnostics| scenario_error(py, &diagnostics))
}

/// A file that the scenario in file `origin` names, relative to that file.
fn beside(origin: &str, path: &str) -> Result<String, String> {
    let folder = Path::new(origin).parent().unwrap_or(Path::new(""));
    read(&folder.join(path))
}

/// A file below `folder`, symbolic links resolved; for any other path the answer does not even say
/// whether it exists.
fn within(folder: &str, path: &str) -> Result<String, String> {
    let resolved = Path::new(folder)
        .canonicalize()
        .and_then(|top| Ok((Path::new(folder).join(path).canonicalize()?, top)));
    match resolved {
        Ok((file, top)) if file.starts_with(&top) => read(&file),
        _ => Err(format!(
            "{path:?} is no file below the folder that is allowed"
        )),
    }
}

fn read(full: &Path) -> Result<String, String> {
    let refused = |problem: String| format!("{}: {problem}", full.display());
    let mut bytes = Vec::new();
    // to open a pipe waits for a writer
    let kind = std::fs::metadata(full).map_err(|error| refused(error.to_string()))?;
    if !kind.is_file() {
        return Err(refused("not a regular file".to_owned()));
    }
    let file = std::fs::File::open(full).map_err(|error| refused(error.to_string()))?;
    // one byte more than is allowed, so that a huge file is refused without our reading it
    let most = ackclock_scenario::MAX_BYTES as u64;
    std::io::Read::read_to_end(&mut std::io::Read::take(file, most + 1), &mut bytes)
        .map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(refused(format!("larger than {most} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| refused("not UTF-8".to_owned()))
}
