import NIOCore
import NotifyWire

/// What a client announces under a name and object, kept to announce it again on the next connection.
struct AnnouncedContent: Sendable {
    let message: NotificationClient.OutgoingMessage
    let will: Will?
    let grace: Duration

    var name: AnnouncedName { AnnouncedName(name: message.name, object: message.object) }

    /// A will, encoded.
    struct Will: Sendable {
        let headers: [UInt8]
        let payload: [UInt8]
    }

    /// The size of the whole frame, in bytes.
    var frameBytes: Int {
        FrameHeader.size + Announce.fixedSize + message.frameBytes
            + (will.map { $0.headers.count + $0.payload.count } ?? 0)
    }

    func append(request: UInt64, takesOver: Bool, to buffer: inout ByteBuffer) {
        message.withParts { parts in
            var announce = Announce(
                request: request, graceMilliseconds: UInt32(clamping: Int64(grace / .milliseconds(1))),
                takesOver: takesOver,
                parts: parts)
            guard let will else { return announce.append(to: &buffer) }
            will.headers.withUnsafeBytes { headers in
                will.payload.withUnsafeBytes { payload in
                    announce.will = Announce.Will(headers: headers, payload: payload)
                    announce.append(to: &buffer)
                }
            }
        }
    }
}

/// The name and object of an announced value.
struct AnnouncedName: Hashable, Sendable {
    let name: String
    /// Nil if there is none, or if it is empty, which is the same.
    let object: String?

    init(name: String, object: String?) {
        self.name = name
        self.object = object?.isEmpty == true ? nil : object
    }
}
