# Keeps a copy of all objects of a type, with the standard library alone: python3 keep_copy.py localhost:5001 note
# Prints a line whenever the copy is exactly what the service had: the revision and the keys.
import http.client, json, random, sys, time, urllib.parse, urllib.request, uuid

HOST, KIND = sys.argv[1:]
CLIENT, JSON_BODY = str(uuid.uuid4()), {"Content-Type": "application/json"}

def request(path, body=None, **headers):
    sent = urllib.request.Request(f"http://{HOST}{path}", body, headers)
    return urllib.request.urlopen(sent, timeout=30)  # The service sends something every 15 s.

def apply(event, objects):
    key = json.dumps(event["Object"]["Key"]) if "Object" in event else None
    match event["Event"]:
        case "set": objects[key] = event
        case "delete": objects.pop(key, None)
        case "reset": objects.clear()  # All current objects follow.
        case "synced" | "mark": print(json.dumps([event["Revision"], list(objects)]), flush=True)

objects, resume = {}, {}
while True:
    try:
        with request("/register", json.dumps({"ID": CLIENT}).encode(), **JSON_BODY) as answer:
            cookie = answer.headers["Set-Cookie"].split(";")[0]
        if not resume:
            objects.clear()  # The stream begins with all current objects.
        query = urllib.parse.urlencode({"type": KIND, "initial": "true", "marks": "true"})
        with request(f"/events?{query}", Cookie=cookie, **resume) as stream:
            fields = {}
            for line in map(bytes.decode, stream):
                name, _, value = line.strip().partition(": ")
                if name:
                    fields[name] = value
                elif "data" in fields:  # An empty line ends an event. It has no id if no client can resume there.
                    resume = {"Last-Event-ID": fields["id"]} if "id" in fields else resume
                    apply(json.loads(fields["data"]), objects)
                    fields = {}
    except (OSError, http.client.HTTPException) as error:
        print(error, file=sys.stderr)
    time.sleep(random.uniform(0, 1))
