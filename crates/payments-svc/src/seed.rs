//! The subcommand `seed`: an app, two test merchants and a payment link, to try the service with.

use std::{fs, io, path::PathBuf};

use common::{
    config::SecretError,
    exit::{AWAY, Fatal, USAGE},
    files::Files,
    store::OpenError,
};
use payments_domain::{
    Country, Descriptor, Email, Iban, Id, Merchant, MerchantDetails, Name, Website,
    actions::{CreateApp, CreateMerchant},
    write::Rejection,
};
use uuid::Uuid;

use crate::{
    app::new_api_key,
    config::Config,
    file::NewFile,
    store::{Store, StoreError},
};

/// File in the data directory. It is the only place that holds the API key.
const FILE: &str = "demo.env";

/// A merchant of the demo.
#[derive(Clone, Copy)]
struct Shop {
    name: &'static str,
    currency: &'static str,
    country: &'static str,
    /// An example of the registry of IBANs, so that `payout --test` pays something.
    iban: &'static str,
}

const SHOPS: [Shop; 2] = [
    Shop { name: "Mug Shop", currency: "EUR", country: "IE", iban: "IE29AIBK93115212345678" },
    Shop { name: "Krusbutikken", currency: "DKK", country: "DK", iban: "DK5000400440116243" },
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum SeedError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// A built-in value is not valid, or the store gave an unexpected answer.
    #[error("the demo data cannot be created: this is a defect of the program")]
    Broken,
    #[error("{path:?} cannot be written: {source}")]
    File { path: PathBuf, source: io::Error },
}

impl Fatal for SeedError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Open(error) => error.exit_code(),
            Self::File { source, .. } => source.exit_code(),
            Self::Store(_) => AWAY,
            Self::Secret(_) | Self::Refused(_) | Self::Broken => USAGE,
        }
    }
}

/// Creates an app and two test merchants, and writes their keys and a payment link to `demo.env` in
/// the data directory. Does nothing if that file exists.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn seed(config: &Config) -> Result<(), SeedError> {
    let path = config.data_dir.join(FILE);
    if path.exists() {
        return Ok(());
    }
    let unwritable = |source| SeedError::File { path: path.clone(), source };
    fs::create_dir_all(&config.data_dir).map_err(unwritable)?;
    let file = NewFile::create(&path).map_err(unwritable)?;
    let store = Store::open(&config.store()?, &mut Files::default()).await?;
    let content = fill(&store, config).await;
    store.close().await;
    file.save(content?.as_bytes()).map_err(unwritable)
}

/// Creates the app and the merchants. Returns the content of the file.
async fn fill(store: &Store, config: &Config) -> Result<String, SeedError> {
    let key = new_api_key();
    let name = Name::new("Demo").map_err(|_| SeedError::Broken)?;
    let app = CreateApp { name: Some(name), digest: key.digest() };
    let app = store.write(app).await??;
    let mut lines = format!("PAYMENTS_APP_ID={}\nPAYMENTS_API_KEY={}\n", app.id, key.expose());
    for shop in SHOPS {
        let currency = shop.currency;
        let Merchant { id, key, .. } = merchant(store, config, app.id, shop).await?;
        lines.push_str(&format!("PAYMENTS_{currency}_MERCHANT_ID={id}\n"));
        lines.push_str(&format!("PAYMENTS_{currency}_MERCHANT_KEY={key}\n"));
        if currency == "EUR" {
            lines.push_str(&format!("PAYMENTS_LINK='{}'\n", link(config, &key)));
        }
    }
    Ok(lines)
}

/// A payment link for a browser.
fn link(config: &Config, key: &str) -> String {
    let base = config.pos_url(config.pos_port);
    format!("{base}?key={key}&test=1&currency=EUR&value=9.95&text=Two+mugs&reference=5011")
}

async fn merchant(
    store: &Store,
    config: &Config,
    app: Id,
    shop: Shop,
) -> Result<Merchant, SeedError> {
    let details = Box::new(details(shop).ok_or(SeedError::Broken)?);
    let (key, pricing) = (Uuid::new_v4().to_string(), config.pricing());
    Ok(store.write(CreateMerchant { app, key, details, pricing }).await??)
}

fn details(shop: Shop) -> Option<MerchantDetails> {
    Some(MerchantDetails {
        name: Some(Name::new(shop.name).ok()?),
        currency: shop.currency.parse().ok()?,
        test: true,
        email: Email::new("shop@example.com").ok()?,
        website: Website::new("https://shop.example.com").ok()?,
        descriptor: Descriptor::new(shop.name).ok()?,
        country: Country::new(shop.country).ok()?,
        registration_number: None,
        iban: Some(Iban::new(shop.iban).ok()?),
    })
}
