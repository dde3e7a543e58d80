// Receives webhooks of payments-svc. Prints a line for each event: type, amount, id.
// Settings: WEBHOOK_SECRET and PORT. Package: standardwebhooks.
const { Webhook } = require("standardwebhooks");

const MAX_BODY = 1024 * 1024;
const webhook = new Webhook(process.env.WEBHOOK_SECRET);
const seen = new Set(); // Grows forever. A shop adds the id to a table, in the transaction of its own work.

async function receive(request) {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) {
        body += chunk;
        if (body.length > MAX_BODY) throw new Error("the body is too large");
    }
    const event = webhook.verify(body, request.headers); // Throws if the signature is wrong or old.
    if (seen.has(request.headers["webhook-id"])) return;
    const [{ amount, id }] = Object.values(event.data ?? { test: event });
    console.log(event.type, amount?.amount ?? amount ?? "-", id);
    seen.add(request.headers["webhook-id"]);
}

require("node:http").createServer((request, response) => receive(request).then(
    () => response.writeHead(204).end(),
    (error) => { console.log("rejected:", error.message); response.writeHead(400).end(); },
)).listen(process.env.PORT, "127.0.0.1");
