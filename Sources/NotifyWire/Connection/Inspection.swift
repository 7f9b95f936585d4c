package import NIOCore

/// Asks for the durable subscriptions of the client's user. A client that may manage everything gets the subscriptions
/// of all users.
package struct ListRequest: RequestFrame {
    package static let kind = FrameKind.list

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}

/// One durable subscription in the answer to a list.
package struct ListEntry: ControlFrame {
    package static let kind = FrameKind.listEntry

    package var request: UInt64
    package var uid: UInt32
    /// The pid of the attached client; 0 if none is attached.
    package var holderPID: UInt32
    package var cursor: UInt64
    package var durableName: String
    package var object: String
    package var patterns: [String]

    package init(
        request: UInt64, uid: UInt32, holderPID: UInt32, cursor: UInt64, durableName: String, object: String,
        patterns: [String]
    ) {
        self.request = request
        self.uid = uid
        self.holderPID = holderPID
        self.cursor = cursor
        self.durableName = durableName
        self.object = object
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        holderPID = try body.integer()
        cursor = try body.integer()
        let durableNameLength: UInt8 = try body.integer()
        let objectLength: UInt8 = try body.integer()
        let patternCount: UInt8 = try body.integer()
        try body.skip(1)
        durableName = try body.string(Int(durableNameLength))
        object = try body.string(Int(objectLength))
        patterns = []
        for _ in 0..<patternCount {
            let length: UInt8 = try body.integer()
            patterns.append(try body.string(Int(length)))
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeLE(holderPID)
        buffer.writeLE(cursor)
        buffer.writeInteger(UInt8(durableName.utf8.count))
        buffer.writeInteger(UInt8(object.utf8.count))
        buffer.writeInteger(UInt8(patterns.count))
        buffer.writeInteger(UInt8(0))
        buffer.writeString(durableName)
        buffer.writeString(object)
        for pattern in patterns {
            buffer.writeCounted(pattern)
        }
    }
}

/// The end of the answer to a list.
package struct ListEnd: RequestFrame {
    package static let kind = FrameKind.listEnd

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}

/// Asks for the daemon's counters.
package struct StatisticsRequest: RequestFrame {
    package static let kind = FrameKind.statistics

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}

/// Asks how much of each limited resource the client's user holds. A client that may manage everything gets the figures
/// of all users.
///
/// The answer is a `StatisticsReport`. For each resource, it has a counter of the amount held. If the resource has a
/// limit, it also has a counter of the limit, with the same name and the suffix `.limit`.
package struct LimitsRequest: RequestFrame {
    package static let kind = FrameKind.limits

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}

/// The daemon's counters by name, in display order.
package struct StatisticsReport: ControlFrame {
    package static let kind = FrameKind.statisticsReport

    package struct Counter: Equatable, Sendable {
        package var name: String
        package var value: UInt64

        package init(name: String, value: UInt64) {
            self.name = name
            self.value = value
        }
    }

    package var request: UInt64
    package var counters: [Counter]

    package init(request: UInt64, counters: [Counter]) {
        self.request = request
        self.counters = counters
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        let count: UInt16 = try body.integer()
        counters = []
        for _ in 0..<count {
            let value: UInt64 = try body.integer()
            let length: UInt8 = try body.integer()
            counters.append(Counter(name: try body.string(Int(length)), value: value))
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(UInt16(counters.count))
        for counter in counters {
            buffer.writeLE(counter.value)
            buffer.writeCounted(counter.name)
        }
    }
}
