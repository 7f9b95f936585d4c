import Synchronization

/// One registration of a ``LocalCenter``.
final class Observer: Sendable {
    /// The conditions that a call must check. Most observers have none, so their calls need only one comparison.
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

    // The fields that a call reads come first, so that they share a cache line.
    private let flags: Atomic<UInt8>
    private let call: @Sendable (LocalNotification) throws -> Void
    let messageType: ObjectIdentifier?
    /// The object of `messages`, not retained by a post: Swift retains and releases a reference of an existential type.
    ///
    /// `nonisolated(unsafe)`: never changes, and `messages` keeps the object alive.
    private nonisolated(unsafe) let messageReceiver: UnsafeRawPointer?
    private let messages: (any MessageReceiving)?
    private let callOwned: @Sendable (Receiver.Owner, LocalNotification) throws -> Void
    private weak let owner: Receiver.Owner?
    private let filter: ObjectFilter

    let names: ObservedNames
    let objectKey: ObjectKey?
    let options: ObservationOptions
    let place: SourcePlace
    let queue: (any ObserverQueue)?
    private let limiter: RateLimiter?
    /// The identity of the owner, also after its release.
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
        messageReceiver = receiver.messages.map { .init(Unmanaged.passUnretained($0 as AnyObject).toOpaque()) }
        queue = receiver.queue
        limiter = options.rateLimit.map { RateLimiter($0) }
        filter = ObjectFilter(object)
        objectKey = object?.key
        var flags: Flags = []
        // A queue ends the observation itself, when it delivers the one notification.
        if options.isOnce && queue == nil { flags.insert(.once) }
        if !filter.isNone { flags.insert(.filtersObject) }
        if owner != nil { flags.insert(.owned) }
        if limiter != nil { flags.insert(.rateLimited) }
        if !options.filters.isEmpty { flags.insert(.filtered) }
        self.flags = Atomic(flags.rawValue)
    }

    /// Sets the observer's registration. Called once, before the observer is visible to other threads.
    func registered(registration: UInt64, slot: Int32) {
        self.registration = registration
        self.slot = slot
        queue?.registered(registration, slot: slot)
    }
}

// MARK: - State

extension Observer {
    private var currentFlags: Flags { Flags(rawValue: flags.load(ordering: .acquiring)) }

    /// Ends the observer. No call begins after this returns, except one whose check another thread has just passed.
    ///
    /// - Returns: False if the observer had already ended.
    @discardableResult
    func end() -> Bool {
        queue?.close()
        let before = flags.bitwiseOr(Flags.ended.rawValue, ordering: .acquiringAndReleasing).oldValue
        if Flags(rawValue: before).contains(.rateLimited) { limiter?.close() }
        return !Flags(rawValue: before).contains(.ended)
    }

    var isPaused: Bool { currentFlags.contains(.paused) }

    /// Whether notifications may wait in a queue or a rate limiter.
    var buffersPosts: Bool { queue != nil || limiter != nil }

    func setPaused(_ isPaused: Bool) {
        if isPaused {
            flags.bitwiseOr(Flags.paused.rawValue, ordering: .acquiringAndReleasing)
        } else {
            flags.bitwiseAnd(~Flags.paused.rawValue, ordering: .acquiringAndReleasing)
        }
    }

    /// Whether ``isOrphaned`` may become true: the observer has an owner or an object filter. Also true for the filter
    /// of a value, which can't be released, because the flag does not distinguish it from that of an instance.
    var canBeOrphaned: Bool { !currentFlags.isDisjoint(with: [.owned, .filtersObject]) }

    /// Whether the owner or the observed instance was released.
    var isOrphaned: Bool { isOwned && owner == nil || filter.isReleased }

    /// Checks whether a post of the notification would reach the observer now: call it, or pass the notification to its
    /// queue or rate limiter.
    func wouldReceive(_ notification: LocalNotification) -> Bool {
        guard currentFlags.isDisjoint(with: [.ended, .paused]), !isOrphaned else { return false }
        return filter.accepts(notification.object) && accepts(notification) && passesFilters(notification)
    }

    private func passesFilters(_ notification: LocalNotification) -> Bool {
        options.filters.allSatisfy { $0(notification) }
    }

    /// Checks the payload, if the observer observes a type of message.
    ///
    /// - Returns: Whether the observer can be called with the notification.
    private func accepts(_ notification: LocalNotification) -> Bool {
        messages?.accepts(notification) ?? queue?.accepts(notification) ?? true
    }

    var isOwned: Bool { currentFlags.contains(.owned) }

    func isOwned(by object: Receiver.Owner) -> Bool { owner === object }

    /// Compares the names and the object that the observer was registered with. Nil matches any.
    func observes(_ names: ObservedNames?, object: NotificationObject?) -> Bool {
        if let names, names != self.names { return false }
        guard let object else { return true }
        guard let objectKey, objectKey.isSame(as: object.key) else { return false }
        return filter.accepts(object)
    }

    var ownerTypeName: String? { owner.map { "\(type(of: $0))" } }

    var objectDescription: String? { filter.description ?? objectKey?.text }
}

// MARK: - Calls

extension Observer {
    /// Calls the observer, unless its state or options forbid the call.
    @inline(__always)
    func deliver(_ notification: LocalNotification, in center: LocalCenter) {
        guard flags.load(ordering: .acquiring) == 0 else { return deliverSlowPath(notification, in: center) }
        do {
            try call(notification)
        } catch {
            center.report(error, of: self, for: notification)
        }
    }

    @inline(never)
    private func deliverSlowPath(_ notification: LocalNotification, in center: LocalCenter) {
        let flags = currentFlags
        // Without a closure for the body, because an observer of one object is common.
        if flags == .filtersObject {
            if filter.accepts(notification.object) { return call(notification, owner: nil, in: center) }
            if filter.isReleased { center.end(self) }
            return
        }
        // A notification without a message of the type does not count as the one call of `.once`.
        if flags.contains(.once) && !accepts(notification) { return }
        callIfAllowed(notification, object: notification.object, in: center) {
            call(notification, owner: $0, in: center)
        }
    }

    private func call(_ notification: LocalNotification, owner: Receiver.Owner?, in center: LocalCenter) {
        do {
            if let owner { try callOwned(owner, notification) } else { try call(notification) }
        } catch {
            center.report(error, of: self, for: notification)
        }
    }

    /// Delivers a message of the observed type. Creates a notification only for filters, a rate limit or an error.
    @inline(__always)
    func deliver<Message: Sendable>(
        _ message: Message, name: NotificationName, object: NotificationObject?, in center: LocalCenter
    ) {
        guard let messageReceiver else { return }
        // Safe: the caller has compared the types, and this observer keeps the receiver alive.
        let receiver = Unmanaged<MessageReceiver<Message>>.fromOpaque(messageReceiver)
        receiver._withUnsafeGuaranteedRef { receiver in
            guard flags.load(ordering: .acquiring) == 0 else {
                return deliverSlowPath(message, to: receiver, name: name, object: object, in: center)
            }
            do {
                try receiver.call(message)
            } catch {
                report(error, of: message, name: name, object: object, in: center)
            }
        }
    }

    @inline(never)
    private func deliverSlowPath<Message: Sendable>(
        _ message: Message, to receiver: MessageReceiver<Message>, name: NotificationName, object: NotificationObject?,
        in center: LocalCenter
    ) {
        let notification = { LocalNotification(name: name, object: object, payload: message) }
        do {
            try callIfAllowed(notification(), object: object, in: center) { owner in
                if let owner, let callOwned = receiver.callOwned {
                    try callOwned(owner, message)
                } else {
                    try receiver.call(message)
                }
            }
        } catch {
            report(error, of: message, name: name, object: object, in: center)
        }
    }

    @inline(never)
    private func report<Message: Sendable>(
        _ error: any Error, of message: Message, name: NotificationName, object: NotificationObject?,
        in center: LocalCenter
    ) {
        center.report(error, of: self, for: LocalNotification(name: name, object: object, payload: message))
    }

    /// Calls `body` with the owner, if there is one, unless the state or the options forbid a call. Ends the observer
    /// if this is its last call, or if its owner or observed instance was released.
    ///
    /// - Parameter notification: Evaluated only for filters and a rate limit. The rate limiter may keep the
    ///   notification for a later call.
    @inline(__always)
    func callIfAllowed(
        _ notification: @autoclosure () -> LocalNotification, object: NotificationObject?, in center: LocalCenter,
        _ body: (Receiver.Owner?) throws -> Void
    ) rethrows {
        let flags = currentFlags
        if flags.contains(.ended) || flags.contains(.paused) { return }
        if flags.contains(.filtersObject) && !filter.accepts(object) {
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
            // Only one of several concurrent posts may call the observer.
            guard end() else { return }
            center.end(self)
        }
        try body(owner)
    }
}

// MARK: - Rate-limited calls

extension Observer {
    /// Passes a notification to the rate limiter, which may call the observer later or drop the notification.
    ///
    /// - Returns: Whether the observer may be called now.
    @inline(never)
    private func passesRateLimit(_ notification: LocalNotification, in center: LocalCenter) -> Bool {
        // A notification that the observer does not accept must not replace a pending one.
        accepts(notification) && limiter?.admits(notification, for: self, in: center) != false
    }

    /// Calls the observer with a notification that the rate limiter has delayed, even if the observer was paused since
    /// the post.
    func deliverRateLimited(_ notification: LocalNotification, in center: LocalCenter) {
        let flags = currentFlags
        if flags.contains(.ended) { return }
        withOwner(flags, in: center) { call(notification, owner: $0, in: center) }
    }
}
