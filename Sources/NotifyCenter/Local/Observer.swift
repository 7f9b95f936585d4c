import Synchronization

/// One registration of a ``LocalCenter``.
final class Observer: Sendable {
    /// What is told when somebody registers.
    struct Request {
        var names: ObservedNames
        var object: NotificationObject?
        var options = ObservationOptions()
        var owner: Receiver.Owner?
        var receiver: Receiver
        var place: SourcePlace
    }

    /// What a call has to look at first. Most observers have none of these, so that one comparison is enough.
    struct Flags: OptionSet {
        let rawValue: UInt8

        static let ended = Flags(rawValue: 1)
        static let paused = Flags(rawValue: 2)
        static let once = Flags(rawValue: 4)
        static let filtersObject = Flags(rawValue: 8)
        static let owned = Flags(rawValue: 16)
    }

    // What a call needs comes first, so that it shares a cache line.
    private let flags: Atomic<UInt8>
    private let call: @Sendable (LocalNotification) throws -> Void
    let messageType: ObjectIdentifier?
    private let messages: (any MessageReceiving)?
    private let callOwned: (@Sendable (Receiver.Owner, LocalNotification) throws -> Void)?
    private weak let owner: Receiver.Owner?
    private let filter: ObjectFilter?

    let registration: UInt64
    let slot: Int32
    let names: ObservedNames
    let objectKey: ObjectKey?
    let options: ObservationOptions
    let place: SourcePlace
    let queue: (any ObserverQueue)?
    /// Who the owner is, also when it is gone.
    let ownerIdentifier: ObjectIdentifier?

    init(registration: UInt64, slot: Int32, request: Request) {
        self.registration = registration
        self.slot = slot
        owner = request.owner
        call = request.receiver.call
        callOwned = request.receiver.callOwned
        messages = request.receiver.messages
        messageType = request.receiver.messages?.type
        filter = ObjectFilter(request.object)
        names = request.names
        objectKey = request.object?.key
        options = request.options
        place = request.place
        queue = request.receiver.queue
        ownerIdentifier = request.owner.map { ObjectIdentifier($0) }
        var flags: Flags = []
        if options.isOnce { flags.insert(.once) }
        if filter != nil { flags.insert(.filtersObject) }
        if request.owner != nil { flags.insert(.owned) }
        self.flags = Atomic(flags.rawValue)
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
        return !Flags(rawValue: before).contains(.ended)
    }

    var isPaused: Bool { currentFlags.contains(.paused) }

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
    var isOrphaned: Bool { isOwned && owner == nil || filter?.isGone == true }

    var isOwned: Bool { currentFlags.contains(.owned) }

    func isOwned(by object: Receiver.Owner) -> Bool { owner === object }

    /// Whether this is what it asks for. Nil stands for anything, also for an observation that asks for no object.
    func observes(_ name: NotificationName?, object: NotificationObject?) -> Bool {
        if let name, names != name.observedNames { return false }
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
        guard flags.load(ordering: .acquiring) == 0 else { return deliverCarefully(notification, in: center) }
        do {
            try call(notification)
        } catch {
            center.report(error, of: self, for: notification)
        }
    }

    private func deliverCarefully(_ notification: LocalNotification, in center: LocalCenter) {
        withTurn(object: notification.object, in: center) { owner in
            do {
                if let owner, let callOwned { try callOwned(owner, notification) } else { try call(notification) }
            } catch {
                center.report(error, of: self, for: notification)
            }
        }
    }

    /// Hands over a message of the very type that the observer observes, without making a notification of it.
    @inline(__always)
    func deliver<Message: Sendable>(_ post: MessagePost<Message>, in center: LocalCenter) {
        guard let messages else { return }
        // The caller has compared the types.
        let receiver = unsafeDowncast(messages, to: MessageReceiver<Message>.self)
        do {
            if flags.load(ordering: .acquiring) == 0 { return try receiver.call(post.message) }
            try withTurn(object: post.object, in: center) { owner in
                if let owner, let callOwned = receiver.callOwned {
                    try callOwned(owner, post.message)
                } else {
                    try receiver.call(post.message)
                }
            }
        } catch {
            center.report(error, of: self, for: post.notification)
        }
    }

    /// Calls the body, with the owner if there is one, unless the observer may not be called. Ends it where this is its last
    /// call, or what it depends on is gone.
    @inline(__always)
    private func withTurn(
        object: NotificationObject?, in center: LocalCenter, _ body: (Receiver.Owner?) throws -> Void
    ) rethrows {
        let flags = currentFlags
        if flags.contains(.ended) || flags.contains(.paused) { return }
        if let filter, !filter.accepts(object) {
            if filter.isGone { center.end(self) }
            return
        }
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
