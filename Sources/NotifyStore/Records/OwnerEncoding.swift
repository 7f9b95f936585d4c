import NotifyLog

/// Encodes the identities that attached to a subscription, for the columns of its row.
///
/// The groups of an identity are separated by spaces. Identities that attached earlier are separated by commas. Each is
/// encoded as its gid, a colon and its groups. All have the uid of the subscription.
enum OwnerEncoding {
    static func groups(of identity: Identity) -> String {
        identity.groups.map(String.init).joined(separator: " ")
    }

    /// - Returns: Nil if the text is damaged.
    static func groups(_ text: some StringProtocol) -> [UInt32]? {
        let groups = text.split(separator: " ").map { UInt32($0) }
        return groups.contains(nil) ? nil : groups.compactMap { $0 }
    }

    static func encode(_ identities: [Identity]) -> String {
        identities.map { "\($0.gid):\(groups(of: $0))" }.joined(separator: ",")
    }

    /// - Returns: Nil if the text is damaged.
    static func decode(_ text: String, uid: UInt32) -> [Identity]? {
        let parts = text.split(separator: ",")
        let identities = parts.compactMap { part -> Identity? in
            let fields = part.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 2, let gid = UInt32(fields[0]), let groups = groups(fields[1]) else { return nil }
            return Identity(uid: uid, gid: gid, groups: groups)
        }
        return identities.count == parts.count && parts.count < DurableRecord.maximumOwners ? identities : nil
    }
}
