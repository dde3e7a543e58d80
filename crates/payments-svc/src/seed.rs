//! The subcommand `seed`: an app, two test merchants and a payment link, to try the service with.

use std::{io, path::PathBuf};

use common::{
    config::SecretError,
    control::{Operator, Order, OrderError},
    exit::{Fatal, USAGE},
    sqlite::create_directory,
    store::OpenError,
};
use payments_domain::{
    Country, Descriptor, Email, Iban, Id, MerchantDetails, Name, Pricing, Website,
    actions::{AddUser, CreateApp, CreateMerchant},
    write::AsJson,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{app::new_api_key, config::Config, file::NewFile, store::Store};

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
    Order(#[from] OrderError),
    #[error("{path:?} cannot be written: {source}")]
    File { path: PathBuf, source: io::Error },
}

impl Fatal for SeedError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Open(error) => error.exit_code(),
            Self::File { source, .. } => source.exit_code(),
            Self::Order(error) => error.exit_code(),
            Self::Secret(_) => USAGE,
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
    create_directory(&config.data_dir).map_err(unwritable)?;
    let file = NewFile::create(&path).map_err(unwritable)?;
    let mut operator = Operator::<Store>::create(&config.store()?).await?;
    let seeded = operator.send(Seed { pricing: AsJson(config.pricing()) }).await;
    operator.close().await;
    file.save(content(&seeded?, config).as_bytes()).map_err(unwritable)
}

/// The content of the file.
fn content(seeded: &Seeded, config: &Config) -> String {
    let Seeded { app, key, merchants } = seeded;
    let mut lines = format!("PAYMENTS_APP_ID={app}\nPAYMENTS_API_KEY={key}\n");
    for (shop, (id, key)) in SHOPS.iter().zip(merchants) {
        let currency = shop.currency;
        lines.push_str(&format!("PAYMENTS_{currency}_MERCHANT_ID={id}\n"));
        lines.push_str(&format!("PAYMENTS_{currency}_MERCHANT_KEY={key}\n"));
        if currency == "EUR" {
            lines.push_str(&format!("PAYMENTS_LINK='{}'\n", link(config, key)));
        }
    }
    lines
}

/// A payment link for a browser.
fn link(config: &Config, key: &str) -> String {
    let base = config.pos_url(config.pos_port);
    format!("{base}?key={key}&test=1&currency=EUR&value=9.95&text=Two+mugs&reference=5011")
}

/// The user of both merchants, who gets no mail.
const USER: &str = "ann@shop.example";

/// Creates an app and a merchant for each of [`SHOPS`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Seed {
    pricing: AsJson<Pricing>,
}

/// The new app and its merchants.
#[derive(Serialize, Deserialize)]
pub(crate) struct Seeded {
    app: Id,
    /// Its API key.
    key: String,
    /// The IDs and keys, in the order of [`SHOPS`].
    merchants: Vec<(Id, String)>,
}

impl Order<Store> for Seed {
    const NAME: &'static str = "seed";
    type Outcome = Seeded;

    async fn carry_out(self, store: &Store) -> Result<Seeded, OrderError> {
        let key = new_api_key();
        let name = Some(Name::new("Demo").map_err(|_| broken())?);
        let app = store.execute(CreateApp { name, digest: key.digest() }).await?.id;
        let mut merchants = Vec::new();
        for shop in SHOPS {
            let details = Box::new(details(shop).ok_or_else(broken)?);
            let (key, pricing) = (Uuid::new_v4().to_string(), self.pricing.0);
            let merchant = store
                .execute(CreateMerchant { app, key, details, pricing, approved: true })
                .await?;
            let email = Email::new(USER).map_err(|_| broken())?;
            store.execute(AddUser { merchant: merchant.id, email, mail: false }).await?;
            merchants.push((merchant.id, merchant.key));
        }
        Ok(Seeded { app, key: key.expose().to_owned(), merchants })
    }
}

/// A built-in value is not valid.
fn broken() -> OrderError {
    OrderError::new(USAGE, "the demo data cannot be created: this is a defect of the program")
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
        holder: None,
    })
}
