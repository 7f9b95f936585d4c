package import NIOCore

/// Moves the cursor of a durable subscription, under a new generation. An attached client must attach again.
package struct Reset: ControlFrame, RequestFrame {
    package typealias Reply = DurableDescription
    package static let kind = FrameKind.reset

    package var request: UInt64
    /// The owner of the subscription; ``Remove/ownUID`` for the client's own.
    package var uid: UInt32
    /// The position from which the subscription continues.
    package var position: LogPosition
    package var durableName: String
    package var isChange: Bool { true }

    package init(request: UInt64 = 0, uid: UInt32 = Remove.ownUID, durableName: String, to position: LogPosition) {
        self.request = request
        self.uid = uid
        self.position = position
        self.durableName = durableName
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        let kind: UInt8 = try body.integer()
        let nameLength: UInt8 = try body.integer()
        try body.skip(2)
        let value: UInt64 = try body.integer()
        durableName = try body.string(Int(nameLength))
        position = try LogPosition(kind: kind, value: value)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeInteger(position.encoded.kind)
        buffer.writeInteger(UInt8(durableName.utf8.count))
        buffer.writeLE(UInt16(0))
        buffer.writeLE(position.encoded.value)
        buffer.writeString(durableName)
    }
}

/// Replaces the patterns of a durable subscription. An attached client must attach again.
package struct Edit: ControlFrame, RequestFrame {
    package typealias Reply = DurableDescription
    package static let kind = FrameKind.edit

    package var request: UInt64
    /// The owner of the subscription; ``Remove/ownUID`` for the client's own.
    package var uid: UInt32
    package var durableName: String
    package var patterns: [String]
    package var isChange: Bool { true }

    package init(request: UInt64 = 0, uid: UInt32 = Remove.ownUID, durableName: String, patterns: [String]) {
        self.request = request
        self.uid = uid
        self.durableName = durableName
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        let nameLength: UInt8 = try body.integer()
        let patternCount: UInt8 = try body.integer()
        try body.skip(2)
        durableName = try body.string(Int(nameLength))
        patterns = try body.countedStrings(patternCount)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeInteger(UInt8(durableName.utf8.count))
        buffer.writeInteger(UInt8(patterns.count))
        buffer.writeLE(UInt16(0))
        buffer.writeString(durableName)
        for pattern in patterns { buffer.writeCounted(pattern) }
    }
}
