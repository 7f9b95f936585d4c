import NIOCore
import NotifyLog
import NotifyWire

/// A value that lives as long as the connection that has announced it.
struct Announcement {
    /// The state of the connection that has announced the value.
    enum Presence: Equatable {
        case connected(ConnectionID)
        /// The connection has ended, and the client may announce the value again until this time.
        case absent(until: Duration)
        /// The value is about to be cleared.
        case ending
    }

    /// The content of the message that is posted when the connection has ended.
    struct Will {
        let headers: [UInt8]
        let payload: [UInt8]

        init(_ will: Announce.Will) {
            headers = Array(will.headers)
            payload = Array(will.payload)
        }
    }

    let key: ValueKey
    /// The key of the name without the object; nil if there is no object.
    let nameKey: ValueKey?
    /// The position among the announced values, which the key on the wire contains.
    let number: UInt64
    /// The sequence of the message that has announced the value.
    let sequence: UInt64
    /// The number of the request that has announced the value.
    let request: UInt64
    /// The user whose rights apply, and the ids in the stamps of the messages.
    let owner: IdentityID
    let poster: Poster
    /// The client that has announced the value, which may do so again after a lost connection.
    let instance: InstanceID
    /// The number of the connection. Those of later connections are higher.
    let connectionNumber: UInt64
    var presence: Presence
    let grace: Duration
    let will: Will?
    /// The message, encoded, as the only one of the block.
    let message: LogBlock
    let charge: Charge

    /// The connection that has announced the value; nil if it has ended.
    var connection: ConnectionID? {
        if case .connected(let connection) = presence { connection } else { nil }
    }

    /// Whether a connection has announced the value, or is a later one of the same client. The end of the earlier one
    /// may not be known yet, and requests of it may still be processed.
    func belongs(to connection: Connection) -> Bool {
        poster.uid == connection.uid && instance == connection.instance && connection.number >= connectionNumber
    }

    /// The holder of the name and object, for a refusal.
    var holder: ValueHolder {
        if case .connected = presence { .connected(poster.pid) } else { .absent(poster.pid) }
    }

    /// The memory of an announced value and its will, in bytes.
    static func byteCount(_ parts: MessageParts, _ will: Announce.Will?) -> Int {
        // The buffer of the message has a power of two as its capacity.
        512 + 2 * parts.byteCount + (will.map { $0.headers.count + $0.payload.count } ?? 0)
    }
}

/// The mark of an announced value that was cleared, for watches that have read the value.
struct AnnouncementMark {
    let sequence: UInt64
    /// The message that has cleared the value, encoded, as the only one of the block.
    let message: LogBlock

    var byteCount: Int { message.frames.capacity + 256 }
}

extension LogBlock {
    /// A block with one message.
    init(_ stamp: Stamp, _ parts: MessageParts) {
        var frames = ByteBuffer()
        let length = Delivery.append(stamp, parts, to: &frames)
        self.init(frames: frames, entries: [Entry(sequence: stamp.sequence, offset: 0, length: UInt32(length))])
    }

    /// Appends the messages of another block, whose sequences are higher, or which belong to another order.
    mutating func append(_ other: LogBlock) {
        let offset = UInt32(frames.readableBytes)
        for entry in other.entries {
            entries.append(Entry(sequence: entry.sequence, offset: offset + entry.offset, length: entry.length))
        }
        frames.writeImmutableBuffer(other.frames)
    }

    /// Calls `body` with the first message.
    func withFirst<Result>(_ body: (Delivery) -> Result) -> Result { withMessage(entries[0], body) }
}
