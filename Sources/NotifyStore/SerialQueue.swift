import Dispatch

/// Runs closures one after another, in the order in which they were added.
final class SerialQueue: Sendable {
    private let queue = DispatchQueue(label: "notifyd.log")
    private let key = DispatchSpecificKey<Void>()

    init() {
        queue.setSpecific(key: key, value: ())
    }

    private var isCurrent: Bool { DispatchQueue.getSpecific(key: key) != nil }

    func add(_ body: @escaping @Sendable () -> Void) {
        queue.async(execute: body)
    }

    /// Runs `body` at intervals until the returned timer is cancelled.
    func run(every interval: Duration, _ body: @escaping @Sendable () -> Void) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let step = DispatchTimeInterval.microseconds(Int(interval.microseconds))
        timer.schedule(deadline: .now() + step, repeating: step)
        timer.setEventHandler(handler: body)
        timer.resume()
        return timer
    }

    /// Runs `body` after all closures added before, and waits for it. Must not be called from the queue.
    func wait<Result>(_ body: () throws -> Result) rethrows -> Result {
        dispatchPrecondition(condition: .notOnQueue(queue))
        return try queue.sync(execute: body)
    }

    /// Like `wait`, but runs `body` at once if it is called from the queue.
    func waitOrRun(_ body: () -> Void) {
        if isCurrent { body() } else { queue.sync(execute: body) }
    }
}
