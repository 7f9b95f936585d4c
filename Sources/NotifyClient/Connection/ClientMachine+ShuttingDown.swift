/// A graceful shutdown of a client that runs as a service, while subscriptions are open.
///
/// A service group shuts its services down one after another, and treats the end of a service before its turn as an
/// error. If the client is shut down before the services that consume its subscriptions, the end of the subscriptions
/// would end these services too early. So `run()` returns as soon as earlier requests are answered, but the client
/// keeps delivering. The client stops when the consumers, shut down in their turn, have left their subscriptions.
struct GracefulShutdown {
    /// The last request that was sent before the shutdown.
    let lastRequest: UInt64
    /// The time at which the client ends the remaining subscriptions, whose consumers were not shut down; nil after
    /// that time.
    private var endOfSubscriptions: Duration?
    /// The time at which the connection is closed, even with open subscriptions.
    let endOfConnection: Duration

    init(lastRequest: UInt64, now: Duration, closingTimeout: Duration) {
        self.lastRequest = lastRequest
        endOfSubscriptions = now + closingTimeout / 2
        endOfConnection = now + closingTimeout
    }

    var nextDeadline: Duration { endOfSubscriptions ?? endOfConnection }

    enum TimeAction: Equatable { case endSubscriptions, stop, wait }

    mutating func timeReached(_ now: Duration) -> TimeAction {
        if now >= endOfConnection { return .stop }
        guard let end = endOfSubscriptions, now >= end else { return .wait }
        endOfSubscriptions = nil
        return .endSubscriptions
    }
}

extension ClientMachine {
    /// Begins the shutdown of the client's service. Without subscriptions, the client stops at once. Otherwise its
    /// service ends when all requests sent before the shutdown are answered, and the client stops when the last
    /// subscription has been left.
    mutating func shutDownGracefully(now: Duration, _ effects: inout Effects) {
        guard shutdown == nil, refusal == nil else { return }
        shutdown = GracefulShutdown(
            lastRequest: requests.nextRequest - 1, now: now, closingTimeout: settings.closingTimeout)
        continueShutdown(now: now, &effects)
    }

    /// Answers `slot` at the end of the client's service: at the end of the client, or earlier in a graceful shutdown.
    mutating func awaitServiceEnd(_ slot: ReplySlot<Void>, now: Duration, _ effects: inout Effects) {
        switch connection.stopped {
        case .some(let error): effects.answer(slot, error.map { .failure($0) } ?? .success(()))
        case nil:
            serviceWaiters.append(slot)
            continueShutdown(now: now, &effects)
        }
    }

    /// Continues the shutdown after a change of requests or subscriptions.
    mutating func continueShutdown(now: @autoclosure () -> Duration, _ effects: inout Effects) {
        guard let shutdown else { return }
        guard !subscriptions.isEmpty || !servers.isEmpty else {
            return stop(now: now(), deadline: shutdown.endOfConnection, &effects)
        }
        guard requests.answeredBelow > shutdown.lastRequest else { return }
        for waiter in serviceWaiters { effects.answer(waiter, .success(())) }
        serviceWaiters.removeAll()
    }

    mutating func shutdownTimeReached(_ now: Duration, _ effects: inout Effects) {
        switch shutdown?.timeReached(now) {
        case .endSubscriptions:
            for number in subscriptions.numbers {
                if let buffer = subscriptions[number]?.buffer { effects.deliveries.append((buffer, .end(nil))) }
            }
            for number in servers.numbers { endServing(number, nil, now: now, &effects) }
        case .stop: stop(now: now, deadline: now, &effects)
        case .wait, nil: break
        }
    }
}
