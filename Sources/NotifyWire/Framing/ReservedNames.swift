package import NotifyCenter

/// The names that are the daemon's own: it alone posts there, and a pattern that begins with a wildcard does not match
/// them.
package enum ReservedNames {
    /// The daemon's own first token.
    package static let daemonToken = "notifyd"

    /// Whether `name` is one of the daemon's own.
    package static func isDaemons(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.first == UInt8(ascii: "n") else { return false }
        return name.firstToken.elementsEqual(daemonToken.utf8)
    }

    /// Whether `pattern`, which matches `name`, may see it.
    package static func isVisible(_ name: UnsafeRawBufferPointer, to pattern: NamePattern) -> Bool {
        !isDaemons(name) || !pattern.startsWithWildcard
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes of a name up to the first dot.
    package var firstToken: UnsafeRawBufferPointer {
        slice(0, firstIndex(of: UInt8(ascii: ".")) ?? count)
    }
}
