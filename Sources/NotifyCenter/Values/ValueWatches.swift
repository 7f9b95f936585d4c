import DequeModule

/// The watches of values, each with the changes that it has not reported yet. Guarded by the center's lock.
///
/// Objects are released outside the lock, because their deinitializers may call the center: every removed key and event is
/// returned to the caller.
struct ValueWatches {
    typealias Continuation = CheckedContinuation<LocalCenter.ValueEvent?, Never>

    /// The name and object of a value.
    struct Key: Hashable {
        let name: NotificationName
        let object: NotificationObject?
    }

    enum Next {
        /// An event, and the key that was removed with it.
        case event(LocalCenter.ValueEvent, Key?)
        /// The watch has ended.
        case ended
        /// The continuation is resumed with the next event.
        case waiting
    }

    /// What to do after the lock is released.
    struct Effects {
        fileprivate var wakeups: [(Continuation, LocalCenter.ValueEvent)] = []
        fileprivate var dropped: [(Key, LocalCenter.ValueEvent)] = []

        func carryOut() {
            for (continuation, event) in wakeups { continuation.resume(returning: event) }
        }
    }

    fileprivate struct Watch {
        let names: ObservedNames
        let object: NotificationObject?
        /// The changes that are not reported yet, the latest of each value.
        var changes: [Key: LocalCenter.ValueEvent] = [:]
        /// The values that have changed, in the order of their first unreported changes; nil for `upToDate`.
        var order: Deque<Key?> = []
        /// The reader that waits for the next event.
        var reader: Continuation?
        var hasEnded = false
    }

    private var watches: [UInt64: Watch] = [:]
    private var lastID: UInt64 = 0

    // MARK: Watches

    /// Adds a watch that first reports the present values.
    mutating func add(
        _ names: ObservedNames, object: NotificationObject?, present: [LocalNotification]
    ) -> UInt64 {
        lastID += 1
        var watch = Watch(names: names, object: object)
        for value in present {
            let key = Key(name: value.name, object: value.object)
            // The values of a name and object are in order, so the newest one remains.
            if watch.changes.updateValue(.value(value), forKey: key) == nil { watch.order.append(key) }
        }
        watch.order.append(nil)
        watches[lastID] = watch
        return lastID
    }

    /// Removes a watch.
    ///
    /// - Returns: Its contents.
    mutating func remove(_ id: UInt64) -> (some Any)? { watches.removeValue(forKey: id) }

    /// Ends a watch, whose task was cancelled.
    ///
    /// - Returns: The reader, if it waits.
    mutating func end(_ id: UInt64) -> Continuation? {
        watches[id]?.hasEnded = true
        return watches[id]?.reader.take()
    }

    // MARK: Events

    /// Notes the change of a value for the watches that match it.
    mutating func changed(_ notification: LocalNotification, isCleared: Bool, _ effects: inout Effects) {
        guard !watches.isEmpty else { return }
        let event: LocalCenter.ValueEvent =
            isCleared
            ? .cleared(LocalNotification(name: notification.name, object: notification.object, payload: nil))
            : .value(notification)
        var index = watches.startIndex
        while index != watches.endIndex {
            watches.values[index].changed(notification, event, &effects)
            watches.formIndex(after: &index)
        }
    }

    /// Takes the next event of a watch. If there is none, the continuation is resumed with the next one.
    mutating func next(_ id: UInt64, _ continuation: Continuation) -> Next {
        watches[id]?.next(continuation) ?? .ended
    }
}

extension ValueWatches.Watch {
    fileprivate mutating func changed(
        _ notification: LocalNotification, _ event: LocalCenter.ValueEvent, _ effects: inout ValueWatches.Effects
    ) {
        guard !hasEnded, object == nil || object == notification.object, names.matches(notification.name) else {
            return
        }
        if let reader = reader.take() { return effects.wakeups.append((reader, event)) }
        let key = ValueWatches.Key(name: notification.name, object: notification.object)
        // Replacing only the event would keep the old key, whose object belongs to another notification.
        if let index = changes.index(forKey: key) {
            effects.dropped.append(changes.remove(at: index))
        } else {
            order.append(key)
        }
        changes[key] = event
    }

    fileprivate mutating func next(_ continuation: ValueWatches.Continuation) -> ValueWatches.Next {
        if hasEnded { return .ended }
        guard let first = order.popFirst() else {
            reader = continuation
            return .waiting
        }
        guard let key = first, let index = changes.index(forKey: key) else { return .event(.upToDate, nil) }
        let (_, event) = changes.remove(at: index)
        return .event(event, key)
    }
}
