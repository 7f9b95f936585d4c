/// The user that a peer runs as, with its groups, as the kernel reports them.
///
/// A durable subscription keeps the identity with which it was attached last: its rights decide while it is detached.
package struct Identity: Hashable, Sendable {
    package var uid: UInt32
    /// `UInt32.max`, which no process has, where it is unknown.
    package var gid: UInt32
    /// The supplementary groups, in the kernel's order.
    package var groups: [UInt32]

    package init(uid: UInt32, gid: UInt32, groups: [UInt32] = []) {
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }
}
