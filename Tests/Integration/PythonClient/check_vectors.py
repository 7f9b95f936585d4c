"""Compares the client's encoding and decoding with the test vectors of the protocol: check_vectors.py vectors.json"""
import json
import struct
import sys

import notify_client as client


def pairs(headers):
    return [tuple(pair) for pair in headers]


def encode(kind, f):
    """Encodes the frame of a vector that a client sends."""
    if kind == "hello":
        body = struct.pack("<4sHHB3x", b"NTFY", f["lowestVersion"], f["highestVersion"], f["overflow"])
        return client.frame(0x01, body + bytes.fromhex(f["instance"]))
    if kind == "post":
        return client.encode_post(
            f["request"], f["name"], bytes.fromhex(f["payload"]), f["durability"], f["object"], pairs(f["headers"]),
            f["receipt"])
    if kind == "subscribe":
        return client.encode_subscribe(
            f["request"], f["subscription"], f["patterns"], f["durableName"], f["start"], f["startValue"],
            f["object"], f["window"], f["credit"], f["sharing"], f["takesOver"], f["settings"],
            f["creation"])
    if kind == "detach":
        return client.frame(0x04, struct.pack("<QI", f["request"], f["subscription"]))
    if kind == "remove":
        return client.frame(
            0x05, struct.pack("<QIB", f["request"], f["uid"], f["endsMembers"]) + client.counted(f["durableName"]))
    if kind == "describe":
        return client.frame(0x0D, struct.pack("<QI", f["request"], f["uid"]) + client.counted(f["durableName"]))
    if kind == "reset":
        name, value = f["position"].rstrip(")").split("(")
        durable = f["durableName"].encode()
        return client.frame(0x0E, struct.pack(
            "<QIBB2xQ", f["request"], f["uid"], {"sequence": 2}[name], len(durable), int(value)) + durable)
    if kind == "edit":
        durable, patterns = f["durableName"].encode(), b"".join(client.counted(pattern) for pattern in f["patterns"])
        return client.frame(0x0F, struct.pack(
            "<QIBB2x", f["request"], f["uid"], len(durable), len(f["patterns"])) + durable + patterns)
    if kind == "acknowledge":
        ranges = b"".join(struct.pack("<QQ", *range) for range in f["ranges"])
        return client.frame(0x06, struct.pack("<II", f["subscription"], len(f["ranges"])) + ranges)
    if kind == "reject":
        return client.encode_reject(
            f["subscription"], f["sequence"], f["outcome"], f["delay"], f["delivery"], f["reason"]
        )
    if kind == "extend":
        return client.encode_extend(f["subscription"], f["sequences"], f["microseconds"])
    if kind == "configure":
        durable = f["durableName"].encode()
        head = struct.pack("<QIB3x", f["request"], f["uid"], len(durable))
        return client.frame(0x16, head + durable + client.encode_settings(f["settings"]))
    if kind == "deadLetters":
        return client.encode_dead_letters(f["request"], f["action"], f["durableName"], f["sequences"], f["uid"])
    if kind == "serve":
        patterns = b"".join(client.counted(pattern) for pattern in f["patterns"])
        return client.frame(0x18, struct.pack(
            "<QIIB", f["request"], f["server"], f["concurrency"], len(f["patterns"])) + patterns)
    if kind == "endServing":
        return client.frame(0x19, struct.pack("<QI", f["request"], f["server"]))
    if kind == "ask":
        name, headers = f["name"].encode(), client.encode_headers(pairs(f["headers"]))
        fixed = struct.pack("<QIHBx", f["request"], f["milliseconds"], len(headers), len(name))
        return client.frame(0x1A, fixed + name + headers + bytes.fromhex(f["payload"]))
    if kind == "respond":
        headers = client.encode_headers(pairs(f["headers"]))
        fixed = struct.pack("<QBxH", f["call"], f["outcome"], len(headers))
        return client.frame(0x1C, fixed + headers + bytes.fromhex(f["payload"]))
    if kind == "setValue":
        name, object, headers = f["name"].encode(), f["object"].encode(), client.encode_headers(pairs(f["headers"]))
        fixed = struct.pack(
            "<QHBBBBHQ", f["request"], len(headers), len(name), len(object), 0, f["durability"], 0, f["ifSequence"])
        return client.frame(
            0x1D, fixed + name + object + headers + bytes.fromhex(f["payload"]), f["receipt"] + 2 * f["conditional"])
    if kind == "clearValues":
        object, patterns = f["object"].encode(), b"".join(client.counted(pattern) for pattern in f["patterns"])
        return client.frame(0x1E, struct.pack(
            "<QQBBBx", f["request"], f["ifSequence"], f["conditional"] + 2 * (not f["anyObject"]), len(object),
            len(f["patterns"])) + object + patterns)
    if kind == "readValues":
        object, patterns = f["object"].encode(), b"".join(client.counted(pattern) for pattern in f["patterns"])
        return client.frame(0x1F, struct.pack(
            "<5QIBBBx", f["request"], f["epoch"], f["run"], f["after"],
            f["announcedAfter"] if f["changes"] else f["through"], f["maximumMessages"],
            f["changes"] + 2 * f["waiting"] + 4 * (not f["anyObject"]), len(object), len(f["patterns"]))
            + object + patterns)
    if kind == "announce":
        name, object, headers = f["name"].encode(), f["object"].encode(), client.encode_headers(pairs(f["headers"]))
        payload, will = bytes.fromhex(f["payload"]), f.get("will")
        will_headers = client.encode_headers(pairs(will["headers"])) if will else b""
        fixed = struct.pack(
            "<QIIHHBBBx", f["request"], f["grace"], len(payload), len(headers), len(will_headers), len(name),
            len(object), f["takesOver"] + 2 * bool(will))
        return client.frame(0x29, fixed + name + object + headers + payload + (
            will_headers + bytes.fromhex(will["payload"]) if will else b""))
    if kind == "withdraw":
        return client.frame(0x2A, struct.pack("<Q", f["request"]) + client.counted(f["name"])
                            + client.counted(f["object"]) + client.encode_headers(pairs(f["headers"])))
    if kind == "credit":
        return client.frame(0x07, struct.pack("<II", f["subscription"], f["messages"]))
    if kind == "dropped":
        return client.frame(0x0B, struct.pack("<I4xQ", f["subscription"], f["messages"]))
    if kind == "policyQuery":
        name = f["name"].encode()
        head = struct.pack(
            "<QIIHBB", f["request"], f["uid"], f["gid"], len(f["groups"]), f["right"], len(name))
        return client.frame(0x21, head + struct.pack(f"<{len(f['groups'])}I", *f["groups"]) + name)
    if kind == "monitor":
        patterns = b"".join(client.counted(pattern) for pattern in f["patterns"])
        return client.frame(0x22, struct.pack("<QB", f["request"], len(f["patterns"])) + patterns)
    if kind == "check":
        return client.frame(0x28, struct.pack("<QB3x", f["request"], f["full"]))
    if kind == "trace":
        return client.frame(0x23, struct.pack("<QQ", f["request"], f["sequence"]))
    if kind == "backup":
        return client.frame(
            0x26, struct.pack("<QQQ", f["request"], f["device"], f["inode"]) + client.counted(f["name"]))
    if kind == "backupChunkRequest":
        return client.frame(0x27, struct.pack("<QQ", f["request"], f["offset"]))
    if kind == "list":
        return client.frame(0x09, struct.pack("<QB3x", f["request"], f["subject"]))
    if kind == "readLog":
        object, patterns = f["object"].encode(), b"".join(client.counted(pattern) for pattern in f["patterns"])
        return client.frame(0x10, struct.pack(
            "<4QIBBBx", f["request"], f["first"], f["last"], f["deletionMark"], f["maximumMessages"],
            f["waiting"] + 2 * f["awaitsPending"] + 4 * f["descending"], len(object), len(f["patterns"])) + object + patterns)
    if kind == "summarizeLog":
        patterns = b"".join(client.counted(pattern) for pattern in f["patterns"])
        return client.frame(0x13, struct.pack(
            "<3QIB3x", f["request"], f["first"], f["last"], f["maximumNames"], len(f["patterns"])) + patterns)
    if kind == "purge":
        patterns = b"".join(client.counted(pattern) for pattern in f["patterns"])
        return client.frame(0x25, struct.pack("<QQB3x", f["request"], f["before"], len(f["patterns"])) + patterns)
    if kind == "find":
        name, value = f["position"].rstrip(")").split("(")
        return client.frame(0x11, struct.pack("<QB7xQ", f["request"], {"sequence": 2}[name], int(value)))
    kinds = {
        "endRead": 0x12, "cancelAsk": 0x1B, "reload": 0x20, "ping": 0x08, "statistics": 0x0A, "limits": 0x0C}
    return client.frame(kinds[kind], struct.pack("<Q", f["request"]))


def counted_texts(body, at, count):
    texts = []
    for _ in range(count):
        texts.append(body[at + 1:at + 1 + body[at]].decode())
        at += 1 + body[at]
    return texts


def fields(names, layout, body):
    return dict(zip(names.split(), struct.unpack_from(layout, body)))


def parts(body, at, headers):
    """The headers and the payload, which is the rest of the body."""
    decoded = [list(pair) for pair in client.decode_headers(body[at:at + headers])]
    return {"headers": decoded, "payload": body[at + headers:].hex()}


def decode(kind, flags, body):
    """Decodes the frame of a vector that a client receives."""
    if kind == "welcome":
        f = fields("version uid gid pid maximumPayload postWindow maximumWindow maximumSubscriptions", "<H2x7I", body)
        return f | {"daemonInstance": body[32:48].hex(), "clientInstance": body[48:64].hex(),
                    "daemonVersion": counted_texts(body, 64, 1)[0], "epoch": struct.unpack("<Q", body[-8:])[0]}
    if kind == "deliver":
        m = client.decode_deliver(body)
        f = {name: getattr(m, name) for name in "sequence time uid gid pid name object".split()}
        return f | {"headers": [list(pair) for pair in m.headers], "payload": m.payload.hex()}
    if kind == "serviceCall":
        f = fields("call server milliseconds time uid gid pid", "<QIIQIII", body)
        headers, name = struct.unpack_from("<HB", body, 36)
        return f | {"name": body[40:40 + name].decode()} | parts(body, 40 + name, headers)
    if kind == "serviceReply":
        f = fields("request uid gid pid headers", "<QIIIH", body)
        return f | parts(body, 24, f["headers"])
    if kind == "subscribed":
        f = fields("request subscription sequence generation", "<QI4xQQ", body)
        return f | {"resumed": bool(flags & 1)}
    if kind == "error":
        f = fields("request code subscription detail", "<QH2xIQ", body)
        return f | {"message": body[24:].decode(), "fatal": bool(flags & 1)}
    if kind == "subscriptionEntry":
        f = fields("request uid pid client cursor behind acknowledged unacknowledged concurrency", "<QII4QII", body)
        name, object, count = body[56:59]
        f["durableName"], f["object"] = body[60:60 + name].decode(), body[60 + name:60 + name + object].decode()
        return f | {"behindKnown": bool(flags & 1), "behindBound": bool(flags & 2),
                    "patterns": counted_texts(body, 60 + name + object, count)}
    if kind == "durableEntry":
        f = fields("request uid pid client cursor lost pending pendingBytes oldest inFlight members waiting",
                   "<QII6QIII", body)
        name, object, count = body[76:79]
        f["durableName"], f["object"] = body[80:80 + name].decode(), body[80 + name:80 + name + object].decode()
        return f | {"pendingKnown": bool(flags & 1), "pendingBound": bool(flags & 2), "lostBound": bool(flags & 4),
                    "sharing": int(bool(flags & 16)), "patterns": counted_texts(body, 80 + name + object, count)}
    if kind == "durableDescription":
        f = decode("durableEntry", flags, body)
        end = 80 + len((f["durableName"] + f["object"]).encode()) + sum(1 + len(p.encode()) for p in f["patterns"])
        settings = fields("sharing delays maximumDeliveries maximumInFlight deadline", "<BB2xII4xQ", body[end:])
        delays = struct.unpack_from(f"<{settings.pop('delays')}Q", body, end + 24)
        start = end + 24 + 8 * len(delays)
        own = fields(
            "created attached expiry unused attachedPID withheld failures next failedSequence failedTime", "<4QIIIQQQ", body[start:])
        length, = struct.unpack_from("<H", body, start + 68)
        own["failedReason"] = body[start + 70:].decode()
        assert start + 70 + length == len(body)
        return f | own | {"unusedKnown": bool(flags & 8), "existed": bool(flags & 32),
                          "needsRoom": bool(flags & 64),
                          "settings": settings | {"retryDelays": list(delays)}}
    if kind == "logPage":
        f = fields(
            "request count end through damaged firstDamaged lastDamaged deleted firstDeleted lastDeleted deletionMark",
            "<QIB3x8Q", body)
        return f | {"end": bool(f["end"] & 1), "deletedBound": bool(f["end"] & 2)}
    if kind == "valuePage":
        f = fields(
            "request count end epoch run through announcedThrough committedThrough lastKey damaged", "<QIB3x7Q", body)
        return f | {"end": bool(f["end"] & 1), "reset": bool(f["end"] & 2), "announcedReset": bool(f["end"] & 4)}
    if kind == "nameEntry":
        f = fields("request posts payloadBytes dropped subscribers durables", "<4QII", body)
        return f | {"name": counted_texts(body, 40, 1)[0]}
    if kind == "storedNameEntry":
        f = fields("request messages bytes first firstMicroseconds last lastMicroseconds", "<7Q", body)
        return f | {"name": counted_texts(body, 56, 1)[0]}
    if kind == "postEntry":
        f = fields(
            "request skipped sequence time uid gid pid subscribers client stored payloadBytes code durability",
            "<4Q4IQIIHB", body)
        at = 76
        for name, length in zip(
                ("name", "object", "headers", "payload", "reason"), struct.unpack_from("<BBxHHH", body, 67)):
            f[name], at = body[at:at + length].hex(), at + length
        return f | {"reason": bytes.fromhex(f["reason"]).decode(), "ask": bool(flags & 1)}
    if kind == "traceEntry":
        f = fields("request uid pid client state", "<QIIQB", body)
        name = counted_texts(body, 26, 1)[0]
        start = 27 + len(name.encode())
        own = fields("failures next", "<IQ", body[start:])
        return f | own | {
            "mayHaveBeenSeen": bool(body[25]), "durableName": name, "reason": body[start + 14:].decode()}
    if kind == "reloaded":
        settings = counted_texts(body, 9, body[8])
        at = 9 + sum(1 + len(setting.encode()) for setting in settings)
        return fields("request", "<Q", body) | {
            "pendingSettings": settings, "problem": body[at + 2:at + 2 + struct.unpack_from("<H", body, at)[0]].decode()}
    if kind == "backupChunk":
        return fields("request", "<Q", body) | {"bytes": body[8:].hex()}
    if kind == "policyDecision":
        request, length = struct.unpack_from("<QH", body)
        return {"request": request, "allowed": bool(flags & 1), "reason": body[10:10 + length].decode()}
    if kind == "checkReport":
        f = fields("request messages names segments subscriptions damagedMessages problemCount", "<7Q", body)
        ranges, problems, full = struct.unpack_from("<HBB", body, 56)
        f |= {"full": bool(full), "ranges": [], "problems": []}
        at = 60
        for _ in range(ranges):
            f["ranges"].append(list(struct.unpack_from("<QQ", body, at)))
            at += 16
        for _ in range(problems):
            part, length = struct.unpack_from("<BH", body, at)
            f["problems"].append([part, body[at + 3:at + 3 + length].decode()])
            at += 3 + length
        return f
    if kind == "statisticsReport":
        (request, count), at, counters = struct.unpack_from("<QH", body), 10, []
        for _ in range(count):
            counters.append([counted_texts(body, at + 8, 1)[0], struct.unpack_from("<Q", body, at)[0]])
            at += 9 + body[at + 8]
        return {"request": request, "counters": counters}
    names, layout = {
        "receipt": ("request sequence subscribers stored durability", "<QQIIB"),
        "detached": ("request subscription", "<QI"),
        "serving": ("request server", "<QI"), "servingEnded": ("request server", "<QI"),
        "serviceCallEnded": ("call", "<Q"),
        "run": ("subscription count delivery", "<III"), "redelivery": ("subscription count delivery", "<III"),
        "deadLettersDone": ("request messages kept", "<QQQ"),
        "gap": ("subscription dropped first last", "<I4xQQQ"),
        "deadline": ("subscription microseconds", "<I4xQ"),
        "closing": ("lastRequest", "<Q"),
        "checkProgress": ("request percent", "<QB"),
        "found": ("request sequence last", "<QQQ"),
        "backupReady": ("request bytes", "<QQ"),
        "valuesCleared": ("request count sequence", "<QQQ"),
        "announced": ("request sequence subscribers", "<QQI4x"),
        "purged": ("request messages bytes subscriptions copies", "<QQQI4xQ"),
        "clientEntry": (
            "request client connected uid gid pid subscriptions posts refused delivered dropped droppedByClient "
            "waitingBytes", "<3Q4I6Q"),
    }.get(kind, ("request", "<Q"))
    return fields(names, layout, body)


def main(path):
    checked = 0
    for vector in json.load(open(path, encoding="utf-8")):
        if "fields" not in vector:
            continue
        data = bytes.fromhex(vector["hex"])
        length, _, flags, _ = struct.unpack_from("<IBBH", data)
        assert length == len(data) - 8, vector["name"]
        if vector["direction"] == "toDaemon":
            found, wanted = encode(vector["kind"], vector["fields"]).hex(), vector["hex"]
        else:
            found, wanted = decode(vector["kind"], flags, data[8:]), vector["fields"]
        assert found == wanted, f"{vector['name']}: {found} instead of {wanted}"
        checked += 1
    print(f"{checked} vectors agree")


if len(sys.argv) != 2:
    sys.exit("usage: check_vectors.py vectors.json")
main(sys.argv[1])
