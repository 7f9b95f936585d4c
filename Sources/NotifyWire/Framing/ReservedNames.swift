package import NotifyCenter

/// The names reserved for the daemon. Only the daemon posts under them, and a pattern whose first token is a wildcard
/// does not match them.
package enum ReservedNames {
    /// The first token of the reserved names.
    package static let daemonToken = "notifyd"

    /// Whether `name` is reserved for the daemon.
    package static func isReserved(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.first == UInt8(ascii: "n") else { return false }
        return name.firstToken.elementsEqual(daemonToken.utf8)
    }

    /// Whether a pattern whose tokens match `name` also matches `name` under the rule for reserved names.
    package static func isVisible(_ name: UnsafeRawBufferPointer, to pattern: NamePattern) -> Bool {
        !isReserved(name) || !pattern.startsWithWildcard
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes of a name up to the first dot.
    package var firstToken: UnsafeRawBufferPointer {
        slice(0, firstIndex(of: UInt8(ascii: ".")) ?? count)
    }
}
