package import NotifyCenter

/// A rule of an ``AccessPolicy``, as plain data: it allows or denies rights to names, for some or all users.
package struct AccessRule: Sendable, Equatable {
    package enum Effect: Sendable, Equatable {
        case allow
        case deny
    }

    /// The origin of a rule, for messages.
    package enum Source: Sendable, Equatable {
        case defaults
        /// A line of a configuration file.
        case file(String, line: Int)
    }

    /// The token of a pattern that matches the decimal uid of the peer.
    package static let ownUIDToken = "$uid"

    package var effect: Effect
    package var rights: Set<AccessRight>
    /// Patterns of names. The token ``ownUIDToken`` matches the uid of the peer.
    package var names: [NamePattern]
    /// The rule applies to peers with one of these `uids` or `gids`. If both sets are empty, it applies to all peers.
    package var uids: Set<UInt32>
    /// Compared with the primary and the supplementary groups of a peer.
    package var gids: Set<UInt32>
    package var source: Source

    package init(
        _ effect: Effect, _ rights: Set<AccessRight>, names: [NamePattern], uids: Set<UInt32> = [],
        gids: Set<UInt32> = [], source: Source = .defaults
    ) {
        self.effect = effect
        self.rights = rights
        self.names = names
        self.uids = uids
        self.gids = gids
        self.source = source
    }

    var appliesToAll: Bool { uids.isEmpty && gids.isEmpty }

    package static func == (left: AccessRule, right: AccessRule) -> Bool {
        left.effect == right.effect && left.rights == right.rights
            && left.names.map(\.string) == right.names.map(\.string) && left.uids == right.uids
            && left.gids == right.gids && left.source == right.source
    }
}

/// An activity that a rule allows or denies.
package enum AccessRight: String, Sendable, CaseIterable {
    /// Posting under a name.
    case post
    /// Receiving messages posted under a name.
    case subscribe
    /// Deleting the stored messages of a name. With this right to all names: managing the durable subscriptions and the
    /// dead letters of other users, reading their usage, testing the policy for them, checking and backing up the log,
    /// and reloading the configuration.
    case manage
    /// Answering the requests of a name.
    case serve
}

extension AccessRule {
    /// The default rules, which precede all configured rules.
    ///
    /// - Parameter daemonUID: The uid of the daemon, which has the rights of an operator.
    static func defaults(daemonUID: UInt32) -> [AccessRule] {
        let operators: Set<UInt32> = [0, daemonUID]
        return [
            AccessRule(.allow, [.post, .subscribe], names: [">"]),
            AccessRule(.deny, [.post, .subscribe], names: ["user.>"]),
            AccessRule(.allow, [.post, .subscribe], names: ["user.$uid", "user.$uid.>"]),
            AccessRule(.allow, [.post, .subscribe], names: ["user.>"], uids: [0]),
            AccessRule(.allow, [.subscribe], names: ["notifyd", "notifyd.>"], uids: operators),
            AccessRule(.allow, [.subscribe], names: ["notifyd.dead.$uid"]),
            AccessRule(.allow, [.manage, .serve], names: [">"], uids: operators),
            AccessRule(.allow, [.serve], names: ["user.$uid", "user.$uid.>"]),
        ]
    }
}

extension AccessRule: CustomStringConvertible {
    /// The rule in the terms of the configuration file, followed by ``place``.
    package var description: String {
        let rights = AccessRight.allCases.filter(self.rights.contains).map(\.rawValue).joined(separator: ", ")
        var text = "\(effect): [\(rights)] names: [\(names.map(\.string).joined(separator: ", "))]"
        if !uids.isEmpty { text += " uids: [\(uids.sorted().map(String.init).joined(separator: ", "))]" }
        if !gids.isEmpty { text += " gids: [\(gids.sorted().map(String.init).joined(separator: ", "))]" }
        return "\(text) (\(place))"
    }

    /// The file and line of the rule, such as `/etc/notifyd/notifyd.yaml:12`, or `default rule`.
    package var place: String {
        switch source {
        case .defaults: "default rule"
        case .file(let path, let line): "\(path):\(line)"
        }
    }
}
