@testable import NotifyCenter

/// What was collected, in order, and a way to wait for it. Suites that wait have a time limit.
final class Collector<Value: Sendable>: Sendable {
    private struct State {
        var values: [Value] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Lock(State())

    var values: [Value] { state.withLock(\.values) }

    func add(_ value: Value) {
        let ready = state.withLock { state in
            state.values.append(value)
            let count = state.values.count
            defer { state.waiting.removeAll { $0.count <= count } }
            return state.waiting.filter { $0.count <= count }.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Everything, as soon as there are so many.
    func values(_ count: Int) async -> [Value] {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.values.count < count { state.waiting.append((count, continuation)) }
                return state.values.count >= count
            }
            if isReady { continuation.resume() }
        }
        return values
    }
}

/// Closed until it is opened.
final class Gate: Sendable {
    private let opened = Collector<Void>()

    func open() { opened.add(()) }

    /// Waits until it is open.
    func pass() async { _ = await opened.values(1) }
}

/// Lets other tasks run until something holds, which must happen soon.
nonisolated(nonsending) func eventually(_ condition: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(300)
    while !condition() {
        if ContinuousClock.now > deadline { return false }
        await Task.yield()
    }
    return true
}
