/// The distinct names of one user's stored messages, as hashes, and the latest batch with a message of each. Valid in
/// this process only.
package struct StoredNameSet: Equatable, Sendable {
    /// The memory overhead of a name, in this set and in the log's table of names.
    package static let bytesPerName = 96

    private var batches: [Int: UInt64] = [:]
    /// The memory of the names, in bytes.
    package private(set) var bytes = 0

    package init() {}

    package var count: Int { batches.count }
    package var isEmpty: Bool { batches.isEmpty }

    package static func hash(_ name: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        return hasher.finalize()
    }

    /// The latest batch with a message of a name; 0 if the name was in the log when the log was opened; nil for an
    /// unknown name.
    package func batch(ofHash hash: Int) -> UInt64? { batches[hash] }

    /// Records the latest batch with a message of a name.
    ///
    /// - Returns: Whether the name is known.
    package mutating func note(hash: Int, in batch: UInt64) -> Bool {
        guard let index = batches.index(forKey: hash) else { return false }
        batches.values[index] = batch
        return true
    }

    /// Adds a name.
    ///
    /// - Returns: The memory of the name in bytes; 0 if the name is known already.
    @discardableResult
    package mutating func insert(hash: Int, length: Int, batch: UInt64 = 0) -> Int {
        guard batches.updateValue(batch, forKey: hash) == nil else { return 0 }
        bytes += length + Self.bytesPerName
        return length + Self.bytesPerName
    }

    /// Removes a name.
    ///
    /// - Returns: The memory of the removed name in bytes; 0 if the name is unknown.
    package mutating func remove(hash: Int, length: Int) -> Int {
        guard batches.removeValue(forKey: hash) != nil else { return 0 }
        bytes -= length + Self.bytesPerName
        return length + Self.bytesPerName
    }
}
