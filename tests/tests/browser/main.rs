//! The pages of the services and of demo-acquirer in a browser.

mod challenge;
mod console;
mod desk;
mod documentation;
mod examples;
mod explorer;
mod keyboard;
mod origins;
mod payment;
mod rebinding;
mod secrets;
mod snippets;
mod stripe;
mod visits;
mod width;

use blackbox::{authsvc::Credentials, browser::Page};

/// Opens an operation of the explorer with the mouse.
async fn open(page: &Page, operation: &str) {
    page.until(&format!("$('#operation-{operation}')")).await;
    page.click(&format!("#operation-{operation}")).await;
    page.until(&format!("location.hash === '#{operation}'")).await;
    page.until(&format!("{CURRENT} === 'operation-{operation}'")).await;
}

/// A script expression for the id of the open operation.
const CURRENT: &str = "$('#operations [aria-current]').id";

/// Opens `authenticate`, and enters username and password.
async fn fill(page: &Page, known: &Credentials) {
    open(page, "authenticate").await;
    page.write("#authenticate-username", &known.username).await;
    page.write("#authenticate-password", &known.password).await;
}

/// Sends the form, and returns the shown status line.
async fn send(page: &Page) -> String {
    // Clears the state of the last request.
    let _ = page.run("$('#response').dataset.state = 'before'").await;
    page.click("#send").await;
    answered(page).await
}

/// Waits until the request has this state, for example `sending` or `done`.
async fn reaches(page: &Page, state: &str) {
    page.until(&format!("$('#response').dataset.state === '{state}'")).await;
}

/// Waits for the answer, and returns its status line.
async fn answered(page: &Page) -> String {
    reaches(page, "done").await;
    page.text("#status").await
}

/// Evaluates an expression of `body`, the shown JSON body.
async fn member(page: &Page, expression: &str) -> serde_json::Value {
    let body = "JSON.parse($('#response-body').textContent)";
    page.run(&format!("const body = {body}; return {expression}")).await
}
