import Foundation
import TestSupport
import Testing

@testable import NotifyCenter

/// A post from the main actor calls main-actor observers directly.
@Suite(.timeLimit(.minutes(25))) struct PostFromMainActorTests {
    private let center = LocalCenter()
    private let name: NotificationName = "shown"
    private let journal = Journal()

    private struct Shown: NotificationMessage {
        static let notificationName: NotificationName = "shown"
    }

    @MainActor private final class Screen {
        var texts: [String] = []
    }

    @Test @MainActor func `observers have been called when the post returns`() throws {
        let screen = Screen()
        let tokens = [
            center.observe(name, on: MainActor.shared) { _ in screen.texts.append("name") },
            try center.observe("*", on: MainActor.shared) { _ in screen.texts.append("pattern") },
            center.observe(Shown.self, on: MainActor.shared) { _ in screen.texts.append("type") },
            center.observe(Shown.self, on: .serially) { @MainActor _ in screen.texts.append("closure") },
        ]
        center.observe(name, owner: screen, on: MainActor.shared) { screen, _ in screen.texts.append("owner") }
        center.observe(Shown.self, owner: screen, on: MainActor.shared) { screen, _ in screen.texts.append("owned type")
        }
        center.post(Shown())
        #expect(screen.texts == ["name", "pattern", "type", "closure", "owner", "owned type"])
        withExtendedLifetime(tokens) {}
    }

    @Test @MainActor func `a call that suspends has begun when the post returns`() async {
        let screen = Screen()
        let gate = Gate()
        let done = Gate()
        let token = center.observe(name, on: MainActor.shared) { _ in
            screen.texts.append("begun")
            await gate.pass()
            screen.texts.append("done")
            done.open()
        }
        center.post(name)
        #expect(screen.texts == ["begun"])
        gate.open()
        await done.pass()
        #expect(screen.texts == ["begun", "done"])
        token.cancel()
    }

    @Test @MainActor func `a post after buffered messages is delivered after them`() async {
        let screen = Screen()
        let done = Gate()
        let token = center.observe(name, on: MainActor.shared) { notification in
            screen.texts.append("\(notification.payload ?? "-")")
            if screen.texts.count == 2 { done.open() }
        }
        // This notification waits for the main actor, because the main actor is running this test.
        onOtherThread { [center, name] in center.post(name, payload: "first") }
        center.post(name, payload: "second")
        #expect(screen.texts == [])
        await done.pass()
        #expect(screen.texts == ["first", "second"])
        token.cancel()
    }

    @Test @MainActor func `an observer that posts to itself is called again after its call`() {
        let screen = Screen()
        let token = center.observe(name, on: MainActor.shared) { [center, name] notification in
            let depth = notification.payload as? Int ?? 0
            screen.texts.append("begin \(depth)")
            if depth < 2 { center.post(name, payload: depth + 1) }
            screen.texts.append("end \(depth)")
        }
        center.post(name, payload: 0)
        #expect(screen.texts == ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"])
        token.cancel()
    }

    @Test @MainActor func `a direct call ends a once observation, and its error is reported`() {
        struct Failure: Error {}
        center.hooks.failed = { [journal] in journal.note("\($0.error)") }
        let token = center.observe(name, options: .once, on: MainActor.shared) { _ in throw Failure() }
        center.post(name)
        center.post(name)
        #expect(journal.take() == ["Failure()"])
        #expect(!token.observation.isActive)
    }

    /// Asynchronous tests run in a process whose `main` is asynchronous: any of its threads runs the main queue.
    @Test func `observers have been called when a post on the main queue returns`() async {
        let blocks: [(@escaping @Sendable () -> Void) -> Void] = [
            { block in DispatchQueue.main.async { block() } },
            { block in OperationQueue.main.addOperation(block) },
            { block in DispatchQueue.global().async { DispatchQueue.main.sync(execute: block) } },
            { block in Task.detached { DispatchQueue.main.sync(execute: block) } },
        ]
        for run in blocks {
            await withCheckedContinuation { continuation in
                run { [center, name, journal] in
                    let gate = Gate()
                    let token = center.observe(name, on: MainActor.shared) { _ in
                        MainActor.assertIsolated()
                        journal.note("begun")
                        await gate.pass()
                        MainActor.assertIsolated()
                        journal.note("done")
                        continuation.resume()
                    }
                    center.post(name)
                    #expect(journal.take() == ["begun"])
                    token.cancel()
                    gate.open()
                }
            }
            #expect(journal.take() == ["done"])
        }
    }

    @Test func `a post from another thread does not wait for the main actor`() async {
        let shown = Collector<String>()
        let token = center.observe(name, on: MainActor.shared) { _ in
            MainActor.assertIsolated()
            shown.add("shown")
        }
        center.post(name)
        #expect(await shown.values(1) == ["shown"])
        token.cancel()
    }
}
