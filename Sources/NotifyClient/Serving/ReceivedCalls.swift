import DequeModule
@_spi(Package) import NotifyCenter
import NotifyWire

/// A call that a server has received on one connection.
struct ReceivedCall: Sendable {
    let number: UInt64
    /// The number of connections that were lost before the call arrived. A later connection does not know the call.
    let connection: Int
    let request: NotificationClient.Request
}

/// The calls of a server: those that wait for a handler, and those whose handlers run. The daemon bounds their number by
/// the concurrency of the server.
final class ReceivedCalls: Sendable {
    /// A call that was passed to the program.
    private struct Handler {
        /// Nil until the handler's task has begun.
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    /// The numbers of calls begin again with each connection to another daemon.
    private struct Key: Hashable {
        let number: UInt64
        let connection: Int

        init(number: UInt64, connection: Int) {
            self.number = number
            self.connection = connection
        }

        init(_ call: ReceivedCall) {
            self.init(number: call.number, connection: call.connection)
        }
    }

    private struct State {
        var waiting: Deque<ReceivedCall> = []
        var handlers: [Key: Handler] = [:]
        var waiter: UnsafeContinuation<ReceivedCall?, Never>?
        var isEnded = false
        var error: NotifyError?

        mutating func pass(_ call: ReceivedCall) { handlers[Key(call)] = Handler() }
    }

    private let state = Lock(State())
    /// Sends a response without content.
    private let respond: @Sendable (ReceivedCall, Respond.Outcome) -> Void

    init(respond: @escaping @Sendable (ReceivedCall, Respond.Outcome) -> Void) {
        self.respond = respond
    }

    /// The error that ended the server, if any.
    var error: NotifyError? { state.withLock { $0.error } }

    /// Passes a call to the task that waits for one. Gives it back if the server has ended.
    func put(_ call: ReceivedCall) {
        let (waiter, isEnded) = state.withLock { state -> (UnsafeContinuation<ReceivedCall?, Never>?, Bool) in
            if state.isEnded { return (nil, true) }
            guard let waiter = state.waiter.take() else {
                state.waiting.append(call)
                return (nil, false)
            }
            state.pass(call)
            return (waiter, false)
        }
        if isEnded { respond(call, .returned) }
        waiter?.resume(returning: call)
    }

    /// Waits for the next call; nil if the server has ended. Only one task may wait.
    nonisolated(nonsending) func next() async -> ReceivedCall? {
        // The thread sanitizer does not detect by itself that the task continues after an early resumption.
        defer { state.repeatOrder() }
        return await withUnsafeContinuation { continuation in
            let result = state.withLock { state -> ReceivedCall?? in
                if state.isEnded { return .some(nil) }
                guard let first = state.waiting.popFirst() else {
                    state.waiter = continuation
                    return nil
                }
                state.pass(first)
                return first
            }
            if let result { continuation.resume(returning: result) }
        }
    }

    /// Ends the server: `next` returns nil. Gives back the calls that wait for a handler.
    func end(_ error: NotifyError? = nil) {
        let (waiter, waiting) = state.withLock { state in
            state.isEnded = true
            state.error = state.error ?? error
            defer { state.waiting = [] }
            return (state.waiter.take(), state.waiting)
        }
        for call in waiting { respond(call, .returned) }
        waiter?.resume(returning: nil)
    }

    // MARK: Handlers

    /// Must be called when the task of a call's handler has begun.
    func started(_ task: Task<Void, Never>, for call: ReceivedCall) {
        let isCancelled = state.withLock { state in
            state.handlers[Key(call)]?.task = task
            return state.handlers[Key(call)]?.isCancelled ?? false
        }
        if isCancelled { task.cancel() }
    }

    func finished(_ call: ReceivedCall) {
        state.withLock { _ = $0.handlers.removeValue(forKey: Key(call)) }
    }

    /// Handles the end of a call whose response is not awaited any more: cancels its handler. If no handler has it,
    /// responds at once.
    func cancel(_ number: UInt64, on connection: Int) {
        let key = Key(number: number, connection: connection)
        let (call, task) = state.withLock { state -> (ReceivedCall?, Task<Void, Never>?) in
            if let index = state.waiting.firstIndex(where: { Key($0) == key }) {
                return (state.waiting.remove(at: index), nil)
            }
            state.handlers[key]?.isCancelled = true
            return (nil, state.handlers[key]?.task)
        }
        if let call { respond(call, .failed) }
        task?.cancel()
    }

    /// Drops the waiting calls and cancels the handlers, because the connection was lost.
    func connectionLost() {
        let tasks = state.withLock { state in
            state.waiting = []
            for key in state.handlers.keys { state.handlers[key]?.isCancelled = true }
            return state.handlers.values.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
    }
}
