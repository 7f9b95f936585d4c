/// The header of a message that clears a value. Only the daemon adds it, so no client can forge it.
package enum ClearedHeader {
    package static let key = HeaderList.reservedPrefix + "cleared"

    /// Why a value was cleared.
    package enum Reason: String, CaseIterable, Sendable {
        /// A client has cleared it.
        case cleared
    }

    /// The encoded headers of a message that clears a value.
    package static func encoded(_ reason: Reason) -> [UInt8] {
        HeaderList.encodeReserved([(key, reason.rawValue)], after: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// The reason in the headers of a message; nil if the message clears no value.
    package static func reason(in headers: UnsafeRawBufferPointer) -> String? {
        headers.isEmpty ? nil : HeaderList.value(of: key, in: headers)
    }
}
