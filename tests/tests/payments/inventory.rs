//! The scripts and headers of each page, as SECURITY.md lists them for PCI DSS.

use std::collections::BTreeSet;

use blackbox::{
    http::client,
    page::Page,
    payments::{BROWSER, Card, Link, Stripe, live_merchant},
    project,
};
use reqwest::Url;
use sha2::{Digest as _, Sha256};

const SECTION: &str = "Scripts and headers of the pages";

/// The cells of a row.
type Cells = Vec<String>;

/// What a browser gets with the pages.
#[derive(Debug, Default, PartialEq, Eq)]
struct Inventory {
    /// Page, script, SHA-256.
    scripts: BTreeSet<Cells>,
    /// Page, then the value of each header.
    headers: BTreeSet<Cells>,
}

impl Inventory {
    /// Reads a page and its scripts. States of a page that differ add further rows.
    async fn add(&mut self, page: &str, url: &str, names: &[String]) {
        let url = Url::parse(url).unwrap();
        let request = client().get(url.clone()).header("cookie", format!("browser={BROWSER}"));
        let answer = request.send().await.unwrap();
        let value = |name: &String| match answer.headers().get(name) {
            Some(value) => value.to_str().unwrap().to_owned(),
            None => "none".to_owned(),
        };
        let cells = [page.to_owned()].into_iter().chain(names.iter().map(value));
        self.headers.insert(cells.collect());

        let html = answer.text().await.unwrap();
        assert!(html.contains("</html>"), "{url}: {html}");
        // None is inline.
        let scripts: Vec<_> = html.split("<script").skip(1).collect();
        for script in &scripts {
            let tag = script.split('>').next().unwrap();
            let source = tag.split("src=\"").nth(1).and_then(|rest| rest.split('"').next());
            let mut source =
                url.join(source.unwrap_or_else(|| panic!("inline: {script}"))).unwrap();
            let is_own = source.origin() == url.origin();
            let (name, digest) = if is_own {
                let bytes = client().get(source.clone()).send().await.unwrap().bytes().await;
                source.set_query(None);
                (source.path().to_owned(), hex::encode(Sha256::digest(bytes.unwrap())))
            } else {
                (source.to_string(), "none".to_owned())
            };
            self.scripts.insert(vec![page.to_owned(), name, digest]);
        }
        if scripts.is_empty() {
            self.scripts.insert([page, "none", "none"].map(str::to_owned).into());
        }
    }

    /// The rows of both tables in Markdown. `reason` says why a script is there.
    fn rows(&self, reason: impl Fn(&[String]) -> String) -> String {
        let row = |cells: &Cells| {
            let quoted = cells[1..].iter().map(|cell| match cell.as_str() {
                "none" => " | none".to_owned(),
                cell => format!(" | `{cell}`"),
            });
            format!("| {}{}", cells[0], quoted.collect::<String>())
        };
        let scripts =
            self.scripts.iter().map(|script| format!("{} | {} |", row(script), reason(script)));
        let headers = self.headers.iter().map(|headers| format!("{} |", row(headers)));
        scripts.chain(headers).collect::<Vec<_>>().join("\n")
    }
}

#[tokio::test]
async fn the_inventory_of_scripts_and_headers_is_that_of_security_md() {
    let document = Page::parse(&project::read("SECURITY.md"), "SECURITY.md".to_owned());
    let rows = document.rows.into_iter().filter(|row| row.heading == SECTION);
    let rows: Vec<Cells> = rows.map(|row| row.cells).collect();
    let of_width = |width| rows.iter().filter(move |cells| cells.len() == width).cloned();
    let written: Vec<Cells> = of_width(4).skip(1).collect();
    let names: Vec<String> = of_width(6).next().expect("a table of headers").split_off(1);
    let documented = Inventory {
        scripts: written.iter().map(|cells| cells[..3].to_vec()).collect(),
        headers: of_width(6).skip(1).collect(),
    };

    let stripe = Stripe::start().await;
    let settings = [
        ("PAYMENTS_STRIPE_PUBLISHABLE_KEY", "pk_test"),
        ("PAYMENTS_DESK_PORT", "0"),
        ("PAYMENTS_DESK_URL", "http://desk.example/"),
        ("PAYMENTS_DESK_KEY", &"0f".repeat(32)),
    ];
    let service = stripe.service(&settings).await;
    let merchant = service.merchant().await;
    let link = Link::to(&merchant);
    let live = Link::to(&live_merchant(&service.app().await).await).without("test");

    let mut seen = Inventory::default();
    let (form, (paid, _)) = (service.open(&link).await, service.pay_at(&link, Card::VISA).await);
    for path in [form, paid, link.without("value").path(), "/?key=x".to_owned()] {
        seen.add("payment page", &format!("{}{path}", service.pos_url()), &names).await;
    }
    let live = format!("{}{}", service.pos_url(), service.open(&live).await);
    seen.add("payment page with Stripe's field", &live, &names).await;
    let desk = service.process().address_of("desk.address");
    for path in ["sign-in", "not-found"] {
        seen.add("desk", &format!("http://{desk}/{path}"), &names).await;
    }
    seen.add("API documentation", &format!("{}/docs", service.url()), &names).await;
    // The stand-in takes the place of Stripe's API.
    seen.headers = seen
        .headers
        .into_iter()
        .map(|cells| {
            cells.iter().map(|cell| cell.replace(&stripe.url, "https://api.stripe.com")).collect()
        })
        .collect();

    let reason = |script: &[String]| {
        let row = written.iter().find(|cells| cells[..2] == script[..2]);
        row.map(|cells| cells[3].clone()).unwrap_or_default()
    };
    println!("{}", seen.rows(reason));
    assert_eq!(seen, documented, "SECURITY.md lists other scripts or headers; see the rows above");
    for script in &seen.scripts {
        assert!(reason(script).len() > 20, "SECURITY.md does not say why: {script:?}");
    }
}
