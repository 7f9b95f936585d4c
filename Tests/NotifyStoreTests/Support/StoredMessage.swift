import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// A message, in a form that tests can create and compare.
struct StoredMessage: Equatable {
    var sequence: UInt64
    var name = "orders.created"
    var object = ""
    var id = ""
    var headers: [UInt8] = []
    var payload: [UInt8] = Array("hello".utf8)
    /// The time in microseconds since 1970, the uid, the gid and the pid.
    var stamp: [UInt64] = [1_700_000_000_000_000, 1000, 100, 4242]

    func append(to block: inout LogBlock) {
        let offset = block.frames.writerIndex
        let stamp = Stamp(
            sequence: sequence, timeMicroseconds: stamp[0], uid: UInt32(stamp[1]), gid: UInt32(stamp[2]),
            pid: UInt32(stamp[3]))
        let (name, object, id) = (Array(name.utf8), Array(object.utf8), Array(id.utf8))
        let length = name.withUnsafeBytes { name in
            object.withUnsafeBytes { object in
                id.withUnsafeBytes { id in
                    headers.withUnsafeBytes { headers in
                        payload.withUnsafeBytes { payload in
                            let parts = MessageParts(
                                name: name, object: object, messageID: id, headers: headers, payload: payload)
                            return Delivery.append(stamp, parts, to: &block.frames)
                        }
                    }
                }
            }
        }
        block.entries.append(LogBlock.Entry(sequence: sequence, offset: UInt32(offset), length: UInt32(length)))
    }

    init(
        _ sequence: UInt64, _ name: String = "orders.created", object: String = "", id: String = "",
        headers: [UInt8] = [], payload: [UInt8] = Array("hello".utf8)
    ) {
        self.sequence = sequence
        self.name = name
        self.object = object
        self.id = id
        self.headers = headers
        self.payload = payload
    }

    init(_ message: Delivery) {
        self.init(
            message.stamp.sequence, String(decoding: message.parts.name, as: UTF8.self),
            object: String(decoding: message.parts.object, as: UTF8.self),
            id: String(decoding: message.parts.messageID, as: UTF8.self), headers: Array(message.parts.headers),
            payload: Array(message.parts.payload))
        stamp = [
            message.stamp.timeMicroseconds, UInt64(message.stamp.uid), UInt64(message.stamp.gid),
            UInt64(message.stamp.pid),
        ]
    }
}

extension StoredMessage {
    /// The dead letter of a message, for a durable subscription of a user.
    static func deadLetter(_ sequence: UInt64, of original: StoredMessage, uid: UInt32 = 1000) -> StoredMessage {
        let frames = LogBlock([original])
        let headers = frames.withMessage(frames.entries[0]) {
            DeadLetterHeaders($0, deliveries: 1, reason: "why").encoded(after: $0.parts.headers)
        }
        return StoredMessage(sequence, "notifyd.dead.\(uid)", object: "jobs", headers: headers)
    }
}

extension [StoredMessage] {
    /// The number and bytes of each user's messages, as counted in the log.
    var usage: [UInt32: StoredUsage] {
        reduce(into: [:]) { usage, message in
            let texts = [message.name, message.object, message.id].reduce(0) { $0 + $1.utf8.count }
            let bytes = 44 + texts + message.headers.count + message.payload.count
            let isDeadLetter = message.name.hasPrefix("notifyd.dead.")
            usage[UInt32(message.stamp[1]), default: StoredUsage()] += StoredUsage(
                messages: 1, bytes: bytes, deadLetterBytes: isDeadLetter ? bytes : 0)
        }
    }
}

extension LogBlock {
    init(_ messages: [StoredMessage]) {
        self.init()
        for message in messages { message.append(to: &self) }
    }

    var messages: [StoredMessage] {
        entries.map { withMessage($0) { StoredMessage($0) } }
    }
}

extension SubscriptionFilter {
    init(_ patterns: String..., object: String? = nil) throws {
        self.init(patterns: try patterns.map { try NamePattern($0) }, object: object)
    }
}

extension ReadAccess {
    static func of(uid: UInt32, generation: UInt32 = 0) -> ReadAccess {
        ReadAccess(policy: AccessPolicy(generation: generation), identity: Identity(uid: uid, gid: 0))
    }
}

extension DurableRecord {
    init(
        id: DurableID, uid: UInt32 = 0, name: String, _ filter: SubscriptionFilter, cursor: UInt64 = 0,
        startedAfter: UInt64 = 0
    ) {
        self.init(
            id: id, owner: Identity(uid: uid, gid: 0), name: name, filter: filter, startedAfter: startedAfter,
            progress: DurableProgress(cursor: cursor, seenThrough: cursor))
    }
}

extension DurableID: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: UInt32) {
        self.init(value)
    }
}
