extension LocalCenter {
    /// What another library keeps with the center, one of each type: it is made by the first who asks and goes with the
    /// center.
    package func attachment<Attachment: AnyObject & Sendable>(
        _ type: Attachment.Type, make: () -> Attachment
    ) -> Attachment {
        let id = ObjectIdentifier(type)
        if let known = state.withLock({ $0.attachments[id] as? Attachment }) { return known }
        // Not under the lock: the maker may call the center. Of two that were made at once, the first stays.
        let made = make()
        return state.withLock { state in
            if let known = state.attachments[id] as? Attachment { return known }
            state.attachments[id] = made
            return made
        }
    }
}
