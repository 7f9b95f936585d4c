/// The distinct names of one user's stored messages, as hashes. Valid in this process only.
package struct StoredNameSet: Equatable, Sendable {
    /// The memory overhead of a name, in this set and in the log's table of names.
    package static let bytesPerName = 96

    private var hashes: Set<Int> = []
    /// The memory of the names, in bytes.
    package private(set) var bytes = 0

    package init() {}

    package var count: Int { hashes.count }
    package var isEmpty: Bool { hashes.isEmpty }

    package static func hash(_ name: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        return hasher.finalize()
    }

    package func contains(hash: Int) -> Bool { hashes.contains(hash) }

    /// - Returns: The memory of a new name in bytes; 0 for a known one.
    @discardableResult
    package mutating func insert(hash: Int, length: Int) -> Int {
        guard hashes.insert(hash).inserted else { return 0 }
        bytes += length + Self.bytesPerName
        return length + Self.bytesPerName
    }

    /// - Returns: The memory of the removed name in bytes; 0 for an unknown one.
    package mutating func remove(hash: Int, length: Int) -> Int {
        guard hashes.remove(hash) != nil else { return 0 }
        bytes -= length + Self.bytesPerName
        return length + Self.bytesPerName
    }
}
