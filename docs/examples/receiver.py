# The same as receiver.js, in Python. Package: standardwebhooks.
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from standardwebhooks.webhooks import Webhook

webhook = Webhook(os.environ["WEBHOOK_SECRET"])
seen = set()  # Grows forever. A shop adds the id to a table, in the transaction of its own work.

class Receiver(BaseHTTPRequestHandler):
    log_request = lambda *_: None

    def do_POST(self):
        try:
            body = self.rfile.read(max(0, min(int(self.headers["content-length"]), 1024 * 1024)))
            event = webhook.verify(body, self.headers)  # Raises if the signature is wrong or old.
            if self.headers["webhook-id"] not in seen:
                [resource] = event.get("data", {"test": event}).values()
                amount = resource.get("amount", "-")
                print(event["type"], amount["amount"] if isinstance(amount, dict) else amount, resource["id"], flush=True)
                seen.add(self.headers["webhook-id"])
            self.send_response(204)
        except Exception as error:
            print("rejected:", error, flush=True)
            self.send_response(400)
        self.end_headers()

HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
