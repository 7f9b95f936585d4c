/// The header of a message that clears a value. Only the daemon adds it, so no client can forge it.
package enum ClearedHeader {
    package static let key = HeaderList.reservedPrefix + "cleared"

    /// Why a value was cleared.
    package enum Reason: String, CaseIterable, Sendable {
        /// A client has cleared it.
        case cleared
        /// The connection that announced it has ended.
        case disconnected
        /// Another connection has announced a value in its place.
        case takenOver
        /// The connection that announced it has withdrawn it.
        case released
    }

    /// The encoded headers of a message that clears a value.
    ///
    /// - Parameters:
    ///   - reason: The reason.
    ///   - headers: Other headers of the message, encoded and checked.
    package static func encoded(
        _ reason: Reason, after headers: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) -> [UInt8] {
        HeaderList.encodeReserved([(key, reason.rawValue)], after: headers)
    }

    /// The reason in the headers of a message; nil if the message clears no value.
    package static func reason(in headers: UnsafeRawBufferPointer) -> String? {
        headers.isEmpty ? nil : HeaderList.value(of: key, in: headers)
    }
}

/// The header of a message that announces a value. Only the daemon adds it.
package enum EphemeralHeader {
    package static let key = HeaderList.reservedPrefix + "ephemeral"

    /// The encoded headers of a message that announces a value.
    ///
    /// - Parameter headers: The poster's headers, encoded and checked.
    package static func encoded(after headers: UnsafeRawBufferPointer) -> [UInt8] {
        HeaderList.encodeReserved([(key, "true")], after: headers)
    }

    /// Whether the headers are those of a message that announces a value.
    package static func isPresent(in headers: UnsafeRawBufferPointer) -> Bool {
        !headers.isEmpty && HeaderList.value(of: key, in: headers) != nil
    }
}
