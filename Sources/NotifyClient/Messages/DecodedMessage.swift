extension NotificationClient {
    /// A message with its decoded payload, or with the decoding error.
    public struct DecodedMessage<Value: Decodable> {
        /// The message as it arrived.
        public let message: Message

        /// The ``NotificationClient/Message/sequence`` of the message.
        public var sequence: UInt64 { message.sequence }

        /// The ``NotificationClient/Message/name`` of the message.
        public var name: String { message.name }

        /// The ``NotificationClient/Message/headers`` of the message.
        public var headers: Headers { message.headers }

        /// The decoded payload, or the error that ``value`` throws.
        public let result: Result<Value, NotifyError>

        init(decoding message: Message) {
            self.message = message
            result = Result { () throws(NotifyError) in try message.decode(as: Value.self) }
        }

        /// The decoded payload.
        ///
        /// - Throws: ``NotifyError`` with `coding` if the payload is not the JSON of a `Value`. The error's message
        ///   contains the sequence and the name.
        public var value: Value {
            get throws(NotifyError) { try result.get() }
        }

        /// Acknowledges the message, decoded or not, as ``Message/acknowledge()`` does.
        ///
        /// A durable subscription delivers a message again until it is answered. So a message that can't be decoded
        /// must be answered, too: ``deadLetter(reason:)`` makes it a dead letter.
        public func acknowledge() {
            message.acknowledge()
        }
    }
}

extension NotificationClient.DecodedMessage: Sendable where Value: Sendable {}
