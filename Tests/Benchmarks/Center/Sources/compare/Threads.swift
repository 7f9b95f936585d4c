import Foundation
import NotifyCenter
import Synchronization

/// The throughput of two threads that post different names, compared with one thread.
func threadCases() -> [Case] {
    [
        Case("posts of two threads, against one", .atLeast(1.7)) {
            let center = LocalCenter()
            let names = try namesOfTwoThreads()
            let tokens = names.joined().map { center.observe($0) { _ in } }
            return (
                { withExtendedLifetime(tokens) { posting(names, to: [center, center]) } },
                { posting([names[0]], to: [center]) }
            )
        },
        // Two threads without shared state, as a control: if they also miss the ratio, the machine does not provide two
        // full cores.
        Case("the same with a center for each thread", .atLeast(1.7)) {
            let centers = [LocalCenter(), LocalCenter()]
            let names = try namesOfTwoThreads()
            let tokens = zip(centers, names).flatMap { center, names in names.map { center.observe($0) { _ in } } }
            return (
                { withExtendedLifetime(tokens) { posting(names, to: centers) } },
                { posting([names[0]], to: [centers[0]]) }
            )
        },
    ]
}

/// Eight names for each of two threads. Padding between the threads' names keeps them in different cache lines.
private func namesOfTwoThreads() throws -> [[NotificationName]] {
    // The padding is freed at the end, so that no name gets its memory.
    var padding: [UnsafeMutableRawPointer] = []
    defer { for block in padding { block.deallocate() } }
    return try (0..<2).map { thread in
        padding.append(.allocate(byteCount: 256, alignment: 16))
        return try (0..<8).map { try NotificationName("orders.\(thread).created.\($0)") }
    }
}

/// Returns the elapsed nanoseconds per post. Each list of names has one thread, which posts these names repeatedly.
private func posting(_ names: [[NotificationName]], to centers: [LocalCenter]) -> Double {
    let posts = 400_000
    let gate = Gate(threads: names.count)
    let done = DispatchGroup()
    for (names, center) in zip(names, centers) {
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

/// A barrier at which the threads and the measuring thread begin together.
private final class Gate: Sendable {
    private let missing: Atomic<Int>

    init(threads: Int) { missing = Atomic(threads + 1) }

    func pass() {
        missing.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        // Waiting threads yield, because there may be more threads than processors.
        while missing.load(ordering: .acquiring) > 0 { sched_yield() }
    }
}
