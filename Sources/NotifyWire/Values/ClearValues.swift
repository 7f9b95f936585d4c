package import NIOCore

/// Clears values: posts a message without content in the place of each one, with ``ClearedHeader``.
package struct ClearValues: ControlFrame, RequestFrame {
    package typealias Reply = ValuesCleared
    package static let kind = FrameKind.clearValues
    private static let conditionFlag: UInt8 = 1
    private static let objectFlag: UInt8 = 2

    package var request: UInt64
    /// The sequence that the value must have, 0 if there must be none; nil for any. Only with one name and an object.
    package var ifSequence: UInt64?
    /// The object of the values, empty for none; nil for values with any object or none.
    package var object: String?
    package var patterns: [String]
    package var isChange: Bool { true }
    package var replyTime: ReplyTime { .long }

    package init(request: UInt64 = 0, ifSequence: UInt64? = nil, object: String?, patterns: [String]) {
        self.request = request
        self.ifSequence = ifSequence
        self.object = object
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        let sequence: UInt64 = try body.integer()
        let options: UInt8 = try body.integer()
        let objectLength: UInt8 = try body.integer()
        let patternCount: UInt8 = try body.integer()
        try body.skip(1)
        let object = try body.string(Int(objectLength))
        patterns = try body.countedStrings(patternCount)
        guard options & ~(Self.conditionFlag | Self.objectFlag) == 0 else { throw .unknownFlags }
        if options & Self.conditionFlag != 0 { ifSequence = sequence }
        if options & Self.objectFlag != 0 { self.object = object }
        guard ifSequence == nil || patterns.count == 1 && self.object != nil else {
            throw WireError(.invalidArgument, "an expected sequence needs one name and an object, which may be empty")
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(ifSequence ?? 0)
        buffer.writeInteger((ifSequence == nil ? 0 : Self.conditionFlag) | (object == nil ? 0 : Self.objectFlag))
        buffer.writeInteger(UInt8(object?.utf8.count ?? 0))
        buffer.writeInteger(UInt8(patterns.count))
        buffer.writeInteger(UInt8(0))
        buffer.writeString(object ?? "")
        for pattern in patterns { buffer.writeCounted(pattern) }
    }
}

/// The answer to ``ClearValues``: the values are cleared, and the messages that say so are stored.
package struct ValuesCleared: ReplyFrame {
    package static let kind = FrameKind.valuesCleared

    package var request: UInt64
    /// The number of values that were cleared.
    package var count: UInt64
    /// The sequence of the last of the messages; 0 if there was no value.
    package var sequence: UInt64

    package init(request: UInt64, count: UInt64, sequence: UInt64) {
        self.request = request
        self.count = count
        self.sequence = sequence
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        count = try body.integer()
        sequence = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, count, sequence] { buffer.writeLE(field) }
    }
}
