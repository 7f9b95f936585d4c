package import NIOCore

/// Asks for the daemon's counters.
package struct StatisticsRequest: BareFrame, RequestFrame {
    package typealias Reply = StatisticsReport
    package static let kind = FrameKind.statistics

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}

/// Requests the used amount of each resource: the totals of the daemon, and the amounts of the client's user. A client
/// that may manage everything gets the amounts of the first 1,000 users.
///
/// The answer is a `StatisticsReport` with a counter for each resource. The names of a user's counters begin with
/// `user.<uid>.`. If a resource has a limit, the report also has a counter of the limit, with the same name and the
/// suffix `.limit`.
package struct LimitsRequest: BareFrame, RequestFrame {
    package typealias Reply = StatisticsReport
    package static let kind = FrameKind.limits

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}

/// The daemon's counters by name, in display order.
package struct StatisticsReport: ReplyFrame {
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
