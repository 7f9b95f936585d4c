import TestSupport
import Testing

@testable import NotifyCenter

/// Random tests of the core against a model that searches a list linearly.
@Suite struct CenterCoreModelTests {
    private struct Model {
        struct Entry {
            let id: UInt64
            let patterns: [NamePattern]
            let object: String?
            let priority: Int32
            let slot: Int32
        }

        var entries: [Entry] = []
        let reserved: String

        /// A number that determines which slots are permitted.
        var rights: Int32 = 0

        func isPermitted(_ slot: Int32) -> Bool { (slot + rights) % 5 != 0 }

        func resolve(_ name: String, _ object: String?) -> [Int32] {
            let isReserved = name.split(separator: ".").first.map { $0 == reserved } ?? false
            let matching = entries.filter { entry in
                guard isPermitted(entry.slot), entry.object == nil || entry.object == object else { return false }
                return entry.patterns.contains { pattern in
                    if isReserved && pattern.startsWithWildcard { return false }
                    return pattern.matches(NotificationName(unchecked: name))
                }
            }
            return matching.sorted { ($1.priority, $0.id) < ($0.priority, $1.id) }.map(\.slot)
        }
    }

    private struct Inputs {
        var random: SeededGenerator

        mutating func name() -> String {
            // Some tokens have the same first 8 bytes. There are enough tokens for a node of the trie to get more
            // children than a lookup compares one by one.
            let tokens = [
                "a", "b", "c", "notifyd", "12345678", "12345678-longer", "12345678-other1", "d", "e", "f", "g", "h",
            ]
            return (0..<Int.random(in: 1...4, using: &random)).map { _ in
                let count = Bool.random(using: &random) ? 4 : tokens.count
                return tokens[Int.random(in: 0..<count, using: &random)]
            }
            .joined(separator: ".")
        }

        mutating func pattern() throws -> NamePattern {
            var tokens = name().split(separator: ".").map(String.init)
            for index in tokens.indices where Int.random(in: 0..<4, using: &random) == 0 { tokens[index] = "*" }
            if Int.random(in: 0..<5, using: &random) == 0 { tokens[tokens.count - 1] = ">" }
            return try NamePattern(tokens.joined(separator: "."))
        }

        mutating func object() -> String? {
            let objects: [String?] = [nil, nil, "", "x", "y", "an object with a longer name"]
            return objects[Int.random(in: 0..<objects.count, using: &random)]
        }
    }

    @Test(arguments: [0, 80, 200, 600, 4_000, 2 << 20])
    func `the core agrees with the model`(cacheBytes: Int) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("CenterCoreModelTests: \(cacheBytes) bytes of cache, seed \(seed)")
        var inputs = Inputs(random: SeededGenerator(seed: seed))
        var model = Model(reserved: "notifyd")
        let core = TestCore(cacheBytes: cacheBytes, reserved: "notifyd")

        for step in 0..<6_000 {
            // Long phases of growth and decline alternate, so that nodes and places of the trie are added and removed.
            let isGrowing = step / 1_000 % 2 == 0
            switch Int.random(in: 0..<10, using: &inputs.random) {
            case 0..<(isGrowing ? 3 : 1):
                let patterns = try (0..<Int.random(in: 1...3, using: &inputs.random)).map { _ in try inputs.pattern() }
                let object = inputs.object()
                let priority = Int32.random(in: -1...1, using: &inputs.random)
                let id = core.add(patterns, object: object, priority: priority, slot: Int32(step))
                #expect(id > model.entries.map(\.id).max() ?? 0)
                model.entries.append(
                    .init(id: id, patterns: patterns, object: object, priority: priority, slot: Int32(step)))
            case 3..<5 where !model.entries.isEmpty:
                let index = Int.random(in: 0..<model.entries.count, using: &inputs.random)
                let id = model.entries.remove(at: index).id
                #expect(core.contains(id))
                #expect(core.remove(id))
                #expect(!core.contains(id))
                #expect(!core.remove(id))
            case 5 where Int.random(in: 0..<20, using: &inputs.random) == 0:
                model.rights += 1
                core.dropResolutions()
            default:
                let name = inputs.name()
                let object = inputs.object()
                let resolution = core.resolve(name, object) { model.isPermitted($0.slot) }
                #expect(resolution.generation == core.generation)
                let found = resolution.registrations.map(\.slot)
                let expected = model.resolve(name, object)
                #expect(found == expected, "seed \(seed), step \(step), \(name), \(object ?? "no object")")
                if found != expected { return }
            }
            #expect(core.count == model.entries.count)
        }
        for entry in model.entries { #expect(core.remove(entry.id)) }
        #expect(core.footprint == 0)
        #expect(core.slots("a.b", nil).isEmpty)
    }

    /// Adding or removing a registration must invalidate the cached resolution of a post that the registration matches,
    /// and keep all others.
    @Test func `only a matching change invalidates a cached resolution`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("CenterCoreModelTests: seed \(seed)")
        var inputs = Inputs(random: SeededGenerator(seed: seed))
        for _ in 0..<2_000 {
            let core = TestCore()
            let (name, object) = (inputs.name(), inputs.object())
            _ = core.slots(name, object)
            let pattern = try inputs.pattern()
            let filter = inputs.object()
            let isReached =
                pattern.matches(NotificationName(unchecked: name)) && (filter == nil || filter == object)
            let id = core.add([pattern], object: filter, slot: 0)
            #expect((core.cached(name, object) != nil) != isReached, "seed \(seed), \(pattern), \(name)")
            _ = core.slots(name, object)
            #expect(core.remove(id))
            #expect((core.cached(name, object) != nil) != isReached, "seed \(seed), \(pattern), \(name)")
        }
    }
}
