/// The delivery to an observer that runs in tasks, on an actor or an executor.
struct ObserverDelivery: Sendable {
    typealias Body = nonisolated(nonsending) @Sendable (LocalNotification) async throws -> Void
    typealias OwnedBody<Owner> = nonisolated(nonsending) @Sendable (Owner, LocalNotification) async throws -> Void

    var executor = ObserverExecutor.serially
    /// Whether calls begin on the main actor, so that a post from the main actor can call the observer directly.
    var isOnMain = false
    var buffering: Buffering
    /// Returns whether the observer can receive a notification. Called before the notification is buffered.
    var accepts: (@Sendable (LocalNotification) -> Bool)?
    var handler: ObserverMailbox.Handler
}

extension ObserverDelivery {
    /// - Parameter isolation: The isolation of the body. The call hops to this actor before it checks whether it may
    ///   begin.
    init(on executor: ObserverExecutor, _ buffering: Buffering, isolation: (any Actor)?, _ body: @escaping Body) {
        self.executor = executor
        self.buffering = buffering
        isOnMain = executor.isDefault && isolation === MainActor.shared
        handler = { turn in
            try await Self.call(turn, isolation: isolation) { try await body(turn.notification) }
        }
    }

    init<Owner: AnyObject & Sendable>(
        on executor: ObserverExecutor, _ buffering: Buffering, isolation: (any Actor)?, owner: Owner,
        _ body: @escaping OwnedBody<Owner>
    ) {
        let reference = WeakOwner(owner)
        self.executor = executor
        self.buffering = buffering
        isOnMain = executor.isDefault && isolation === MainActor.shared
        // A nested function, because a closure of several statements would run on another executor.
        @Sendable nonisolated(nonsending) func handle(_ turn: ObserverMailbox.Turn) async throws {
            guard let owner = reference.owner else { return turn.endObservation() }
            try await Self.call(turn, isolation: isolation) { try await body(owner, turn.notification) }
        }
        handler = handle
    }

    init<Isolation: Actor>(
        on actor: Isolation, _ buffering: Buffering,
        _ body: @escaping @Sendable (isolated Isolation, LocalNotification) async throws -> Void
    ) {
        @Sendable func call(_ turn: ObserverMailbox.Turn, on actor: isolated Isolation) async throws {
            if turn.tryBegin() { try await body(actor, turn.notification) }
        }
        self.buffering = buffering
        // No strong reference is held between calls, so that buffered notifications do not keep the actor alive.
        handler = { [weak actor] turn in
            guard let actor else { return turn.endObservation() }
            try await call(turn, on: actor)
        }
    }

    /// Calls the body if the call may begin. Checks this in the observer's isolation, so that no suspension separates
    /// the check from the call.
    private static func call(
        _ turn: ObserverMailbox.Turn, isolation: isolated (any Actor)?,
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        if turn.tryBegin() { try await body() }
    }

    /// The same delivery, limited to messages of a type.
    func accepting<Message: Sendable>(_ type: Message.Type) -> ObserverDelivery {
        var delivery = self
        delivery.accepts = { $0.payload is Message }
        return delivery
    }
}

/// A weak reference to an owner.
private final class WeakOwner<Owner: AnyObject & Sendable>: Sendable {
    weak let owner: Owner?

    init(_ owner: Owner) {
        self.owner = owner
    }
}

extension LocalCenter {
    /// Registers an observer that runs in tasks, on an actor or an executor.
    func register(
        _ names: ObservedNames, object: NotificationObject?, owner: Receiver.Owner? = nil, options: ObservationOptions,
        place: SourcePlace, _ delivery: ObserverDelivery
    ) -> ObservationHandle {
        let mailbox = ObserverMailbox(delivery, isOnce: options.isOnce, place: place, center: self)
        return register(
            names, object: object, owner: owner, options: options, place: place,
            receiver: Receiver(call: { mailbox.put($0) }, callOwned: { mailbox.put($1) }, queue: mailbox))
    }
}
