import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct PostTableTests {
    /// A table in a class: `#expect` copies its operands, and the table is not copyable.
    private final class Table {
        private var table = PostTable()

        var count: Int { table.count }

        func find(_ name: NotificationName, _ object: NotificationObject? = nil) -> Found {
            switch table.find(name, object: object?.key) {
            case .miss: .miss
            case .unobserved: .unobserved
            case .observers(let list): .observers(ObjectIdentifier(list))
            }
        }

        func insert(_ list: ObserverList?, _ name: NotificationName, _ object: NotificationObject? = nil) {
            table.insert(list, for: name, object: object?.key)
        }

        func remove(_ name: NotificationName, _ object: NotificationObject? = nil) -> PostTable.Dropped {
            var dropped = PostTable.Dropped()
            table.remove(name, object: object?.key, into: &dropped)
            return dropped
        }

        func removeAll() -> PostTable.Dropped {
            var dropped = PostTable.Dropped()
            table.removeAll(into: &dropped)
            return dropped
        }
    }

    private enum Found: Equatable {
        case miss
        case unobserved
        case observers(ObjectIdentifier)
    }

    private let table = Table()
    private let name = NotificationName(literal: "a")

    @Test func `an empty table finds nothing`() {
        #expect(table.find(name) == .miss)
        _ = table.remove(name)
        _ = table.removeAll()
        #expect(table.count == 0)
    }

    @Test func `an entry without observers is found`() {
        table.insert(nil, name)
        #expect(table.find(name) == .unobserved)
        #expect(table.find(name, "x") == .miss)
        _ = table.remove(name)
        #expect(table.find(name) == .miss)
    }

    @Test func `a later entry replaces an earlier one`() {
        let (one, two) = (ObserverList([]), ObserverList([]))
        table.insert(one, name)
        table.insert(two, name)
        #expect(table.count == 1)
        #expect(table.find(name) == .observers(ObjectIdentifier(two)))
    }

    @Test func `entries with an object are distinguished from other names`() {
        table.insert(nil, NotificationName(literal: "ab"))
        table.insert(nil, name, "b")
        #expect(table.find(name) == .miss)
        #expect(table.find(NotificationName(literal: "ab"), "b") == .miss)
        #expect(table.find(name, NotificationObject(value: "b")) == .miss)
    }

    @Test func `removing one object keeps the others, removing the name removes all`() {
        for object in ["x", "y"] { table.insert(nil, name, NotificationObject(object)) }
        table.insert(nil, name)
        _ = table.remove(name, "x")
        #expect(table.find(name, "x") == .miss)
        #expect(table.find(name, "y") == .unobserved)
        #expect(table.find(name) == .unobserved)
        _ = table.remove(name)
        #expect(table.find(name, "y") == .miss)
        #expect(table.find(name) == .miss)
    }

    @Test func `removed entries are returned and retained until released`() {
        var lists = (0..<5).map { _ in ObserverList([]) }
        let gone = lists.map { Weak($0) }
        for (index, list) in lists.enumerated() { table.insert(list, NotificationName(unchecked: "n\(index)")) }
        lists = []
        var dropped: PostTable.Dropped? = table.remove(NotificationName(unchecked: "n1"))
        #expect(gone.map(\.isGone) == [false, false, false, false, false])
        withExtendedLifetime(dropped) {}
        dropped = nil
        #expect(gone.map(\.isGone) == [false, true, false, false, false])
        dropped = table.removeAll()
        #expect(gone.map(\.isGone) == [false, true, false, false, false])
        withExtendedLifetime(dropped) {}
        dropped = nil
        #expect(gone.allSatisfy { $0.isGone })
    }

    // MARK: Against a dictionary

    private struct Key: Hashable {
        let name: String
        let object: String?
    }

    @Test(arguments: [4, 40, 4_000])
    func `a growing and shrinking table agrees with a dictionary`(names: Int) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("PostTableTests: \(names) names, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var model: [Key: Found] = [:]
        let lists = (0..<7).map { _ in ObserverList([]) }
        for step in 0..<40_000 {
            let isGrowing = step / 8_000 % 2 == 0
            let text = "name.\(Int.random(in: 0..<names, using: &random))"
            // The first 16,000 steps use no objects, so removing a name removes only one entry.
            let object = step < 16_000 ? nil : [nil, nil, "x", "y"].randomElement(using: &random) ?? nil
            let (name, filter) = (NotificationName(unchecked: text), object.map { NotificationObject($0) })
            let key = Key(name: text, object: object)
            switch Int.random(in: 0..<(isGrowing ? 4 : 8), using: &random) {
            case 0, 1:
                let list = Int.random(in: 0..<8, using: &random)
                table.insert(list < 7 ? lists[list] : nil, name, filter)
                model[key] = list < 7 ? .observers(ObjectIdentifier(lists[list])) : .unobserved
            case 2 where !isGrowing, 4, 5:
                _ = table.remove(name, filter)
                if object == nil && model.keys.contains(where: { $0.object != nil }) {
                    model = [:]
                } else {
                    model[key] = nil
                }
            default: break
            }
            let (found, expected) = (table.find(name, filter), model[key] ?? .miss)
            guard found == expected && table.count == model.count else {
                Issue.record("seed \(seed), step \(step), \(key): \(found), not \(expected)")
                return
            }
            if step % 1_000 == 0 { check(model, "seed \(seed), step \(step)") }
        }
        check(model, "seed \(seed), end")
        withExtendedLifetime(lists) {}
    }

    private func check(_ model: [Key: Found], _ place: String) {
        let wrong = model.first { key, expected in
            table.find(NotificationName(unchecked: key.name), key.object.map { NotificationObject($0) }) != expected
        }
        #expect(wrong == nil, "\(place)")
    }
}
