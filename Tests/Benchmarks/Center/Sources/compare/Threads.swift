import Foundation
import NotifyCenter
import Synchronization

/// What two threads that post different names achieve, against one.
func threadCases() -> [Case] {
    [
        Case("posts of two threads, against one", .atLeast(1.7)) {
            let center = LocalCenter()
            let names = try (0..<2).map { thread in
                try (0..<8).map { try NotificationName("orders.\(thread).created.\($0)") }
            }
            let tokens = names.joined().map { center.observe($0) { _ in } }
            return (
                { withExtendedLifetime(tokens) { posting(names, to: center) } },
                { posting([names[0]], to: center) }
            )
        }
    ]
}

/// Nanoseconds for each post, while one thread for each of the lists posts its names again and again.
private func posting(_ names: [[NotificationName]], to center: LocalCenter) -> Double {
    let posts = 400_000
    let gate = Gate(threads: names.count)
    let done = DispatchGroup()
    for names in names {
        done.enter()
        Thread.detachNewThread {
            gate.pass()
            for index in 0..<posts { center.post(names[index & 7]) }
            done.leave()
        }
    }
    gate.pass()
    return time { done.wait() } / Double(posts * names.count)
}

/// Where threads wait for each other, and the one who measures for them all, so that they begin together.
private final class Gate: Sendable {
    private let missing: Atomic<Int>

    init(threads: Int) { missing = Atomic(threads + 1) }

    func pass() {
        missing.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        // The threads may be more than the processors.
        while missing.load(ordering: .acquiring) > 0 { sched_yield() }
    }
}
