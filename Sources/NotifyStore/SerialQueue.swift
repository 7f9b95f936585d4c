import Dispatch

/// Runs closures one after another, in the order in which they were added.
final class SerialQueue: Sendable {
    // Without a quality of service, for which Dispatch raises the priority of its threads; where a process may not do that,
    // it writes a line to the system's log.
    private let queue = DispatchQueue(label: "notifyd.log")
    private let key = DispatchSpecificKey<Void>()

    init() {
        queue.setSpecific(key: key, value: ())
    }

    private var isCurrent: Bool { DispatchQueue.getSpecific(key: key) != nil }

    func add(_ body: @escaping @Sendable () -> Void) {
        queue.async(execute: body)
    }

    /// Runs `body` after everything that was added before, and returns at its end. Must not be called from the queue.
    func wait<Result>(_ body: () throws -> Result) rethrows -> Result {
        dispatchPrecondition(condition: .notOnQueue(queue))
        return try queue.sync(execute: body)
    }

    /// Like `wait`, but runs `body` at once where it is called from the queue.
    func waitOrRun(_ body: () -> Void) {
        if isCurrent { body() } else { queue.sync(execute: body) }
    }
}
