/// How notifications get to an observer that runs elsewhere.
struct ObserverDelivery: Sendable {
    var executor = ObserverExecutor.serially
    var isOnMain = false
    var buffering: Buffering
    /// What others post under the name takes no room.
    var accepts: (@Sendable (LocalNotification) -> Bool)?
    var handler: ObserverMailbox.Handler
}

extension ObserverDelivery {
    init(
        on executor: ObserverExecutor, _ buffering: Buffering,
        _ body: @escaping @Sendable (LocalNotification) async throws -> Void
    ) {
        self.executor = executor
        self.buffering = buffering
        handler = { turn in if turn.begins() { try await body(turn.notification) } }
    }

    init<Owner: AnyObject & Sendable>(
        on executor: ObserverExecutor, _ buffering: Buffering, owner: Owner,
        _ body: @escaping @Sendable (Owner, LocalNotification) async throws -> Void
    ) {
        self.executor = executor
        self.buffering = buffering
        handler = { [weak owner] turn in
            guard let owner else { return turn.endObservation() }
            if turn.begins() { try await body(owner, turn.notification) }
        }
    }

    init(
        onMain buffering: Buffering, _ body: @escaping @MainActor @Sendable (LocalNotification) async throws -> Void
    ) {
        isOnMain = true
        self.buffering = buffering
        handler = { @MainActor turn in if turn.begins() { try await body(turn.notification) } }
    }

    init<Owner: AnyObject & Sendable>(
        onMain buffering: Buffering, owner: Owner,
        _ body: @escaping @MainActor @Sendable (Owner, LocalNotification) async throws -> Void
    ) {
        isOnMain = true
        self.buffering = buffering
        handler = { @MainActor [weak owner] turn in
            guard let owner else { return turn.endObservation() }
            if turn.begins() { try await body(owner, turn.notification) }
        }
    }

    init<Isolation: Actor>(
        on actor: Isolation, _ buffering: Buffering,
        _ body: @escaping @Sendable (isolated Isolation, LocalNotification) async throws -> Void
    ) {
        @Sendable func call(_ turn: ObserverMailbox.Turn, on actor: isolated Isolation) async throws {
            if turn.begins() { try await body(actor, turn.notification) }
        }
        self.buffering = buffering
        // The actor is let go between the calls, so that it can go while something waits.
        handler = { [weak actor] turn in
            guard let actor else { return turn.endObservation() }
            try await call(turn, on: actor)
        }
    }

    /// The same for messages of a type alone.
    func accepting<Message: Sendable>(_ type: Message.Type) -> ObserverDelivery {
        var delivery = self
        delivery.accepts = { $0.payload is Message }
        return delivery
    }
}

extension LocalCenter {
    /// Registers an observer that runs elsewhere.
    func register(
        _ names: ObservedNames, object: NotificationObject?, owner: Receiver.Owner? = nil, options: ObservationOptions,
        place: SourcePlace, _ delivery: ObserverDelivery
    ) -> Observation {
        let mailbox = ObserverMailbox(delivery, isOnce: options.isOnce, place: place, center: self)
        return register(
            names, object: object, owner: owner, options: options, place: place,
            receiver: Receiver(call: { mailbox.put($0) }, callOwned: { mailbox.put($1) }, queue: mailbox))
    }
}
