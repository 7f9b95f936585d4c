package import NotifyWire

/// The rights of a reader of stored messages under a policy. A right of one of the reader's identities is enough.
package struct ReadAccess: Sendable {
    package var policy: AccessPolicy
    package var identities: [Identity]
    /// Whether every message may be read, whatever the policy says.
    private var isUnrestricted = false

    package init(policy: AccessPolicy, identity: Identity) {
        self.init(policy: policy, identities: [identity])
    }

    package init(policy: AccessPolicy, identities: [Identity]) {
        self.policy = policy
        self.identities = identities
    }

    /// The rights of the daemon, which may read every message. For work whose messages no client receives.
    package static func unrestricted(_ policy: AccessPolicy) -> ReadAccess {
        var access = ReadAccess(policy: policy, identity: Identity(uid: 0, gid: 0))
        access.isUnrestricted = true
        return access
    }

    /// Whether messages of `name` may be read. For a message, use ``permits(_:)-(MessageParts)``, which also checks the
    /// original message of a dead letter.
    package func permits(_ name: UnsafeRawBufferPointer) -> Bool {
        isUnrestricted || policy.mayReceive(name, anyOf: identities)
    }

    /// Whether a message may be read. The name of the message decides; for a dead letter, also the name of its original
    /// message.
    package func permits(_ message: MessageParts) -> Bool {
        permits(message.name) && permitsOriginal(of: message)
    }

    /// Whether a dead letter's original message may be read; true for other messages.
    package func permitsOriginal(of message: MessageParts) -> Bool {
        guard DeadLetterHeaders.isDeadLetter(message.name), !isUnrestricted else { return true }
        return DeadLetterHeaders.withOriginalName(of: message) { permits($0) } ?? false
    }

    /// Whether `other` has the same identities and policy generation, so that decisions made under `other` are valid.
    package func agrees(with other: ReadAccess) -> Bool {
        policy.generation == other.policy.generation && identities == other.identities
            && isUnrestricted == other.isUnrestricted
    }
}
