//! Tests of the packet engine from outside: one binary, because linking takes longer than testing.

mod aqms;
mod autorate;
mod bbr_draft;
mod closed_forms;
mod common;
mod endpoints;
mod first_packets;
mod inlined;
mod links;
mod matrix;
mod ns2_senders;
mod one_way;
mod paths;
mod polled;
mod properties;
mod served;
mod snapshots;
mod traces;
mod traffic;
mod trees;
