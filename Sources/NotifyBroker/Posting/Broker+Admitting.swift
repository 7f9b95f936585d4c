import NotifyCenter
import NotifyLog
import NotifyWire

/// Checks of clients' posts: sizes, names, rights, and room for stored messages.
extension Broker {
    /// Checks the post of a client, and decides whether it is stored.
    ///
    /// - Throws: If the post is refused.
    @inline(__always)
    mutating func admit(_ post: Post, from slot: ConnectionSlot) throws(WireError) -> Admission {
        try check(post)
        var admission = Admission(try resolve(post.parts, for: slot))
        let isStored =
            switch post.durability {
            case .volatile: false
            // If some subscriptions can't be read, the post counts as stored, and `checkStorage` refuses it: an unknown
            // subscription could match, and would lose the message.
            case .automatic: admission.durableCount > 0 || !durables.areComplete
            case .stored, .synced: true
            }
        if isStored {
            admission.account = try checkStorage(of: post.parts, wantsReceipt: post.wantsReceipt, from: slot)
            if case .synced = post.durability { admission.isSynced = true }
        }
        return admission
    }

    @inline(__always)
    private func check(_ post: Post) throws(WireError) {
        let parts = post.parts
        try checkPayload(parts.payload.count, of: "a payload")
        guard parts.messageID.isEmpty else {
            throw WireError(.unsupported, "message ids are reserved: leave the id empty")
        }
        if !parts.headers.isEmpty { try HeaderList.validate(parts.headers) }
    }

    /// - Parameter title: What the bytes are, for the error.
    @inline(__always)
    func checkPayload(_ bytes: Int, of title: StaticString) throws(WireError) {
        guard bytes <= configuration.maximumPayloadBytes else {
            throw WireError(
                .payloadTooLarge, "\(title) of \(bytes) bytes is over the limit of \(configuration.maximumPayloadBytes)"
            )
        }
    }

    /// Checks the name and the object of a message, and the right to post it, and returns its subscribers. If the
    /// resolution is cached, the name and object need no validation.
    private mutating func resolve(_ parts: MessageParts, for slot: ConnectionSlot) throws(WireError) -> Resolution {
        let key = PostKey(parts)
        if let cached = subscriptions.cached(key) {
            if access.policy.isOpen(parts.name) { return cached.resolution }
            let identity = connections[slot].identity
            if access.isPermitted(cached.tag, identity) { return cached.resolution }
            subscriptions.setTag(try access.checkPost(parts.name, tagged: cached.tag, identity), of: cached)
            return cached.resolution
        }
        do {
            try NotificationName.validate(utf8: parts.name)
        } catch {
            throw WireError(error)
        }
        guard String(validating: parts.object, as: UTF8.self) != nil else {
            throw WireError(.invalidObject, "the object is not valid UTF-8")
        }
        _ = try access.checkPost(parts.name, connections[slot].identity)
        return resolve(key)
    }

    /// Checks whether a message can be stored, and counts its name toward the limit of names.
    ///
    /// - Returns: The account of the user's stored messages.
    /// - Throws: `postWindowExceeded`, `storageFailed`, `logFull`, `logDamaged`, or `limitReached` (memory, stored
    ///   bytes or names).
    mutating func checkStorage(
        of parts: MessageParts, wantsReceipt: Bool, from slot: ConnectionSlot
    ) throws(WireError) -> StoredUsages.Account {
        guard !wantsReceipt || connections[slot].postsAwaitingReceipts < configuration.postWindow else {
            throw WireError(
                .postWindowExceeded,
                "\(configuration.postWindow) posts wait for their receipts, which is the limit: "
                    + "wait for some of them first")
        }
        let account = storedAccount(of: slot)
        try checkStorage(of: parts, in: account, uid: connections[slot].uid, connections[slot].identity)
        return account
    }

    /// Checks whether a message can be stored for a user without a connection.
    ///
    /// - Returns: The account of the user's stored messages.
    /// - Throws: As the check for a connection.
    mutating func checkStorage(
        of parts: MessageParts, uid: UInt32, _ identity: IdentityID
    ) throws(WireError) -> StoredUsages.Account {
        let account = ledger.stored.account(of: uid)
        try checkStorage(of: parts, in: account, uid: uid, identity)
        return account
    }

    @inline(__always)
    private mutating func checkStorage(
        of parts: MessageParts, in account: StoredUsages.Account, uid: UInt32, _ identity: IdentityID
    ) throws(WireError) {
        try commits.checkRoom()
        try ledger.checkRoom(for: 0, uid: uid)
        try ledger.stored.check(
            adding: StoredUsage.bytes(of: parts), to: account, of: uid, limit: access.limits(of: identity).storedBytes)
        try ledger.noteStored(parts.name, uid: uid, in: commits.nextBatchID)
    }

    @inline(__always)
    private mutating func storedAccount(of slot: ConnectionSlot) -> StoredUsages.Account {
        if let account = connections[slot].storedAccount { return account }
        let account = ledger.stored.account(of: connections[slot].uid)
        connections[slot].storedAccount = account
        return account
    }
}
