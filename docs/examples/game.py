# Three programs play cards: python3 game.py localhost:5001 referee, and the same with alice and bob.
# Each player gets three hidden cards. In a round both put one face down, and the higher one wins.
import json, pathlib, random, sys, tomllib, urllib.request

HOST, ROLE = sys.argv[1:]
RULES = tomllib.loads(pathlib.Path(__file__).with_suffix(".toml").read_text())
IDS = {name: members[0] for name, members in RULES["groups"].items()}
PLAYERS, TABLE = ["alice", "bob"], "table-1"
SESSION = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

def request(path, body=None):
    data, headers = json.dumps(body).encode() if body else None, {"Content-Type": "application/json"}
    return SESSION.open(urllib.request.Request(f"http://{HOST}{path}", data, headers), timeout=30)

def put(kind, name, value, owner=ROLE, presence="false"):
    key = {"Type": kind, "Namespace": TABLE, "Name": name}
    request(f"/set?presence={presence}", {"Key": key, "Value": value, "Owner": owner}).close()

def copies():  # Yields what this client may see of the table, again after each change.
    objects, offset = {}, "-1"
    while True:  # A stream ends after a minute.
        with request(f"/streams//{TABLE}?live=sse&offset={offset}") as stream:
            for data in (json.loads(line[6:]) for line in stream if line.startswith(b"data: ")):
                for message in data if isinstance(data, list) else []:
                    match message:
                        case {"headers": {"control": "reset"}}: objects = {}  # All current objects follow.
                        case {"type": kind, "key": key, "value": value}: objects[kind, key.split("/")[1]] = value
                        case {"type": kind, "key": key}: objects.pop((kind, key.split("/")[1]), None)
                if isinstance(data, dict):
                    offset = data["streamNextOffset"]
                    if data.get("upToDate"): yield objects

def referee():
    hands, wins = {}, dict.fromkeys(PLAYERS, 0)
    for objects in copies():
        seats = {name: objects["seat", name].get("card") for name in PLAYERS if ("seat", name) in objects}
        board = {"wins": wins}
        if hands and len(seats) < 2:  # The presence of a player has ended.
            board["winner"], hands = next(iter(seats), None), dict.fromkeys(PLAYERS, [])
        elif not hands and len(seats) == 2:
            cards = random.sample(range(1, 10), 6)
            hands = {"alice": cards[:3], "bob": cards[3:]}
        elif hands and all(seats[name] in hands[name] for name in PLAYERS):
            hands = {name: [card for card in hands[name] if card != seats[name]] for name in PLAYERS}
            wins[max(seats, key=seats.get)] += 1
            board["cards"] = seats
            if not hands["bob"]: board["winner"] = max(wins, key=wins.get)
        else: continue
        put("board", "state", board)
        for name in PLAYERS: put("hand", name, {"cards": hands[name]}, owner=IDS[name])  # Hidden from the other.
        print(json.dumps(board), flush=True)
        if "winner" in board: return

def play(hand=None):
    for objects in copies():
        before, hand = hand, objects.get(("hand", ROLE), {"cards": []})["cards"]
        if hand != before:
            print(json.dumps({"/".join(key): value for key, value in objects.items()}), flush=True)
            if before and not hand: return  # The game is over.
            put("seat", ROLE, {"card": max(hand, default=None)}, presence="true")

request("/register", {"ID": IDS[ROLE]}).close()
referee() if ROLE == "referee" else play()
