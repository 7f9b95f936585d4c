package import NotifyCenter
import NotifyWire

/// What each identity may do: the one value that is asked for posting, subscribing, receiving and managing.
///
/// Immutable. A policy that replaces another has a higher generation; whatever caches a decision keeps the generation it
/// was made under and asks again under another one.
///
/// The default: every peer posts and subscribes; names under `user.<uid>` belong to that uid and to root; only the daemon
/// posts under `notifyd`; managing another user's durable subscriptions is for root.
package struct AccessPolicy: Sendable {
    package var generation: UInt32

    package init(generation: UInt32 = 0) {
        self.generation = generation
    }

    /// Whether the name is outside of every restricted part of the names, so that no identity has to be looked up.
    @inlinable
    package func isOpen(_ name: UnsafeRawBufferPointer) -> Bool {
        name.first != UInt8(ascii: "u") && name.first != UInt8(ascii: "n")
    }

    /// Whether `identity` may post under `name`.
    package func mayPost(_ name: UnsafeRawBufferPointer, _ identity: borrowing Identity) -> Bool {
        isOpen(name) || NameRights.mayPost(name, uid: identity.uid)
    }

    /// Whether messages of `name` may reach a subscription of `identity`.
    package func mayReceive(_ name: UnsafeRawBufferPointer, _ identity: borrowing Identity) -> Bool {
        isOpen(name) || NameRights.mayReceive(name, uid: identity.uid)
    }

    /// Whether `identity` may subscribe with `pattern`. What the pattern matches beyond the identity's rights is not
    /// delivered; a pattern that names another user's part of the names is refused.
    package func maySubscribe(_ pattern: NamePattern, _ identity: borrowing Identity) -> Bool {
        NameRights.maySubscribe(pattern, uid: identity.uid)
    }

    /// Whether `identity` may list, change and remove what belongs to `uid`.
    package func mayManage(uid: UInt32, _ identity: borrowing Identity) -> Bool {
        identity.uid == uid || mayManageEverything(identity)
    }

    /// Whether `identity` may list, change and remove what belongs to any user.
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

    /// Whether a decision made under `other` holds under this one, too.
    package func agrees(with other: ReadAccess) -> Bool {
        policy.generation == other.policy.generation && identity == other.identity
    }
}
