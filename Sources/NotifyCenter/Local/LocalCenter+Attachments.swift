extension LocalCenter {
    /// Returns the object of a type that another library attaches to the center. Creates the object on first use. The
    /// center keeps the object until the center is released.
    package func attachment<Attachment: AnyObject & Sendable>(
        _ type: Attachment.Type, make: () -> Attachment
    ) -> Attachment {
        let id = ObjectIdentifier(type)
        if let known = state.withLock({ $0.attachments[id] as? Attachment }) { return known }
        // Outside the lock: `make` may call the center. If two threads create an object concurrently, the first one
        // stored is kept.
        let made = make()
        return state.withLock { state in
            if let known = state.attachments[id] as? Attachment { return known }
            state.attachments[id] = made
            return made
        }
    }
}
