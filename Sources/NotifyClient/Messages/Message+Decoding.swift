public import FoundationEssentials

extension NotificationClient.Message {
    /// Decodes the payload from JSON, as ``NotificationClient/post(_:json:object:headers:durability:timeout:)`` encodes
    /// it.
    ///
    /// - Throws: ``NotifyError`` with `coding` if the payload is not the JSON of a `Value`; the decoder's error is its
    ///   cause.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws(NotifyError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(payload))
        } catch {
            throw NotifyError(
                .coding, "the payload of '\(name)' (sequence \(sequence)) can't be decoded as \(type): \(error)",
                cause: error, detail: sequence)
        }
    }

    /// The time at which the daemon accepted the message.
    public var date: Date {
        Date(timeIntervalSince1970: Double(timeMicroseconds) / 1_000_000)
    }
}

/// Encodes a value as JSON.
func encodeJSON(_ value: some Encodable) throws(NotifyError) -> [UInt8] {
    do {
        return Array(try JSONEncoder().encode(value))
    } catch {
        throw NotifyError(.coding, "\(type(of: value)) can't be encoded as JSON: \(error)", cause: error)
    }
}
