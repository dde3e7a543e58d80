//! Payment links from the desk.

use blackbox::{
    mail::MailServer,
    payments::{Card, desk::Browser, next},
};

use super::{
    developers::secret,
    team::joined,
    users::{named, start},
};

#[tokio::test]
async fn a_link_from_the_desk_can_be_paid() {
    let server = MailServer::start().await;
    let service = start(&server).await;
    let merchant = named(&service, "Corner shop").await;
    let (mut browser, _) = joined(&server, &service, &merchant).await;
    let path = format!("/merchants/{}/links", merchant.id);
    let made = async |browser: &mut Browser, query: &str| {
        let page = browser.get(&format!("{path}?{query}")).await;
        assert_eq!(page.status, 200, "{query}: {page:?}");
        assert!(page.text.contains("<svg"), "{page:?}");
        let url = secret(&page).unwrap().replace("&#38;", "&");
        url.strip_prefix(service.pos_url().trim_end_matches('/')).unwrap().to_owned()
    };
    assert!(browser.get(&path).await.text.contains("not signed"));
    let query = "amount=9.95&currency=EUR&reference=A+%26+1&text=Tea&locale=da";
    let link = made(&mut browser, &format!("{query}&once=y&until=2099-01-01")).await;
    assert!(!link.contains("once") && !link.contains("signature"), "{link}");
    let page = service.show(&next(&service.show(&link).await)).await;
    assert!(page.text().contains("9,95") && page.text().contains("Tea"), "{page:?}");

    for _ in 0..2 {
        let signed = browser.post(&path, &[("key", "form")]).await;
        assert_eq!(signed.location.as_deref(), Some(&*path));
    }
    let first = made(&mut browser, query).await;
    let again = browser.post(&path, &[("key", "another form")]).await;
    assert_eq!((again.status, made(&mut browser, query).await), (303, first));
    assert!(!browser.get(&path).await.text.contains("not signed"));
    for (query, expected) in [
        (query, ["value=9.95&", "currency=EUR&", "reference=A+%26+1&"]),
        (
            "amount=%E2%82%AC1%2C000&currency=EUR&once=y",
            ["value=1000&", "currency=EUR&", "once=y&"],
        ),
        (
            "amount=995&currency=JPY&until=2099-01-01",
            ["value=995&", "expires=4070995200&", "test=1&"],
        ),
    ] {
        let link = made(&mut browser, query).await;
        for parameter in expected {
            assert!(link.contains(parameter), "{parameter}: {link}");
        }
        let form = next(&service.show(&link).await);
        assert_eq!(service.show(&form).await.status, 200);
        assert_eq!(service.show(&link.replacen("value=", "value=1", 1)).await.status, 400);
        let paid = next(&service.send_card(&form, Card::VISA).await);
        assert!(service.show(&paid).await.text().contains("0000"), "{link}");
        let again = service.show(&link).await.status;
        assert_eq!(again, if query.contains("once") { 410 } else { 303 }, "{link}");
    }
    for wrong in [
        "amount=x&currency=EUR",
        "amount=9.955&currency=EUR",
        "amount=&currency=EUR",
        "amount=1&currency=EUR&until=2020-01-01",
        "amount=1&currency=EUR&until=x",
        "amount=1&currency=EUR&text=%00",
    ] {
        let page = browser.get(&format!("{path}?{wrong}")).await;
        assert_eq!((page.status, page.text.matches("aria-invalid").count()), (400, 1), "{wrong}");
        assert!(secret(&page).is_none());
    }
    assert_eq!(browser.get(&format!("{path}?amount=1&currency=XAU")).await.status, 400);
}
