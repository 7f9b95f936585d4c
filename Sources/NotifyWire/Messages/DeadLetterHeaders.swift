/// The reserved headers of a dead letter, which describe the original message.
///
/// A dead letter is posted under `notifyd.dead.` and the uid of the durable subscription's owner. Its object is the
/// name of the durable subscription. Its payload and its other headers are those of the message.
package struct DeadLetterHeaders: Equatable, Sendable {
    /// The stamp of the original message.
    package var stamp: Stamp
    package var name: String
    /// The object; empty if the message has none.
    package var object: String
    /// The message id; empty if the message has none.
    package var messageID: String
    /// The number of deliveries that failed.
    package var deliveries: UInt32
    /// The reason of the last failure; empty if unknown.
    package var reason: String

    /// The beginning of the names of dead letters; the owner's uid follows.
    package static let namePrefix = "notifyd.dead."

    /// Whether messages of a name are dead letters. Only the daemon posts under such names.
    package static func isDeadLetter(_ name: UnsafeRawBufferPointer) -> Bool {
        name.starts(with: namePrefix.utf8)
    }

    /// Calls `body` with the name of the original message of a dead letter. The bytes are valid during the call.
    ///
    /// - Returns: The result of `body`; nil if the headers lack the name.
    package static func withOriginalName<Result>(
        of deadLetter: MessageParts, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result? {
        guard var name = HeaderList.value(of: Key.name, in: deadLetter.headers) else { return nil }
        return try name.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
    }

    /// The keys of the headers, in their order.
    package enum Key {
        package static let name = "notifyd-name"
        package static let object = "notifyd-object"
        package static let sequence = "notifyd-sequence"
        package static let time = "notifyd-time"
        package static let uid = "notifyd-uid"
        package static let gid = "notifyd-gid"
        package static let pid = "notifyd-pid"
        package static let messageID = "notifyd-message-id"
        package static let deliveries = "notifyd-deliveries"
        package static let reason = "notifyd-reason"
    }

    /// The headers of the dead letter of a message.
    ///
    /// - Parameters:
    ///   - message: The original message.
    ///   - deliveries: The number of deliveries that failed.
    ///   - reason: The reason of the last failure. Shortened to ``Limits/reasonBytes``.
    package init(_ message: Delivery, deliveries: UInt32, reason: String) {
        stamp = message.stamp
        name = String(decoding: message.parts.name, as: UTF8.self)
        object = String(decoding: message.parts.object, as: UTF8.self)
        messageID = String(decoding: message.parts.messageID, as: UTF8.self)
        self.deliveries = deliveries
        self.reason = reason.limited(toBytes: Limits.reasonBytes)
    }

    /// Reads the headers of a message.
    ///
    /// - Returns: nil if the headers are not those of a dead letter.
    package init?(reading headers: UnsafeRawBufferPointer) {
        func text(_ key: String) -> String? { HeaderList.value(of: key, in: headers) }
        func number<Value: FixedWidthInteger>(_ key: String, as _: Value.Type = Value.self) -> Value? {
            text(key).flatMap { Value($0) }
        }
        guard let name = text(Key.name), let sequence = number(Key.sequence, as: UInt64.self),
            let time = number(Key.time, as: UInt64.self), let uid = number(Key.uid, as: UInt32.self),
            let gid = number(Key.gid, as: UInt32.self), let pid = number(Key.pid, as: UInt32.self),
            let deliveries = number(Key.deliveries, as: UInt32.self)
        else { return nil }
        stamp = Stamp(sequence: sequence, timeMicroseconds: time, uid: uid, gid: gid, pid: pid)
        self.name = name
        object = text(Key.object) ?? ""
        messageID = text(Key.messageID) ?? ""
        self.deliveries = deliveries
        reason = text(Key.reason) ?? ""
    }

    /// Encodes the headers of the dead letter: the headers of the message, then these. An empty object, id or reason is
    /// left out.
    package func encoded(after headers: UnsafeRawBufferPointer) -> [UInt8] {
        let all: [(key: String, value: String)] = [
            (Key.name, name), (Key.object, object), (Key.sequence, "\(stamp.sequence)"),
            (Key.time, "\(stamp.timeMicroseconds)"), (Key.uid, "\(stamp.uid)"), (Key.gid, "\(stamp.gid)"),
            (Key.pid, "\(stamp.pid)"), (Key.messageID, messageID), (Key.deliveries, "\(deliveries)"),
            (Key.reason, reason),
        ]
        return HeaderList.encodeReserved(all.filter { !$0.value.isEmpty }, after: headers)
    }

    /// Calls `body` with the stamp and the parts of the original message of a dead letter. The parts are valid during
    /// the call.
    ///
    /// - Returns: The result of `body`; nil if the message is not a dead letter.
    package static func withOriginal<Result>(
        of deadLetter: Delivery, _ body: (Stamp, MessageParts) throws -> Result
    ) rethrows -> Result? {
        guard let headers = DeadLetterHeaders(reading: deadLetter.parts.headers) else { return nil }
        let texts = Array(headers.name.utf8) + Array(headers.object.utf8) + Array(headers.messageID.utf8)
        let nameEnd = headers.name.utf8.count
        let objectEnd = nameEnd + headers.object.utf8.count
        return try texts.withUnsafeBytes { texts in
            try HeaderList.withoutReserved(deadLetter.parts.headers).withUnsafeBytes { own in
                try body(
                    headers.stamp,
                    MessageParts(
                        name: texts.slice(0, nameEnd), object: texts.slice(nameEnd, objectEnd),
                        messageID: texts.slice(from: objectEnd), headers: own, payload: deadLetter.parts.payload))
            }
        }
    }
}
