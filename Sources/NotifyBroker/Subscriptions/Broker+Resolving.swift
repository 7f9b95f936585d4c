import NotifyCenter
import NotifyLog
import NotifyWire

/// The subscribers of a message.
extension Broker {
    /// Resolves a valid name and object to the matching subscribers that may receive the name.
    mutating func resolve(_ key: PostKey) -> Resolution {
        let work = subscriptions.work
        defer { scheduler.spend(subscriptions.work - work) }
        if access.policy.isOpen(key.name) { return subscriptions.resolve(key) { _ in true } }
        return Self.resolve(key, &subscriptions, access, connections, durables)
    }

    /// Resolves a message that may be a dead letter. A dead letter reaches only subscribers that may also receive its
    /// original message.
    mutating func resolve(_ message: MessageParts) -> Resolution {
        let resolution = resolve(PostKey(message))
        guard DeadLetterHeaders.isDeadLetter(message.name), !resolution.isEmpty else { return resolution }
        let rules = DeadLetterHeaders.withOriginalName(of: message) { access.policy.nameRules(.subscribe, $0) }
        scheduler.spend(FairScheduler.Cost.trace)
        return resolution.filtered { registration in
            rules.map { Self.mayReceive($0, registration, access, connections, durables) } ?? false
        }
    }

    private static func resolve(
        _ key: PostKey, _ subscriptions: inout Subscriptions, _ access: AccessControl, _ connections: Connections,
        _ durables: DurableSubscriptions
    ) -> Resolution {
        let rules = access.policy.nameRules(.subscribe, key.name)
        return subscriptions.resolve(key) { mayReceive(rules, $0, access, connections, durables) }
    }

    private static func mayReceive(
        _ rules: AccessPolicy.NameRules, _ registration: Registration, _ access: AccessControl,
        _ connections: Connections, _ durables: DurableSubscriptions
    ) -> Bool {
        switch Subscriber(registration) {
        case .connection(let slot): access.permits(rules, connections[slot].identity)
        case .durable(let slot): durables[slot].identities.contains { access.permits(rules, $0) }
        }
    }
}
