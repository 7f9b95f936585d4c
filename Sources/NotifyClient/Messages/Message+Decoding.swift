public import FoundationEssentials

extension NotifyClient.Message {
    /// The content as the JSON of a value, which is how ``NotifyClient/post(_:json:object:headers:durability:)`` encodes.
    ///
    /// - Throws: ``NotifyError`` with `coding`, and the decoder's error as its cause.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws(NotifyError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(payload))
        } catch {
            throw NotifyError(
                .coding, "the payload of '\(name)' (sequence \(sequence)) is not the JSON of \(type): \(error)",
                cause: error)
        }
    }

    /// When the daemon took the message.
    public var date: Date {
        Date(timeIntervalSince1970: Double(timeMicroseconds) / 1_000_000)
    }
}

/// The JSON of a value, as bytes.
func encodeJSON(_ value: some Encodable) throws(NotifyError) -> [UInt8] {
    do {
        return Array(try JSONEncoder().encode(value))
    } catch {
        throw NotifyError(.coding, "\(type(of: value)) could not be encoded as JSON: \(error)", cause: error)
    }
}
