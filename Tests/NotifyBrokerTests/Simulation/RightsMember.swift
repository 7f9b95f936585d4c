import NotifyWire
import WireTestSupport

/// A connection with members of durable subscriptions, in ``RightsSimulation``.
final class RightsMember {
    /// A member of a subscription, from its request on.
    struct Hold {
        let request: UInt64
        var isAttached = false
        /// The messages that the member has received and not answered.
        var open: [UInt64] = []
        /// The messages that the member has received and not given back.
        var got: Set<UInt64> = []
    }

    let client: Client
    /// The supplementary groups of the connection's identity.
    let groups: [UInt32]
    /// The members of the connection, by the index of the subscription. The number of a subscription on the connection
    /// is its index plus 1.
    var holds: [Int: Hold] = [:]
    /// Whether output may wait for the connection.
    var isLate = false
    /// The families that the policy has permitted to the connection at some time since its output was last written
    /// completely. A message that still waits in the output may be of any of them.
    var permitted: Set<NameFamily>

    init(_ client: Client, groups: [UInt32], permitted: Set<NameFamily>) {
        (self.client, self.groups, self.permitted) = (client, groups, permitted)
    }

    static func number(_ index: Int) -> UInt32 { UInt32(index) + 1 }
    static func index(_ number: UInt32) -> Int { Int(number) - 1 }

    /// Records a change of the policy. All earlier output was written, unless output waits for the connection.
    func rightsChanged(to rights: RightsTable) {
        if !isLate { permitted = [] }
        permitted.formUnion(rights.permitted(groups))
    }
}
