//! Each adapter exports the same C symbol, which the laboratory does not call: any of them will do.

fn main() {
    println!("cargo::rustc-link-arg=-Wl,-z,muldefs");
}
