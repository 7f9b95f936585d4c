"""A client for notifyd that uses only Python's standard library, written from the protocol document.

A minimal client: one socket, one loop that reads frames, and no background threads. It is not thread-safe and does not
reconnect.
"""
import os
import socket
import struct
from collections import deque, namedtuple

Receipt = namedtuple("Receipt", "sequence subscribers stored durability")
Message = namedtuple("Message", "sequence time uid gid pid name object headers payload subscription redelivered delivery",
                     defaults=[1])
Gap = namedtuple("Gap", "subscription dropped first last")
AUTOMATIC, VOLATILE, STORED, SYNCED = range(4)
NOW, OLDEST, SEQUENCE, AGE, TIME = range(5)
EXCLUSIVE, GROUP = range(2)
FAILED, RETURNED, DEAD = range(3)
UNLIMITED = 0xFFFFFFFF
NEXT_DELAY = 0xFFFFFFFFFFFFFFFF


class Refused(Exception):
    def __init__(self, code, detail, message, fatal):
        super().__init__(f"{message} (code {code})")
        self.code, self.detail, self.fatal = code, detail, fatal


def frame(kind, body, flags=0):
    return struct.pack("<IBBH", len(body), kind, flags, 0) + body


def counted(text):
    return bytes([len(text.encode())]) + text.encode()


def encode_headers(headers):
    pairs = [(key.encode(), value.encode()) for key, value in headers]
    return b"".join(struct.pack("<BH", len(key), len(value)) + key + value for key, value in pairs)


def decode_headers(data):
    headers, at = [], 0
    while at < len(data):
        key, value = struct.unpack_from("<BH", data, at)
        headers.append((data[at + 3:at + 3 + key].decode(), data[at + 3 + key:at + 3 + key + value].decode()))
        at += 3 + key + value
    return headers


def encode_post(request, name, payload=b"", durability=AUTOMATIC, object="", headers=(), receipt=True):
    name, object, headers = name.encode(), object.encode(), encode_headers(headers)
    fixed = struct.pack("<QHBBBBH", request, len(headers), len(name), len(object), 0, durability, 0)
    return frame(0x02, fixed + name + object + headers + payload, 1 if receipt else 0)


def encode_subscribe(
        request, number, patterns, durable="", start=NOW, start_value=0, object="", window=0, credit=UNLIMITED,
        sharing=EXCLUSIVE, takeover=False, settings={}, creation=0):
    durable, object = durable.encode(), object.encode()
    fixed = struct.pack(
        "<QIIIBBBBQ", request, number, window, credit, start, len(durable), len(object), len(patterns), start_value)
    fixed += struct.pack("<BBBx", sharing, takeover, creation) + encode_settings(settings)
    return frame(0x03, fixed + durable + object + b"".join(map(counted, patterns)))


def encode_settings(settings):
    """Encodes changes of settings: deadline, retryDelays, maximumDeliveries, maximumInFlight. Others are kept."""
    keys, delays = ("deadline", "maximumDeliveries", "maximumInFlight"), settings.get("retryDelays", [])
    present = sum(1 << bit for bit, key in enumerate(keys) if key in settings)
    deadline, deliveries, in_flight = (settings.get(key, 0) for key in keys)
    return struct.pack(
        f"<BB2xII4xQ{len(delays)}Q", present, len(delays), deliveries, in_flight, deadline, *delays)


def encode_reject(number, sequence, outcome=FAILED, delay=NEXT_DELAY, delivery=0, reason=""):
    reason = reason.encode()
    return frame(0x14, struct.pack("<IBxHQQI4x", number, outcome, len(reason), sequence, delay, delivery) + reason)


def encode_extend(number, sequences, microseconds=0):
    return frame(0x15, struct.pack(f"<IIQ{len(sequences)}Q", number, len(sequences), microseconds, *sequences))


def encode_dead_letters(request, action, durable="", sequences=(), uid=UNLIMITED):
    durable = durable.encode()
    fixed = struct.pack("<QIBBH", request, uid, action, len(durable), len(sequences))
    return frame(0x17, fixed + durable + struct.pack(f"<{len(sequences)}Q", *sequences))


def decode_deliver(body, subscription=None, redelivered=False, delivery=1):
    *stamp, headers, name, object, message_id = struct.unpack_from("<QQIIIHBBB", body)
    parts, at = [], 36
    for size in (name, object, message_id, headers):
        parts.append(body[at:at + size])
        at += size
    return Message(*stamp, parts[0].decode(), parts[1].decode(), decode_headers(parts[3]), body[at:],
                   subscription, redelivered, delivery)


class Client:
    """One connection. Requests return their answers; messages that arrive meanwhile are kept for `receive`."""

    def __init__(self, path, instance=None, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.instance = instance or os.urandom(16)
        self.request, self.run, self.closing, self.messages = 0, (0, 0, 1, False), None, deque()
        self.socket.sendall(frame(0x01, struct.pack("<4sHHB3x", b"NTFY", 1, 1, 0) + self.instance))
        self.welcome = struct.unpack_from("<H2x7I", self.wait(0x41, None))

    def post(self, name, payload=b"", **options):
        return Receipt(*struct.unpack_from("<8xQIIB", self.ask(0x42, encode_post(self.next(), name, payload, **options))))

    def subscribe(self, number, patterns, **options):
        return struct.unpack_from("<16xQ", self.ask(0x43, encode_subscribe(self.next(), number, patterns, **options)))[0]

    def acknowledge(self, number, *ranges):
        self.socket.sendall(frame(0x06, struct.pack("<II", number, len(ranges))
                                  + b"".join(struct.pack("<QQ", *range) for range in ranges)))

    def reject(self, number, sequence, **options):
        self.socket.sendall(encode_reject(number, sequence, **options))

    def extend(self, number, *sequences):
        self.socket.sendall(encode_extend(number, sequences))

    def dead_letters(self, action, **options):
        """Delivers dead letters again (0) or deletes them (1). Returns the numbers of processed and kept ones."""
        return struct.unpack_from("<8xQQ", self.ask(0x47, encode_dead_letters(self.next(), action, **options)))

    def detach(self, number):
        self.ask(0x44, frame(0x04, struct.pack("<QI", self.next(), number)))

    def remove(self, durable):
        self.ask(0x45, frame(0x05, struct.pack("<QIB", self.next(), 0xFFFFFFFF, 0) + counted(durable)))

    def ping(self):
        self.ask(0x48, frame(0x08, struct.pack("<Q", self.next())))

    def receive(self):
        """Returns the next message or gap."""
        while not self.messages:
            self.read()
        return self.messages.popleft()

    def next(self):
        self.request += 1
        return self.request

    def ask(self, answer, data):
        request = self.request
        self.socket.sendall(data)
        return self.wait(answer, request)

    def wait(self, answer, request):
        while True:
            kind, body = self.read()
            if kind == answer and (request is None or struct.unpack_from("<Q", body)[0] == request):
                return body

    def exactly(self, count):
        data = self.file.read(count)
        if len(data) < count:
            raise ConnectionError("the daemon closed the connection")
        return data

    def read(self):
        """Reads one frame. Keeps a message, and raises an error frame as an exception."""
        length, kind, flags, _ = struct.unpack("<IBBH", self.exactly(8))
        body = self.exactly(length)
        if kind == 0x50:
            number, left, delivery, redelivered = self.run
            self.messages.append(
                decode_deliver(body, number, redelivered, delivery) if left else decode_deliver(body))
            self.run = (number, left - 1, delivery, redelivered) if left else self.run
        elif kind in (0x51, 0x52):
            self.run = (*struct.unpack("<III", body), kind == 0x52)
        elif kind == 0x53:
            self.messages.append(Gap(*struct.unpack("<I4xQQQ", body)))
        elif kind == 0x60:
            _, code, _, detail = struct.unpack_from("<QH2xIQ", body)
            raise Refused(code, detail, body[24:].decode(), bool(flags & 1))
        elif kind == 0x61:
            self.closing = struct.unpack("<Q", body)[0]
        return kind, body
