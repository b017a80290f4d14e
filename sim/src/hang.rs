//! Reports a run that does not end, with the results so far, and ends the process. No other thread could
//! end the run.

use std::sync::OnceLock;

static ARGUMENTS: OnceLock<String> = OnceLock::new();
static LAST_WORDS: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Sets the arguments that the command for repeating a seed needs.
pub fn set_arguments(arguments: String) {
    let _ = ARGUMENTS.set(arguments);
}

/// Returns the text of [`set_arguments`], or an empty text before that call.
pub fn arguments() -> &'static str {
    ARGUMENTS.get().map_or("", |arguments| arguments)
}

/// Sets a function that prints the results so far before the process ends. Only the first call has an effect.
pub fn last_words(say: impl Fn() + Send + Sync + 'static) {
    let _ = LAST_WORDS.set(Box::new(say));
}

/// Prints the failure and the command that repeats it, calls the function of [`last_words`], and ends the process.
pub fn told(words: &str, again: &str) {
    println!("FAILED {words}\nrun it again: {again}");
    if let Some(say) = LAST_WORDS.get() {
        say();
    }
    std::process::exit(3);
}
