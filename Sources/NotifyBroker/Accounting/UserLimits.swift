import NotifyLog

/// The limits of a user that exceptions can change. Nil means no limit.
package struct UserLimits: Sendable, Equatable {
    package var postsPerSecond: Int?
    package var connectsPerSecond: Int?
    /// The maximum number of bytes that the user's messages may take in the log.
    package var storedBytes: UInt64?

    package init() {}
}

/// The limits of all users, and exceptions for some of them.
package struct UserLimitRules: Sendable, Equatable {
    /// The value with which an exception replaces a general limit.
    package enum Override<Value: Sendable & Equatable>: Sendable, Equatable {
        case unlimited
        case limit(Value)

        fileprivate var value: Value? {
            switch self {
            case .unlimited: nil
            case .limit(let value): value
            }
        }
    }

    /// Limits for some users that replace the general limits.
    package struct Exception: Sendable, Equatable {
        /// The exception applies to peers with one of these `uids` or `gids`.
        package var uids: Set<UInt32>
        package var gids: Set<UInt32>
        /// The limits of the exception. Nil where the general limit applies.
        package var postsPerSecond: Override<Int>?
        package var connectsPerSecond: Override<Int>?
        package var storedBytes: Override<UInt64>?

        package init(uids: Set<UInt32>, gids: Set<UInt32>) {
            self.uids = uids
            self.gids = gids
        }

        /// Whether the exception replaces no limit.
        package var isEmpty: Bool { postsPerSecond == nil && connectsPerSecond == nil && storedBytes == nil }

        fileprivate func apply(to limits: inout UserLimits) {
            if let postsPerSecond { limits.postsPerSecond = postsPerSecond.value }
            if let connectsPerSecond { limits.connectsPerSecond = connectsPerSecond.value }
            if let storedBytes { limits.storedBytes = storedBytes.value }
        }
    }

    /// The limits of users without exceptions.
    package var general = UserLimits()
    /// The exceptions, in order. If several of them apply to a peer and replace the same limit, the last one takes
    /// effect.
    package var exceptions: [Exception] = [] {
        didSet { indexExceptions() }
    }
    /// The indices of the exceptions that apply to a uid or gid.
    private var indicesOfUIDs: [UInt32: [Int]] = [:]
    private var indicesOfGIDs: [UInt32: [Int]] = [:]

    package init() {}

    private mutating func indexExceptions() {
        (indicesOfUIDs, indicesOfGIDs) = ([:], [:])
        for (index, exception) in exceptions.enumerated() {
            for uid in exception.uids { indicesOfUIDs[uid, default: []].append(index) }
            for gid in exception.gids { indicesOfGIDs[gid, default: []].append(index) }
        }
    }

    /// The limits of a peer. Takes time in proportion to the number of its groups.
    func limits(for identity: borrowing Identity) -> UserLimits {
        var limits = general
        for index in exceptions(for: identity).sorted() { exceptions[index].apply(to: &limits) }
        return limits
    }

    private func exceptions(for identity: borrowing Identity) -> Set<Int> {
        var indices = Set(indicesOfUIDs[identity.uid] ?? [])
        guard !indicesOfGIDs.isEmpty else { return indices }
        indices.formUnion(indicesOfGIDs[identity.gid] ?? [])
        for gid in identity.groups {
            if let found = indicesOfGIDs[gid] { indices.formUnion(found) }
        }
        return indices
    }
}
