"""Subscribes durably and checks every message: counting_subscriber.py SOCKET DURABLE PATTERN COUNT...

Each payload begins with the number of the message, from 0. Prints a line at each COUNT, and exits with an error on the
first message that is missing, repeated or out of order.
"""
import struct
import sys

from notify_client import Client

path, durable, pattern, *counts = sys.argv[1:]
marks = {int(count) for count in counts}
client = Client(path, timeout=None)
client.subscribe(1, [pattern], durable=durable, window=16384)
print("subscribed", flush=True)

header = struct.Struct("<IB").unpack_from
number = struct.Struct("<Q").unpack_from
expected, last, rest = 0, 0, b""
while expected < max(marks):
    data = client.file.read1(1 << 20)
    if not data:
        sys.exit("the daemon closed the connection")
    data = rest + data
    at, reached = 0, []
    while len(data) - at >= 8:
        length, kind = header(data, at)
        if len(data) - at - 8 < length:
            break
        if kind == 0x50:
            sequence = number(data, at + 8)[0]
            found = number(data, at + 44 + data[at + 38])[0]
            if found != expected or sequence <= last:
                sys.exit(f"message {found} with sequence {sequence} instead of {expected} after {last}")
            expected, last = expected + 1, sequence
            if expected in marks:
                reached.append(expected)
        elif kind != 0x51:
            sys.exit(f"a frame of kind {kind:#x}: {data[at:at + 8 + length][:200]}")
        at += 8 + length
    rest = data[at:]
    if last:
        client.acknowledge(1, (1, last))
    for count in reached:
        print("received", count, flush=True)
