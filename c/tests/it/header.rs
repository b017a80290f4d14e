//! The header, read by compilers of C and C++.

use std::path::Path;
use std::process::Command;

#[test]
fn header_compiles_without_warnings() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("header.c");
    std::fs::write(&source, "#include <rocksdb/c.h>\n").unwrap();
    for (compiler, language, standard) in [("cc", "c", "c99"), ("cc", "c", "c11"), ("c++", "c++", "c++17")] {
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-x", language]);
        command.arg(format!("-std={standard}")).arg("-I").arg(&include).arg(&source);
        match command.output() {
            Err(_) => println!("skipped: no {compiler}"),
            Ok(output) => {
                assert!(output.status.success(), "{standard}: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }
}
