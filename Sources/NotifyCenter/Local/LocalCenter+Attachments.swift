extension LocalCenter {
    /// Returns the attachment of a type, for other libraries. Creates it on first use. The center holds it until the
    /// center is released.
    package func attachment<Attachment: AnyObject & Sendable>(
        _ type: Attachment.Type, make: () -> Attachment
    ) -> Attachment {
        let id = ObjectIdentifier(type)
        if let known = state.withLock({ $0.attachments[id] as? Attachment }) { return known }
        // Outside the lock: `make` may call the center. If two are created concurrently, the first is kept.
        let made = make()
        return state.withLock { state in
            if let known = state.attachments[id] as? Attachment { return known }
            state.attachments[id] = made
            return made
        }
    }
}
