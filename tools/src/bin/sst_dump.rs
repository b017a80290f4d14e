//! `sst_dump`: see [`ironstone_tools::sst`].

fn main() {
    std::process::exit(ironstone_tools::sst::main());
}
