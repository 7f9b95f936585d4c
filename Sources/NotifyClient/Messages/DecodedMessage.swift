extension NotifyClient {
    /// A message whose payload was decoded, or could not be.
    public struct DecodedMessage<Value: Decodable> {
        /// The message as it arrived.
        public let message: Message

        /// The decoded payload, or the error ``value`` throws.
        public let result: Result<Value, NotifyError>

        init(decoding message: Message) {
            self.message = message
            result = Result { () throws(NotifyError) in try message.decode(as: Value.self) }
        }

        /// The decoded payload.
        ///
        /// - Throws: ``NotifyError`` with `coding` if the payload is not the JSON of a `Value`; its message has the sequence
        ///   and the name.
        public var value: Value {
            get throws(NotifyError) { try result.get() }
        }

        /// Acknowledges the message, decoded or not, as ``Message/acknowledge()`` does.
        ///
        /// A durable subscription delivers a message until it is acknowledged. Acknowledge also what cannot be decoded, once
        /// it is logged or set aside.
        public func acknowledge() {
            message.acknowledge()
        }
    }
}

extension NotifyClient.DecodedMessage: Sendable where Value: Sendable {}
