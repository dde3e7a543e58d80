"""Stripe for the tests: localstripe behind a proxy that adds what localstripe lacks.

The proxy adds idempotency keys, confirmation with a card in one request, redirects for 3-D Secure,
the metadata of captures, and the codes of errors. It also causes the faults that a test asks for.
"""

import asyncio
import json
import socket
from urllib.parse import parse_qsl, urlencode

from aiohttp import ClientSession, web
import localstripe.resources
import localstripe.server

# localstripe would write its objects to a file that all its processes share.
localstripe.resources.Store.dump_to_disk = lambda _: None

answers = {}  # The form and the answer of each idempotency key.
locks = {}  # One lock for each idempotency key.
requests = []  # All requests, in the order of their arrival.
faults = []  # What goes wrong next.
return_urls = {}  # Where the customer of each PaymentIntent comes back.
authenticated = set()  # The PaymentIntents whose customers have passed 3-D Secure.


async def upstream(method, path, form=()):
    """Asks localstripe. Returns the status and the object."""
    async with session.request(
        method,
        f"{localstripe_url}{path}",
        data=urlencode(list(form)) if method == "POST" else None,
        headers={
            "Authorization": "Bearer sk_test_proxy",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    ) as answer:
        status, body = answer.status, await answer.json()
    if status == 402:
        body["error"].update(type="card_error", decline_code="generic_decline")
    if status == 400 and path.rsplit("/")[-1] in ("confirm", "capture", "cancel"):
        body["error"]["code"] = "payment_intent_unexpected_state"
    return status, body


def split(form, *prefixes):
    """The pairs whose names begin with a prefix, and the others."""
    taken = [pair for pair in form if pair[0].startswith(prefixes)]
    return taken, [pair for pair in form if pair not in taken]


async def payment_method(form):
    """The card of a form, as a payment method."""
    inline, _ = split(form, "payment_method_data")
    if not inline:
        return 200, {"id": dict(form)["payment_method"]}
    unnested = [(name.replace("payment_method_data[", "", 1).replace("]", "", 1), value) for name, value in inline]
    return await upstream("POST", "/v1/payment_methods", unnested)


async def confirm(path, form):
    status, card = await payment_method(form)
    if status != 200:
        return status, card
    intent = path.rsplit("/")[-2]
    status, found = await upstream("GET", f"/v1/payment_intents/{intent}")
    if found["status"] in ("requires_payment_method", "requires_confirmation"):
        await upstream("POST", f"/v1/payment_intents/{intent}", [("payment_method", card["id"])])
    if "return_url" in dict(form):
        return_urls[intent] = dict(form)["return_url"]
    return await upstream("POST", path)


async def capture(path, form):
    metadata, form = split(form, "metadata")
    status, captured = await upstream("POST", path, form)
    if status != 200:
        return status, captured
    return await upstream("POST", path.removesuffix("/capture"), metadata)


async def check_card(form):
    _, kept = split(form, "payment_method", "confirm", "expand")
    status, created = await upstream("POST", "/v1/setup_intents", kept)
    if status != 200:
        return status, created
    inline, _ = split(form, "payment_method_data")
    return await upstream("POST", f"/v1/setup_intents/{created['id']}/confirm", inline)


async def answer(method, path, form):
    if path.endswith("/confirm"):
        status, body = await confirm(path, form)
    elif path.endswith("/capture"):
        status, body = await capture(path, form)
    elif method == "POST" and path == "/v1/payment_intents":
        status, body = await upstream(method, path, split(form, "statement_descriptor")[1])
    elif method == "POST" and path == "/v1/payment_methods":
        status, body = await upstream(method, path, split(form, "key")[1])
    elif method == "POST" and path == "/v1/setup_intents":
        status, body = await check_card(form)
    else:
        status, body = await upstream(method, path, form)
    if body.get("object") == "payment_intent":
        if body["status"] == "requires_action" and body["id"] in return_urls:
            url = f"{proxy_url}/3ds/{body['id']}"
            body["next_action"] = {"type": "redirect_to_url", "redirect_to_url": {"url": url}}
        if body["latest_charge"]:
            result = "authenticated" if body["id"] in authenticated else None
            body["latest_charge"]["payment_method_details"] = {
                "card": {"three_d_secure": {"result": result} if result else None}
            }
    return status, body


async def once(key, method, path, form):
    """Answers a repeated key with the first answer."""
    if key is None:
        return await answer(method, path, form)
    async with locks.setdefault(key, asyncio.Lock()):
        if key not in answers:
            answers[key] = (path, form), await answer(method, path, form)
        first, kept = answers[key]
        if first != (path, form):
            return 400, {"error": {"type": "idempotency_error", "message": "other parameters"}}
        return kept


def fault_of(request):
    for fault in faults:
        if fault["times"] and request.method == fault["method"] and fault["path"] in request.path:
            fault["times"] -= 1
            return fault
    return {"fault": None}


async def handle(request):
    form = parse_qsl((await request.read()).decode())
    key = request.headers.get("Idempotency-Key")
    requests.append({"method": request.method, "path": request.path_qs, "key": key, "form": form,
                     "version": request.headers.get("Stripe-Version"),
                     "authorization": request.headers.get("Authorization")})
    fault = fault_of(request)
    if fault["fault"] == "answer":
        return web.json_response(fault["body"], status=fault["status"])
    if fault["fault"] == "hang":
        await asyncio.Event().wait()
    status, body = await once(key, request.method, request.path_qs, form)
    if fault["fault"] == "drop":
        request.transport.abort()
    # Stripe's script asks from the origin of the payment page.
    return web.json_response(body, status=status, headers={"Access-Control-Allow-Origin": "*"})


async def authenticate(request):
    """The page of the bank, where the customer answers at once."""
    intent, success = request.match_info["intent"], request.query["success"]
    _, found = await upstream("GET", f"/v1/payment_intents/{intent}")
    form = [("client_secret", found["client_secret"]), ("success", success)]
    await upstream("POST", f"/v1/payment_intents/{intent}/_authenticate", form)
    if success == "true":
        authenticated.add(intent)
    raise web.HTTPSeeOther(f"{return_urls[intent]}&payment_intent={intent}")


# The part of Stripe.js that localstripe's script lacks.
CREATE_PAYMENT_METHOD = """
const withoutPaymentMethods = Stripe;
Stripe = (key) => ({
  ...withoutPaymentMethods(key),
  createPaymentMethod: async ({ card }) => {
    const body = new URLSearchParams({ key, type: "card" });
    for (const [name, value] of Object.entries(card.value?.card ?? {})) body.set(`card[${name}]`, value);
    const response = await fetch(`${LOCALSTRIPE_BASE_API}/v1/payment_methods`, { method: "POST", body });
    const made = await response.json();
    return response.ok ? { paymentMethod: made } : { error: made.error };
  },
});
"""


async def script(_):
    async with session.get(f"{localstripe_url}/js.stripe.com/v3/") as answer:
        text = await answer.text() + CREATE_PAYMENT_METHOD
    return web.Response(text=text, content_type="application/javascript")


async def add_fault(request):
    faults.append(await request.json())
    return web.Response()


async def list_requests(_):
    return web.json_response(requests)


async def serve(app):
    """Serves an application on a free port. Returns its URL."""
    runner = web.AppRunner(app)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listener).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


async def main():
    global session, localstripe_url, proxy_url
    session = ClientSession()
    localstripe_url = await serve(localstripe.server.app)
    app = web.Application()
    app.router.add_post("/test/faults", add_fault)
    app.router.add_get("/test/requests", list_requests)
    app.router.add_get("/3ds/{intent}", authenticate)
    app.router.add_get("/js.stripe.com/v3/", script)
    app.router.add_route("*", "/{path:.*}", handle)
    proxy_url = await serve(app)
    print(json.dumps({"url": proxy_url, "localstripe": localstripe_url}), flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
