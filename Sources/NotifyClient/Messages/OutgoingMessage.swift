public import NotifyCenter
import NIOCore
import NotifyWire

extension NotifyClient {
    /// A message ready to be posted: checked once, to be posted any number of times.
    public struct OutgoingMessage: Sendable {
        /// What the message is about.
        public var name: String { checkedName.string }
        /// What subscribers may filter by, beside the name.
        public let object: String?
        /// The message's content; any bytes.
        public let payload: [UInt8]
        /// What the daemon is asked to promise before it answers.
        public let durability: Durability

        private let checkedName: NotificationName
        private let headers: [UInt8]

        /// Makes a message.
        ///
        /// - Parameters:
        ///   - name: What it is about.
        ///   - payload: Its content: any collection of bytes, of which an array is not copied. The daemon's limit (by
        ///     default 1 MiB) is checked when it is posted.
        ///   - object: What subscribers may filter by, at most 255 bytes; the empty string counts as none.
        ///   - headers: Keys with values.
        ///   - durability: What the daemon is asked to promise.
        /// - Throws: ``NotifyError`` with `invalidObject` or `invalidHeaders`.
        public init(
            name: NotificationName, payload: some Collection<UInt8> = [UInt8](), object: String? = nil,
            headers: Headers = [:],
            durability: Durability = .automatic
        ) throws(NotifyError) {
            if let object, object.utf8.count > Limits.objectBytes {
                throw .invalidObject(bytes: object.utf8.count)
            }
            checkedName = name
            self.payload = [UInt8](payload)
            self.object = object
            self.headers = try headers.encoded()
            self.durability = durability
        }

        /// Makes a message whose name is a string, which is checked.
        ///
        /// - Throws: ``NotifyError`` with `invalidName`, `invalidObject` or `invalidHeaders`.
        public init(
            name: String, payload: some Collection<UInt8> = [UInt8](), object: String? = nil, headers: Headers = [:],
            durability: Durability = .automatic
        ) throws(NotifyError) {
            try self.init(
                name: NotificationName(checking: name), payload: payload, object: object, headers: headers,
                durability: durability)
        }

        /// The same message with another payload.
        public func with(payload: some Collection<UInt8>) -> OutgoingMessage {
            OutgoingMessage(copying: self, payload: [UInt8](payload))
        }

        private init(copying message: OutgoingMessage, payload: [UInt8]) {
            checkedName = message.checkedName
            object = message.object
            headers = message.headers
            durability = message.durability
            self.payload = payload
        }

        /// Bytes of the whole post frame.
        var frameBytes: Int {
            FrameHeader.size + Post.fixedSize + name.utf8.count + (object?.utf8.count ?? 0) + headers.count
                + payload.count
        }

        func append(request: UInt64, wantsReceipt: Bool, to buffer: inout ByteBuffer) {
            checkedName.withUTF8 { name in
                (object ?? "").withUTF8Bytes { object in
                    headers.withUnsafeBytes { headers in
                        payload.withUnsafeBytes { payload in
                            let parts = MessageParts(
                                name: name, object: object, messageID: UnsafeRawBufferPointer(start: nil, count: 0),
                                headers: headers, payload: payload)
                            Post(
                                request: request, durability: NotifyWire.Durability(durability),
                                wantsReceipt: wantsReceipt, parts: parts
                            ).append(to: &buffer)
                        }
                    }
                }
            }
        }
    }
}

extension NotificationName {
    /// The name that a string spells, with this library's error where it spells none.
    init(checking string: String) throws(NotifyError) {
        do {
            try self.init(string)
        } catch {
            throw NotifyError(.invalidName, error.message, cause: error)
        }
    }
}

extension NamePattern {
    /// The pattern that a string spells, with this library's error where it spells none.
    init(checking string: String) throws(NotifyError) {
        do {
            try self.init(string)
        } catch {
            throw NotifyError(.invalidPattern, error.message, cause: error)
        }
    }
}
