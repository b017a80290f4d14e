//! `ldb`: see [`ironstone_tools::ldb`].

fn main() {
    std::process::exit(ironstone_tools::ldb::main());
}
