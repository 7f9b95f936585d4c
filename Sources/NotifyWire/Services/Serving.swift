package import NIOCore

/// Registers the connection as a server: requests whose name matches one of the patterns are handed to it.
package struct Serve: ControlFrame {
    package static let kind = FrameKind.serve

    package var request: UInt64
    /// The number of the server on this connection, chosen by the client; never 0.
    package var server: UInt32
    /// The maximum number of calls that the server holds at the same time, at least 1.
    package var concurrency: UInt32
    package var patterns: [String]

    package init(request: UInt64, server: UInt32, concurrency: UInt32, patterns: [String]) {
        self.request = request
        self.server = server
        self.concurrency = concurrency
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        server = try body.integer()
        concurrency = try body.integer()
        let count: UInt8 = try body.integer()
        patterns = try body.countedStrings(count)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(server)
        buffer.writeLE(concurrency)
        buffer.writeInteger(UInt8(patterns.count))
        for pattern in patterns { buffer.writeCounted(pattern) }
    }
}

/// A frame whose body is only a request number and a server.
package protocol ServerFrame: ControlFrame {
    var request: UInt64 { get }
    var server: UInt32 { get }
    init(request: UInt64, server: UInt32)
}

extension ServerFrame {
    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        self.init(request: try body.integer(), server: try body.integer())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(server)
    }
}

/// The answer to a serve: calls may follow.
package struct Serving: ServerFrame {
    package static let kind = FrameKind.serving

    package var request: UInt64
    package var server: UInt32

    package init(request: UInt64, server: UInt32) {
        self.request = request
        self.server = server
    }
}

/// Ends a server. It gets no further calls, and may still respond to those that it holds.
package struct EndServing: ServerFrame {
    package static let kind = FrameKind.endServing

    package var request: UInt64
    package var server: UInt32

    package init(request: UInt64, server: UInt32) {
        self.request = request
        self.server = server
    }
}

/// The answer to an end of serving: no call of the server follows.
package struct ServingEnded: ServerFrame {
    package static let kind = FrameKind.servingEnded

    package var request: UInt64
    package var server: UInt32

    package init(request: UInt64, server: UInt32) {
        self.request = request
        self.server = server
    }
}
