extension NotifyClient {
    /// A message with its decoded payload, or the error of decoding it.
    public struct DecodedMessage<Value: Decodable> {
        /// The message as it arrived.
        public let message: Message

        /// The decoded payload, or the error that ``value`` throws.
        public let result: Result<Value, NotifyError>

        init(decoding message: Message) {
            self.message = message
            result = Result { () throws(NotifyError) in try message.decode(as: Value.self) }
        }

        /// The decoded payload.
        ///
        /// - Throws: ``NotifyError`` with `coding` if the payload is not the JSON of a `Value`; its message names the
        ///   sequence and the name.
        public var value: Value {
            get throws(NotifyError) { try result.get() }
        }

        /// Acknowledges the message, decoded or not, as ``Message/acknowledge()`` does.
        ///
        /// A durable subscription delivers a message again until it is acknowledged. So acknowledge messages that
        /// cannot be decoded, too, once they are logged or stored elsewhere.
        public func acknowledge() {
            message.acknowledge()
        }
    }
}

extension NotifyClient.DecodedMessage: Sendable where Value: Sendable {}
