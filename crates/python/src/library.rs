//! Libraries that a scenario names: found beside its file, opened where a run begins.

use std::path::Path;
use std::sync::Arc;

use ackclock_algorithms::library::{Endpoints, Library, LibraryKind};
use ackclock_algorithms::registry::CongestionSpec;
use ackclock_endpoint::{ControllerFactory, EndpointFactory};
use ackclock_packet::{Abort, Controllers};
use ackclock_scenario::{FlowClass, Scenario};

/// An open library of one class of flows.
pub(crate) struct Opened {
    class: usize,
    options: String,
    makes: Makes,
}

enum Makes {
    Endpoints(Arc<dyn EndpointFactory>),
    Controllers(Arc<dyn ControllerFactory>),
}

/// Takes the libraries of a scenario to be relative to the file `origin`.
pub(crate) fn place(scenario: &mut Scenario, origin: &str) {
    for class in &mut scenario.flows {
        if let Some(library) = class.tcp.congestion.library() {
            let folder = Path::new(origin).parent().unwrap_or(Path::new(""));
            let path = folder.join(&library.path);
            // not `canonicalize`: the file need not be there yet
            let path = std::path::absolute(&path).unwrap_or(path);
            let placed = Library {
                path: path.to_string_lossy().into_owned(),
                ..library.clone()
            };
            class.tcp.congestion = CongestionSpec::Custom(Arc::new(placed));
        }
    }
}

/// The files of a scenario's libraries.
pub(crate) fn files(scenario: &Scenario) -> Vec<String> {
    let libraries = scenario
        .flows
        .iter()
        .filter_map(|class| class.tcp.congestion.library());
    libraries.map(|library| library.path.clone()).collect()
}

/// Opens the libraries of a scenario.
///
/// # Errors
/// The class, and the reason why its library cannot be opened.
pub(crate) fn open(scenario: &Scenario) -> Result<Vec<Opened>, String> {
    let mut opened = Vec::new();
    for (index, class) in scenario.flows.iter().enumerate() {
        if let Some(library) = class.tcp.congestion.library() {
            opened.push(open_one(index, class, library)?);
        }
    }
    Ok(opened)
}

fn open_one(index: usize, class: &FlowClass, library: &Library) -> Result<Opened, String> {
    let open = || {
        let file = ackclock_endpoint::Library::open(Path::new(&library.path))?;
        Ok(match library.kind {
            LibraryKind::Endpoint => Makes::Endpoints(file.endpoints()?),
            LibraryKind::Controller => Makes::Controllers(file.controllers()?),
        })
    };
    let makes: Result<Makes, String> = open();
    Ok(Opened {
        class: index,
        options: library.options.clone(),
        makes: makes.map_err(|problem| format!("flows \"{}\": {problem}", class.name))?,
    })
}

impl Opened {
    /// Takes its place in a scenario that is run with `seed`; failures go to `abort`.
    pub(crate) fn put(&self, scenario: &mut Scenario, seed: u64, abort: &Abort) {
        let class = &mut scenario.flows[self.class];
        class.tcp.congestion = CongestionSpec::Custom(match &self.makes {
            Makes::Endpoints(factory) => Arc::new(Endpoints {
                factory: Arc::clone(factory),
                options: self.options.clone(),
            }),
            Makes::Controllers(factory) => Arc::new(Controllers {
                factory: Arc::clone(factory),
                options: self.options.clone(),
                class: class.name.clone(),
                seed,
                payload: class.packet_size.saturating_sub(class.header_size).max(1),
                ecn: class.tcp.ecn,
                abort: abort.clone(),
            }),
        });
    }
}
