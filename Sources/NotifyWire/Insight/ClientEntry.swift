package import NIOCore

/// A connected client in the answer to a list. All counts begin when the client connects.
package struct ClientEntry: ListedEntry {
    package static let subject = ListSubject.clients
    package static let kind = FrameKind.clientEntry

    package var request: UInt64
    /// The number of the connection. Each run of the daemon numbers its connections from 1.
    package var client: UInt64
    /// The time at which the client connected, in microseconds since 1970-01-01T00:00:00Z.
    package var connectedMicroseconds: UInt64
    package var uid: UInt32
    package var gid: UInt32
    package var pid: UInt32
    /// Volatile subscriptions, and durable subscriptions to which the client is attached.
    package var subscriptions: UInt32
    /// Posts that the daemon accepted.
    package var posts: UInt64
    /// Requests that the daemon refused, posts included.
    package var refused: UInt64
    /// Messages queued for the client, including dropped messages. Redelivered messages count again.
    package var delivered: UInt64
    /// Messages that the daemon dropped because the client read too slowly.
    package var dropped: UInt64
    /// Messages that the client dropped from its own buffers, according to its reports.
    package var droppedByClient: UInt64
    /// Memory, in bytes, of the messages and answers that wait until the client reads them.
    package var waitingBytes: UInt64

    package init(
        request: UInt64, client: UInt64, connectedMicroseconds: UInt64, uid: UInt32, gid: UInt32, pid: UInt32,
        subscriptions: UInt32, posts: UInt64, refused: UInt64, delivered: UInt64, dropped: UInt64,
        droppedByClient: UInt64, waitingBytes: UInt64
    ) {
        self.request = request
        self.client = client
        self.connectedMicroseconds = connectedMicroseconds
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.subscriptions = subscriptions
        self.posts = posts
        self.refused = refused
        self.delivered = delivered
        self.dropped = dropped
        self.droppedByClient = droppedByClient
        self.waitingBytes = waitingBytes
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        client = try body.integer()
        connectedMicroseconds = try body.integer()
        uid = try body.integer()
        gid = try body.integer()
        pid = try body.integer()
        subscriptions = try body.integer()
        posts = try body.integer()
        refused = try body.integer()
        delivered = try body.integer()
        dropped = try body.integer()
        droppedByClient = try body.integer()
        waitingBytes = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, client, connectedMicroseconds] { buffer.writeLE(field) }
        for field in [uid, gid, pid, subscriptions] { buffer.writeLE(field) }
        for field in [posts, refused, delivered, dropped, droppedByClient, waitingBytes] { buffer.writeLE(field) }
    }
}
