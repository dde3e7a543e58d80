//! How CLDR writes amounts, and no other data of it. The feature `compiled_data` of
//! `icu_experimental` compiles forty times as much, which takes a minute.

use icu_decimal::provider::{Baked as Decimals, DecimalDigitsV1, DecimalSymbolsV1};
use icu_provider::{DataError, DataProvider, DataRequest, DataResponse};

/// The data of all languages.
pub(super) struct Cldr;

const _: () = {
    extern crate alloc;
    use icu_experimental_data::{impl_currency_essentials_v1, make_provider};

    /// The paths that the macros use.
    mod icu {
        pub(super) use icu_experimental as experimental;
        pub(super) use icu_locale as locale;
    }

    make_provider!(Cldr);
    impl_currency_essentials_v1!(Cldr);
};

/// Takes the data of a marker from `icu_decimal`.
macro_rules! decimals {
    ($($marker:ty),*) => {
        $(
            impl DataProvider<$marker> for Cldr {
                fn load(&self, request: DataRequest<'_>) -> Result<DataResponse<$marker>, DataError> {
                    Decimals.load(request)
                }
            }
        )*
    };
}

decimals!(DecimalDigitsV1, DecimalSymbolsV1);
