import NotifyWire

extension NotificationClient.Administration {
    /// A right that the daemon's policy grants or denies.
    public enum Right: String, CaseIterable, Hashable, Sendable {
        /// Posting under a name.
        case post
        /// Receiving the messages posted under a name.
        case subscribe
        /// Managing resources of other users, such as durable subscriptions, and reloading the configuration.
        case manage
        /// Answering the requests of a name.
        case serve
    }

    /// The user about whose rights a request asks.
    public struct PolicySubject: Hashable, Sendable {
        /// The uid of the user.
        public var uid: UInt32
        /// The primary group.
        public var gid: UInt32
        /// The supplementary groups, at most 1,024.
        public var groups: [UInt32]

        /// Creates a subject with the groups that a process of the user would have.
        public init(uid: UInt32, gid: UInt32, groups: [UInt32] = []) {
            self.uid = uid
            self.gid = gid
            self.groups = groups
        }
    }

    /// A decision of the daemon's policy.
    public struct PolicyDecision: Hashable, Sendable {
        /// Whether the right is granted. The right to subscribe to a pattern is granted if the user may receive some of
        /// its names. The rights to manage and to serve a pattern are granted if they are granted for all of its names.
        public let isAllowed: Bool
        /// The deciding rule with its file and line, or the reason why no single rule decides.
        public let reason: String
    }
}

extension NotifyWire.Right {
    init(_ right: NotificationClient.Administration.Right) {
        self =
            switch right {
            case .post: .post
            case .subscribe: .subscribe
            case .manage: .manage
            case .serve: .serve
            }
    }
}
