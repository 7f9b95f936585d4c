import TestSupport
import Testing

@testable import NotifyCenter

/// Watches of values.
@Suite(.timeLimit(.minutes(25))) struct LocalCenterWatchTests {
    private let center = LocalCenter()
    private let name = NotificationName(literal: "battery.level")

    private func text(_ event: LocalCenter.ValueEvent?) -> String? {
        func text(_ notification: LocalNotification) -> String {
            [notification.name.string, notification.object?.text, notification.payload.map { "\($0)" }]
                .compactMap(\.self).joined(separator: " ")
        }
        return switch event {
        case .value(let notification): "value \(text(notification))"
        case .cleared(let notification): "cleared \(text(notification))"
        case .upToDate: "up to date"
        case nil: nil
        }
    }

    /// Reads the events up to one with this text.
    private func events(
        _ iterator: inout some AsyncIteratorProtocol<LocalCenter.ValueEvent, Never>, through last: String
    ) async -> [String?] {
        var texts: [String?] = []
        while texts.last != last, texts.count < 100 { texts.append(text(await iterator.next(isolation: #isolation))) }
        return texts
    }

    @Test func `a watch reports the present values, and then each change`() async throws {
        center.setValue(1, for: name)
        center.setValue(2, for: name, object: "left")
        try center.setValue(3, for: "other")
        var iterator = try center.watch("battery.*").makeAsyncIterator()
        #expect(
            await events(&iterator, through: "up to date")
                == ["value battery.level 1", "value battery.level left 2", "up to date"])
        center.setValue(4, for: name)
        center.post(name, payload: 5)
        try center.setValue(6, for: "other")
        center.clear(name, object: "left")
        center.clear(name, object: "right")
        center.setValue(7, for: "battery.state" as NotificationName)
        #expect(
            await events(&iterator, through: "value battery.state 7")
                == ["value battery.level 4", "cleared battery.level left", "value battery.state 7"])
    }

    @Test func `a watch of an object reports no other`() async throws {
        for object in ["left", "right"] as [NotificationObject] { center.setValue(1, for: name, object: object) }
        center.setValue(1, for: name)
        var iterator = center.watch(name, object: "right").makeAsyncIterator()
        center.setValue(2, for: name, object: "left")
        center.setValue(2, for: name)
        center.setValue(2, for: name, object: "right")
        #expect(
            await events(&iterator, through: "up to date") == ["value battery.level right 2", "up to date"],
            "a value that is not reported yet is replaced in place")
    }

    @Test func `a slow reader gets the latest state of each value`() async throws {
        var iterator = center.watch(.every).makeAsyncIterator()
        #expect(await events(&iterator, through: "up to date") == ["up to date"])
        for number in 1...1_000 {
            try center.setValue(number, for: "a")
            try center.setValue(number, for: "b")
            if number % 2 == 0 { center.clear("b") }
        }
        try center.setValue(0, for: "end")
        #expect(await events(&iterator, through: "value end 0") == ["value a 1000", "cleared b", "value end 0"])
    }

    @Test func `of several values of a name and object, the newest is reported`() async throws {
        for number in 1...3 { center.setValue(number, for: name, last: 2) }
        var iterator = center.watch(name).makeAsyncIterator()
        center.setValue(9, for: "z" as NotificationName)
        #expect(await events(&iterator, through: "up to date") == ["value battery.level 3", "up to date"])
        center.clear(name)
        #expect(await events(&iterator, through: "cleared battery.level") == ["cleared battery.level"])
    }

    @Test func `values that match are read and cleared together`() async throws {
        for name in ["a.1", "b.1", "a.2"] {
            try center.setValue(name, for: name)
            try center.setValue(name, for: name, object: "o")
        }
        #expect(try center.values(matching: "a.*").map(\.name.string) == ["a.1", "a.1", "a.2", "a.2"])
        #expect(try center.values(matching: "*.1", object: "o").map(\.name.string) == ["a.1", "b.1"])
        #expect(throws: NameError.self) { try center.values(matching: "a..b") }
        var iterator = center.watch(.every).makeAsyncIterator()
        _ = await events(&iterator, through: "up to date")
        #expect(try center.clear(matching: "a.*", object: "o") == 2)
        #expect(try center.clear(matching: "a.*") == 2)
        #expect(center.values(matching: .every).map(\.name.string) == ["b.1", "b.1"])
        #expect(center.clear(matching: .every) == 2 && center.clear(matching: .every) == 0)
        try center.setValue(0, for: "end")
        let all = ["a.1 o", "a.2 o", "a.1", "a.2", "b.1", "b.1 o"].map { "cleared \($0)" }
        #expect(await events(&iterator, through: "value end 0") == all + ["value end 0"])
    }

    @Test func `each iterator begins anew`() async throws {
        center.setValue(1, for: name)
        let watch = center.watch(name)
        var first = watch.makeAsyncIterator()
        _ = await events(&first, through: "up to date")
        center.setValue(2, for: name)
        var second = watch.makeAsyncIterator()
        let expected = ["value battery.level 2"]
        #expect(await events(&second, through: "up to date") == expected + ["up to date"])
        #expect(await events(&first, through: expected[0]) == expected)
    }

    @Test func `a waiting reader gets the next change, and a cancelled one ends`() async throws {
        let center = center
        let name = name
        let (seen, continuation) = AsyncStream.makeStream(of: LocalCenter.ValueEvent.self)
        let reader = Task {
            for await event in center.watch(name) { continuation.yield(event) }
            continuation.finish()
        }
        var events = seen.makeAsyncIterator()
        #expect(text(await events.next()) == "up to date")
        center.setValue(1, for: name)
        #expect(text(await events.next()) == "value battery.level 1")
        reader.cancel()
        #expect(text(await events.next()) == nil)
        await reader.value
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var iterator = center.watch(name).makeAsyncIterator()
            return await iterator.next(isolation: #isolation) == nil
        }
        #expect(await cancelled.value)
    }

    @Test func `payloads and objects are released with the reader and with what replaces them`() async throws {
        func set() -> Weak<Thing> {
            let thing = Thing()
            center.setValue(thing, for: name, object: NotificationObject(instance: thing))
            center.clear(name, object: NotificationObject(instance: thing))
            return Weak(thing)
        }
        var iterator: (any AsyncIteratorProtocol)? = center.watch(name).makeAsyncIterator()
        let things = [set(), set()]
        #expect(things.allSatisfy { !$0.isGone }, "the cleared objects are to be reported")
        iterator = nil
        #expect(things.allSatisfy { $0.isGone })
        withExtendedLifetime(iterator) {}
    }

    @Test func `a payload may use the center while a watch releases it`() async throws {
        final class Careful: Sendable, Hashable {
            let center: LocalCenter
            init(_ center: LocalCenter) { self.center = center }
            deinit { _ = center.value(of: "battery.level") }
            static func == (left: Careful, right: Careful) -> Bool { true }
            func hash(into hasher: inout Hasher) {}
        }
        var iterator = center.watch(.every).makeAsyncIterator()
        for _ in 0..<3 {
            center.setValue(Careful(center), for: name, object: NotificationObject(value: Careful(center)))
        }
        center.clear(name, object: NotificationObject(value: Careful(center)))
        #expect(await events(&iterator, through: "up to date") == ["up to date"])
        let event = await iterator.next(isolation: #isolation)
        guard case .cleared? = event else {
            Issue.record("\(String(describing: event))")
            return
        }
        center.setValue(Careful(center), for: name)
        center.clear(matching: .every)
    }

    @Test func `a watch of concurrent changes ends with the last state of each value`() async throws {
        let center = center
        let reader = Task {
            var states: [String: Int] = [:]
            for await event in center.watch(.every) {
                switch event {
                case .value(let notification):
                    let number = notification.payload as? Int ?? 0
                    #expect(number > states[notification.name.string] ?? 0, "an older state after a newer one")
                    states[notification.name.string] = number
                case .cleared, .upToDate: break
                }
                if states.count == 4, states.values.allSatisfy({ $0 == 5_000 }) { return true }
            }
            return false
        }
        await onThreads(4) { thread in
            for number in 1...5_000 {
                center.setValue(number, for: NotificationName(unchecked: "value.\(thread)"))
            }
        }
        #expect(await reader.value)
    }
}
