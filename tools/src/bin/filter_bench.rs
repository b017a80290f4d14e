//! `filter_bench`: see [`ironstone_tools::filter_bench`].

fn main() {
    std::process::exit(ironstone_tools::filter_bench::main(std::env::args().skip(1)));
}
