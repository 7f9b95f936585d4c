import NotifyWire

extension NotifyClient {
    /// A right that the daemon's policy grants or denies.
    public enum Right: String, CaseIterable, Hashable, Sendable {
        /// Posting under a name.
        case post
        /// Receiving what is posted under a name.
        case subscribe
        /// Seeing and changing what belongs to other users.
        case manage
    }

    /// A user whose rights are asked about.
    public struct PolicySubject: Hashable, Sendable {
        /// The user.
        public var uid: UInt32
        /// The primary group.
        public var gid: UInt32
        /// The supplementary groups, at most 65,535.
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
        /// Whether the right is granted. A right to subscribe to a pattern is granted if some of its names may be
        /// received; a right to manage a pattern, if all of them may be managed.
        public let isAllowed: Bool
        /// The rule that decides, with its file and line, or why there is none.
        public let reason: String
    }

    struct PolicyQuestion: Sendable {
        var right: Right
        var name: String
        var subject: PolicySubject

        func query(request: UInt64) -> PolicyQuery {
            let right: NotifyWire.Right =
                switch right {
                case .post: .post
                case .subscribe: .subscribe
                case .manage: .manage
                }
            return PolicyQuery(
                request: request, uid: subject.uid, gid: subject.gid, groups: subject.groups, right: right, name: name)
        }
    }
}
