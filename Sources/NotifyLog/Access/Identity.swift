/// The uid, gid and groups of a peer, as reported by the kernel.
///
/// A durable subscription stores the last eight identities that have attached. A message is for the subscription if one
/// of them may receive it, even while no client is attached.
package struct Identity: Hashable, Sendable {
    package var uid: UInt32
    /// The primary group; `UInt32.max` if unknown, because no process has this gid.
    package var gid: UInt32
    /// The supplementary groups, in the kernel's order.
    package var groups: [UInt32]

    package init(uid: UInt32, gid: UInt32, groups: [UInt32] = []) {
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }
}
