package import NIOCore

/// Opens a subscription. The client chooses its number, which may be reused after `detached`.
package struct Subscribe: ControlFrame {
    package static let kind = FrameKind.subscribe

    package var request: UInt64
    /// The subscription's number on this connection; never 0.
    package var subscription: UInt32
    /// The maximum number of durable messages in flight; 0 for the default.
    package var window: UInt32
    /// The total number of durable messages to deliver until more credit is granted; `unlimitedCredit` for no limit.
    package var credit: UInt32
    /// The position at which a durable subscription begins if this request creates it. An existing one continues at its
    /// cursor.
    package var start: LogPosition
    /// Whether a durable subscription is shared. The request is refused if an existing one has another sharing, unless
    /// `takesOver` is set.
    package var sharing: DurableSharing
    /// Whether to end the attachments of other clients, and to share an existing durable subscription as requested.
    package var takesOver: Bool
    /// Whether a durable subscription may or must be created.
    package var creation: Creation
    /// The settings of a durable subscription that this request creates, where they differ from the defaults for its
    /// sharing. An existing one keeps its settings.
    package var settings: DurableSettingChanges
    /// The name of a durable subscription; empty for a volatile one.
    package var durableName: String
    /// Limits the subscription to messages with this object; empty for all.
    package var object: String
    /// The patterns. Empty to attach to an existing durable subscription, whatever its patterns and its object are.
    package var patterns: [String]

    package static let unlimitedCredit = UInt32.max

    package enum Creation: UInt8, Sendable {
        /// Attaches to the subscription, and creates it first if there is none.
        case ifMissing = 0
        /// Creates the subscription without attaching to it. The answer is a ``DurableDescription``, also if the
        /// subscription already exists.
        case only = 1
        /// Attaches to the subscription, and is refused with `unknownSubscription` if there is none.
        case never = 2

        fileprivate static func unknown(_ value: UInt8) -> WireError {
            WireError(
                .unsupported,
                "unknown creation \(value): expected 0 (attach or create), 1 (create only) or 2 (attach only)")
        }
    }

    package init(
        request: UInt64, subscription: UInt32, patterns: [String], object: String = "", durableName: String = "",
        start: LogPosition = .now, window: UInt32 = 0, credit: UInt32 = unlimitedCredit,
        sharing: DurableSharing = .exclusive, takesOver: Bool = false,
        creation: Creation = .ifMissing,
        settings: DurableSettingChanges = DurableSettingChanges()
    ) {
        self.request = request
        self.subscription = subscription
        self.patterns = patterns
        self.object = object
        self.durableName = durableName
        self.start = start
        self.window = window
        self.credit = credit
        self.sharing = sharing
        self.takesOver = takesOver
        self.creation = creation
        self.settings = settings
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        subscription = try body.integer()
        window = try body.integer()
        credit = try body.integer()
        let startKind: UInt8 = try body.integer()
        let durableNameLength: UInt8 = try body.integer()
        let objectLength: UInt8 = try body.integer()
        let patternCount: UInt8 = try body.integer()
        let startValue: UInt64 = try body.integer()
        let sharing: UInt8 = try body.integer()
        let takesOver: UInt8 = try body.integer()
        let creation: UInt8 = try body.integer()
        try body.skip(1)
        settings = try DurableSettingChanges(reading: &body)
        durableName = try body.string(Int(durableNameLength))
        object = try body.string(Int(objectLength))
        patterns = try body.countedStrings(patternCount)
        start = try LogPosition(kind: startKind, value: startValue)
        guard let known = DurableSharing(rawValue: sharing) else { throw DurableSharing.unknown(sharing) }
        self.sharing = known
        guard takesOver <= 1 else {
            throw WireError(.unsupported, "unknown takeover \(takesOver): expected 0 (no) or 1 (yes)")
        }
        self.takesOver = takesOver == 1
        guard let knownCreation = Creation(rawValue: creation) else { throw Creation.unknown(creation) }
        self.creation = knownCreation
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(subscription)
        buffer.writeLE(window)
        buffer.writeLE(credit)
        buffer.writeInteger(start.encoded.kind)
        buffer.writeInteger(UInt8(durableName.utf8.count))
        buffer.writeInteger(UInt8(object.utf8.count))
        buffer.writeInteger(UInt8(patterns.count))
        buffer.writeLE(start.encoded.value)
        buffer.writeInteger(sharing.rawValue)
        buffer.writeInteger(UInt8(takesOver ? 1 : 0))
        buffer.writeInteger(creation.rawValue)
        buffer.writeInteger(UInt8(0))
        settings.write(to: &buffer)
        buffer.writeString(durableName)
        buffer.writeString(object)
        for pattern in patterns {
            buffer.writeCounted(pattern)
        }
    }
}

/// A `Subscribe` that creates a durable subscription without attaching to it.
package struct CreateDurable: RequestFrame {
    package typealias Reply = DurableDescription

    private var frame: Subscribe
    package var request: UInt64 {
        get { frame.request }
        set { frame.request = newValue }
    }
    package var isChange: Bool { true }

    package init(_ frame: Subscribe) {
        self.frame = frame
        self.frame.creation = .only
    }

    package func write(to buffer: inout ByteBuffer) {
        frame.write(to: &buffer)
    }
}

/// The answer to a subscribe.
package struct Subscribed: ControlFrame {
    package static let kind = FrameKind.subscribed
    /// Flag bit 0: the durable subscription already existed.
    package static let resumedFlag: UInt8 = 1

    package var request: UInt64
    package var subscription: UInt32
    /// For a volatile subscription, the sequence above which messages are delivered. For a durable subscription, its
    /// cursor: the messages up to it are acknowledged, or wait for a redelivery.
    package var sequence: UInt64
    /// The generation of a durable subscription's cursor; 0 for a volatile one.
    ///
    /// The generation changes when the subscription is removed and created again, and when its cursor is reset. The
    /// client then forgets which messages it received and acknowledged.
    package var generation: UInt64
    package var isResumed: Bool
    package var flags: UInt8 { isResumed ? Self.resumedFlag : 0 }

    package init(
        request: UInt64, subscription: UInt32, sequence: UInt64, generation: UInt64 = 0, isResumed: Bool
    ) {
        self.request = request
        self.subscription = subscription
        self.sequence = sequence
        self.generation = generation
        self.isResumed = isResumed
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        subscription = try body.integer()
        try body.skip(4)
        sequence = try body.integer()
        generation = try body.integer()
        isResumed = flags & Self.resumedFlag != 0
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(subscription)
        buffer.writeLE(UInt32(0))
        buffer.writeLE(sequence)
        buffer.writeLE(generation)
    }
}

/// Ends a volatile subscription, or detaches from a durable subscription, which continues to exist.
package struct Detach: SubscriptionFrame {
    package static let kind = FrameKind.detach

    package var request: UInt64
    package var subscription: UInt32

    package init(request: UInt64, subscription: UInt32) {
        self.request = request
        self.subscription = subscription
    }
}

/// The answer to a detach: acknowledgements are committed, and no delivery of the subscription follows.
package struct Detached: SubscriptionFrame {
    package static let kind = FrameKind.detached

    package var request: UInt64
    package var subscription: UInt32

    package init(request: UInt64, subscription: UInt32) {
        self.request = request
        self.subscription = subscription
    }
}

/// Removes a durable subscription.
package struct Remove: ControlFrame, RequestFrame {
    package typealias Reply = Removed
    package static let kind = FrameKind.remove
    private static let endsMembersOption: UInt8 = 1
    /// Stands for the client's own uid.
    package static let ownUID = UInt32.max

    package var request: UInt64
    /// The owner of the subscription. Only a client that may manage everything may name another user.
    package var uid: UInt32
    /// Whether the attachments of clients end first. Otherwise the removal is refused while a client is attached.
    package var endsMembers: Bool
    package var durableName: String
    package var isChange: Bool { true }

    package init(request: UInt64 = 0, uid: UInt32 = ownUID, endsMembers: Bool = false, durableName: String) {
        self.request = request
        self.uid = uid
        self.endsMembers = endsMembers
        self.durableName = durableName
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        let options: UInt8 = try body.integer()
        guard options & ~Self.endsMembersOption == 0 else {
            throw WireError(.unsupported, "unknown options of a remove")
        }
        endsMembers = options & Self.endsMembersOption != 0
        durableName = try body.countedString()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeInteger(endsMembers ? Self.endsMembersOption : 0)
        buffer.writeCounted(durableName)
    }
}

/// The answer to a remove: the durable subscription no longer exists.
package struct Removed: BareFrame, ReplyFrame {
    package static let kind = FrameKind.removed

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}
