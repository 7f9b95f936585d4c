/// The latest changes of registrations, against which cached resolutions are checked when they are next used.
///
/// A change costs the same however many resolutions are cached, and a resolution stays valid if no change since its last use
/// concerns it. Resolutions that were not used for longer than the log reaches back are invalid.
struct ChangeLog: Sendable {
    enum Names: Sendable {
        case name(ContiguousArray<UInt8>)
        case pattern(NamePattern)
    }

    private struct Change: Sendable {
        let names: Names
        /// Nil if posts with any object, or none, are concerned.
        let object: ContiguousArray<UInt8>?

        func concerns(name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?) -> Bool {
            if let own = self.object {
                guard let object, own.withUnsafeBytes({ $0.hasSameBytes(as: object) }) else { return false }
            }
            return switch names {
            case .name(let own): own.withUnsafeBytes { $0.hasSameBytes(as: name) }
            case .pattern(let pattern): pattern.matches(utf8: name)
            }
        }
    }

    static let capacity = 8

    /// The number of changes.
    private(set) var version: UInt32
    /// The change to version `v` is at `(v - 1) % capacity`.
    private var changes: ContiguousArray<Change> = []

    init(version: UInt32 = 0) {
        self.version = version
    }

    /// Adds a change.
    ///
    /// - Returns: False if versions are exhausted. The log and all that refers to it must then be discarded.
    mutating func append(_ names: Names, object: UnsafeRawBufferPointer?) -> Bool {
        if version == .max { return false }
        let change = Change(names: names, object: object.map { ContiguousArray($0) })
        if changes.count < Self.capacity {
            changes.append(change)
        } else {
            changes[Int(version) % Self.capacity] = change
        }
        version += 1
        return true
    }

    /// Whether no change since a version concerns posts of this name and object.
    func isUnchanged(
        since known: UInt32, name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?
    ) -> Bool {
        if version - known > Self.capacity { return false }
        return (known..<version).allSatisfy { version in
            !changes[Int(version) % Self.capacity].concerns(name: name, object: object)
        }
    }
}
