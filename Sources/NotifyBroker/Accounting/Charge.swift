import NotifyWire

/// Memory that is charged to a user until it is released.
struct Charge: Equatable {
    let uid: UInt32
    let resource: Ledger.Resource
    let bytes: Int
}

extension Ledger {
    /// Charges memory to a user.
    ///
    /// - Throws: `limitReached` if the user has no room.
    mutating func charge(_ bytes: Int, as resource: Resource, to uid: UInt32) throws(WireError) -> Charge {
        if bytes > 0 { try checkRoom(for: bytes, uid: uid) }
        let charge = Charge(uid: uid, resource: resource, bytes: bytes)
        renew(charge)
        return charge
    }

    /// Ends a charge.
    mutating func release(_ charge: Charge) { change(charge.resource, by: -charge.bytes, uid: charge.uid) }

    /// Charges the same memory again.
    mutating func renew(_ charge: Charge) { change(charge.resource, by: charge.bytes, uid: charge.uid) }
}
