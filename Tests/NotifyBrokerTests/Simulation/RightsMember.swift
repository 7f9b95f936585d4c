import NotifyWire
import WireTestSupport

/// A connection with members of durable subscriptions, in a simulation of rights.
final class RightsMember {
    /// A member, from its request on.
    struct Hold {
        let request: UInt64
        var isAttached = false
        /// The messages that it got and has not answered.
        var open: [UInt64] = []
        /// The messages that it got and has not given back.
        var got: Set<UInt64> = []
    }

    let client: Client
    /// The supplementary groups of its identity.
    let groups: [UInt32]
    /// Its members, by the indices of the subscriptions. The number of each one is the next higher one.
    var holds: [Int: Hold] = [:]
    /// Whether output may wait for its connection.
    var isLate = false
    /// The families that it could receive at a time since when output may wait.
    var permitted: Set<NameFamily>

    init(_ client: Client, groups: [UInt32], permitted: Set<NameFamily>) {
        (self.client, self.groups, self.permitted) = (client, groups, permitted)
    }

    static func number(_ index: Int) -> UInt32 { UInt32(index) + 1 }
    static func index(_ number: UInt32) -> Int { Int(number) - 1 }

    /// Notes that the policy was changed. All output was written before, unless it waits for the connection.
    func rightsChanged(to rights: RightsTable) {
        if !isLate { permitted = [] }
        permitted.formUnion(rights.permitted(groups))
    }
}
