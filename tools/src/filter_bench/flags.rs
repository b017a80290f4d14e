//! The 26 flags in the syntax of gflags: `-name=value`, `--name value`, `-name`, `-noname`.

/// The filter that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impl {
    Legacy,
    Bloom,
    Ribbon,
}

macro_rules! flags {
    ($($name:ident : $type:ty = $default:expr, $doc:literal;)*) => {
        /// The values of the flags.
        #[allow(non_snake_case)] // The fields are the flags' names.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Flags { $(#[doc = $doc] pub $name: $type,)* }

        impl Default for Flags {
            fn default() -> Self { Flags { $($name: $default,)* } }
        }

        impl Flags {
            /// Sets the value of a flag that exists.
            fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
                match name {
                    $(stringify!($name) => {
                        self.$name = <$type as FlagValue>::read(text)
                            .ok_or_else(|| format!("ERROR: illegal value '{text}' specified for flag '{name}'"))?;
                    })*
                    _ => {}
                }
                Ok(())
            }

            fn exists(name: &str) -> bool {
                [$(stringify!($name)),*].contains(&name)
            }

            fn is_bool(name: &str) -> bool {
                match name {
                    $(stringify!($name) => <$type as FlagValue>::BOOL,)*
                    _ => false,
                }
            }

            fn listing() -> String {
                let mut text = String::from("filter_bench [-quick] [OTHER OPTIONS]...\n");
                let defaults = Flags::default();
                $(text += &format!("  -{} ({}) default: {:?}\n", stringify!($name), $doc, defaults.$name);)*
                text
            }
        }
    };
}

flags! {
    seed: u32 = 0, "Seed for random number generators";
    working_mem_size_mb: f64 = 200.0, "MB of memory to get up to among all filters, unless m_keys_total_max is given";
    average_keys_per_filter: u32 = 10000, "Average number of keys per filter";
    vary_key_count_ratio: f64 = 0.4, "Vary number of keys by up to +/- this times average_keys_per_filter";
    key_size: u32 = 24, "Average number of bytes for each key";
    vary_key_alignment: bool = true, "Whether to vary key alignment (default: at least 32-bit alignment)";
    vary_key_size_log2_interval: u32 = 5, "Use same key size 2^n times, then change; -2 to +2 bytes, unless n>=30";
    batch_size: u32 = 8, "Number of keys to group in each batch";
    bits_per_key: f64 = 10.0, "Bits per key setting for filters";
    m_queries: f64 = 200.0, "Millions of queries for each test mode";
    m_keys_total_max: f64 = 0.0, "Maximum total keys added to filters, in millions; 0 for no such limit";
    use_full_block_reader: bool = false, "Hash and query key by key, as the reader of filter blocks does";
    use_plain_table_bloom: bool = false, "Use the Bloom filter of plain tables";
    new_builder: bool = false, "Whether to create a new builder for each new filter";
    implementation: ImplFlag = ImplFlag("0".to_string()), "-impl: 0 or legacy, 2 or bloom, 3 or ribbon; with -use_plain_table_bloom 0 = no locality, 1 = locality";
    net_includes_hashing: bool = false, "Whether query net ns/op times should include hashing (build times always do)";
    optimize_filters_for_memory: bool = false, "Setting for BlockBasedTableOptions::optimize_filters_for_memory: choose the probes for the real size of a filter";
    detect_filter_construct_corruption: bool = false, "Setting for BlockBasedTableOptions::detect_filter_construct_corruption";
    block_cache_capacity_MB: u32 = 8, "Capacity that filter construction is charged to";
    charge_filter_construction: bool = false, "Whether filter construction is charged to a cache";
    strict_capacity_limit: bool = false, "Whether that cache rejects memory above its capacity";
    quick: bool = false, "Run more limited set of tests, fewer queries";
    best_case: bool = false, "Run limited tests only for best-case";
    allow_bad_fp_rate: bool = false, "Continue even if FP rate is bad";
    legend: bool = false, "Print more information about interpreting results instead of running tests";
    runs: u32 = 1, "Number of times to rebuild and run benchmark tests";
}

/// The text of `-impl`. Its meaning depends on `-use_plain_table_bloom`.
#[derive(Clone, Debug, PartialEq)]
pub struct ImplFlag(String);

trait FlagValue: Sized {
    const BOOL: bool = false;
    fn read(text: &str) -> Option<Self>;
}

impl FlagValue for u32 {
    fn read(text: &str) -> Option<u32> {
        match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    }
}

impl FlagValue for f64 {
    fn read(text: &str) -> Option<f64> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

impl FlagValue for bool {
    const BOOL: bool = true;
    fn read(text: &str) -> Option<bool> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "0" => Some(false),
            _ => None,
        }
    }
}

impl FlagValue for ImplFlag {
    fn read(text: &str) -> Option<ImplFlag> {
        Some(ImplFlag(text.to_string()))
    }
}

impl Flags {
    /// Reads the arguments after the program's name, and checks for contradictions between arguments.
    ///
    /// # Errors
    /// The text for standard error.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Flags, String> {
        let mut flags = Flags::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let Some(body) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
                return Err(format!("ERROR: unexpected argument '{arg}'"));
            };
            if matches!(body, "help" | "helpfull" | "helpshort") {
                return Err(Flags::listing().replace("-implementation (-impl: ", "-impl ("));
            }
            let (name, value) = match body.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (body, None),
            };
            let name = if name == "impl" { "implementation" } else { name };
            if value.is_none() && name.strip_prefix("no").is_some_and(Flags::is_bool) {
                flags.set(&name[2..], "false")?;
                continue;
            }
            if !Flags::exists(name) {
                return Err(format!("ERROR: unknown command line flag '{name}'; -help lists what exists"));
            }
            let value = match value {
                Some(value) => value,
                None if Flags::is_bool(name) => "true".to_string(),
                None => args.next().ok_or_else(|| format!("ERROR: flag '{name}' is missing its argument"))?,
            };
            flags.set(name, &value)?;
        }
        flags.check()?;
        Ok(flags)
    }

    fn check(&self) -> Result<(), String> {
        if self.use_plain_table_bloom && self.use_full_block_reader {
            return Err("Can't combine -use_plain_table_bloom and -use_full_block_reader".into());
        }
        if self.use_plain_table_bloom {
            self.locality()?;
        } else {
            self.filter()?;
        }
        if !(0.0..=1.0).contains(&self.vary_key_count_ratio) {
            return Err("-vary_key_count_ratio must be >= 0.0 and <= 1.0".into());
        }
        if self.batch_size == 0 || self.average_keys_per_filter == 0 {
            return Err("-batch_size and -average_keys_per_filter must be at least 1".into());
        }
        if self.batch_size > 4096 || self.key_size > 1 << 16 {
            return Err("-batch_size is at most 4096, -key_size at most 65536".into());
        }
        Ok(())
    }

    /// Returns the filter of block-based tables that `-impl` names.
    pub fn filter(&self) -> Result<Impl, String> {
        match self.implementation.0.as_str() {
            "0" | "legacy" => Ok(Impl::Legacy),
            "2" | "bloom" => Ok(Impl::Bloom),
            "3" | "ribbon" => Ok(Impl::Ribbon),
            _ => {
                Err("-impl must currently be 0 (legacy), 2 (bloom) or 3 (ribbon) for Block-based table"
                    .into())
            }
        }
    }

    /// Returns true if `-impl` names a plain table's Bloom filter with locality.
    pub fn locality(&self) -> Result<bool, String> {
        match self.implementation.0.as_str() {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err("-impl must currently be >= 0 and <= 1 for Plain table".into()),
        }
    }
}
