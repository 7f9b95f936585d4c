@_spi(Package) @testable import NotifyCenter

/// Collects values in order, and waits for values. A suite that uses a collector needs a time limit.
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

    /// Waits until there are `count` values, or until the task is cancelled, as it is at the time limit of a suite.
    /// Returns all values.
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

/// A gate that tasks wait for until it is opened.
final class Gate: Sendable {
    private let opened = Collector<Void>()

    func open() { opened.add(()) }

    /// Waits until the gate is open.
    func pass() async { _ = await opened.values(1) }
}

/// Yields to other tasks until a condition holds.
///
/// - Returns: Whether the condition held within 300 seconds.
nonisolated(nonsending) func eventually(_ condition: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(300)
    while !condition() {
        if ContinuousClock.now > deadline { return false }
        await Task.yield()
    }
    return true
}

/// Reads `count` notifications, or fewer if the sequence ends.
///
/// - Returns: The payloads; -1 for a payload that is not a number.
func read(_ count: Int, _ sequence: NotificationSequence<LocalNotification>) async -> [Int] {
    var numbers: [Int] = []
    var iterator = sequence.makeAsyncIterator()
    while numbers.count < count, let notification = await iterator.next() {
        numbers.append(notification.payload as? Int ?? -1)
    }
    return numbers
}
