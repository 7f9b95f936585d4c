import Testing

@testable import NotifyCenter

/// Tests of caching, eviction and invalidation.
@Suite struct ResolutionCacheTests {
    private static let entryBytes = ResolutionCache.entryBytes

    @Test func `only resolved names are cached`() {
        let core = TestCore()
        #expect(core.cached("a") == nil)
        _ = core.resolve("a")
        #expect(core.cached("a")?.isEmpty == true)
        #expect(core.cached("a", "") == nil)
        #expect(core.cached("b") == nil)
    }

    @Test func `the same resolution is returned until it changes`() throws {
        let core = TestCore()
        _ = try core.add("a")
        let first = core.resolve("a")
        _ = try core.add("b")
        _ = try core.add("b.*")
        _ = try core.add("a", object: "x")
        #expect(core.resolve("a") === first)
        _ = try core.add("a")
        #expect(core.resolve("a") !== first)
    }

    // MARK: Limit

    @Test(arguments: [1, 2, 3, 64, 65])
    func `entries fill the cache up to its limit`(entries: Int) {
        let core = TestCore(cacheBytes: entries * Self.entryBytes)
        for index in 1...entries {
            _ = core.resolve("n\(index)")
            #expect(core.cachedCount == index)
            #expect(core.cachedBytes == index * Self.entryBytes)
        }
        for index in 0..<1_000 { _ = core.resolve("m\(index)") }
        #expect(core.cachedCount == entries)
        #expect(core.cachedBytes == entries * Self.entryBytes)
        let admitted = (0..<1_000).count { core.cached("m\($0)") != nil }
        #expect(admitted > 0, "later names must be admitted to a full cache")
    }

    @Test func `an entry that exceeds the limit by one byte is not cached`() {
        let core = TestCore(cacheBytes: 2 * Self.entryBytes - 1)
        _ = core.resolve("a")
        _ = core.resolve("b")
        #expect(core.cached("a") != nil)
        #expect(core.cachedCount == 1)
    }

    @Test(arguments: [0, -1])
    func `a cache without capacity stores nothing`(bytes: Int) throws {
        let core = TestCore(cacheBytes: bytes)
        _ = try core.add("a", slot: 3)
        #expect(core.slots("a") == [3])
        #expect(core.cached("a") == nil)
        #expect(core.cachedBytes == 0)
    }

    @Test func `keys up to the maximum length are cached`() {
        let core = TestCore()
        for count in [0, 1, 7, 8, 39, 40, 41, 255, 1_023, 1_024] {
            let name = String(repeating: "n", count: count)
            #expect(core.resolve(name).isEmpty)
            #expect(core.cached(name) != nil, "\(count) bytes")
        }
        _ = core.resolve(String(repeating: "n", count: 1_025))
        #expect(core.cached(String(repeating: "n", count: 1_025)) == nil)
        _ = core.resolve(String(repeating: "n", count: 512), String(repeating: "o", count: 512))
        #expect(core.cached(String(repeating: "n", count: 512), String(repeating: "o", count: 512)) != nil)
        _ = core.resolve(String(repeating: "n", count: 512), String(repeating: "o", count: 513))
        #expect(core.cached(String(repeating: "n", count: 512), String(repeating: "o", count: 513)) == nil)
    }

    @Test func `the memory of long keys counts towards the limit`() {
        let core = TestCore()
        _ = core.resolve(String(repeating: "n", count: 40))
        #expect(core.cachedBytes == Self.entryBytes)
        _ = core.resolve(String(repeating: "n", count: 41))
        #expect(core.cachedBytes == 2 * Self.entryBytes + 41 + 16)
        _ = core.resolve("n", String(repeating: "o", count: 100))
        #expect(core.cachedBytes == 3 * Self.entryBytes + 41 + 16 + 101 + 16)
        core.dropResolutions()
        #expect(core.cachedBytes == 0)
    }

    @Test func `every exact name adds capacity for its resolution`() {
        let core = TestCore(cacheBytes: 1)
        let ids = (0..<1_000).map { core.addExact("n\($0)") }
        for index in 0..<1_000 { _ = core.resolve("n\(index)") }
        #expect((0..<1_000).allSatisfy { core.cached("n\($0)") != nil })
        for id in ids { #expect(core.remove(id)) }
        for index in 0..<20_000 { _ = core.resolve("m\(index)") }
        #expect(core.cachedBytes <= 1)
    }

    @Test func `a resolution of all registrations is cached`() {
        let core = TestCore(cacheBytes: 1_024)
        for slot in 0..<10_000 as Range<Int32> { _ = core.addEveryName(slot: slot) }
        let resolution = core.resolve("a")
        #expect(resolution.count == 10_000)
        #expect(core.cached("a") === resolution)
    }

    // MARK: Eviction

    @Test func `a name in use is not evicted`() {
        let core = TestCore(cacheBytes: 8 * Self.entryBytes)
        _ = core.resolve("hot")
        for index in 0..<10_000 {
            #expect(core.cached("hot") != nil, "after \(index) others")
            _ = core.resolve("cold\(index)")
        }
        #expect(core.cachedCount == 8)
    }

    @Test func `a name posted again enters a full cache`() {
        let core = TestCore(cacheBytes: 64 * Self.entryBytes)
        for index in 0..<64 { _ = core.resolve("n\(index)") }
        for round in 0..<1_000 where core.cached("new") == nil {
            #expect(round < 500)
            _ = core.resolve("new")
        }
        #expect(core.cached("new") != nil)
    }

    @Test func `names posted once evict few entries`() {
        let core = TestCore(cacheBytes: 1_000 * Self.entryBytes)
        for _ in 0..<2 {
            for index in 0..<1_000 { _ = core.resolve("kept\(index)") }
        }
        for index in 0..<4_000 { _ = core.resolve("once\(index)") }
        let kept = (0..<1_000).count { core.cached("kept\($0)") != nil }
        #expect(kept > 600)
        #expect(kept < 1_000)
    }

    @Test func `unused names are replaced by names in use`() {
        let core = TestCore(cacheBytes: 256 * Self.entryBytes)
        for index in 0..<256 { _ = core.resolve("old\(index)") }
        for _ in 0..<200 {
            for index in 0..<256 { _ = core.resolve("new\(index)") }
        }
        #expect((0..<256).count { core.cached("new\($0)") != nil } > 200)
    }

    // MARK: Shared resolutions

    @Test func `names that match the same registrations share a resolution`() throws {
        let core = TestCore()
        _ = try core.add("a.*", "c", slot: 1)
        _ = try core.add("a.>", "c", slot: 2)
        let first = core.resolve("a.b")
        let one = core.cachedBytes
        #expect(core.resolve("a.c") === first)
        #expect(core.resolve("a.d", "x") === first)
        #expect(core.resolve("c") === first)
        #expect(core.cachedBytes == one + 3 * Self.entryBytes)
        #expect(core.resolve("a.b.c") !== first)
        #expect(core.resolve("a.c") === first)
    }

    @Test func `the memory of a resolution counts until its last name is removed`() throws {
        let core = TestCore()
        let id = try core.add("a.*", slot: 1)
        _ = core.resolve("other")
        for name in ["a.b", "a.c"] { _ = core.resolve(name) }
        #expect(core.remove(id))
        #expect(core.cached("a.b") == nil)
        #expect(core.cachedBytes > 2 * Self.entryBytes)
        #expect(core.cached("a.c") == nil)
        #expect(core.cachedBytes == Self.entryBytes)
    }

    @Test func `different permitted subsets of the same registrations are distinguished`() throws {
        let core = TestCore()
        for slot in 1...3 { _ = try core.add("*", slot: Int32(slot)) }
        #expect(core.resolve("a", nil, where: { $0.slot != 1 }).registrations.map(\.slot) == [2, 3])
        #expect(core.resolve("b", nil, where: { $0.slot != 2 }).registrations.map(\.slot) == [1, 3])
        #expect(core.resolve("c", nil, where: { $0.slot == 2 }).registrations.map(\.slot) == [2])
        #expect(core.slots("a") == [2, 3])
        #expect(core.slots("b") == [1, 3])
        #expect(core.slots("c") == [2])
    }

    // MARK: Invalidation

    @Test func `a registration for a name invalidates its resolutions for all objects`() throws {
        let core = TestCore()
        for object in ["x", "y"] { _ = core.resolve("a", object) }
        _ = core.resolve("a")
        _ = core.resolve("b", "x")
        let id = try core.add("a", slot: 1)
        #expect(core.cached("a") == nil)
        #expect(core.cached("a", "y") == nil)
        #expect(core.slots("a", "x") == [1])
        #expect(core.cached("b", "x") != nil)
        #expect(core.remove(id))
        #expect(core.slots("a", "x").isEmpty)
        #expect(core.cached("b", "x") != nil)
    }

    @Test func `a registration with an object invalidates resolutions for this object only`() throws {
        let core = TestCore()
        for object in ["x", "y"] { _ = core.resolve("a", object) }
        _ = core.resolve("a")
        _ = try core.add("a", object: "x")
        #expect(core.cached("a", "x") == nil)
        #expect(core.cached("a", "y") != nil)
        #expect(core.cached("a") != nil)
        _ = try core.add("*", object: "y")
        #expect(core.cached("a", "y") == nil)
        #expect(core.cached("a") != nil)
    }

    @Test func `a resolution that no change matches stays cached while the log holds the changes`() throws {
        let core = TestCore()
        _ = try core.add("kept.*", slot: 1)
        let first = core.resolve("kept.n")
        for round in 0..<10 {
            for index in 0..<ChangeLog.capacity { _ = try core.add("other\(round).n\(index).*") }
            #expect(core.cached("kept.n") === first)
        }
        for index in 0...ChangeLog.capacity { _ = try core.add("another.n\(index).*") }
        #expect(core.cached("kept.n") == nil)
        #expect(core.slots("kept.n") == [1])
    }

    @Test func `resolutions without an object stay cached after any number of changes to other names`() throws {
        let core = TestCore()
        _ = try core.add("kept", slot: 1)
        let first = core.resolve("kept")
        _ = core.resolve("with object", "x")
        for index in 0..<100 { _ = core.addExact("other\(index)") }
        #expect(core.cached("kept") === first)
        #expect(core.cached("with object", "x") == nil)
        #expect(core.slots("with object", "x").isEmpty)
    }
}

@Suite struct ChangeLogTests {
    private func append(_ names: ChangeLog.Names, object: String? = nil, to log: inout ChangeLog) {
        let isAppended =
            if let object {
                object.withUTF8Bytes { log.append(names, object: $0) }
            } else {
                log.append(names, object: nil)
            }
        #expect(isAppended)
    }

    private func isUnchanged(_ log: ChangeLog, since version: UInt32, _ name: String, _ object: String? = nil) -> Bool {
        name.withUTF8Bytes { name in
            guard let object else { return log.isUnchanged(since: version, name: name, object: nil) }
            return object.withUTF8Bytes { log.isUnchanged(since: version, name: name, object: $0) }
        }
    }

    @Test func `a name is unchanged since a version unless a later change matches it and its object`() throws {
        var log = ChangeLog()
        #expect(isUnchanged(log, since: 0, "a"))
        append(.pattern(NamePattern("a.*")), to: &log)
        append(.name(ContiguousArray("b".utf8)), to: &log)
        append(.name(ContiguousArray("c".utf8)), object: "x", to: &log)
        #expect(log.version == 3)
        #expect(!isUnchanged(log, since: 0, "a.b"))
        #expect(isUnchanged(log, since: 1, "a.b"))
        #expect(!isUnchanged(log, since: 1, "b", "any"))
        #expect(isUnchanged(log, since: 2, "b"))
        #expect(!isUnchanged(log, since: 2, "c", "x"))
        #expect(isUnchanged(log, since: 2, "c", "y"))
        #expect(isUnchanged(log, since: 2, "c"))
        #expect(isUnchanged(log, since: 3, "c", "x"))
    }

    @Test func `an append beyond the last version fails`() {
        var log = ChangeLog(version: .max - 1)
        append(.name([]), to: &log)
        #expect(log.version == .max)
        let isAppended = log.append(.name([]), object: nil)
        #expect(!isAppended)
        #expect(log.version == .max)
    }

    @Test func `a version older than the log counts as changed`() {
        var log = ChangeLog()
        for _ in 0..<20 { append(.name([]), to: &log) }
        #expect(isUnchanged(log, since: 20 - UInt32(ChangeLog.capacity), "a"))
        #expect(!isUnchanged(log, since: 19 - UInt32(ChangeLog.capacity), "a"))
    }
}
