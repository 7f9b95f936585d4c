package import NIOCore

/// Asks the daemon to read its configuration again. Only peers that may manage everything may ask.
package struct Reload: BareFrame, RequestFrame {
    package typealias Reply = Reloaded
    package static let kind = FrameKind.reload

    package var request: UInt64
    package var isChange: Bool { true }
    package var replyTime: ReplyTime { .long }

    package init(request: UInt64) {
        self.request = request
    }
}

/// The answer to a reload: the configuration is valid and in effect.
///
/// The daemon also repairs its log if the files were deleted or moved away.
package struct Reloaded: ReplyFrame {
    package static let kind = FrameKind.reloaded

    package var request: UInt64
    /// The changed settings that take effect at the next start.
    package var pendingSettings: [String]
    /// The problem of a later step, such as the repair of the log; empty if there was none. At most 65,535 bytes.
    package private(set) var problem: String

    package init(request: UInt64, pendingSettings: [String], problem: String = "") {
        self.request = request
        self.pendingSettings = pendingSettings
        self.problem = problem.limitedToCountedText
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        let count: UInt8 = try body.integer()
        pendingSettings = try body.countedStrings(count)
        let length: UInt16 = try body.integer()
        problem = try body.string(Int(length))
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeInteger(UInt8(pendingSettings.count))
        for setting in pendingSettings { buffer.writeCounted(setting) }
        buffer.writeLE(UInt16(problem.utf8.count))
        buffer.writeString(problem)
    }
}

/// A right that the daemon's policy grants or denies.
package enum Right: UInt8, CaseIterable, Sendable {
    case post = 0
    case subscribe = 1
    case manage = 2
    case serve = 3
}

/// Asks how the daemon's policy decides about a name or pattern. Only a peer that may manage everything may ask about
/// another user.
package struct PolicyQuery: ControlFrame, RequestFrame {
    package typealias Reply = PolicyDecision
    package static let kind = FrameKind.policyQuery
    /// The maximum number of groups in a query.
    package static let maximumGroups = 1_024

    package var request: UInt64
    package var uid: UInt32
    package var gid: UInt32
    package var groups: [UInt32]
    package var right: Right
    /// A name, or for rights other than posting also a pattern.
    package var name: String

    package init(request: UInt64 = 0, uid: UInt32, gid: UInt32, groups: [UInt32], right: Right, name: String) {
        self.request = request
        self.uid = uid
        self.gid = gid
        self.groups = groups
        self.right = right
        self.name = name
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        gid = try body.integer()
        let groupCount: UInt16 = try body.integer()
        let rawRight: UInt8 = try body.integer()
        let nameLength: UInt8 = try body.integer()
        guard let right = Right(rawValue: rawRight) else {
            throw WireError(
                .invalidArgument,
                "unknown right \(rawRight): expected 0 (post), 1 (subscribe), 2 (manage) or 3 (serve)")
        }
        self.right = right
        guard body.remaining >= Int(groupCount) * 4 + Int(nameLength) else { throw .truncated }
        groups = []
        groups.reserveCapacity(Int(groupCount))
        for _ in 0..<groupCount { groups.append(try body.integer()) }
        name = try body.string(Int(nameLength))
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeLE(gid)
        buffer.writeLE(UInt16(groups.count))
        buffer.writeInteger(right.rawValue)
        buffer.writeInteger(UInt8(name.utf8.count))
        for group in groups { buffer.writeLE(group) }
        buffer.writeString(name)
    }
}

/// The answer to a policy query.
package struct PolicyDecision: ReplyFrame {
    package static let kind = FrameKind.policyDecision
    /// Flag bit 0: the right is granted.
    package static let allowedFlag: UInt8 = 1

    package var request: UInt64
    package var isAllowed: Bool
    /// The deciding rule in the terms of the configuration, or the reason why no single rule decides. At most 65,535
    /// bytes.
    package private(set) var reason: String
    package var flags: UInt8 { isAllowed ? Self.allowedFlag : 0 }

    package init(request: UInt64, isAllowed: Bool, reason: String) {
        self.request = request
        self.isAllowed = isAllowed
        self.reason = reason.limitedToCountedText
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        let length: UInt16 = try body.integer()
        reason = try body.string(Int(length))
        isAllowed = flags & Self.allowedFlag != 0
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(UInt16(reason.utf8.count))
        buffer.writeString(reason)
    }
}
