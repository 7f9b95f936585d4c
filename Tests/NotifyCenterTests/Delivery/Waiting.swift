@testable import NotifyCenter

/// What was collected, in order, and a way to wait for it. Suites that wait have a time limit.
final class Collector<Value: Sendable>: Sendable {
    private struct State {
        var values: [Value] = []
        var waiting: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        var lastID = 0
    }

    private let state = Lock(State())

    var values: [Value] { state.withLock(\.values) }

    func add(_ value: Value) {
        let ready = state.withLock { state in
            state.values.append(value)
            let count = state.values.count
            let ready = state.waiting.filter { $0.value.count <= count }
            for id in ready.keys { state.waiting[id] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Everything, as soon as there are so many, or the task is cancelled, as it is at the end of a time limit.
    func values(_ count: Int) async -> [Value] {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.values.count >= count || Task.isCancelled { return true }
                    state.waiting[id] = (count, continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume()
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

/// The numbers of so many notifications, or fewer if the sequence ends. What carries none counts as -1.
func read(_ count: Int, _ sequence: NotificationSequence<LocalNotification>) async -> [Int] {
    var numbers: [Int] = []
    var iterator = sequence.makeAsyncIterator()
    while numbers.count < count, let notification = await iterator.next() {
        numbers.append(notification.payload as? Int ?? -1)
    }
    return numbers
}
