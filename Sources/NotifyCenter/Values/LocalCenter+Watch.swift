extension LocalCenter {
    /// What a watch of values reports. A watch of a daemon's values may also have to begin anew, which does not happen
    /// within a process.
    public enum ValueEvent: Sendable {
        /// A value: at first each present one, then each that is set.
        case value(LocalNotification)
        /// The value of this name and object was cleared. The notification has no payload.
        case cleared(LocalNotification)
        /// Every present value was reported, and changes follow. Reported once.
        case upToDate
    }

    /// Watches values: returns their present state, and then each change.
    ///
    /// ```swift
    /// for await event in try center.watch("jobs.>") {
    ///     switch event {
    ///     case .value(let job): board[job.name] = job.payload as? String
    ///     case .cleared(let job): board[job.name] = nil
    ///     case .upToDate: show(board)
    ///     }
    /// }
    /// ```
    ///
    /// A watch that is read slowly gets the latest state of each value, and skips those between, so it needs no more
    /// memory than the values. It never reports an older state of a value after a newer one. Where several values of a
    /// name and object are kept, it reports the newest. Each iterator begins anew, and is to be read by one task at a
    /// time. The sequence ends in a cancelled task.
    ///
    /// - Parameters:
    ///   - names: The names and patterns to match.
    ///   - object: The object to match; nil for values with any object or none.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    public func watch<Names: NotificationNames>(
        _ names: Names, object: NotificationObject? = nil
    ) throws(Names.Failure) -> some AsyncSequence<ValueEvent, Never> & Sendable {
        ValueWatch(center: self, names: try names.observedNames, object: object)
    }
}

/// The sequence of a watch.
private struct ValueWatch: AsyncSequence, Sendable {
    typealias Element = LocalCenter.ValueEvent
    typealias Failure = Never

    let center: LocalCenter
    let names: ObservedNames
    let object: NotificationObject?

    func makeAsyncIterator() -> Iterator { Iterator(watcher: ValueWatcher(center, names, object: object)) }

    struct Iterator: AsyncIteratorProtocol {
        let watcher: ValueWatcher

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await watcher.next(isolation: actor)
        }

        nonisolated(nonsending) mutating func next() async -> Element? { await watcher.next(isolation: #isolation) }
    }
}

/// A reader of values. Its iterator holds the only reference.
private final class ValueWatcher: Sendable {
    private let center: LocalCenter
    private let id: UInt64

    init(_ center: LocalCenter, _ names: ObservedNames, object: NotificationObject?) {
        self.center = center
        id = center.state.withLock { state in
            let present = state.values.matching(names, object: object, limit: .max).map(\.notification)
            return state.watches.add(names, object: object, present: present)
        }
    }

    deinit {
        // Released outside the lock: deinitializers of payloads may call the center.
        withExtendedLifetime(center.state.withLock { $0.watches.remove(id) }) {}
    }

    func next(isolation: isolated (any Actor)?) async -> LocalCenter.ValueEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { continuation in
                switch center.state.withLock({ $0.watches.next(id, continuation) }) {
                case .event(let event, let key): withExtendedLifetime(key) { continuation.resume(returning: event) }
                case .ended: continuation.resume(returning: nil)
                case .waiting: break
                }
            }
        } onCancel: {
            center.state.withLock { $0.watches.end(id) }?.resume(returning: nil)
        }
    }
}
