/// The distinct resolutions of a cache, with the number of uses of each. Names that match the same registrations share
/// one ``Resolution``.
struct ResolutionSets: Sendable {
    private struct Shared: Sendable {
        let resolution: Resolution
        let hash: UInt32
        var uses: Int32
    }

    /// The memory of a resolution's bookkeeping, in bytes.
    private static let bookkeepingBytes = 40

    private var sets = SlotMap<PlainSlotID, Shared>()
    private var index = HashIndex()
    /// A random seed, so that peers can't choose registrations whose hashes collide.
    private static let secret = UInt64.random(in: 0...UInt64.max)

    /// The memory of the resolutions, in bytes. A shared resolution is counted once.
    private(set) var byteCount = 0

    var count: Int { sets.count }

    @inline(__always)
    subscript(set: Int32) -> Resolution { sets[Int(set)].resolution }

    static func cost(of resolution: Resolution) -> Int { resolution.byteCount + bookkeepingBytes }

    func hash(_ registrations: UnsafeMutableBufferPointer<Registration>) -> UInt32 {
        var hash = Self.secret
        for registration in registrations {
            let product = (hash ^ registration.id).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
            hash = product.high ^ product.low
        }
        return UInt32(truncatingIfNeeded: hash)
    }

    /// Returns the number of the resolution with these registrations, whose hash the caller has computed.
    func find(_ registrations: UnsafeMutableBufferPointer<Registration>, hash: UInt32) -> Int32? {
        index.find(hash) { sets[Int($0)].resolution.consists(of: registrations) }
    }

    /// Adds a resolution with one use. The sets must not contain a resolution with the same registrations.
    ///
    /// - Returns: The number of the resolution.
    mutating func insert(_ resolution: Resolution, hash: UInt32) -> Int32 {
        let set = Int32(sets.insert(Shared(resolution: resolution, hash: hash, uses: 1)).index)
        index.insert(set, hash: hash)
        byteCount += Self.cost(of: resolution)
        return set
    }

    mutating func retain(_ set: Int32) {
        sets[Int(set)].uses += 1
    }

    /// Ends a use, and removes the resolution after its last use.
    mutating func release(_ set: Int32) {
        sets[Int(set)].uses -= 1
        guard sets[Int(set)].uses == 0, let removed = sets.remove(at: Int(set)) else { return }
        index.remove(set, hash: removed.hash)
        byteCount -= Self.cost(of: removed.resolution)
    }
}

extension Resolution {
    fileprivate func consists(of others: UnsafeMutableBufferPointer<Registration>) -> Bool {
        registrations.withUnsafeBufferPointer { registrations in
            guard registrations.count == others.count else { return false }
            // Identifiers are unique, so it is enough to compare them.
            return registrations.indices.allSatisfy { registrations[$0].id == others[$0].id }
        }
    }
}
