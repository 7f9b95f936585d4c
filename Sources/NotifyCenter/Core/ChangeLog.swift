/// A log of the latest changes of registrations. The cache checks an entry against the log when the entry is next used.
///
/// The cost of a change does not depend on the number of cached resolutions. A resolution remains valid if no change
/// since its last use affects it. If more than ``capacity`` changes have been made since then, the resolution counts as
/// invalid.
struct ChangeLog: Sendable {
    enum Names: Sendable {
        case name(ContiguousArray<UInt8>)
        case pattern(NamePattern)
    }

    private struct Change: Sendable {
        let names: Names
        /// The object of the affected posts, or nil if the change affects posts with any object and with none.
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

    /// The number of changes so far.
    private(set) var version: UInt32
    /// The change to version `v` is at `(v - 1) % capacity`.
    private var changes: ContiguousArray<Change> = []

    init(version: UInt32 = 0) {
        self.version = version
    }

    /// Adds a change.
    ///
    /// - Returns: False if the version can't increase further. The log and everything that refers to its versions must
    ///   then be discarded.
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

    /// Whether no change since a version affects posts of this name and object.
    func isUnchanged(
        since known: UInt32, name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?
    ) -> Bool {
        if version - known > Self.capacity { return false }
        return (known..<version).allSatisfy { version in
            !changes[Int(version) % Self.capacity].concerns(name: name, object: object)
        }
    }
}
