import Foundation
import NotifyCenter
import TestSupport
import Testing

/// The requirements of a center. The test suites check every implementation against them.
package enum CenterRequirement: CaseIterable, Sendable {
    // Routing; also required of the daemon.
    case postsReachObserversOfTheName
    case objectsAreFiltered
    case overlappingPatternsCallOnce
    case changesApplyToNamesAlreadyPosted

    // Calls of observers; not required of the daemon.
    case orderIsPriorityThenRegistration
    case observersEndedDuringAPostAreNotCalled
    case observersMayEndAllObservations
    case observersAddedDuringAPostAreNotCalledByIt
    case postsMayNest
    case nestedPostsSeeChanges
    case observersRunSynchronouslyOnThePostersThread
    case noLockIsHeldWhileObserversRun

    /// The requirements of routing.
    package static let routing: [CenterRequirement] = [
        .postsReachObserversOfTheName, .objectsAreFiltered, .overlappingPatternsCallOnce,
        .changesApplyToNamesAlreadyPosted,
    ]

    /// Checks that a center meets the requirement. The center must not have observers yet.
    package func check(_ center: some ConformingCenter) throws {
        let check = Check(center: center)
        switch self {
        case .postsReachObserversOfTheName: try check.matching()
        case .objectsAreFiltered: try check.objects()
        case .overlappingPatternsCallOnce: try check.overlap()
        case .changesApplyToNamesAlreadyPosted: try check.manyChanges()
        case .orderIsPriorityThenRegistration: try check.order()
        case .observersEndedDuringAPostAreNotCalled: try check.endedDuringPost()
        case .observersMayEndAllObservations: try check.endingAll()
        case .observersAddedDuringAPostAreNotCalledByIt: try check.addedDuringPost()
        case .postsMayNest: try check.nesting()
        case .nestedPostsSeeChanges: try check.changesSeenInside()
        case .observersRunSynchronouslyOnThePostersThread: try check.synchronous()
        case .noLockIsHeldWhileObserversRun: try check.noLock()
        }
        // Each check ends its observations, because some of their closures retain the center.
        #expect(center.observationCount == 0)
    }
}

private struct Check<Center: ConformingCenter> {
    let center: Center
    let journal = Journal()

    func record(_ label: String) -> @Sendable (String, String?) -> Void {
        { [journal] name, object in journal.note(object.map { "\(label) \(name) \($0)" } ?? "\(label) \(name)") }
    }

    func posting(_ name: String, object: String? = nil) throws -> [String] {
        try center.post(name, object: object)
        return journal.take()
    }

    func matching() throws {
        let handles = try [
            center.observe("a.b", using: record("exact")), center.observe("a.*", using: record("star")),
            center.observe("a.>", using: record("tail")), center.observeEveryName(object: nil, using: record("all")),
        ]
        #expect(center.observationCount == 4)
        #expect(try posting("a.b") == ["exact a.b", "star a.b", "tail a.b", "all a.b"])
        #expect(try posting("a.c") == ["star a.c", "tail a.c", "all a.c"])
        #expect(try posting("a.b.c") == ["tail a.b.c", "all a.b.c"])
        #expect(try posting("a") == ["all a"])
        for handle in handles { center.end(handle) }
        #expect(try posting("a.b") == [])
        #expect(center.observationCount == 0)
    }

    func objects() throws {
        let handles = try [
            center.observe("a", using: record("any")), center.observe("a", object: "x", using: record("x")),
            center.observe("*", object: "y", using: record("y")),
            center.observeEveryName(object: "x", using: record("all x")),
        ]
        #expect(try posting("a") == ["any a"])
        #expect(try posting("a", object: "x") == ["any a x", "x a x", "all x a x"])
        #expect(try posting("a", object: "y") == ["any a y", "y a y"])
        #expect(try posting("b", object: "") == [])
        for handle in handles { center.end(handle) }
    }

    func order() throws {
        let handles = try [
            center.observe("a", using: record("1")), center.observe("a", priority: 9, using: record("2")),
            center.observe(">", using: record("3")), center.observe("*", priority: 9, using: record("4")),
            center.observe("a", priority: -1, using: record("5")), center.observe("a", using: record("6")),
        ]
        #expect(try posting("a") == ["2 a", "4 a", "1 a", "3 a", "6 a", "5 a"])
        center.end(handles[0])
        #expect(try posting("a") == ["2 a", "4 a", "3 a", "6 a", "5 a"])
        for handle in handles { center.end(handle) }
    }

    func overlap() throws {
        let handle = try center.observe("a.b", "a.*", "*.b", ">", "a.b", using: record("once"))
        #expect(try posting("a.b") == ["once a.b"])
        #expect(center.observationCount == 1)
        center.end(handle)
        #expect(try posting("a.b") == [])
    }

    func endedDuringPost() throws {
        let victim = LateValue<Center.Handle>()
        let first = try center.observe("a") { [center, journal] _, _ in
            journal.note("first")
            if let handle = victim.value { center.end(handle) }
        }
        victim.value = try center.observe("a", using: record("victim"))
        let last = try center.observe("a", using: record("last"))
        #expect(try posting("a") == ["first", "last a"])
        #expect(try posting("a") == ["first", "last a"])
        for handle in [first, last] { center.end(handle) }
    }

    func endingAll() throws {
        let handles = LateValue<[Center.Handle]>()
        let list = try (0..<5).map { index in
            try center.observe(index % 2 == 0 ? "a" : "*") { [center, journal] _, _ in
                journal.note("\(index)")
                if index == 2 { for handle in handles.value ?? [] { center.end(handle) } }
            }
        }
        handles.value = list
        #expect(try posting("a") == ["0", "1", "2"])
        #expect(try posting("a") == [])
        #expect(center.observationCount == 0)
        handles.value = nil
    }

    func addedDuringPost() throws {
        let added = LateValue<Center.Handle>()
        let first = try center.observe("a") { [center, journal] _, _ in
            journal.note("first")
            guard added.value == nil else { return }
            added.value = center.observe([.everyName], object: nil, priority: 0) { _, _ in journal.note("added") }
        }
        #expect(try posting("a") == ["first"])
        #expect(try posting("a") == ["first", "added"])
        center.end(first)
        if let handle = added.value { center.end(handle) }
    }

    func nesting() throws {
        let name = NotificationName("a")
        let depth = LateValue<Int>()
        depth.value = 0
        let handle = try center.observe("a") { [center, journal] _, _ in
            let current = (depth.value ?? 0) + 1
            depth.value = current
            if current < 1_000 { center.post(name, object: nil) }
            journal.note("\(current)")
        }
        let other = try center.observe("a", priority: -1, using: record("other"))
        let notes = try posting("a")
        #expect(notes.count == 2_000)
        #expect(notes.prefix(3) == ["1000", "other a", "999"])
        #expect(notes.suffix(2) == ["1", "other a"])
        for handle in [handle, other] { center.end(handle) }
    }

    func changesSeenInside() throws {
        let victim = LateValue<Center.Handle>()
        let name = NotificationName("b")
        let first = try center.observe("a") { [center] _, _ in
            if let handle = victim.value { center.end(handle) }
            victim.value = nil
            center.post(name, object: nil)
        }
        victim.value = try center.observe("b", using: record("victim"))
        let second = try center.observe("b", using: record("second"))
        #expect(try posting("a") == ["second b"])
        for handle in [first, second] { center.end(handle) }
    }

    func manyChanges() throws {
        for round in 0..<200 {
            let name = "n.\(round % 13)"
            let exact = try center.observe(name, using: record("exact"))
            #expect(try posting(name, object: "o") == ["exact \(name) o"])
            let wild = try center.observe("*.\(round % 13)", object: "o", using: record("wild"))
            #expect(try posting(name, object: "o") == ["exact \(name) o", "wild \(name) o"])
            center.end(exact)
            #expect(try posting(name, object: "o") == ["wild \(name) o"])
            center.end(wild)
            #expect(try posting(name, object: "o") == [])
        }
        #expect(center.observationCount == 0)
    }

    func synchronous() throws {
        let poster = ObjectIdentifier(Thread.current)
        let handle = try center.observe("a") { [journal] _, _ in
            journal.note(ObjectIdentifier(Thread.current) == poster ? "poster" : "other")
        }
        #expect(try posting("a") == ["poster"])
        center.end(handle)
    }

    func noLock() throws {
        let name = NotificationName("b")
        let first = try center.observe("a") { [center, journal] _, _ in
            let isDone = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                let handle = center.observe([.everyName], object: nil, priority: 0) { name, _ in journal.note(name) }
                center.post(name, object: nil)
                center.end(handle)
                isDone.signal()
            }
            // The wait times out only if a lock is held.
            journal.note(isDone.wait(timeout: .now() + 300) == .success ? "free" : "locked")
        }
        #expect(try posting("a") == ["b", "free"])
        center.end(first)
    }
}
