"""Tests the client with a running daemon: try_client.py SOCKET"""
import sys

from notify_client import AUTOMATIC, STORED, SYNCED, UNLIMITED, VOLATILE, Client, Refused

path = sys.argv[1]


def refusal(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except Refused as error:
        return error
    raise AssertionError("not refused")


poster, reader = Client(path), Client(path)
poster.ping()

# Volatile: the receipt counts the subscriber, which receives every part of the message.
since = reader.subscribe(1, ["tour.*", "tour.>"])
receipt = poster.post("tour.a", "grüße".encode(), object="ob", headers=[("key", "wört")], durability=VOLATILE)
assert (receipt.subscribers, receipt.stored, receipt.durability) == (1, 0, VOLATILE) and receipt.sequence > since
message = reader.receive()
assert (message.sequence, message.name, message.object) == (receipt.sequence, "tour.a", "ob")
assert (message.headers, message.payload.decode()) == ([("key", "wört")], "grüße")
assert message.uid == poster.welcome[1] and message.pid == poster.welcome[3] and message.subscription is None
poster.post("tour.b", receipt=True, object="other")
assert reader.receive().name == "tour.b"
reader.detach(1)
assert poster.post("tour.c").subscribers == 0

# Durable: posted while no client is attached, delivered in order, acknowledged, and not delivered again.
reader.subscribe(2, ["mail.>"], durable="box")
assert refusal(poster.subscribe, 1, ["mail.>"], durable="box").code == 63
reader.detach(2)
sent = [poster.post("mail.in", str(number).encode(), durability=how)
        for number, how in enumerate([AUTOMATIC, STORED, SYNCED, AUTOMATIC])]
assert [receipt.durability for receipt in sent] == [STORED, STORED, SYNCED, STORED]
assert all(receipt.stored == 1 for receipt in sent)
reader.subscribe(2, ["mail.>"], durable="box")
got = [reader.receive() for _ in sent]
assert [message.sequence for message in got] == [receipt.sequence for receipt in sent]
assert all(message.subscription == 2 and not message.redelivered for message in got)
assert refusal(lambda: (reader.acknowledge(2, (0, 2**60)), reader.ping())).code == 65
reader.wait(0x48, reader.request)
reader.acknowledge(2, (0, got[1].sequence))
reader.detach(2)
assert refusal(reader.subscribe, 2, ["other"], durable="box").code == 62
assert reader.subscribe(2, ["mail.>"], durable="box", credit=1) == got[1].sequence
message = reader.receive()
assert (message.sequence, message.redelivered) == (got[2].sequence, True)

# A second connection of the same client takes over the subscription; the first one is notified.
again = Client(path, instance=reader.instance)
again.subscribe(9, ["mail.>"], durable="box", credit=UNLIMITED)
assert refusal(reader.receive).code == 64
assert [again.receive().sequence for _ in range(2)] == [got[2].sequence, got[3].sequence]
again.acknowledge(9, (got[2].sequence, got[3].sequence))
again.detach(9)
again.remove("box")

# Invalid requests are refused with an error code, and the connection stays open.
assert refusal(poster.post, "a..b").code == 20
assert refusal(poster.post, "notifyd.x").code == 40
assert refusal(poster.post, "a", b"x" * (poster.welcome[4] + 1)).code == 26
assert refusal(poster.subscribe, 1, ["a.>.b"]).code == 21
assert refusal(poster.detach, 5).code == 60
assert refusal(poster.remove, "box").code == 60
poster.ping()
print("the client works")
