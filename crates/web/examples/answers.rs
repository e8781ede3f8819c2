//! Answers questions natively: JSON lines in, JSON lines out. The test of the WebAssembly build holds
//! its own answers beside these.

#![expect(clippy::print_stdout, reason = "that is its job")]

use std::io::BufRead;

fn main() {
    let mut laboratory = ackclock_web::Laboratory::default();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        println!("{}", laboratory.answer(&line));
    }
}
