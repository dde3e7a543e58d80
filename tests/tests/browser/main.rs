//! The pages of authsvc and the payment page of payments-svc, as a browser shows them.

mod documentation;
mod explorer;
mod keyboard;
mod payment;
mod secrets;
mod visits;
mod width;

use blackbox::{authsvc::Known, browser::Page};

/// Opens an operation of the explorer with the mouse.
async fn open(page: &Page, operation: &str) {
    page.until(&format!("$('#operation-{operation}')")).await;
    page.click(&format!("#operation-{operation}")).await;
    page.until(&format!("location.hash === '#{operation}'")).await;
    page.until(&format!("{CURRENT} === 'operation-{operation}'")).await;
}

/// The operation that the explorer shows as the open one.
const CURRENT: &str = "$('#operations [aria-current]').id";

/// Opens `authenticate` and fills in who signs in.
async fn fill(page: &Page, known: &Known) {
    open(page, "authenticate").await;
    page.write("#authenticate-username", &known.username).await;
    page.write("#authenticate-password", &known.password).await;
}

/// Sends what is filled in, and returns the status line that is shown.
async fn send(page: &Page) -> String {
    let _ = page.run("$('#response').dataset.state = 'before'").await; // Not done by the last one.
    page.click("#send").await;
    answered(page).await
}

/// Waits until the explorer says that this became of the request.
async fn reaches(page: &Page, state: &str) {
    page.until(&format!("$('#response').dataset.state === '{state}'")).await;
}

/// The status line of the answer, once it is there.
async fn answered(page: &Page) -> String {
    reaches(page, "done").await;
    page.text("#status").await
}

/// A member of the JSON body that is shown.
async fn member(page: &Page, expression: &str) -> serde_json::Value {
    let body = "JSON.parse($('#response-body').textContent)";
    page.run(&format!("const body = {body}; return {expression}")).await
}
