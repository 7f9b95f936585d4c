package import NIOCore

/// A name in the answer to a list of names.
///
/// The daemon counts posts by name only while clients request the list of names. The answer to the first request is
/// empty, and counting ends when there is no request for 10 seconds. At most 16,384 names are counted; the half with
/// the fewest posts is removed to make room for others.
package struct NameEntry: ListedEntry {
    package static let subject = ListSubject.names
    package static let kind = FrameKind.nameEntry

    package var request: UInt64
    /// Accepted posts.
    package var posts: UInt64
    /// Bytes of the posts' payloads.
    package var payloadBytes: UInt64
    /// Messages dropped because a connection was too slow. A message that is dropped for several connections counts
    /// for each. Messages that a later message with the same name and object replaced do not count.
    package var dropped: UInt64
    /// Connections with volatile subscriptions that the latest post was sent to.
    package var subscribers: UInt32
    /// Durable subscriptions that the latest post was stored for.
    package var durables: UInt32
    package var name: String

    package init(
        request: UInt64, posts: UInt64, payloadBytes: UInt64, dropped: UInt64, subscribers: UInt32, durables: UInt32,
        name: String
    ) {
        self.request = request
        self.posts = posts
        self.payloadBytes = payloadBytes
        self.dropped = dropped
        self.subscribers = subscribers
        self.durables = durables
        self.name = name
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        posts = try body.integer()
        payloadBytes = try body.integer()
        dropped = try body.integer()
        subscribers = try body.integer()
        durables = try body.integer()
        name = try body.countedString()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, posts, payloadBytes, dropped] { buffer.writeLE(field) }
        buffer.writeLE(subscribers)
        buffer.writeLE(durables)
        buffer.writeCounted(name)
    }
}
