/// The entries of a resolution cache by number, one cache line each. A key of up to 40 bytes is stored in the entry.
/// Memory for a longer key is allocated separately.
struct ResolutionCacheEntries: ~Copyable, Sendable {
    struct Entry: BitwiseCopyable {
        let hash: UInt32
        let nameCount: UInt16
        /// The length of the object, or `noObject` for a post without object.
        let objectCount: UInt16
        /// The number of the resolution, or -1 if the entry is vacant.
        var set: Int32
        /// The versions of the change logs up to which the entry is known to be valid.
        var patternVersion: UInt32
        var nameVersion: UInt32
        var wasUsed = false
        /// See ``CachedResolution/tag``.
        var tag: UInt16 = 0
        /// The bytes of the name followed by those of the object, or a pointer to them.
        fileprivate var key: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)

        static let noObject = UInt16.max
        fileprivate static let keyOffset = 24

        /// - Precondition: The name and the object are shorter than `noObject`.
        init(hash: UInt32, key: PostKey, set: Int32, patternVersion: UInt32, nameVersion: UInt32) {
            self.hash = hash
            nameCount = UInt16(key.name.count)
            objectCount = key.object.map { UInt16($0.count) } ?? Self.noObject
            self.set = set
            self.patternVersion = patternVersion
            self.nameVersion = nameVersion
        }

        var hasObject: Bool { objectCount != Self.noObject }
        var keyCount: Int { Int(nameCount) + (hasObject ? Int(objectCount) : 0) }
    }

    static let inlineKeyBytes = 40

    private var pool = Pool<Entry>()

    init() {
        precondition(MemoryLayout<Entry>.stride == Entry.keyOffset + Self.inlineKeyBytes)
    }

    deinit { deallocateKeys() }

    var count: Int { pool.count }

    /// The number of entries, vacant ones included.
    var extent: Int { pool.extent }

    @inline(__always)
    func pointer(_ number: Int32) -> UnsafeMutablePointer<Entry> { pool.pointer(number) }

    /// The bytes of the name followed by those of the object.
    @inline(__always)
    func key(of entry: UnsafeMutablePointer<Entry>) -> UnsafeRawPointer {
        let inline = UnsafeRawPointer(entry) + Entry.keyOffset
        if entry.pointee.keyCount <= Self.inlineKeyBytes { return inline }
        return inline.load(as: UnsafeRawPointer.self)
    }

    /// Stores an entry and a copy of its key.
    ///
    /// - Returns: The number of the entry.
    mutating func insert(_ entry: Entry, key: PostKey) -> Int32 {
        let number = pool.insert(entry)
        let inline = UnsafeMutableRawPointer(pool.pointer(number)) + Entry.keyOffset
        var target = inline
        if entry.keyCount > Self.inlineKeyBytes {
            target = .allocate(byteCount: entry.keyCount, alignment: 1)
            inline.storeBytes(of: target, as: UnsafeMutableRawPointer.self)
        }
        if let base = key.name.baseAddress { target.copyMemory(from: base, byteCount: key.name.count) }
        if let object = key.object, let base = object.baseAddress {
            (target + key.name.count).copyMemory(from: base, byteCount: object.count)
        }
        return number
    }

    mutating func remove(_ number: Int32) {
        deallocateKey(of: pointer(number))
        pointer(number).pointee.set = -1
        pool.remove(number)
    }

    mutating func removeAll() {
        deallocateKeys()
        pool.removeAll()
    }

    private func deallocateKeys() {
        for number in 0..<Int32(extent) where pointer(number).pointee.set >= 0 { deallocateKey(of: pointer(number)) }
    }

    private func deallocateKey(of entry: UnsafeMutablePointer<Entry>) {
        guard entry.pointee.keyCount > Self.inlineKeyBytes else { return }
        UnsafeMutableRawPointer(mutating: key(of: entry)).deallocate()
    }
}
