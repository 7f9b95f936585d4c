public import NotifyCenter
import NIOCore
import NotifyWire

extension NotificationClient {
    /// A message to post, with checked contents. It can be posted any number of times.
    public struct OutgoingMessage: Sendable {
        /// The name, such as `orders.created`.
        public var name: String { checkedName.string }
        /// The object, by which subscribers may filter in addition to the name.
        public let object: String?
        /// The content; any bytes.
        public let payload: [UInt8]
        /// The durability to reach before the daemon sends the receipt.
        public let durability: Durability

        private let checkedName: NotificationName
        private var headers: [UInt8]
        private var retention = Retention.message

        /// Whether the message is also kept as the value of its name and object.
        private enum Retention {
            case message
            /// - ifSequence: The sequence that the present value must have, 0 if there must be none; nil for any.
            case value(ifSequence: UInt64?)
        }

        /// Makes a message.
        ///
        /// - Parameters:
        ///   - name: The name to post under.
        ///   - payload: The content, as any collection of bytes; an array is not copied. The daemon's size limit (by
        ///     default 1 MiB) is checked when the message is posted.
        ///   - object: The object, by which subscribers may filter; at most 255 bytes. The empty string means none.
        ///   - headers: The headers.
        ///   - durability: The durability to reach before the daemon sends the receipt.
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

        /// Makes a message and checks its name.
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

        /// Adds headers, unless the message has no room for them or already has some of the keys.
        mutating func addHeaders(_ added: [(key: String, value: String)]) {
            let own = headers.withUnsafeBytes { (try? HeaderList.decode($0)) ?? [] }
            if let encoded = try? HeaderList.encode(own + added) { headers = encoded }
        }

        /// Returns a copy of the message with another payload.
        public func with(payload: some Collection<UInt8>) -> OutgoingMessage {
            OutgoingMessage(copying: self, payload: [UInt8](payload))
        }

        /// Returns a copy of the message that is also kept as the value of its name and object. See
        /// ``NotificationClient/value(of:object:timeout:)``.
        ///
        /// The durability must not be `volatile`: the daemon refuses such a value with `invalidArgument`.
        ///
        /// - Parameter sequence: The sequence that the present value must have, 0 if there must be none; `nil` to
        ///   replace any value.
        public func asValue(ifSequence sequence: UInt64? = nil) -> OutgoingMessage {
            var message = self
            message.retention = .value(ifSequence: sequence)
            return message
        }

        private init(copying message: OutgoingMessage, payload: [UInt8]) {
            checkedName = message.checkedName
            object = message.object
            headers = message.headers
            durability = message.durability
            retention = message.retention
            self.payload = payload
        }

        /// The size of the whole post frame, in bytes, as that of a value, which is the longer one.
        var frameBytes: Int {
            FrameHeader.size + SetValue.fixedSize + name.utf8.count + (object?.utf8.count ?? 0) + headers.count
                + payload.count
        }

        func append(request: UInt64, wantsReceipt: Bool, to buffer: inout ByteBuffer) {
            withParts { parts in
                let post = Post(
                    request: request, durability: NotifyWire.Durability(durability), wantsReceipt: wantsReceipt,
                    parts: parts)
                switch retention {
                case .message: post.append(to: &buffer)
                case .value(let ifSequence): SetValue(post, ifSequence: ifSequence).append(to: &buffer)
                }
            }
        }

        func withParts(_ body: (MessageParts) -> Void) {
            checkedName.withUTF8 { name in
                (object ?? "").withUTF8Bytes { object in
                    headers.withUnsafeBytes { headers in
                        payload.withUnsafeBytes { payload in
                            body(
                                MessageParts(
                                    name: name, object: object,
                                    messageID: UnsafeRawBufferPointer(start: nil, count: 0), headers: headers,
                                    payload: payload))
                        }
                    }
                }
            }
        }
    }
}

extension NotificationName {
    /// Makes a name from a string.
    ///
    /// - Throws: ``NotifyError`` with `invalidName`.
    init(checking string: String) throws(NotifyError) {
        do {
            try self.init(string)
        } catch {
            throw NotifyError(error)
        }
    }
}

extension NamePattern {
    /// Makes a pattern from a string.
    ///
    /// - Throws: ``NotifyError`` with `invalidPattern`.
    init(checking string: String) throws(NotifyError) {
        do {
            try self.init(string)
        } catch {
            throw NotifyError(error)
        }
    }
}
