/// The uid, gid and groups of a peer, as reported by the kernel.
///
/// A durable subscription stores the identity that attached last, whose rights apply while no client is attached.
package struct Identity: Hashable, Sendable {
    package var uid: UInt32
    /// `UInt32.max`, which is the gid of no process, if unknown.
    package var gid: UInt32
    /// The supplementary groups, in the kernel's order.
    package var groups: [UInt32]

    package init(uid: UInt32, gid: UInt32, groups: [UInt32] = []) {
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }
}
