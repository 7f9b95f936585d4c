import Foundation
import Synchronization
import TestSupport
import Testing

@_spi(Package) @testable import NotifyCenter

@Suite struct PostCacheTests {
    /// A cache in a class, so that closures and `#expect` can use the cache. `changes` replaces the center's lock.
    private final class Cache: Sendable {
        private let cache = PostCache()
        private let changes = Mutex(())

        /// The cached list: `.none` if the name has no entry, and `.some(nil)` if the entry has no observers.
        func find(_ name: NotificationName, _ object: NotificationObject? = nil) -> ObserverList?? {
            switch cache.find(name, object: object?.key) {
            case .miss: .none
            case .unobserved: .some(nil)
            case .observers(let list): list
            }
        }

        func knows(_ name: NotificationName, _ object: NotificationObject? = nil) -> Bool {
            if case .some = find(name, object) { true } else { false }
        }

        func list(_ name: NotificationName, _ object: NotificationObject? = nil) -> ObserverList? {
            find(name, object) ?? nil
        }

        func insert(
            _ list: ObserverList?, _ name: NotificationName, _ object: NotificationObject? = nil, limit: Int = 16_384
        ) {
            _ = changes.withLock { _ in cache.insert(list, for: name, object: object?.key, limit: limit) }
        }

        func drop(_ name: NotificationName, _ object: NotificationObject? = nil) {
            drop(name.observedNames, object)
        }

        func drop(_ names: ObservedNames, _ object: NotificationObject? = nil) {
            var dropped = PostTable.Dropped()
            changes.withLock { _ in cache.drop(names, object: object?.key, into: &dropped) }
        }
    }

    private let cache = Cache()
    private let names = (0..<200).map { NotificationName(unchecked: "n.\($0)") }

    @Test func `inserted entries are found`() {
        let list = ObserverList([])
        #expect(!cache.knows(names[0]))
        cache.insert(list, names[0])
        cache.insert(nil, names[1], "x")
        #expect(cache.list(names[0]) === list)
        #expect(cache.knows(names[1], "x") && cache.list(names[1], "x") == nil)
        #expect(!cache.knows(names[1]))
    }

    @Test func `a change of a name drops only that name`() {
        for name in names { cache.insert(nil, name) }
        cache.drop(names[7])
        #expect(names.filter { !cache.knows($0) } == [names[7]])
    }

    @Test func `a change of a name and object drops only that pair`() {
        for object in ["x", "y"] { cache.insert(nil, names[0], NotificationObject(object)) }
        cache.drop(names[0], "x")
        #expect(!cache.knows(names[0], "x"))
        #expect(cache.knows(names[0], "y"))
    }

    @Test func `a change of patterns drops all entries`() {
        for name in names { cache.insert(nil, name) }
        cache.drop(NamePattern("n.*").observedNames)
        #expect(names.allSatisfy { !cache.knows($0) })
    }

    @Test func `the cache keeps no more entries than its limit`() {
        let names = (0..<2_000).map { NotificationName(unchecked: "n.\($0)") }
        for name in names { cache.insert(nil, name, limit: 512) }
        let count = names.count { cache.knows($0) }
        #expect(count > 0 && count <= 512)
        #expect(names.last.map { cache.knows($0) } == true)
    }

    @Test func `cached lists are released with the cache`() {
        var cache: Cache? = Cache()
        var list: ObserverList? = ObserverList([])
        let gone = Weak(list)
        cache?.insert(list, names[0])
        list = nil
        #expect(!gone.isGone)
        cache = nil
        #expect(gone.isGone)
    }

    /// A thread that removes an entry must not find the entry afterwards. The cache is divided into shards, each with a
    /// lock. If another thread holds the lock, that thread empties the shard before it unlocks it.
    @Test func `a dropped entry is not found afterwards, also under concurrent access`() async {
        let isDone = Atomic(false)
        let stale = Atomic(0)
        let name = names[0]
        let lists = (0..<2).map { _ in ObserverList([]) }
        await onThreads(3) { [cache] thread in
            if thread == 0 {
                for round in 0..<20_000 {
                    cache.insert(lists[round % 2], name)
                    if round % 3 == 0 { cache.drop(NamePattern.everyName.observedNames) } else { cache.drop(name) }
                    if cache.knows(name) { stale.wrappingAdd(1, ordering: .relaxed) }
                }
                isDone.store(true, ordering: .releasing)
            } else {
                while !isDone.load(ordering: .acquiring) { _ = cache.find(name) }
            }
        }
        #expect(stale.load(ordering: .relaxed) == 0)
        cache.insert(lists[0], name)
        #expect(cache.list(name) === lists[0])
    }

    /// A lookup takes long for equal names of this length. An entry that is removed during a lookup must not remain.
    @Test func `an entry dropped during a lookup is not found afterwards`() async {
        func name() -> NotificationName { NotificationName(unchecked: String(repeating: "n", count: 1 << 18)) }
        let (name, same) = (name(), name())
        let rounds = 60
        let lookingIn = Atomic(-1)
        let stale = Atomic(0)
        let interrupted = Atomic(0)
        await onThreads(2) { [cache] thread in
            for round in 0..<rounds {
                if thread == 1 {
                    while lookingIn.load(ordering: .acquiring) != round { sched_yield() }
                    _ = cache.find(same)
                    lookingIn.store(-1, ordering: .releasing)
                    continue
                }
                cache.insert(nil, name)
                lookingIn.store(round, ordering: .releasing)
                // Wait until the other thread holds the shard of the name.
                while cache.knows(name) && lookingIn.load(ordering: .acquiring) == round {}
                if lookingIn.load(ordering: .acquiring) == round { interrupted.wrappingAdd(1, ordering: .relaxed) }
                if round % 2 == 0 { cache.drop(NamePattern.everyName.observedNames) } else { cache.drop(name) }
                if cache.knows(name) { stale.wrappingAdd(1, ordering: .relaxed) }
                while lookingIn.load(ordering: .acquiring) == round { sched_yield() }
                if cache.knows(name) { stale.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        #expect(
            stale.load(ordering: .relaxed) == 0,
            "\(interrupted.load(ordering: .relaxed)) of \(rounds) lookups were interrupted")
    }
}
