import Testing

@testable import NotifyCenter

@Suite struct CenterCoreTests {
    @Test func `an empty core resolves to nothing`() {
        let core = TestCore()
        #expect(core.slots("a").isEmpty)
        #expect(core.resolve("a").isEmpty)
        #expect(!core.contains(0))
        #expect(!core.contains(.max))
        #expect(!core.remove(1))
    }

    @Test func `registrations are ordered by priority, then by registration`() throws {
        let core = TestCore()
        for (slot, priority) in [(1, 0), (2, 5), (3, -1), (4, 5), (5, 0)] as [(Int32, Int32)] {
            _ = try core.add("a.b", priority: priority, slot: slot)
        }
        _ = try core.add("a.*", priority: 1, slot: 6)
        _ = try core.add(">", slot: 7)
        _ = try core.add("a.b", slot: 8)
        #expect(core.slots("a.b") == [2, 4, 6, 1, 5, 7, 8, 3])
        #expect(core.slots("a.c") == [6, 7])
    }

    @Test func `extreme priorities are ordered`() throws {
        let core = TestCore()
        _ = try core.add("a", priority: .min, slot: 1)
        _ = try core.add("a", priority: .max, slot: 2)
        #expect(core.slots("a") == [2, 1])
    }

    @Test func `overlapping patterns resolve to one registration`() throws {
        let core = TestCore()
        let id = try core.add("a.b", "a.*", "*.b", "a.>", ">", "a.b", slot: 1)
        _ = try core.add("a.b", slot: 2)
        #expect(core.slots("a.b") == [1, 2])
        #expect(core.remove(id))
        #expect(core.slots("a.b") == [2])
        #expect(core.slots("a.c").isEmpty)
    }

    @Test func `a registration with many patterns ends immediately and is removed in slices`() throws {
        let core = TestCore()
        let id = try core.add("a", "b.*", "c.>", "d", slot: 1)
        _ = try core.add("a", slot: 2)
        #expect(["a", "b.x", "c.x", "d"].map { core.slots($0) } == [[1, 2], [1], [1], [1]])

        let ended = try #require(core.end(id, removing: 1))
        #expect(!core.contains(id))
        #expect(core.count == 1)
        #expect(core.removalCount == 1)
        #expect(["a", "b.x", "c.x", "d"].map { core.slots($0) } == [[2], [], [], []])
        #expect(core.end(id, removing: 1) == nil)

        #expect(!core.remove(2, of: ended))
        let later = try core.add("b.*", slot: 3)
        #expect(["a", "b.x"].map { core.slots($0) } == [[2], [3]])
        #expect(core.remove(2, of: ended))
        #expect(["a", "b.x"].map { core.slots($0) } == [[2], [3]])
        #expect(core.remove(later))
    }

    @Test func `a registration with few patterns is removed at once`() throws {
        let core = TestCore()
        let id = try core.add("a", "b.*", slot: 1)
        #expect(core.end(id, removing: 8) == nil)
        #expect(core.count == 0)
        #expect(core.footprint == 0)
    }

    @Test func `a registration without patterns matches nothing`() {
        let core = TestCore()
        let id = core.add([])
        #expect(core.contains(id))
        #expect(core.slots("a").isEmpty)
        #expect(core.remove(id))
    }

    @Test func `identifiers increase and are not reused`() throws {
        let core = TestCore()
        var last: UInt64 = 0
        for _ in 0..<1_000 {
            let id = try core.add("a")
            #expect(id > last)
            #expect(core.remove(id))
            #expect(!core.contains(id))
            #expect(!core.remove(id))
            last = id
        }
        #expect(core.removalCount == 1_000)
    }

    @Test func `objects are filtered by value`() throws {
        let core = TestCore()
        _ = try core.add("a", slot: 1)
        _ = try core.add("a", object: "x", slot: 2)
        _ = try core.add("a", object: "", slot: 3)
        _ = try core.add("*", object: "x", slot: 4)
        #expect(core.slots("a") == [1])
        #expect(core.slots("a", "x") == [1, 2, 4])
        #expect(core.slots("a", "") == [1, 3])
        #expect(core.slots("a", "y") == [1])
        #expect(core.slots("b", "x") == [4])
    }

    @Test func `objects are equal if their bytes are equal`() throws {
        let core = TestCore()
        _ = try core.add("a", object: "caf\u{E9}", slot: 1)
        #expect(core.slots("a", "caf\u{E9}") == [1])
        #expect(core.slots("a", "cafe\u{301}").isEmpty)
    }

    @Test func `names and objects are distinguished`() throws {
        let core = TestCore()
        _ = try core.add("ab", slot: 1)
        _ = try core.add("a", object: "b", slot: 2)
        #expect(core.slots("ab") == [1])
        #expect(core.slots("a", "b") == [2])
        #expect(core.slots("ab", "") == [1])
        #expect(core.slots("a").isEmpty)
        #expect(core.slots("ab") == [1])
    }

    @Test func `leading wildcards do not match reserved names`() throws {
        let core = TestCore(reserved: "notifyd")
        _ = core.addEveryName(slot: 1)
        _ = try core.add("*.stats", slot: 2)
        _ = try core.add("*.>", slot: 3)
        _ = try core.add("notifyd.*", slot: 4)
        _ = try core.add("notifyd.stats", slot: 5)
        _ = try core.add("*", slot: 6)
        #expect(core.slots("notifyd.stats") == [4, 5])
        #expect(core.slots("notifyd").isEmpty)
        #expect(core.slots("notifyd2.stats") == [1, 2, 3])
        #expect(core.slots("a.notifyd") == [1, 3])
        #expect(core.slots("notifyd.a.b").isEmpty)
    }

    @Test func `exact names may be any string`() {
        let core = TestCore()
        let odd = ["", " ", "a b", "a..b", "*", ">", "a.*", String(repeating: "x", count: 100_000)]
        for (slot, name) in odd.enumerated() { _ = core.addExact(name, slot: Int32(slot)) }
        for (slot, name) in odd.enumerated() { #expect(core.slots(name) == [Int32(slot)]) }
        #expect(core.slots("a").isEmpty)
        _ = core.addEveryName(slot: 99)
        for (slot, name) in odd.enumerated() { #expect(core.slots(name) == [Int32(slot), 99]) }
    }

    @Test func `a resolution outlives its registrations`() throws {
        let core = TestCore()
        let id = try core.add("a", slot: 1)
        let resolution = core.resolve("a")
        _ = try core.add("a", slot: 2)
        #expect(core.remove(id))
        #expect(resolution.registrations.map(\.slot) == [1])
        #expect(resolution.registrations.map { core.contains($0.id) } == [false])
        #expect(core.slots("a") == [2])
    }

    @Test func `removing all registrations releases everything`() throws {
        let core = TestCore()
        var ids: [UInt64] = []
        for index in 0..<200 {
            ids.append(
                try core.add("a.b\(index % 7).c", "a.*.c\(index % 5)", "x.\(index % 3).>", object: "o\(index % 11)"))
            ids.append(try core.add("a.*", "a.b\(index % 7).c"))
        }
        ids.append(core.addEveryName())
        ids.append(core.addExact("any thing"))
        _ = core.slots("a.b1.c", "o3")
        #expect(core.footprint > 0)
        for id in ids.shuffled() { #expect(core.remove(id)) }
        #expect(core.footprint == 0)
        #expect(core.count == 0)
        #expect(core.slots("a.b1.c", "o3").isEmpty)
    }

    @Test func `names with the maximum number of tokens are matched`() throws {
        let core = TestCore()
        let name = Array(repeating: "a", count: 32).joined(separator: ".")
        _ = try core.add(Array(repeating: "*", count: 32).joined(separator: "."), slot: 1)
        _ = try core.add(Array(repeating: "*", count: 31).joined(separator: ".") + ".>", slot: 2)
        _ = try core.add(Array(repeating: "*", count: 31).joined(separator: "."), slot: 3)
        #expect(core.slots(name) == [1, 2])
    }
}

/// Tests of resolving a post to the permitted registrations only.
@Suite struct PermittedResolutionTests {
    @Test func `only permitted registrations are resolved, in order`() throws {
        let core = TestCore()
        for (slot, priority) in [(1, 0), (2, 5), (3, 0), (4, 5)] as [(Int32, Int32)] {
            _ = try core.add("a.*", priority: priority, slot: slot)
        }
        #expect(core.resolve("a.b", nil, where: { $0.slot != 2 }).registrations.map(\.slot) == [4, 1, 3])
        #expect(core.resolve("a.c", "x", where: { $0.slot > 2 }).registrations.map(\.slot) == [4, 3])
        #expect(core.resolve("a.d", nil, where: { _ in false }).isEmpty)
    }

    @Test func `permissions are checked once per registration and then cached`() throws {
        let core = TestCore()
        _ = try core.add("a", "*", slot: 1)
        _ = try core.add(">", slot: 2)
        var asked: [Int32] = []
        let first = core.resolve("a", nil) { registration in
            asked.append(registration.slot)
            return registration.slot == 2
        }
        #expect(asked == [1, 2])
        let second = core.resolve("a", nil) { _ in
            Issue.record("a cached resolution checked permissions again")
            return true
        }
        #expect(second === first)
        #expect(core.cached("a") === first)
        #expect(core.slots("a") == [2])
    }

    @Test func `a key finds the resolution of its name and object`() throws {
        let core = TestCore()
        _ = try core.add("a", slot: 1)
        _ = try core.add("a", object: "x", slot: 2)
        let plain = core.resolveKey("a") { _ in true }
        #expect(plain.registrations.map(\.slot) == [1])
        #expect(core.cached("a") === plain)
        let withObject = core.resolve("a", "x")
        #expect(withObject.registrations.map(\.slot) == [1, 2])
        let again = core.resolveKey("a", "x") { _ in
            Issue.record("a cached resolution checked permissions again")
            return true
        }
        #expect(again === withObject)
        #expect(core.resolveKey("a", "") { $0.slot != 1 }.isEmpty)
        #expect(core.cached("a", "")?.isEmpty == true)
    }

    @Test func `permissions are checked again for dropped resolutions`() throws {
        let core = TestCore()
        _ = try core.add("a", slot: 1)
        #expect(core.resolve("a", nil, where: { _ in true }).count == 1)
        core.dropResolutions()
        #expect(core.cachedCount == 0)
        #expect(core.resolve("a", nil, where: { _ in false }).isEmpty)
        #expect(core.cached("a")?.isEmpty == true)
    }

    @Test func `permissions are checked again when registrations change`() throws {
        let core = TestCore()
        _ = try core.add("a", slot: 1)
        #expect(core.resolve("a", nil, where: { _ in false }).isEmpty)
        let id = try core.add("a", slot: 2)
        #expect(core.resolve("a", nil, where: { $0.slot == 2 }).count == 1)
        #expect(core.remove(id))
        #expect(core.resolve("a", nil, where: { $0.slot == 2 }).isEmpty)
    }

    @Test func `without a cache, permissions are checked for every resolution`() throws {
        let core = TestCore(cacheBytes: 0)
        _ = try core.add("a", slot: 1)
        #expect(core.resolve("a", nil, where: { _ in true }).count == 1)
        #expect(core.resolve("a", nil, where: { _ in false }).isEmpty)
    }

    @Test func `resolutions carry the generation in which they were made`() throws {
        let core = TestCore()
        _ = try core.add("a", slot: 1)
        #expect(core.generation == 0)
        let kept = [core.resolve("a"), core.resolve("unobserved")]
        #expect(kept.map(\.generation) == [0, 0])
        #expect(Resolution.empty.generation == 0)
        core.dropResolutions()
        #expect(core.generation == 1)
        #expect(kept.map(\.generation) == [0, 0])
        #expect([core.resolve("a"), core.resolve("unobserved")].map(\.generation) == [1, 1])
        _ = try core.add("a", slot: 2)
        #expect(core.generation == 1)
        core.dropResolutions()
        #expect(core.generation == 2)
    }

    @Test func `resolutions without registrations are one object`() throws {
        let core = TestCore()
        #expect(core.resolve("a") === core.resolve("b"))
        core.dropResolutions()
        #expect(core.resolve("a") === core.resolve("b"))
    }
}
