//! Speed of the engines: see `benches/`. A package of its own, as criterion takes features of serde
//! with which the engines would be compiled once more for their tests.
