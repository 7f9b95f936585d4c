import Synchronization

/// One registration of a ``LocalCenter``.
final class Observer: Sendable {
    /// What a call has to look at first. Most observers have none of these, so that one comparison is enough.
    struct Flags: OptionSet {
        let rawValue: UInt8

        static let ended = Flags(rawValue: 1)
        static let paused = Flags(rawValue: 2)
        static let once = Flags(rawValue: 4)
        static let filtersObject = Flags(rawValue: 8)
        static let owned = Flags(rawValue: 16)
        static let rateLimited = Flags(rawValue: 32)
        static let filtered = Flags(rawValue: 64)
    }

    // What a call needs comes first, so that it shares a cache line.
    private let flags: Atomic<UInt8>
    private let call: @Sendable (LocalNotification) throws -> Void
    let messageType: ObjectIdentifier?
    private let messages: (any MessageReceiving)?
    private let callOwned: @Sendable (Receiver.Owner, LocalNotification) throws -> Void
    private weak let owner: Receiver.Owner?
    private let filter: ObjectFilter?

    let names: ObservedNames
    let objectKey: ObjectKey?
    let options: ObservationOptions
    let place: SourcePlace
    let queue: (any ObserverQueue)?
    private let limiter: RateLimiter?
    /// Who the owner is, also when it is gone.
    let ownerIdentifier: ObjectIdentifier?

    // Safe: the center sets both once, under its lock, before the observer is visible to other threads.
    nonisolated(unsafe) private(set) var registration: UInt64 = 0
    nonisolated(unsafe) private(set) var slot: Int32 = -1

    init(
        names: ObservedNames, object: NotificationObject?, owner: Receiver.Owner?, options: ObservationOptions,
        place: SourcePlace, receiver: Receiver
    ) {
        self.names = names
        self.options = options
        self.place = place
        self.owner = owner
        ownerIdentifier = owner.map { ObjectIdentifier($0) }
        call = receiver.call
        callOwned = receiver.callOwned
        messages = receiver.messages
        messageType = receiver.messages?.type
        queue = receiver.queue
        limiter = options.rateLimit.map { RateLimiter($0) }
        filter = ObjectFilter(object)
        objectKey = object?.key
        var flags: Flags = []
        // A queue ends the observation with the call for the one that it took, which has still to come.
        if options.isOnce && queue == nil { flags.insert(.once) }
        if filter != nil { flags.insert(.filtersObject) }
        if owner != nil { flags.insert(.owned) }
        if limiter != nil { flags.insert(.rateLimited) }
        if !options.filters.isEmpty { flags.insert(.filtered) }
        self.flags = Atomic(flags.rawValue)
    }

    /// Sets the observer's registration. Called once, before it is visible to other threads.
    func registered(registration: UInt64, slot: Int32) {
        self.registration = registration
        self.slot = slot
        queue?.registered(registration, slot: slot)
    }
}

// MARK: - Its life

extension Observer {
    private var currentFlags: Flags { Flags(rawValue: flags.load(ordering: .acquiring)) }

    /// From now on no call begins. Answers whether it had not ended before.
    @discardableResult
    func end() -> Bool {
        queue?.close()
        let before = flags.bitwiseOr(Flags.ended.rawValue, ordering: .acquiringAndReleasing).oldValue
        if Flags(rawValue: before).contains(.rateLimited) { limiter?.close() }
        return !Flags(rawValue: before).contains(.ended)
    }

    var isPaused: Bool { currentFlags.contains(.paused) }

    /// Whether posts may wait in a queue or a rate limiter before it is called.
    var buffersPosts: Bool { queue != nil || limiter != nil }

    func setPaused(_ isPaused: Bool) {
        if isPaused {
            flags.bitwiseOr(Flags.paused.rawValue, ordering: .acquiringAndReleasing)
        } else {
            flags.bitwiseAnd(~Flags.paused.rawValue, ordering: .acquiringAndReleasing)
        }
    }

    /// Whether it depends on something that may go: an owner, or the instance that it asks for.
    var canBeOrphaned: Bool { !currentFlags.isDisjoint(with: [.owned, .filtersObject]) }

    /// Whether what it depends on is gone.
    var isOrphaned: Bool { isOwned && owner == nil || filter?.isReleased == true }

    /// Whether it would be called now.
    func wouldReceive(_ notification: LocalNotification) -> Bool {
        guard currentFlags.isDisjoint(with: [.ended, .paused]), !isOrphaned else { return false }
        if let filter, !filter.accepts(notification.object) { return false }
        return accepts(notification) && passesFilters(notification)
    }

    private func passesFilters(_ notification: LocalNotification) -> Bool {
        options.filters.allSatisfy { $0(notification) }
    }

    /// Whether it could be called with the notification: whoever observes a type of message could not with other payloads.
    private func accepts(_ notification: LocalNotification) -> Bool {
        messages?.accepts(notification) ?? queue?.accepts(notification) ?? true
    }

    var isOwned: Bool { currentFlags.contains(.owned) }

    func isOwned(by object: Receiver.Owner) -> Bool { owner === object }

    /// Whether this is what it asks for. Nil stands for anything, also for an observation that asks for no object.
    func observes(_ names: ObservedNames?, object: NotificationObject?) -> Bool {
        if let names, names != self.names { return false }
        guard let object else { return true }
        guard let objectKey, objectKey.isSame(as: object.key) else { return false }
        return filter?.accepts(object) ?? true
    }

    var ownerTypeName: String? { owner.map { "\(type(of: $0))" } }

    var objectDescription: String? { filter?.description ?? objectKey?.text }
}

// MARK: - Calls

extension Observer {
    /// Calls the observer, if it is its turn.
    @inline(__always)
    func deliver(_ notification: LocalNotification, in center: LocalCenter) {
        guard flags.load(ordering: .acquiring) == 0 else { return deliverSlowPath(notification, in: center) }
        do {
            try call(notification)
        } catch {
            center.report(error, of: self, for: notification)
        }
    }

    private func deliverSlowPath(_ notification: LocalNotification, in center: LocalCenter) {
        // A notification without a message of the type does not count as the one call.
        if currentFlags.contains(.once) && !accepts(notification) { return }
        withTurn(notification, object: notification.object, in: center) { call(notification, owner: $0, in: center) }
    }

    private func call(_ notification: LocalNotification, owner: Receiver.Owner?, in center: LocalCenter) {
        do {
            if let owner { try callOwned(owner, notification) } else { try call(notification) }
        } catch {
            center.report(error, of: self, for: notification)
        }
    }

    /// Hands over a message of the very type that the observer observes, without making a notification of it.
    @inline(__always)
    func deliver<Message: Sendable>(
        _ message: Message, name: NotificationName, object: NotificationObject?, in center: LocalCenter
    ) {
        guard let messages else { return }
        // The caller has compared the types. Nothing is retained: this observer holds the receiver.
        let receiver = Unmanaged.passUnretained(unsafeDowncast(messages, to: MessageReceiver<Message>.self))
        do {
            try receiver._withUnsafeGuaranteedRef { receiver in
                if flags.load(ordering: .acquiring) == 0 { return try receiver.call(message) }
                let notification = { LocalNotification(name: name, object: object, payload: message) }
                try withTurn(notification(), object: object, in: center) { owner in
                    if let owner, let callOwned = receiver.callOwned {
                        try callOwned(owner, message)
                    } else {
                        try receiver.call(message)
                    }
                }
            }
        } catch {
            let notification = LocalNotification(name: name, object: object, payload: message)
            center.report(error, of: self, for: notification)
        }
    }

    /// Calls the body, with the owner if there is one, unless the observer may not be called now. Ends it where this is its
    /// last call, or what it depends on is gone.
    ///
    /// - Parameter notification: What filters look at, and what a rate-limited observer may be called with later.
    @inline(__always)
    func withTurn(
        _ notification: @autoclosure () -> LocalNotification, object: NotificationObject?, in center: LocalCenter,
        _ body: (Receiver.Owner?) throws -> Void
    ) rethrows {
        let flags = currentFlags
        if flags.contains(.ended) || flags.contains(.paused) { return }
        // Not without need: a copy of the filter costs more than the call.
        if flags.contains(.filtersObject), let filter, !filter.accepts(object) {
            if filter.isReleased { center.end(self) }
            return
        }
        if flags.contains(.filtered) && !passesFilters(notification()) { return }
        if flags.contains(.rateLimited) && !passesRateLimit(notification(), in: center) { return }
        try withOwner(flags, in: center, body)
    }

    @inline(__always)
    private func withOwner(_ flags: Flags, in center: LocalCenter, _ body: (Receiver.Owner?) throws -> Void) rethrows {
        var owner: Receiver.Owner?
        if flags.contains(.owned) {
            owner = self.owner
            if owner == nil { return center.end(self) }
        }
        if flags.contains(.once) {
            // Of several posts at once, one may have it.
            guard end() else { return }
            center.end(self)
        }
        try body(owner)
    }
}

// MARK: - Rate-limited calls

extension Observer {
    /// Whether the observer is to be called now. Otherwise it may be later, or not.
    @inline(never)
    private func passesRateLimit(_ notification: LocalNotification, in center: LocalCenter) -> Bool {
        // What the observer has no use for must not take the place of what it waits for.
        accepts(notification) && limiter?.admits(notification, for: self, in: center) != false
    }

    /// Calls the observer with what has become due, also if it was paused since the post.
    func deliverRateLimited(_ notification: LocalNotification, in center: LocalCenter) {
        let flags = currentFlags
        if flags.contains(.ended) { return }
        withOwner(flags, in: center) { call(notification, owner: $0, in: center) }
    }
}
