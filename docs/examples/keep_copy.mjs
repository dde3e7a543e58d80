// Keeps a copy of all objects of a type, in Node.js without packages: node keep_copy.mjs localhost:5001 note
// Prints a line whenever the copy is exactly what the service had: the revision and the keys.
const [host, kind] = process.argv.slice(2);
const ID = crypto.randomUUID();
const query = new URLSearchParams({ type: kind, initial: true, marks: true });
const objects = new Map();
let resume = {};
function apply({ Event, Revision, Object }) {
    const key = JSON.stringify(Object?.Key);
    if (Event === "set") objects.set(key, Object);
    else if (Event === "delete") objects.delete(key);
    else if (Event === "reset") objects.clear(); // All current objects follow.
    else console.log(JSON.stringify([Revision, [...objects.keys()]])); // synced or mark
}
async function request(path, options) {
    const answer = await fetch(`http://${host}${path}`, options);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer;
}
async function follow() {
    const body = new Blob([JSON.stringify({ ID })], { type: "application/json" });
    const registered = await request("/register", { method: "POST", body });
    const cookie = registered.headers.get("set-cookie").split(";")[0];
    if (!resume["Last-Event-ID"]) objects.clear(); // The stream begins with all current objects.
    const stream = await request(`/events?${query}`, { headers: { cookie, ...resume } });
    let text = "";
    for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
        const events = (text + chunk).split("\n\n");
        text = events.pop();
        for (const event of events) {
            const { id, data } = Object.fromEntries(event.split("\n").map((line) => line.split(/: (.*)/, 2)));
            if (id) resume = { "Last-Event-ID": id }; // Without it, no client can resume there.
            if (data) apply(JSON.parse(data)); // Otherwise it is a comment, as every 15 s.
        }
    }
}
for (;;) {
    await follow().catch((error) => console.error(String(error)));
    await new Promise((done) => setTimeout(done, Math.random() * 1000));
}
