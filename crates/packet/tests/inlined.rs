//! The engine names no algorithm, but for labelled matches that inline the commonest ones. Those
//! give the bits of the general way beside them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{difference, scenario};
use ackclock_algorithms::aqm::{Aqm, LinkView};
use ackclock_algorithms::congestion::CongestionControl;
use ackclock_algorithms::registry::{AqmFactory, AqmSpec, CongestionSpec, ControllerFactory};
use ackclock_algorithms::registry::{aqms, congestion};
use ackclock_packet::{FlowSelection, Options, TraceSelection, run};

/// A registered algorithm, handed in as a user's own: the engine cannot know it.
#[derive(Debug)]
struct Unnamed<T>(T);

impl ControllerFactory for Unnamed<CongestionSpec> {
    fn kind(&self) -> &str {
        "unnamed"
    }
    fn build(&self, flow: u32) -> Box<dyn CongestionControl + Send> {
        Box::new(self.0.build(flow))
    }
}

impl AqmFactory for Unnamed<AqmSpec> {
    fn kind(&self) -> &str {
        "unnamed"
    }
    fn build(&self, link: &LinkView) -> Box<dyn Aqm + Send> {
        Box::new(self.0.build(link))
    }
}

#[test]
fn what_is_inlined_gives_the_same_bits() {
    let options = Options {
        traces: TraceSelection {
            links: true,
            flows: FlowSelection::All,
            ..TraceSelection::default()
        },
        ..Options::default()
    };
    for queue in ["drop-tail", "red", "pi"] {
        for sender in ["reno", "aimd", "compound", "cubic"] {
            for more in [
                "",
                "hystart = true\n",
                "search = true\n",
                "recovery = \"newreno\"\necn = true\n",
            ] {
                let named = scenario(&format!(
                    "[scenario]\nname = \"inlined\"\nduration = \"20 s\"\nsample = \"20 ms\"\n\
                     [[link]]\nname = \"link\"\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
                     queue = {{ aqm = \"{queue}\", capacity = \"40 packets\" }}\n\
                     [[flows]]\ncount = 4\npath = [\"link\"]\nrtt = \"uniform 20 ms .. 90 ms\"\n\
                     congestion = \"{sender}\"\nstart = \"uniform 0 s .. 2 s\"\n{more}"
                ));
                let mut unnamed = named.clone();
                let spec = Unnamed(named.flows[0].tcp.congestion.clone());
                unnamed.flows[0].tcp.congestion = CongestionSpec::Custom(Arc::new(spec));
                let aqm = Unnamed(named.links[0].aqm.clone());
                unnamed.links[0].aqm = AqmSpec::Custom(Arc::new(aqm));
                let named = run(&named, &options).expect("the run succeeds");
                let unnamed = run(&unnamed, &options).expect("the run succeeds");
                assert!(named.links[0].drops > 0);
                let mismatch = difference(&named, &unnamed);
                assert_eq!(mismatch, None, "{sender} over {queue} {more}");
            }
        }
    }
}

fn sources(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, paths);
        } else {
            paths.push(path);
        }
    }
}

/// "cubic" becomes "Cubic", "adaptive-red" becomes "AdaptiveRed", as the registry's variants are
/// called.
fn variant(kind: &str) -> String {
    let words = kind.split(['-', '_']);
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.map(capital).collect()
}

#[test]
fn no_algorithm_is_named_without_a_label() {
    let kinds = congestion().iter().chain(aqms()).map(|meta| meta.kind);
    let names: Vec<(String, String)> = kinds
        .map(|kind| (format!("\"{kind}\""), format!("::{}(", variant(kind))))
        .collect();
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    let (mut labelled, mut wrong) = (0, Vec::new());
    let is_test = |file: &Path| {
        file.iter()
            .any(|part| part == "tests" || part == "tests.rs")
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let engine = |file: &&PathBuf| !file.strip_prefix(&root).is_ok_and(is_test);
    for file in files.iter().filter(engine) {
        let text = std::fs::read_to_string(file).expect("a source file");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        let lines: Vec<&str> = code.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let names_one = names
                .iter()
                .any(|(word, variant)| line.contains(word) || line.contains(variant));
            if !names_one {
                continue;
            }
            let before = &lines[at.saturating_sub(3)..at];
            if before
                .iter()
                .any(|line| line.contains("// inlined for speed:"))
            {
                labelled += 1;
            } else {
                wrong.push(format!("{}:{}: {}", file.display(), at + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    // additive increase, Compound; drop-tail, RED: if one goes, this count goes down with it
    assert_eq!(labelled, 4);
}
