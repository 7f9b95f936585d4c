package import NotifyCenter
import NotifyWire

/// The rights of each identity to post, subscribe, receive, and manage durable subscriptions.
///
/// Immutable. A policy that replaces another has a higher generation. A cached decision is valid only under the
/// generation it was made under.
///
/// By default, every peer may post and subscribe. Names under `user.<uid>` belong to that uid and to root. Only the
/// daemon posts under `notifyd`. Only root manages the durable subscriptions of other users.
package struct AccessPolicy: Sendable {
    package var generation: UInt32

    package init(generation: UInt32 = 0) {
        self.generation = generation
    }

    /// Whether every identity may post and receive `name`, judged by its first byte alone. If false, the decision needs
    /// the whole name and the identity.
    @inlinable
    package func isOpen(_ name: UnsafeRawBufferPointer) -> Bool {
        name.first != UInt8(ascii: "u") && name.first != UInt8(ascii: "n")
    }

    /// Whether `identity` may post under `name`.
    package func mayPost(_ name: UnsafeRawBufferPointer, _ identity: borrowing Identity) -> Bool {
        isOpen(name) || NameRights.mayPost(name, uid: identity.uid)
    }

    /// Whether `identity` may receive messages posted under `name`.
    package func mayReceive(_ name: UnsafeRawBufferPointer, _ identity: borrowing Identity) -> Bool {
        isOpen(name) || NameRights.mayReceive(name, uid: identity.uid)
    }

    /// Whether `identity` may subscribe with `pattern`. A pattern under another user's prefix is refused. A wider
    /// pattern is accepted, and names that the identity may not receive are filtered out on delivery.
    package func maySubscribe(_ pattern: NamePattern, _ identity: borrowing Identity) -> Bool {
        NameRights.maySubscribe(pattern, uid: identity.uid)
    }

    /// The rule that restricts `name`, or a pattern that begins like it, for error messages.
    package func rule(for name: UnsafeRawBufferPointer) -> String {
        NameRights.rule(for: name) ?? "the policy forbids it"
    }

    /// Whether `identity` may list and remove the durable subscriptions of `uid`, and see its resource usage.
    package func mayManage(uid: UInt32, _ identity: borrowing Identity) -> Bool {
        identity.uid == uid || mayManageEverything(identity)
    }

    /// Whether `identity` may manage the durable subscriptions of every user, and see every user's resource usage.
    package func mayManageEverything(_ identity: borrowing Identity) -> Bool {
        identity.uid == 0
    }
}

/// The rights of one identity under one policy, for a reader of stored messages.
package struct ReadAccess: Sendable {
    package var policy: AccessPolicy
    package var identity: Identity

    package init(policy: AccessPolicy, identity: Identity) {
        self.policy = policy
        self.identity = identity
    }

    /// Whether messages of `name` may be read.
    package func permits(_ name: UnsafeRawBufferPointer) -> Bool {
        policy.mayReceive(name, identity)
    }

    /// Whether decisions made under `other` are still valid: the policy's generation and the identity are equal.
    package func agrees(with other: ReadAccess) -> Bool {
        policy.generation == other.policy.generation && identity == other.identity
    }
}
